"""A :class:`~pwlab.viz.graph.GraphPicture` as text, for a terminal.

Nodes stand below each other in the order of the data, and the lines at the
left are their values, as in ``git log --graph``::

    ✓ init_params     a  Cell In[2]:3  1.20 ms
    ├─╮
    │ ✓ embed         a  Cell In[4]:2  1.20 ms
    ├─╯
    ✓ update          a  Cell In[4]:9

A chain stays at the left, however long; only what waits for a later reader
takes a column.
"""

from __future__ import annotations

import textwrap

from .format import STATES, one_line, width
from .graph import GraphPicture, PictureNode

#: A picture for a terminal is best made with this limit: ``picture(model, limit=TEXT_LIMIT)``.
TEXT_LIMIT = 60

#: By the sides that a line leaves to: up 8, down 4, left 2, right 1.
_LINES = " ╶╴─╷╭╮┬╵╰╯┴│├┤┼"


def graph_text(picture: GraphPicture, columns: int = 100, most: int = 200) -> str:
    """The graph in lines of at most ``columns``; of more than ``most`` nodes the first."""
    head = one_line(picture.title, 40)
    counts = " · ".join(f"{STATES[s].glyph} {n:,} {STATES[s].word}" for s, n in picture.counts)
    joined = f"{head}   {counts}".rstrip()
    lines = [joined] if width(joined) <= columns else [head, counts]
    if picture.note:
        lines += textwrap.wrap(f"({one_line(picture.note, 500)})", columns)
    if not picture.nodes:
        return "\n".join(lines if picture.note else [*lines, "nothing has been recorded yet"])
    islands = {band.key: band.name for band in picture.bands}
    slices = {(lane.key): lane.name.removeprefix("slice ") for lane in picture.slices}
    shown = picture.nodes[:most]
    rails = _rails(picture, shown)
    room = min(columns // 3, max(width(art) for art, _, _ in rails) + 1)
    label_w = min(30, max(width(_label(node)) for node in shown))
    place_w = max(width(f"{slices.get(n.slice, '?')} on {islands.get(n.island, '?')}") for n in shown)
    for art, node, below in rails:
        if node is None:
            lines.append(_cut(art, room))
            continue
        place = f"{slices.get(node.slice, '?')} on {islands.get(node.island, '?')}"
        text = f"{_fill(_cut(art, room), room)} {_fill(_label(node), label_w)}  {_fill(place, place_w)}"
        rest = columns - width(text) - 2
        lines.append(f"{text}  {one_line(node.sub, max(8, rest))}".rstrip())
        if node.error:
            lines.append(f"{_fill(_cut(below, room), room)}   ╰ {one_line(node.error, columns - room - 5)}")
    if len(shown) < len(picture.nodes):
        lines.append(f"… and {len(picture.nodes) - len(shown):,} more")
    return "\n".join(lines)


def _cut(art: str, room: int) -> str:
    """The lines at the left, cut where there are too many of them."""
    return art if len(art) <= room else art[: room - 1] + "…"


def _label(node: PictureNode) -> str:
    label = one_line(node.label, 26)
    return f"{label} ×{node.parts}" if node.parts > 1 and node.count == 1 else label


def _fill(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))


def _rails(picture: GraphPicture, shown: tuple[PictureNode, ...]) -> list[tuple[str, PictureNode | None, str]]:
    """Lines of art, each with the node that stands on it or None, and what goes on below."""
    keys = {node.key for node in shown}
    inputs: dict[str, list[str]] = {node.key: [] for node in shown}
    readers: dict[str, int] = dict.fromkeys(keys, 0)
    for edge in picture.edges:
        if edge.source in keys and edge.target in keys:
            inputs[edge.target].append(edge.source)
            readers[edge.source] += 1
    out: list[tuple[str, PictureNode | None, str]] = []
    #: The value that each column carries down, by its writer.
    rails: list[str | None] = []
    for node in shown:
        wants = set(inputs[node.key])
        joined = [i for i, rail in enumerate(rails) if rail in wants]
        before = list(rails)
        for i in joined:
            writer = rails[i]
            assert writer is not None
            readers[writer] -= 1
            if not readers[writer]:
                rails[i] = None
        column = next((i for i in joined if rails[i] is None), None)
        if column is None:
            column = next((i for i, rail in enumerate(rails) if rail is None), len(rails))
            rails += [None] * (column + 1 - len(rails))
        if joined and joined != [column]:
            before += [None] * (len(rails) - len(before))
            out.append((_join(before, rails, joined, column), None, ""))
        cells = ["│" if rail else " " for rail in rails]
        cells[column] = STATES[node.state].glyph
        rails[column] = node.key if readers[node.key] else None
        below = " ".join("│" if rail else " " for rail in rails).rstrip()
        out.append((" ".join(cells).rstrip(), node, below))
        while rails and rails[-1] is None:
            rails.pop()
    return out


def _join(before: list[str | None], after: list[str | None], joined: list[int], column: int) -> str:
    """The line above a node that leads its inputs to its column."""
    ends = {*joined, column}
    low, high = min(ends), max(ends)
    art: list[str] = []
    for i in range(len(after)):
        up, down = before[i] is not None, after[i] is not None or i == column
        if i in ends:
            sides = 8 * up + 4 * down + 2 * (i > low) + (i < high)
            art.append(_LINES[sides])
        else:
            # A line that only passes is drawn over the others.
            art.append("│" if up and down else "─" if low < i < high else " ")
        art.append("─" if low <= i < high else " ")
    return "".join(art).rstrip()
