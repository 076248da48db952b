"""Where the labels of a graph's edges stand: beside their edge, inside its slice, and over nothing else.

A label that finds no such place tells the bytes alone, and if there is none for these either it is left out; the
tooltip of the edge has all of it.  Nodes, labels and lines that are there already are kept in a grid, so that a place
is found by looking at what is near.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from ..events import NodeKind
from ..units import bytes_text
from .format import one_line, width
from .graph import GraphPicture, Lane, PictureEdge, PictureNode

#: Columns of a label.
COLUMNS = 26
#: Pixels: a character, above and below the line on which they stand, beside the edge, and between points of a line.
_CHAR, _ABOVE, _BELOW, _BESIDE, _STEP = 5.4, 8.0, 2.0, 6.0, 5.0
#: The lines below a source on which a label may stand, and those above a target.
_DOWN, _UP = (11.0, 20.0), (-9.0, -17.0)


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float


class Label(NamedTuple):
    """A text whose line begins at ``x``, ``y``."""

    x: float
    y: float
    text: str


def flow_text(edge: PictureEdge) -> str:
    """What flows along an edge: ``f32[8,128] 4.0 KB``."""
    return " ".join(part for part in (edge.shape, bytes_text(edge.bytes) if edge.bytes else "") if part) or "order only"


def is_pill(node: PictureNode) -> bool:
    """Whether the node is drawn as a pill, in which stands what it moves."""
    return node.kind is NodeKind.TRANSFER and not node.error and node.count == 1


def sheets(node: PictureNode) -> int:
    """Sheets behind: several computations in one launch, or several nodes in one group."""
    return 2 if node.parts > 1 or node.count > 1 else 0


def labels(picture: GraphPicture) -> Iterator[Label]:
    """What flows: once below the node that writes it if all of its edges carry the same, else where it arrives alone.

    A transfer says in its pill what it moves, so the edge that leaves it has no label.
    """
    nodes = {node.key: node for node in picture.nodes}
    flows = [edge for edge in picture.edges if (edge.bytes or edge.shape) and not is_pill(nodes[edge.source])]
    out: dict[str, set[str]] = {}
    into: dict[str, int] = {}
    for edge in flows:
        out.setdefault(edge.source, set()).add(flow_text(edge))
        into[edge.target] = into.get(edge.target, 0) + 1
    taken = _Taken(_things(picture))
    done: set[str] = set()
    for edge in flows:
        if len(out[edge.source]) == 1 and edge.source not in done:
            done.add(edge.source)
            end, lines, node = edge.points[0], _DOWN, nodes[edge.source]
        elif len(out[edge.source]) > 1 and into[edge.target] == 1:
            end, lines, node = edge.points[-1], _UP, nodes[edge.target]
        else:
            continue
        around = _around(node, picture.slices)
        texts = dict.fromkeys((one_line(flow_text(edge), COLUMNS), bytes_text(edge.bytes) if edge.bytes else ""))
        label = next(filter(None, (_place(text, end, lines, around, taken) for text in texts if text)), None)
        if label is not None:
            yield label


# --- inside -----------------------------------------------------------------------------------


class _Taken:
    """Boxes, by the squares of a grid that they touch."""

    _SIDE = 48.0

    def __init__(self, boxes: Iterable[Box]):
        self._squares: dict[tuple[int, int], list[Box]] = {}
        for box in boxes:
            self.take(box)

    def take(self, box: Box) -> None:
        for square in self._touched(box):
            self._squares.setdefault(square, []).append(box)

    def free(self, box: Box) -> bool:
        return not any(
            box.left < other.right and other.left < box.right and box.top < other.bottom and other.top < box.bottom
            for square in self._touched(box)
            for other in self._squares.get(square, ())
        )

    def _touched(self, box: Box) -> Iterator[tuple[int, int]]:
        left, top, right, bottom = (math.floor(side / self._SIDE) for side in box)
        return ((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))


def _things(picture: GraphPicture) -> Iterator[Box]:
    """All over which no label may stand."""
    for node in picture.nodes:
        behind = 3 * sheets(node)
        yield Box(node.x - 2, node.y - behind - 2, node.x + node.w + behind + 2, node.y + node.h + 2)
    for edge in picture.edges:
        for x, y in _points(edge):
            yield Box(x - 1, y - 1, x + 1, y + 1)


def _points(edge: PictureEdge) -> Iterator[tuple[float, float]]:
    """Points of an edge as it is drawn, close to each other."""
    for (x, y), (nx, ny) in pairwise(edge.points):
        steps = max(1, math.ceil((abs(nx - x) + abs(ny - y)) / _STEP))
        for i in range(steps + 1):
            t = i / steps
            # The curve leaves and arrives upright, as a Bézier curve with both handles at half its height.
            yield x + (nx - x) * t * t * (3 - 2 * t), y + (ny - y) * (1.5 * t * (1 - t) + t * t * t)


def _around(node: PictureNode, slices: Iterable[Lane]) -> Box:
    """The slice in which a node stands."""
    for lane in slices:
        if lane.x <= node.x <= lane.x + lane.w and lane.y <= node.y <= lane.y + lane.h:
            return Box(lane.x, lane.y, lane.x + lane.w, lane.y + lane.h)
    return Box(-math.inf, -math.inf, math.inf, math.inf)


def _place(text: str, end: tuple[float, float], lines: Iterable[float], around: Box, taken: _Taken) -> Label | None:
    """The first free place: to the right of the edge, to its left, then on the next line."""
    wide = _CHAR * width(text)
    for line in lines:
        for x in (end[0] + _BESIDE, end[0] - _BESIDE - wide):
            box = Box(x, end[1] + line - _ABOVE, x + wide, end[1] + line + _BELOW)
            inside = around.left <= box.left and box.right <= around.right and box.bottom <= around.bottom
            if inside and taken.free(box):
                taken.take(box)
                return Label(x, end[1] + line, text)
    return None
