"""A :class:`~pwlab.viz.timeline.TimelinePicture` as text, for a terminal::

                     0        2.00 ms   4.00 ms   6.00 ms
    host  clients, controller, compilation and waits
      programs       ────────────────────────────────────
      controller     ░·░·····░·························░·    0.31 ms
      waits                   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒    8.01 ms
    island0  4 × cpu
      device 0       AAAAAA≈CCCCCCCC·····················     42%
    A load  B augment  C train

Each column shows what took most of its time.  A letter stands for a computation, the same on every row.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace

from ..events import NodeState
from ..observe import SpanKind
from .axis import Axis
from .format import count_text, one_line, percent, seconds_text, width
from .timeline import Box, TimelinePicture, totals_text

#: Signs of the palette, in its order.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_SIGNS = {
    SpanKind.TRANSFER: "≈",
    SpanKind.WAIT: "▒",
    SpanKind.COMPILE: "▓",
    SpanKind.CONTROL: "░",
    SpanKind.PROGRAM: "─",
}
_WORDS = {
    SpanKind.TRANSFER: "transfer",
    SpanKind.CONTROL: "controller",
    SpanKind.COMPILE: "compiling",
    SpanKind.WAIT: "waited",
}
_IDLE = "·"


def timeline_text(picture: TimelinePicture, columns: int = 100, head: bool = True) -> str:
    """The timeline in lines of at most ``columns``; without ``head``, its rows alone."""
    labels = [f"  {row.label}" for row in picture.rows]
    left = min(max(map(width, [*labels, ""])) + 2, 24)
    right = 10
    cells = max(10, columns - left - right)
    lines: list[str] = []
    if head:
        lines += [one_line(picture.title, columns), *_wrapped(totals_text(picture.totals), columns)]
        if picture.note:
            lines += textwrap.wrap(f"({one_line(picture.note, 500)})", columns)
    if not picture.boxes:
        return "\n".join(lines if lines and picture.note else [*lines, picture.note or "nothing has run yet"])
    letters = letters_of(picture)
    axis = replace(picture.axis, gap=2 / cells)
    lines.append(" " * left + axis_text(axis, cells, cells + right))
    rows: dict[int, list[Box]] = {}
    for box in picture.boxes:
        for row in range(box.row, box.row + box.rows):
            rows.setdefault(row, []).append(box)
    for band in picture.bands:
        name = one_line(band.name, columns)
        lines.append(f"{name}  {one_line(band.about, max(8, columns - width(name) - 2))}".rstrip())
        for number in range(band.first, band.first + band.rows):
            row = picture.rows[number]
            strip = row_text(rows.get(number, []), axis, cells, letters)
            total = row.about if row.share is None else percent(row.share)
            label = one_line(labels[number].strip(), left - 3)
            lines.append(f"  {label}{' ' * (left - 2 - width(label))}{strip} {one_line(total, 9):>9}".rstrip())
    lines += _wrapped(legend_text(picture, letters), columns, "  ")
    return "\n".join(lines)


def letters_of(picture: TimelinePicture) -> dict[int, str]:
    """A letter for each colour, in the order of the legend; colours that several names share, share it."""
    found: dict[int, str] = {}
    for key in picture.keys:
        if key.colour >= 0 and key.colour not in found:
            found[key.colour] = LETTERS[len(found) % len(LETTERS)]
    return found


def legend_text(picture: TimelinePicture, letters: dict[int, str]) -> list[str]:
    """``A train 12.0 ms``, and what the other signs mean where they occur."""
    parts = [
        f"{letters.get(key.colour, '?')} {one_line(key.name, 24)} {seconds_text(key.seconds)}" for key in picture.keys
    ]
    kinds = {box.kind for box in picture.boxes}
    for kind, word in _WORDS.items():
        if kind in kinds:
            parts.append(f"{_SIGNS[kind]} {word}")
    if any(box.state is NodeState.FAILED for box in picture.boxes):
        parts.append("✗ failed")
    parts += [f"┊ {seconds_text(seconds)} cut" for _, _, seconds in picture.axis.breaks()[:2]]
    if (more := len(picture.axis.breaks()) - 2) > 0:
        parts.append(f"and {count_text(more, 'other pause')}")
    return parts


def axis_text(axis: Axis, cells: int, columns: int) -> str:
    """The labels of the axis, each beginning where its time is: as many as there is room for in ``columns``."""
    line = ""
    for about in range(cells // 6, 0, -1):
        ticks, line, left_out = axis.ticks(about), "", 0
        for at, text in ticks:
            column = round(at * cells)
            if column < len(line) + (2 if line else 0) or column + len(text) > columns:
                left_out += 1
            else:
                line += " " * (column - len(line)) + text
        # Beside a break two times may stand close together, however few there are.
        if left_out <= len(axis.breaks()):
            break
    return line


def row_text(boxes: list[Box], axis: Axis, cells: int, letters: dict[int, str]) -> str:
    """One row: in each cell the sign of what took most of it."""
    times: list[dict[str, float]] = [{} for _ in range(cells)]
    failed: set[int] = set()
    for box in boxes:
        low, high = axis.place(box.start) * cells, axis.place(box.end) * cells
        first = min(int(low), cells - 1)
        last = min(max(first, int(high) if high > int(high) else int(high) - 1), cells - 1)
        sign = _SIGNS.get(box.kind) or letters.get(box.colour, "?")
        for cell in range(first, last + 1):
            # What is very short still shows where nothing else is.
            part = max(1e-6, min(high, cell + 1) - max(low, cell))
            times[cell][sign] = times[cell].get(sign, 0.0) + part
        if box.state is NodeState.FAILED and box.kind is not SpanKind.PROGRAM:
            failed.add(last)
    out = [max(held, key=lambda sign: held[sign]) if held else _IDLE for held in times]
    for cell in failed:
        out[cell] = "✗"
    for start, end, _ in axis.breaks():
        for cell in range(round(start * cells), max(round(start * cells) + 1, round(end * cells))):
            if cell < cells and out[cell] == _IDLE:
                out[cell] = "┊"
    return "".join(out)


def _wrapped(parts: list[str], columns: int, between: str = " · ") -> list[str]:
    lines: list[str] = []
    line = ""
    for part in parts:
        if line and width(line) + len(between) + width(part) > columns:
            lines.append(line)
            line = part
        else:
            line = line + between + part if line else part
    return [*lines, line] if line else lines
