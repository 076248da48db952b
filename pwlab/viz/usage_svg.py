"""Utilisation, memory and clients as SVG: what the dashboard's three tabs of numbers show, for where nothing runs.

Like the other pictures these bring their own background and both themes, tell parts apart by pattern as well as by
colour, and escape every name.  They draw a :class:`~pwlab.observe.UsageView`, as the live tabs do.
"""

from __future__ import annotations

import zlib

from ..observe import MemoryRow, Part, RunModel, Spent, UsageView
from ..units import bytes_text
from .clients_svg import clients
from .format import count_text, one_line, percent, seconds_text
from .palette import PART_MARKS
from .usage import SUBJECTS, Subject, grouped, usage_words
from .usage_page import LEFT, WIDTH, Page, px

#: Pixels that figures have at the right.
RIGHT = 190.0
#: Islands with a chart, and bars or rows of a picture.
MOST_CHARTS, MOST_ROWS = 8, 40


def usage_svg(view: UsageView, model: RunModel, subject: Subject) -> str:
    """One subject as an ``<svg>`` element that stands alone and may also be put inline."""
    prefix = f"pu{zlib.crc32(repr((view, subject)).encode('utf-8', 'replace')):08x}"
    page = Page(prefix)
    if subject == "clients":
        clients(page, view, model)
    else:
        (_memory if subject == "memory" else _utilisation)(page, view)
    return page.svg(SUBJECTS[subject], usage_words(view, subject))


def _utilisation(page: Page, view: UsageView) -> None:
    page.heading("Utilisation over time", f"{seconds_text(view.seconds)} in which a program ran")
    x = 16.0
    for part in Part:
        page.bar(x, 11, [(1, f"p{int(part)}", PART_MARKS[part])])
        page.text(x + 16, page.y + 10, part.words, "mu")
        x += 34 + 6.2 * len(part.words)
    page.y += 22
    wide = WIDTH - 32
    for island in view.specs[:MOST_CHARTS]:
        rows = view.over.get(island.id, ())
        layers = [(row, f"p{i}", PART_MARKS[i]) for i, row in enumerate(rows)]
        name = f"{one_line(island.name, 24)}, computing {percent(view.islands[island.id].share(Part.COMPUTING))}"
        page.text(16, page.y + 11, name, "b")
        page.y += 16
        page.areas(layers, 16, wide, 56, view.step * len(island.devices))
        page.y += 58
        page.axis(16, wide, view.seconds)
    page.heading("Each device and client", "computing, then the idle time by what it was spent on")
    for island in view.specs:
        _bar(page, one_line(island.name, 18), view.islands[island.id], "b")
        for device in island.devices[:MOST_ROWS]:
            _bar(page, f"device {device}", view.devices[device])
        if len(island.devices) > MOST_ROWS:
            page.text(16, page.y + 10, f"and {count_text(len(island.devices) - MOST_ROWS, 'device')} more", "mu")
            page.y += 18
    whole = sum(spent.whole for spent in view.devices.values())
    for row in view.clients[:MOST_ROWS]:
        rest = max(0.0, whole - sum(row.spent.parts))
        _bar(page, f"client {one_line(row.name, 12)}", Spent((*row.spent.parts, rest)))


def _bar(page: Page, name: str, spent: Spent, kind: str = "") -> None:
    page.text(16, page.y + 10, name, kind)
    pieces = [(spent.share(part), f"p{int(part)}", PART_MARKS[part]) for part in Part]
    page.bar(LEFT, WIDTH - LEFT - 76, pieces)
    page.text(WIDTH - 16, page.y + 10, percent(spent.share(Part.COMPUTING)), "b", "end")
    page.y += 18


def _memory(page: Page, view: UsageView) -> None:
    page.heading("Bytes on each device, over time", "the dashed line is what it may hold")
    wide = WIDTH - LEFT - RIGHT
    rows = grouped(view.memory)
    most = max([1, *(max(row.peak, row.capacity or 0) for row in rows)])
    for island in view.specs:
        page.text(16, page.y + 10, one_line(island.name, 24), "b")
        page.y += 16
        for row in [row for row in rows if row.island == island.id][:MOST_ROWS]:
            _room(page, row, wide, most)
    page.axis(LEFT, wide, view.seconds)


def _room(page: Page, row: MemoryRow, wide: float, most: int) -> None:
    full = row.capacity is not None and row.bytes > 0.9 * row.capacity
    page.text(16, page.y + 20, row.name)
    right = f"{bytes_text(row.bytes)}{f' · {percent(row.bytes / row.capacity)}' if row.capacity else ''}"
    page.text(WIDTH - 16, page.y + 13, right, "b", "end")
    limit = "no limit" if row.capacity is None else f"of {bytes_text(row.capacity)}"
    page.text(WIDTH - 16, page.y + 28, f"{limit}, most {bytes_text(row.peak)}", "mu", "end")
    low = page.y + 32
    if row.capacity is not None:
        at = low - 30 * row.capacity / most
        page.parts.append(f'<path class="cap" d="M{px(LEFT)} {px(at)}h{px(wide)}"/>')
    page.areas([(row.series, "full" if full else "room", "")], LEFT, wide, 32, most * 32 / 30)
    page.y += 40
