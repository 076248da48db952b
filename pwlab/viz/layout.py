"""Where the rectangles of a graph stand: rows, order in a row, place in a lane.

Four steps, each simple enough to be written again in JavaScript:

1. *Rows*: a node's row is the longest path that leads to it, so edges go down;
   where its lane is full there, the first row below in which it has room, so
   that many parallel nodes make a block and not a line.
2. *Bends*: an edge that skips rows gets a narrow item in each row between, so
   it is drawn around the nodes there; edges of one source share them.  Where
   that would add more items than there are nodes, long edges stay straight.
3. *Order*: a few sweeps, down and up, sort each row of each lane by the mean
   place of its neighbours (Sugiyama's barycentre); ties keep their order.
4. *Places*: sweeps move each row of a lane as near to its neighbours' middles
   as order and gaps allow, which is least squares with pooled violators; then
   the bends of an edge are put below each other where there is room.

Lanes stand side by side and never mix.  Equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

#: Pixels between neighbours in a row, and around lanes.
GAP = 14.0
#: Pixels between rows, where edges bend.
ROW_GAP = 30.0
#: Room above the first row for the names of island and slice.
BAND_HEAD, LANE_HEAD = 30.0, 30.0
#: Room between islands.
ISLAND_GAP = 22.0

_BEND = 8.0

#: All lanes together are about so wide at most, and each is at least so wide, before rows are broken.
_MOST_WIDE, _LEAST_WIDE = 1650.0, 520.0
#: No item of a picture is narrower.
_NARROWEST = 96.0


class Item(NamedTuple):
    """What is to be placed, given in topological order."""

    lane: int
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Placed:
    """The result, in pixels."""

    #: Top left corner of each item.
    at: list[tuple[float, float]]
    #: Points of each edge, top to bottom.
    paths: dict[tuple[int, int], tuple[tuple[float, float], ...]]
    #: Left side and width of each lane.
    lanes: list[tuple[float, float]]
    #: Top of the lanes, below the head of the bands.
    top: float
    width: float
    height: float


def _total(numbers: Iterable[float]) -> float:
    """The sum, added one by one as JavaScript does; ``sum`` of Python 3.12 rounds better, and so differently."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def place(items: list[Item], edges: list[tuple[int, int]], lane_widths: list[float], lane_gaps: list[int]) -> Placed:
    """Places ``items``; each edge leads from a smaller to a greater index.

    ``lane_widths`` is the least width of each lane; ``lane_gaps`` is 1 where an island begins.
    """
    rows = _rows(items, edges, len(lane_widths))
    lanes = [item.lane for item in items]
    widths = [item.w for item in items]
    chains = _bend(rows, lanes, widths, edges)
    cells = _cells(rows, lanes, len(lane_widths))
    up: list[list[int]] = [[] for _ in rows]
    down: list[list[int]] = [[] for _ in rows]
    for a, b in dict.fromkeys(pair for chain in chains.values() for pair in pairwise(chain)):
        up[b].append(a)
        down[a].append(b)

    lefts, lane_w = _lanes(cells, widths, lane_widths, lane_gaps)
    middle = [0.0] * len(rows)
    for row in cells:
        _spread(row, widths, middle, lefts, lane_w)
    for sweep in range(4):
        near = up if sweep % 2 == 0 else down
        _sweep(cells, near, sweep % 2 == 1, widths, middle, lefts, lane_w, sort=True)
    for row in cells:
        _spread(row, widths, middle, lefts, lane_w)
    # Only neighbours in the same lane pull now; else all that is sent across would stick to its lane's side.
    # Bends pull hard, which keeps long edges straight.
    up, down = (_weighted(near, lanes, len(items)) for near in (up, down))
    both = [a + b for a, b in zip(up, down, strict=True)]
    for sweep, near in enumerate((up, down, both, both, both, both)):
        _sweep(cells, near, sweep % 2 == 1, widths, middle, lefts, lane_w, sort=False)
    _straighten(chains.values(), cells, widths, middle, lefts, lane_w, lanes, len(items))

    tops, heights = _tops(items, rows, len(cells))
    top = BAND_HEAD
    end = (tops[-1] + heights[-1] if tops else top + LANE_HEAD) + GAP + GAP
    at = [(middle[i] - item.w / 2, tops[rows[i]] + (heights[rows[i]] - item.h) / 2) for i, item in enumerate(items)]
    paths = {edge: _path(chain, items, rows, middle, tops, heights, len(items)) for edge, chain in chains.items()}
    last = lefts[-1] + lane_w[-1] + GAP if lefts else 200.0
    return Placed(at, paths, list(zip(lefts, lane_w, strict=True)), top, last, end)


