"""The style sheet and the patterns of the timeline: light, dark, and without colour.

What is no computation (waits, compilation, the controller, transfers) has its own pattern, so a picture in grey still
tells them apart.
"""

from __future__ import annotations

from functools import cache, partial

from ..events import Link
from .palette import BOX_MARKS, DARK, HUES, LIGHT, Mark, Palette
from .svg_style import for_both_themes

#: Rim of the paper, band and rim, rule between rows, text, muted.
_LIGHT_PAPER = ("#d9dee5", "#f5f7fa", "#e3e8ef", "#e6eaf0", "#1c2430", "#5f6978")
_DARK_PAPER = ("#2d333d", "#191d24", "#272d37", "#262c36", "#e6eaf0", "#a0aab8")

_SHAPE = """
.pw-time text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:11px}
.pw-time .h1{font-size:15px;font-weight:600}.pw-time .h2{font-size:12px;font-weight:600}
.pw-time .mu{font-size:11px}.pw-time .tk{font-size:10px}.pw-time .bl{font-size:10.5px;font-weight:600}
.pw-time :is(.k-wait,.k-compile,.k-control,.s-failed) .bl{paint-order:stroke;stroke-width:3px;
stroke-linejoin:round}.pw-time .num{font-variant-numeric:tabular-nums}
.pw-time .b rect{stroke-width:1}.pw-time .grid{stroke-width:1}.pw-time .open{stroke-dasharray:3 2}
.pw-time .s-failed>rect{stroke-width:2}.pw-time .ar{fill:none;stroke-width:1.3;opacity:.85}
.pw-time .dcn{stroke-dasharray:6 3}.pw-time .pcie{stroke-dasharray:2 2}.pw-time .zig{fill:none;stroke-width:1}
""".replace("\n", "")


def _rules(palette: Palette, paper: tuple[str, ...], host: str = "") -> str:
    at = f"{host} .pw-time " if host else ".pw-time "
    rim, band, band_rim, rule, text, muted = paper
    hues, bg, bad = palette.hues, palette.paper, palette.failed
    wait, comp, ctrl = palette.wait, palette.compile, palette.control
    rules = [
        f".bg{{fill:{bg};stroke:{rim}}}",
        f".band{{fill:{band};stroke:{band_rim}}}",
        f".grid{{stroke:{rule}}}",
        f"text{{fill:{text}}}",
        f".mu,X.tk{{fill:{muted}}}",
        f".track{{fill:{bg};stroke:{rule}}}",
        f".k-wait rect{{stroke:{wait}}}",
        f".m-wait{{stroke:{wait}}}",
        f".k-compile rect{{stroke:{comp}}}",
        f".m-compile{{fill:{comp}}}",
        f".k-control rect{{stroke:{ctrl}}}",
        f".m-control{{stroke:{ctrl}}}",
        f".k-program rect{{fill:{bg};stroke:{palette.program}}}",
        f".c-none rect{{fill:{rule};stroke:{palette.move}}}",
        f".s-failed>rect{{stroke:{bad}}}",
        f".m-failed{{stroke:{bad}}}",
        f".bad{{fill:{bad}}}",
        f".good{{fill:{hues[1][1]}}}",
        f".zig{{stroke:{muted}}}",
        f".gap{{fill:{bg}}}",
        f":is(.k-wait,.k-compile,.k-control,.s-failed) .bl{{stroke:{bg}}}",
        f".bar{{fill:{hues[1][1]}}}",
        f".paper{{fill:{bg}}}",
    ]
    for name, colour in [*((link.value.lower(), palette.links[link]) for link in Link), ("move", palette.move)]:
        rules += [
            f".{name}{{stroke:{colour}}}",
            f".k-{name} rect{{stroke:{colour}}}",
            f".m-{name}{{stroke:{colour}}}",
            f".h-{name}{{fill:{colour}}}",
        ]
    for i, tone in enumerate(hues):
        rules += [f".c{i} rect{{fill:{tone.fill};stroke:{tone.line}}}", f".m{i}{{stroke:{tone.line};fill:{tone.line}}}"]
    return "".join(at + one.replace("X", at) for one in rules)


@cache
def style() -> str:
    """The style sheet; every rule is bound to ``.pw-time``."""
    light, dark = partial(_rules, LIGHT, _LIGHT_PAPER), partial(_rules, DARK, _DARK_PAPER)
    return _SHAPE + for_both_themes(light, dark)


def patterns(prefix: str) -> str:
    """Patterns and heads of arrows, with ids that begin with ``prefix``."""

    def pattern(name: str, kind: str, mark: Mark) -> str:
        drawn = f'stroke-width="{mark.stroke:g}"' if mark.stroke else 'stroke="none"'
        return (
            f'<pattern id="{prefix}{name}" width="{mark.size}" height="{mark.size}" patternUnits="userSpaceOnUse">'
            f'<path class="{kind}" {drawn} opacity="{mark.opacity:g}" d="{mark.path}"/></pattern>'
        )

    parts = [pattern(name, f"m-{name}", BOX_MARKS[name]) for name in ("wait", "compile", "control", "failed")]
    for link in ("ici", "dcn", "pcie", "move"):
        parts.append(pattern(link, f"m-{link}", BOX_MARKS["move"]))
        parts.append(
            f'<marker id="{prefix}h{link}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path class="h-{link}" d="M0 0.8L7 4L0 7.2Z"/></marker>'
        )
    for i in range(HUES):
        parts.append(pattern(f"c{i + HUES}", f"m{i}", BOX_MARKS["stripes"]))
        parts.append(pattern(f"c{i + 2 * HUES}", f"m{i}", BOX_MARKS["dots"]))
    return "".join(parts)
