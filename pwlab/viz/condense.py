"""A timeline of a million launches in a picture of a thousand pixels: what cannot be told apart is drawn as one.

Launches narrower than a cell that follow each other on one row become one box, in the colour of what took most of its
time, with their count.  A failure is never melted away.  So the size of a picture is bounded by its pixels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..events import NodeState
from .axis import Axis
from .format import one_line, seconds_text
from .timeline import Box

#: Cells that one box of many covers at most, so that a busy row keeps its texture.
MOST_CELLS = 8.0


def condensed(boxes: Iterable[Box], axis: Axis, cells: float) -> list[Box]:
    """Boxes for a picture of so many cells: those too narrow to be told apart become one with their count."""
    rows: dict[tuple[int, int, int], list[Box]] = {}
    for box in boxes:
        rows.setdefault((box.row, box.lane, box.rows), []).append(box)
    out: list[Box] = []
    for held in rows.values():
        held.sort(key=lambda box: box.start)
        run: list[Box] = []
        until = 0.0
        for box in held:
            low, high = axis.place(box.start) * cells, axis.place(box.end) * cells
            if high - low >= 1.0 or box.state is NodeState.FAILED:
                out += _melted(run)
                out.append(box)
                run = []
                continue
            if run and (low - until > 0.5 or high - axis.place(run[0].start) * cells > MOST_CELLS):
                out += _melted(run)
                run = []
            run.append(box)
            until = max(until, high) if len(run) > 1 else high
        out += _melted(run)
    return sorted(out, key=lambda box: (box.row, box.lane, box.start))


def _melted(run: list[Box]) -> list[Box]:
    if len(run) < 2:
        return run
    times: dict[tuple[int, str], float] = {}
    for box in run:
        times[box.colour, box.label] = times.get((box.colour, box.label), 0.0) + box.end - box.start
    colour, label = max(times, key=lambda key: times[key])
    many = sum(box.count for box in run)
    names = "\n".join(one_line(text, 60) for _, text in sorted(times, key=lambda key: -times[key])[:6])
    start, end = run[0].start, max(box.end for box in run)
    about = f"{many} within {seconds_text(end - start)}, from {seconds_text(start)}\n{names}"
    return [replace(run[0], end=end, colour=colour, label=label, about=about, count=many, open=False)]