# --- rows ------------------------------------------------------------------------


def _rows(items: list[Item], edges: list[tuple[int, int]], lane_count: int) -> list[int]:
    limit = max(_LEAST_WIDE, _MOST_WIDE / max(1, lane_count))
    row = [0] * len(items)
    taken: list[dict[int, float]] = [{} for _ in range(lane_count)]
    full: list[dict[int, int]] = [{} for _ in range(lane_count)]
    ordered = sorted(edges)
    at = 0
    for i, (lane, w, _) in enumerate(items):
        used = taken[lane]
        to = _past(full[lane], row[i])
        while to in used and used[to] + w > limit:
            to = _past(full[lane], to + 1)
        row[i] = to
        used[to] = used.get(to, 0.0) + w + GAP
        if used[to] + _NARROWEST > limit:
            full[lane][to] = to + 1
        # Sources in order: when an item's edges are followed, its own row is final.
        while at < len(ordered) and ordered[at][0] == i:
            row[ordered[at][1]] = max(row[ordered[at][1]], to + 1)
            at += 1
    return row


def _past(full: dict[int, int], row: int) -> int:
    """The first row from ``row`` on that is not full; each full one is told where that is."""
    end = row
    while end in full:
        end = full[end]
    while row in full:
        full[row], row = end, full[row]
    return end


def _bend(
    rows: list[int], lanes: list[int], widths: list[float], edges: list[tuple[int, int]]
) -> dict[tuple[int, int], list[int]]:
    """Adds bends to the three lists; gives each edge's way as items and bends."""
    budget = max(64, len(rows))
    shared: dict[tuple[int, int, int], int] = {}
    chains: dict[tuple[int, int], list[int]] = {}
    # Short edges first: they gain most for the bends they take.
    for a, b in sorted(edges, key=lambda e: (rows[e[1]] - rows[e[0]], e)):
        chain = [a]
        if rows[b] - rows[a] - 1 <= budget:
            for row in range(rows[a] + 1, rows[b]):
                key = (a, lanes[b], row)
                if key not in shared:
                    shared[key] = len(rows)
                    rows.append(row)
                    lanes.append(lanes[b])
                    widths.append(_BEND)
                    budget -= 1
                chain.append(shared[key])
        chains[a, b] = [*chain, b]
    return {edge: chains[edge] for edge in edges}


def _cells(rows: list[int], lanes: list[int], lane_count: int) -> list[list[list[int]]]:
    """Items by row and lane."""
    cells: list[list[list[int]]] = [[[] for _ in range(lane_count)] for _ in range(max(rows, default=-1) + 1)]
    for i, row in enumerate(rows):
        cells[row][lanes[i]].append(i)
    return cells


# --- places ---------------------------------------------------------------------------


def _lanes(
    cells: list[list[list[int]]], widths: list[float], least: list[float], gaps: list[int]
) -> tuple[list[float], list[float]]:
    wide = list(least)
    for row in cells:
        for lane, cell in enumerate(row):
            if cell:
                wide[lane] = max(wide[lane], _total(widths[i] + GAP for i in cell) + GAP)
    lefts: list[float] = []
    x = GAP
    for w, gap in zip(wide, gaps, strict=True):
        x += gap * (ISLAND_GAP + GAP)
        lefts.append(x)
        x += w + GAP
    return lefts, wide


def _spread(
    row: list[list[int]], widths: list[float], middle: list[float], lefts: list[float], wide: list[float]
) -> None:
    """Stands the items of each lane side by side, in the middle of the lane."""
    for lane, cell in enumerate(row):
        x = lefts[lane] + (wide[lane] - _total(widths[i] + GAP for i in cell) + GAP) / 2
        for i in cell:
            middle[i] = x + widths[i] / 2
            x += widths[i] + GAP


