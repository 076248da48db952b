"""Colours, patterns and signs of the SVG: light, dark, and without colour.

States are told apart three ways: by colour, by what fills the box (nothing,
dots, stripes, crosses) with its outline (dashed or full), and by a drawn sign.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ..events import Link, NodeState
from .palette import DARK, LIGHT, STATE_MARKS, Palette

#: Fill and outline of paper, bands and slices; text, muted text, error text.
_LIGHT_PAPER = (
    *("#ffffff", "#d9dee5", "#f2f5f9", "#e0e6ee", "#ffffff", "#d5dce6"),
    *("#1c2430", "#5f6978", "#b42318"),
)
_DARK_PAPER = (
    *("#14171d", "#2d333d", "#1a1e26", "#2a303a", "#14171d", "#333b47"),
    *("#e6eaf0", "#a0aab8", "#ff9a93"),
)

#: Where the host says what its theme is, that counts more than the reader's preference.
_DARK_HOSTS = ('[data-jp-theme-light="false"]', "body.vscode-dark", "html[theme=dark]", '[data-theme="dark"]')
_LIGHT_HOSTS = (
    '[data-jp-theme-light="true"]',
    "body.vscode-light",
    "html[theme=light]",
    '[data-theme="light"]',
)

_SHAPE = """
.pw-graph text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.pw-graph .h1{font-size:15px;font-weight:600}.pw-graph .h2{font-size:13px;font-weight:600}
.pw-graph .h3{font-size:12px;font-weight:600}.pw-graph .mu,.pw-graph .lg{font-size:11px}
.pw-graph .nl{font-size:12.5px;font-weight:600}.pw-graph .tl{font-size:11px;font-weight:600}
.pw-graph .sub{font-size:10.5px;font-weight:400}.pw-graph .err{font-size:10.5px;font-weight:600}
.pw-graph .badge{font-size:11px;font-weight:700}.pw-graph .by{font-size:9.5px;
paint-order:stroke;stroke-width:3px}
.pw-graph .e{fill:none;stroke-width:1.3}.pw-graph .o{stroke-dasharray:1 4;stroke-linecap:round}
.pw-graph .ici{stroke-width:2}.pw-graph .dcn{stroke-width:2.2;stroke-dasharray:7 3}
.pw-graph .pcie{stroke-width:2;stroke-dasharray:2 2}
.pw-graph .n .f{stroke-width:1.3}.pw-graph .n .p{stroke:none}.pw-graph .g *{fill:none;stroke-width:1.7;
stroke-linecap:round;stroke-linejoin:round}.pw-graph .s-failed>.f{stroke-width:2.2}
.pw-graph .s-waiting>.f{stroke-dasharray:4 3}.pw-graph .s-cancelled>.f{stroke-dasharray:9 3 2 3}
""".replace("\n", "")

#: Drawn signs, centred on 0, 0, about 12 pixels wide; ``class="i"`` marks what is filled.
GLYPHS: dict[NodeState, str] = {
    NodeState.WAITING: '<circle r="5" stroke-dasharray="2 2.2"/>',
    NodeState.PREPARED: '<circle r="5"/><circle class="i" r="1"/>',
    NodeState.QUEUED: '<circle r="5"/><path d="M0 -3V0L2.3 1.6"/>',
    NodeState.LAUNCHED: '<path class="i" d="M-3 -4.6L4.6 0L-3 4.6Z"/>',
    NodeState.DONE: '<path d="M-4.6 0.4L-1.4 3.8L4.8 -3.6"/>',
    NodeState.FAILED: '<path d="M-4 -4L4 4M4 -4L-4 4"/>',
    NodeState.CANCELLED: '<circle r="5"/><path d="M-3.4 3.4L3.4 -3.4"/>',
}


def _rules(palette: Palette, paper: tuple[str, ...], host: str = "") -> str:
    at = f"{host} .pw-graph " if host else ".pw-graph "
    bg, rim, band, band_rim, lane, lane_rim, text, muted, err = paper
    edge, (ici, dcn, pcie) = palette.move, (palette.links[link] for link in Link)
    rules = [
        f".bg{{fill:{bg};stroke:{rim}}}",
        f".band{{fill:{band};stroke:{band_rim}}}",
        f".slice{{fill:{lane};stroke:{lane_rim}}}",
        f"text{{fill:{text}}}",
        f".mu,X.sub,X.lg,X.by{{fill:{muted}}}",
        f".by{{stroke:{lane}}}",
        f".err{{fill:{err}}}",
        f".e{{stroke:{edge}}}",
        f".ici{{stroke:{ici}}}",
        f".dcn{{stroke:{dcn}}}",
        f".pcie{{stroke:{pcie}}}",
        *(f".h{kind}{{fill:{colour}}}" for kind, colour in (("e", edge), ("ei", ici), ("ed", dcn), ("ep", pcie))),
    ]
    for state, tone in palette.states.items():
        name = f".s-{state.value}"
        rules += [
            f"{name}>.f{{fill:{tone.fill};stroke:{tone.line}}}",
            f"{name} .g *{{stroke:{tone.line}}}",
            f"{name} .g .i,X.bar{name}{{fill:{tone.line}}}",
        ]
        if tone.mark != "none":
            rules.append(f".m-{state.value}{{stroke:{tone.mark}}}")
    return "".join(at + rule.replace("X", at) for rule in rules)


def host_schemes(selector: str) -> str:
    """Rules that give an element the ``color-scheme`` of its host, which an SVG in an ``<img>`` takes for the reader's.

    Where the host says nothing the reader's preference counts.
    """
    hosts = (("light", _LIGHT_HOSTS), ("dark", _DARK_HOSTS))
    return "".join(f":is({','.join(those)}) {selector}{{color-scheme:{scheme}}}" for scheme, those in hosts)


def for_both_themes(light: Callable[..., str], dark: Callable[..., str]) -> str:
    """Rules for light and dark: as the reader prefers, and as the host says where it says so.

    ``light(at)`` and ``dark(at)`` give the rules bound to the selector ``at``; without it, to none.
    """
    return "".join(
        (
            light(),
            f"@media (prefers-color-scheme:dark){{{dark()}}}",
            light(f":is({','.join(_LIGHT_HOSTS)})"),
            dark(f":is({','.join(_DARK_HOSTS)})"),
        )
    )


@cache
def style() -> str:
    """The style sheet; every rule is bound to ``.pw-graph``."""
    light, dark = partial(_rules, LIGHT, _LIGHT_PAPER), partial(_rules, DARK, _DARK_PAPER)
    return _SHAPE + for_both_themes(light, dark)


def patterns(prefix: str) -> str:
    """Patterns of the states and heads of the arrows, with ids that begin with ``prefix``."""
    parts: list[str] = []
    for state in NodeState:
        mark = STATE_MARKS.get(state)
        body = f'<path class="m-{state.value}" d="{mark.path}" stroke-width="{mark.stroke:g}"/>' if mark else ""
        parts.append(
            f'<pattern id="{prefix}{state.value}" width="8" height="8" patternUnits="userSpaceOnUse">{body}</pattern>'
        )
    for kind in ("", "i", "d", "p"):
        for side, turn in (("a", "auto"), ("s", "auto-start-reverse")):
            parts.append(
                f'<marker id="{prefix}{side}{kind}" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7" '
                f'markerHeight="7" markerUnits="userSpaceOnUse" orient="{turn}">'
                f'<path class="he{kind}" d="M0 0.8L7 4L0 7.2Z"/></marker>'
            )
    return "".join(parts)
