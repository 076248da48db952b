"""A :class:`~pwlab.viz.graph.GraphPicture` as SVG: one string, no scripts, nothing fetched.

It must read well inline in Lab, VS Code or Colab, as a data URI in a page of
nbconvert, as a file, light and dark, in print and for a reader who sees no
colours.  So every state has a colour *and* a pattern *and* a sign, the picture
brings its own background, and colours are plain classes, which tools without
CSS variables know too.  Dark rules follow the reader's preference, and the
theme of the host where it is inline.
"""

from __future__ import annotations

import zlib

from ..events import Link, NodeKind, NodeState
from .format import STATES, escape, one_line, width
from .graph import GraphPicture, Lane, PictureEdge, PictureNode
from .labels import flow_text, is_pill, labels, sheets
from .svg_style import GLYPHS, patterns, style

_LEGEND = 34.0
_HEAD = 40.0
_SIDE = 14.0


def svg(picture: GraphPicture) -> str:
    """The picture as an ``<svg>`` element that stands alone and may also be put inline.

    Names are escaped.  The ids inside begin with a hash of the picture, so many fit into one page.
    """
    prefix = f"pw{zlib.crc32(repr(picture).encode('utf-8', 'replace')):08x}"
    legend, legend_w = _legend(picture, prefix)
    note = one_line(picture.note, 120)
    head_w = 9 * width(picture.title) + 7 * width(note) + 60
    wide = max(picture.width + 2 * _SIDE, legend_w + 40, head_w, 320)
    tall = _HEAD + picture.height + _LEGEND
    shift = (wide - picture.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-graph" role="img" width="{_n(wide)}" '
        f'height="{_n(tall)}" viewBox="0 0 {_n(wide)} {_n(tall)}" aria-labelledby="{prefix}t {prefix}d">',
        f'<title id="{prefix}t">{escape(picture.title)}</title>',
        f'<desc id="{prefix}d">{escape(describe(picture))}</desc>',
        f"<style>{style()}</style>",
        f"<defs>{patterns(prefix)}</defs>",
        f'<rect class="bg" x="0.5" y="0.5" width="{_n(wide - 1)}" height="{_n(tall - 1)}" rx="10"/>',
        f'<text class="h1" x="16" y="26">{escape(picture.title)}</text>',
    ]
    if note:
        parts.append(f'<text class="mu" x="{_n(wide - 16)}" y="26" text-anchor="end">{escape(note)}</text>')
    parts.append(f'<g transform="translate({_n(shift)} {_n(_HEAD)})">')
    if not picture.nodes and not note:
        parts.append('<text class="mu" x="16" y="40">nothing has been recorded yet</text>')
    parts += [_band(band) for band in picture.bands]
    parts += [_slice(lane) for lane in picture.slices]
    stacked = {node.key for node in picture.nodes if sheets(node)}
    parts += [_edge(edge, prefix, edge.target in stacked) for edge in picture.edges]
    parts += [f'<text class="by" x="{_n(at.x)}" y="{_n(at.y)}">{escape(at.text)}</text>' for at in labels(picture)]
    parts += [_node(node, prefix) for node in picture.nodes]
    parts.append(f'</g><g transform="translate({_n((wide - legend_w) / 2)} {_n(tall - _LEGEND / 2)})">{legend}</g>')
    parts.append("</svg>")
    return "".join(parts)


def describe(picture: GraphPicture) -> str:
    """The picture in one sentence, for those who do not see it."""
    total = sum(count for _, count in picture.counts)
    states = ", ".join(f"{count} {STATES[state].word}" for state, count in picture.counts)
    islands = ", ".join(band.name for band in picture.bands)
    text = f"Dataflow graph of {picture.title}: {total} nodes" + (f" ({states})" if states else "")
    text += f" on {islands}" if islands else ""
    bad = next((node for node in picture.nodes if node.error and node.state is NodeState.FAILED), None)
    text += f"; {bad.label} failed: {one_line(bad.error, 200)}" if bad else ""
    return text + (f"; {picture.note}" if picture.note else "") + "."


# --- pieces ----------------------------------------------------------------------


def _n(number: float) -> str:
    """Short: one decimal at most."""
    text = f"{number:.1f}"
    return text[:-2] if text.endswith(".0") else text


def _band(band: Lane) -> str:
    return (
        f'<rect class="band" x="{_n(band.x)}" y="{_n(band.y)}" width="{_n(band.w)}" '
        f'height="{_n(band.h - 4)}" rx="10"/><text x="{_n(band.x + 14)}" y="{_n(band.y + 20)}">'
        f'<tspan class="h2">{escape(band.name)}</tspan>'
        f'<tspan class="mu" dx="8">{escape(band.about)}</tspan></text>'
    )


def _slice(lane: Lane) -> str:
    return (
        f'<rect class="slice" x="{_n(lane.x)}" y="{_n(lane.y)}" width="{_n(lane.w)}" height="{_n(lane.h)}" '
        f'rx="8"/><text x="{_n(lane.x + 12)}" y="{_n(lane.y + 18)}"><tspan class="h3">{escape(lane.name)}'
        f'</tspan><tspan class="mu" dx="7">{escape(lane.about)}</tspan></text>'
    )


def _link_class(link: Link | None) -> str:
    return {None: "e", Link.ICI: "e ici", Link.DCN: "e dcn", Link.PCIE: "e pcie"}[link]