def _sweep(
    cells: list[list[list[int]]],
    near: list[list[int]],
    upwards: bool,
    widths: list[float],
    middle: list[float],
    lefts: list[float],
    wide: list[float],
    *,
    sort: bool,
) -> None:
    for row in reversed(cells) if upwards else cells:
        for lane, cell in enumerate(row):
            if not cell:
                continue
            wish = {i: _total(middle[j] for j in near[i]) / len(near[i]) if near[i] else middle[i] for i in cell}
            if sort:
                cell.sort(key=wish.__getitem__)
            _settle(cell, wish, widths, middle, lefts[lane] + GAP, lefts[lane] + wide[lane] - GAP)


def _weighted(near: list[list[int]], lanes: list[int], real: int) -> list[list[int]]:
    """Neighbours in the same lane, each as often as it shall count."""
    return [
        [
            j
            for j in ns
            if lanes[j] == lanes[i]
            for _ in range(6 if i >= real and j >= real else 2 if i >= real or j >= real else 1)
        ]
        for i, ns in enumerate(near)
    ]


def _settle(
    cell: list[int],
    wish: dict[int, float],
    widths: list[float],
    middle: list[float],
    left: float,
    right: float,
) -> None:
    """Moves a row's items to their wishes as nearly as order, gaps and the lane's sides allow."""
    offsets: list[float] = []
    x = 0.0
    for i in cell:
        offsets.append(x + widths[i] / 2)
        x += widths[i] + GAP
    slack = max(0.0, right - left - (x - GAP))
    # Less its offset, each place must not be below its left neighbour's: pool those that are.
    pools: list[tuple[float, int]] = []
    for i, offset in zip(cell, offsets, strict=True):
        value, size = wish[i] - offset, 1
        while pools and pools[-1][0] > value:
            other, count = pools.pop()
            value, size = (other * count + value * size) / (count + size), count + size
        pools.append((value, size))
    k = 0
    for value, size in pools:
        value = min(max(value, left), left + slack)
        for _ in range(size):
            middle[cell[k]] = value + offsets[k]
            k += 1


def _straighten(
    chains: Iterable[list[int]],
    cells: list[list[list[int]]],
    widths: list[float],
    middle: list[float],
    lefts: list[float],
    wide: list[float],
    lanes: list[int],
    real: int,
) -> None:
    """Gives bends of one edge the same place, as far down as there is room in each of their rows."""
    beside: dict[int, tuple[int | None, int | None]] = {}
    for row in cells:
        for cell in row:
            for left, i, right in zip([None, *cell], cell, [*cell[1:], None], strict=False):
                if i >= real:
                    beside[i] = (left, right)
    done: set[int] = set()
    for chain in chains:
        run: list[int] = []
        low, high = float("-inf"), float("inf")
        for i in [*(i for i in chain if i >= real and i not in done), -1]:
            if i >= 0:
                done.add(i)
                left, right = beside[i]
                near, far = lefts[lanes[i]], lefts[lanes[i]] + wide[lanes[i]]
                free = (
                    (near if left is None else middle[left] + widths[left] / 2) + GAP + _BEND / 2,
                    (far if right is None else middle[right] - widths[right] / 2) - GAP - _BEND / 2,
                )
                if max(low, free[0]) <= min(high, free[1]):
                    low, high = max(low, free[0]), min(high, free[1])
                    run.append(i)
                    continue
            if run:
                wish = _total(middle[k] for k in run) / len(run)
                for k in run:
                    middle[k] = min(max(wish, low), high)
            if i >= 0:
                run, low, high = [i], *free


def _tops(items: list[Item], rows: list[int], count: int) -> tuple[list[float], list[float]]:
    heights = [0.0] * count
    for item, row in zip(items, rows, strict=False):
        heights[row] = max(heights[row], item.h)
    tops: list[float] = []
    y = BAND_HEAD + LANE_HEAD + 6
    for height in heights:
        tops.append(y)
        y += height + ROW_GAP
    return tops, heights


def _path(
    chain: list[int],
    items: list[Item],
    rows: list[int],
    middle: list[float],
    tops: list[float],
    heights: list[float],
    real: int,
) -> tuple[tuple[float, float], ...]:
    points: list[tuple[float, float]] = []
    for k, i in enumerate(chain):
        y, height = tops[rows[i]], heights[rows[i]]
        if i >= real:
            points += [(middle[i], y), (middle[i], y + height)]
            continue
        inset = (height - items[i].h) / 2
        if k == 0:
            points += [(middle[i], y + height - inset), (middle[i], y + height)]
        else:
            points += [(middle[i], y), (middle[i], y + inset)]
    return tuple(dict.fromkeys(points))
