"""Colours and patterns of the timeline: light, dark, and without colour.

Eight hues, none of them red, which means failure; then the same hues striped, then dotted.  What is no computation
(waits, compilation, transfers) has its own pattern, so a picture in grey still tells them apart.
"""

from __future__ import annotations

from functools import cache, partial

from .svg_style import for_both_themes

#: Fill, outline and text of each hue: blue, green, amber, violet, teal, rose, lime, brown.
_LIGHT = (
    ("#cfe2ff", "#2563c4"),
    ("#c9ecd3", "#1f8a4c"),
    ("#ffe3ae", "#b06f00"),
    ("#e4d6fb", "#7a45c9"),
    ("#c0ebee", "#0b7f8a"),
    ("#fbd3e6", "#b83a7d"),
    ("#e3edb4", "#6f8311"),
    ("#ecd9cb", "#93572d"),
)
_DARK = (
    ("#1d3b6b", "#78aefc"),
    ("#1b4a2f", "#5ecb89"),
    ("#553d0c", "#ecb64c"),
    ("#40296b", "#b894f5"),
    ("#124950", "#4fc8d4"),
    ("#5b2342", "#f08abf"),
    ("#434d12", "#bdd153"),
    ("#50331f", "#d69d74"),
)
#: Colours of the palette; beyond eight with stripes, beyond sixteen with dots.
COLOURS = 24

#: Paper and rim, band and rim, rule between rows, text, muted, wait, compile, program, other, failed, ICI, DCN, PCIe.
_LIGHT_PAPER = (
    *("#ffffff", "#d9dee5", "#f5f7fa", "#e3e8ef", "#e6eaf0", "#1c2430", "#5f6978"),
    *("#8a5a00", "#6b7686", "#9aa5b4", "#8d97a5", "#c92a2a", "#0b7fab", "#c2570c", "#7a6a00"),
)
_DARK_PAPER = (
    *("#14171d", "#2d333d", "#191d24", "#272d37", "#262c36", "#e6eaf0", "#a0aab8"),
    *("#e3b341", "#9aa4b2", "#5f6b7b", "#7b8695", "#ff8078", "#4cc3ee", "#ff9d57", "#d6c14a"),
)

_SHAPE = """
.pw-time text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:11px}
.pw-time .h1{font-size:15px;font-weight:600}.pw-time .h2{font-size:12px;font-weight:600}
.pw-time .mu{font-size:11px}.pw-time .tk{font-size:10px}.pw-time .bl{font-size:10.5px;font-weight:600}
.pw-time .k-wait .bl,.pw-time .k-compile .bl,.pw-time .s-failed .bl{paint-order:stroke;stroke-width:3px;
stroke-linejoin:round}.pw-time .num{font-variant-numeric:tabular-nums}
.pw-time .b rect{stroke-width:1}.pw-time .grid{stroke-width:1}.pw-time .open{stroke-dasharray:3 2}
.pw-time .s-failed>rect{stroke-width:2}.pw-time .ar{fill:none;stroke-width:1.3;opacity:.85}
.pw-time .dcn{stroke-dasharray:6 3}.pw-time .pcie{stroke-dasharray:2 2}.pw-time .zig{fill:none;stroke-width:1}
""".replace("\n", "")


def _rules(hues: tuple[tuple[str, str], ...], paper: tuple[str, ...], host: str = "") -> str:
    at = f"{host} .pw-time " if host else ".pw-time "
    bg, rim, band, band_rim, rule, text, muted, wait, comp, prog, other, bad, ici, dcn, pcie = paper
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
        f".k-program rect{{fill:{bg};stroke:{prog}}}",
        f".c-none rect{{fill:{rule};stroke:{other}}}",
        f".s-failed>rect{{stroke:{bad}}}",
        f".m-failed{{stroke:{bad}}}",
        f".bad{{fill:{bad}}}",
        f".good{{fill:{hues[1][1]}}}",
        f".zig{{stroke:{muted}}}",
        f".gap{{fill:{bg}}}",
        f".k-wait .bl,X.k-compile .bl,X.s-failed .bl{{stroke:{bg}}}",
        f".bar{{fill:{hues[1][1]}}}",
        f".paper{{fill:{bg}}}",
    ]
    for name, colour in (("ici", ici), ("dcn", dcn), ("pcie", pcie), ("move", other)):
        rules += [
            f".{name}{{stroke:{colour}}}",
            f".k-{name} rect{{stroke:{colour}}}",
            f".m-{name}{{stroke:{colour}}}",
            f".h-{name}{{fill:{colour}}}",
        ]
    for i, (fill, line) in enumerate(hues):
        rules += [f".c{i} rect{{fill:{fill};stroke:{line}}}", f".m{i}{{stroke:{line};fill:{line}}}"]
    return "".join(at + one.replace("X", at) for one in rules)


@cache
def style() -> str:
    """The style sheet; every rule is bound to ``.pw-time``."""
    light, dark = partial(_rules, _LIGHT, _LIGHT_PAPER), partial(_rules, _DARK, _DARK_PAPER)
    return _SHAPE + for_both_themes(light, dark)


def patterns(prefix: str) -> str:
    """Patterns and heads of arrows, with ids that begin with ``prefix``."""

    def pattern(name: str, size: int, body: str) -> str:
        return (
            f'<pattern id="{prefix}{name}" width="{size}" height="{size}" patternUnits="userSpaceOnUse">'
            f"{body}</pattern>"
        )

    parts = [
        pattern("wait", 6, '<path class="m-wait" stroke-width="1.4" opacity=".5" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/>'),
        pattern("compile", 6, '<circle class="m-compile" opacity=".6" cx="3" cy="3" r="1.1"/>'),
        pattern("failed", 8, '<path class="m-failed" stroke-width="1.1" d="M0 0L8 8M8 0L0 8"/>'),
    ]
    for link in ("ici", "dcn", "pcie", "move"):
        parts.append(pattern(link, 4, f'<path class="m-{link}" stroke-width="1.4" d="M1 0V4"/>'))
        parts.append(
            f'<marker id="{prefix}h{link}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path class="h-{link}" d="M0 0.8L7 4L0 7.2Z"/></marker>'
        )
    for i in range(8):
        stripes = f'<path class="m{i}" stroke-width="1" opacity=".55" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/>'
        parts.append(pattern(f"c{i + 8}", 6, stripes))
        parts.append(pattern(f"c{i + 16}", 5, f'<circle class="m{i}" stroke="none" opacity=".6" cx="2" cy="2" r="1"/>'))
    return "".join(parts)