def _edge(edge: PictureEdge, prefix: str, stacked: bool) -> str:
    (x, y), *rest = edge.points
    path = [f"M{_n(x)} {_n(y)}"]
    for i, (nx, ny) in enumerate(rest):
        if i == len(rest) - 1:
            ny -= 8 if stacked else 3  # room for the arrow's head, above the sheets behind the target
        if nx == x:
            path.append(f"V{_n(ny)}")
        else:
            bend = (y + ny) / 2
            path.append(f"C{_n(x)} {_n(bend)} {_n(nx)} {_n(bend)} {_n(nx)} {_n(ny)}")
        x, y = nx, ny
    kind = {None: "", Link.ICI: "i", Link.DCN: "d", Link.PCIE: "p"}[edge.link]
    start = f' marker-start="url(#{prefix}s{kind})"' if edge.both else ""
    about = flow_text(edge) + (f" over {edge.link.value}" if edge.link else "")
    return (
        f'<path class="{_link_class(edge.link)}{"" if edge.bytes else " o"}" d="{"".join(path)}" '
        f'marker-end="url(#{prefix}a{kind})"{start}><title>{about}</title></path>'
    )


def _glyph(state: NodeState, x: float, y: float) -> str:
    return f'<g class="g" transform="translate({_n(x)} {_n(y)})">{GLYPHS[state]}</g>'


def _node(node: PictureNode, prefix: str) -> str:
    x, y, w, h = node.x, node.y, node.w, node.h
    name = node.state.value
    pill = is_pill(node)
    rx = h / 2 if pill else 4 if node.kind is NodeKind.HOST else 7
    parts = [f'<g class="n s-{name}"><title>{escape(node.about)}</title>']
    for back in range(sheets(node), 0, -1):
        parts.append(
            f'<rect class="f" x="{_n(x + 3 * back)}" y="{_n(y - 3 * back)}" width="{_n(w)}" '
            f'height="{_n(h)}" rx="{_n(rx)}"/>'
        )
    parts.append(f'<rect class="f" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(rx)}"/>')
    # Inside the outline, which it would break up.
    parts.append(
        f'<rect class="p" fill="url(#{prefix}{name})" x="{_n(x + 1)}" y="{_n(y + 1)}" width="{_n(w - 2)}" '
        f'height="{_n(h - 2)}" rx="{_n(rx - 1)}"/>'
    )
    if pill:
        parts.append(_glyph(node.state, x + 13, y + h / 2))
        parts.append(f'<text class="tl" x="{_n(x + 25)}" y="{_n(y + h / 2 + 4)}">{escape(node.label)}')
        parts.append(f'<tspan class="sub" dx="6">{escape(node.sub)}</tspan>' if node.sub else "")
        parts.append("</text></g>")
        return "".join(parts)
    first = y + (20 if node.sub else 21)
    parts.append(_glyph(node.state, x + 15, first - 4))
    parts.append(f'<text class="nl" x="{_n(x + 28)}" y="{_n(first)}">{escape(node.label)}</text>')
    if node.parts > 1 and node.count == 1:
        parts.append(f'<text class="badge" x="{_n(x + w - 8)}" y="{_n(first)}" text-anchor="end">×{node.parts}</text>')
    if node.sub:
        parts.append(f'<text class="sub" x="{_n(x + 10)}" y="{_n(y + 37)}">{escape(node.sub)}</text>')
    if node.error:
        line = escape(one_line(node.error, 44))
        kind = "err" if node.state is NodeState.FAILED else "sub"
        parts.append(f'<text class="{kind}" x="{_n(x + 10)}" y="{_n(y + (53 if node.sub else 39))}">{line}</text>')
    if node.count > 1:
        parts.append(_shares(node))
    parts.append("</g>")
    return "".join(parts)


def _shares(node: PictureNode) -> str:
    """A bar at the foot of a group: how many of its nodes are in which state."""
    x, whole, y = node.x + 10, node.w - 20, node.y + node.h - 12
    parts: list[str] = []
    for state, count in node.counts:
        w = whole * count / node.count
        parts.append(f'<rect class="bar s-{state.value}" x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="5"/>')
        x += w
    return "".join(parts)


def _legend(picture: GraphPicture, prefix: str) -> tuple[str, float]:
    """What the signs mean, only those that occur, with their counts; and its width."""
    parts: list[str] = []
    x = 0.0
    for state, count in picture.counts:
        text = f"{STATES[state].word} {count:,}"
        parts.append(
            f'<g class="n s-{state.value}"><rect class="f" x="{_n(x)}" y="-8" width="22" height="16" rx="4"/>'
            f'<rect class="p" fill="url(#{prefix}{state.value})" x="{_n(x + 1)}" y="-7" width="20" '
            f'height="14" rx="3"/>{_glyph(state, x + 11, 0)}</g>'
            f'<text class="lg" x="{_n(x + 28)}" y="4">{text}</text>'
        )
        x += 28 + 6.8 * len(text) + 18
    links = {edge.link for edge in picture.edges if edge.link}
    for link in Link:
        if link in links:
            parts.append(f'<path class="{_link_class(link)}" d="M{_n(x)} 0h24"/>')
            parts.append(f'<text class="lg" x="{_n(x + 30)}" y="4">{link.value}</text>')
            x += 30 + 6.8 * len(link.value) + 18
    if any(node.parts > 1 and node.count == 1 for node in picture.nodes):
        parts.append(f'<text class="lg" x="{_n(x)}" y="4">×n: n computations in one launch</text>')
        x += 6.8 * 32
    return "".join(parts), max(0.0, x - 10)
