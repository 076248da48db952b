"""A :class:`~pwlab.viz.compare.Comparison` in words: as text for a terminal, and as a sentence::

                                gpipe      1f1b
    policy                       fifo      fifo
    dispatch                 parallel  parallel
    wall without compiling     405 ms    394 ms  noise
    most memory of a device   11.5 MB  ✓ 4.5 MB   −61%

Below it stand both timelines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..observe import ClientMeasure
from .compare import Comparison
from .format import count_text, one_line, percent, seconds_text, width
from .timeline_text import timeline_text

#: Beside the better of two.
BETTER = "✓"
#: Clients in the table; of more, the first.
MOST_CLIENTS = 16
#: What is told of each client.
CLIENT_HEADS = ("asked", "got", "device time", "ended at")


def compare_text(both: Comparison, columns: int = 100) -> str:
    """The comparison for a terminal: the figures, the clients if there are several, one timeline above the other."""
    lines = [*(one_line(line, columns) for line in both.doubts), *_figures(both, columns)]
    if both.clients:
        lines += ["", *_clients(both, columns)]
    if marks := about_marks(both):
        lines += ["", *(one_line(line, columns) for line in marks)]
    for picture, how in zip((both.a, both.b), both.settings, strict=True):
        title = f"{picture.title}  ({how})" if str(how) else picture.title
        lines += ["", one_line(title, columns), timeline_text(picture, columns, head=False)]
    return "\n".join(lines)


def describe_comparison(both: Comparison) -> str:
    """The comparison in one sentence."""
    told = "; ".join(f"{row.name} {row.texts[0]} against {row.texts[1]}" for row in both.figures)
    doubts = "".join(f" {line}." for line in both.doubts)
    return f"{both.a.title} against {both.b.title}, on one time axis: {told}.{doubts}"


def about_marks(both: Comparison) -> list[str]:
    """What the marks of the table mean, as far as they occur."""
    told: list[str] = []
    if any(row.better for row in both.figures):
        told.append(f"{BETTER} the better of the two")
    if any(row.change == "noise" for row in both.figures):
        told.append(f"noise: less than {seconds_text(both.noise)}, as equal launches differ by, or than a twentieth")
    return told


class Line(NamedTuple):
    """A line of the table: both sides, how the second stands to the first, and which is better, as in a figure."""

    name: str
    a: str
    b: str
    change: str = ""
    better: int = 0


def table_lines(both: Comparison) -> list[Line]:
    """The settings of both sides where they are known, then the figures, marked."""
    one, other = both.settings
    lines = [Line("policy", one.policy, other.policy), Line("dispatch", one.dispatch, other.dispatch)]
    lines = [line for line in lines if line.a or line.b]
    for row in both.figures:
        a, b = (
            f"{BETTER} {text}" if row.better == side else text for text, side in zip(row.texts, (-1, 1), strict=True)
        )
        lines.append(Line(row.name, a, b, row.change, row.better))
    return lines


def client_cells(client: ClientMeasure | None) -> tuple[str, ...]:
    """What :data:`CLIENT_HEADS` name; of a client that was not there, dashes."""
    if client is None:
        return ("–",) * len(CLIENT_HEADS)
    return percent(client.asked), percent(client.got), seconds_text(client.device_seconds), seconds_text(client.end)


# --- inside -----------------------------------------------------------------------------------


def _figures(both: Comparison, columns: int) -> list[str]:
    room = max(12, (columns - 42) // 2)
    lines = [Line("", both.a.title, both.b.title), *table_lines(both)]
    cut = [(line.name, one_line(line.a, room), one_line(line.b, room), line.change) for line in lines]
    wide = [max(map(width, column)) for column in zip(*cut, strict=True)]
    return [
        f"{name:{wide[0]}}  {_right(a, wide[1])}  {_right(b, wide[2])}  {_right(change, wide[3])}".rstrip()
        for name, a, b, change in cut
    ]


def _clients(both: Comparison, columns: int) -> list[str]:
    """A line a client, and in it for each head both sides."""
    room = 6 if columns < 100 else 10
    titles = one_line(both.a.title, room), one_line(both.b.title, room)
    rows: list[tuple[str, list[tuple[str, str]]]] = [("client", [titles] * len(CLIENT_HEADS))]
    for name, a, b in both.clients[:MOST_CLIENTS]:
        rows.append((one_line(name, 12), list(zip(client_cells(a), client_cells(b), strict=True))))
    left = max(width(name) for name, _ in rows)
    wide = [
        max(len(CLIENT_HEADS[i]) // 2, *(width(text) for _, pairs in rows for text in pairs[i]))
        for i in range(len(CLIENT_HEADS))
    ]
    heads = "".join(f"  {head:^{2 * w + 1}}" for head, w in zip(CLIENT_HEADS, wide, strict=True))
    lines = [f"{'':{left}}{heads}".rstrip()]
    for name, pairs in rows:
        cells = "".join(f"  {_right(a, w)} {_right(b, w)}" for (a, b), w in zip(pairs, wide, strict=True))
        lines.append(name + " " * (left - width(name)) + cells)
    rest: Sequence[object] = both.clients[MOST_CLIENTS:]
    return [*lines, f"and {count_text(len(rest), 'client')} more"] if rest else lines


def _right(text: str, columns: int) -> str:
    return " " * max(0, columns - width(text)) + text
