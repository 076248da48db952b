"""Utilisation, memory and clients as SVG: what the dashboard's three tabs of numbers show, for where nothing runs.

Like the other pictures these bring their own background and both themes, tell parts apart by pattern as well as by
colour, and escape every name.  They draw a :class:`~pwlab.observe.UsageView`, as the live tabs do.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from ..observe import ClientRow, MemoryRow, Part, RunModel, Spent, UsageView
from ..units import bytes_text
from .format import count_text, escape, one_line, percent, seconds_text
from .palette import BOX_MARKS, DARK, HUES, LIGHT, PART_MARKS, Colours, Mark, Palette
from .svg_style import for_both_themes
from .usage import SUBJECTS, Subject, grouped, sliding, usage_words

#: Pixels: the whole, names at the left, figures at the right.
WIDTH, LEFT, RIGHT = 1060.0, 140.0, 190.0
#: Islands with a chart, and bars or rows of a picture.
MOST_CHARTS, MOST_ROWS = 8, 40

_PAPERS = {"light": ("#ffffff", "#d9dee5", "#1c2430", "#5f6978", "#d5dce6", "#1f6feb"),
           "dark": ("#14171d", "#2d333d", "#e6eaf0", "#a0aab8", "#333b47", "#6cb0ff")}  # fmt: skip
_SHAPE = (
    '.pw-use text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;'
    "font-size:11.5px;font-variant-numeric:tabular-nums}.pw-use .h1{font-size:15px;font-weight:600}"
    ".pw-use .b{font-weight:600}.pw-use .cap{stroke-width:1.2;stroke-dasharray:5 4}"
)


def _rules(palette: Palette, paper: str, host: str = "") -> str:
    at = f"{host} .pw-use " if host else ".pw-use "
    bg, rim, text, muted, line, accent = _PAPERS[paper]
    rules = [
        f".bg{{fill:{bg};stroke:{rim}}}",
        f"text{{fill:{text}}}",
        f".mu{{fill:{muted}}}",
        f".line{{fill:{line}}}",
        f".room{{fill:{accent}}}",
        f".full{{fill:{palette.failed}}}",
        f".cap{{stroke:{text}}}",
        f".ms{{stroke:{bg};fill:none}}",
        f".mf{{fill:{bg}}}",
        *(f".p{i}{{fill:{colour}}}" for i, colour in enumerate(palette.parts)),
        *(f".c{i}{{fill:{tone.line}}}" for i, tone in enumerate(palette.hues)),
    ]
    return "".join(at + rule for rule in rules)


@cache
def _style() -> str:
    return _SHAPE + for_both_themes(partial(_rules, LIGHT, "light"), partial(_rules, DARK, "dark"))


@dataclass(slots=True)
class _Page:
    """A picture that grows downwards."""

    prefix: str
    y: float = 16.0
    parts: list[str] = field(default_factory=list[str])

    def text(self, x: float, y: float, words: str, kind: str = "", end: bool = False) -> None:
        anchor = ' text-anchor="end"' if end else ""
        self.parts.append(f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}"{anchor}>{escape(words)}</text>')

    def heading(self, words: str, about: str) -> None:
        self.text(16, self.y + 14, words, "h1")
        self.text(16, self.y + 32, about, "mu")
        self.y += 44

    def shape(self, kind: str, mark: str, path: str) -> None:
        """A filled path, with its mark over it."""
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')
            if mark:
                self.parts.append(f'<path fill="url(#{self.prefix}{mark})" d="{path}"/>')

    def bar(self, x: float, wide: float, pieces: Iterable[tuple[float, str, str]]) -> None:
        """Pieces side by side: share of the width, class and mark."""
        for share, kind, mark in pieces:
            if share > 0.001:
                self.shape(kind, mark, f"M{_n(x)} {_n(self.y)}h{_n(share * wide)}v11h{_n(-share * wide)}z")
            x += share * wide

    def axis(self, x: float, wide: float, seconds: float) -> None:
        for i in range(5):
            at = x + wide * i / 4
            self.text(
                at - (12 if i == 4 else 0), self.y + 12, seconds_text(seconds * i / 4) if i else "0", "mu", i == 4
            )
        self.y += 22

    def svg(self, title: str, words: str) -> str:
        marks = "".join(_pattern(self.prefix + name, mark) for name, mark in BOX_MARKS.items())
        tall = self.y + 10
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-use" role="img" width="{_n(WIDTH)}" '
            f'height="{_n(tall)}" viewBox="0 0 {_n(WIDTH)} {_n(tall)}" aria-labelledby="{self.prefix}t {self.prefix}d">'
            f'<title id="{self.prefix}t">{escape(title)}</title><desc id="{self.prefix}d">{escape(words)}</desc>'
            f"<style>{_style()}</style><defs>{marks}</defs>"
            f'<rect class="bg" x="0.5" y="0.5" width="{_n(WIDTH - 1)}" height="{_n(tall - 1)}" rx="10"/>'
            f"{''.join(self.parts)}</svg>"
        )


def _pattern(key: str, mark: Mark) -> str:
    """A pattern in the colour of the paper."""
    kind, drawn = ("ms", f' stroke-width="{mark.stroke:g}"') if mark.stroke else ("mf", "")
    return (
        f'<pattern id="{key}" width="{mark.size}" height="{mark.size}" patternUnits="userSpaceOnUse">'
        f'<path class="{kind}" opacity="{mark.opacity:g}" d="{mark.path}"{drawn}/></pattern>'
    )


def usage_svg(view: UsageView, model: RunModel, subject: Subject) -> str:
    """One subject as an ``<svg>`` element that stands alone and may also be put inline.

    Clients have the colours that the timeline gives them, which follow the order of the model's programs.
    """
    prefix = f"pu{zlib.crc32(repr((view, subject)).encode('utf-8', 'replace')):08x}"
    page = _Page(prefix)
    if subject == "clients":
        _clients(page, view, Colours(program.client for program in model.programs.values()))
    else:
        (_memory if subject == "memory" else _utilisation)(page, view)
    return page.svg(SUBJECTS[subject], usage_words(view, subject))


def _utilisation(page: _Page, view: UsageView) -> None:
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
        _areas(page, layers, 16, wide, 56, view.step * len(island.devices))
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


def _bar(page: _Page, name: str, spent: Spent, kind: str = "") -> None:
    page.text(16, page.y + 10, name, kind)
    pieces = [(spent.share(part), f"p{int(part)}", PART_MARKS[part]) for part in Part]
    page.bar(LEFT, WIDTH - LEFT - 76, pieces)
    page.text(WIDTH - 16, page.y + 10, percent(spent.share(Part.COMPUTING)), "b", True)
    page.y += 18


def _memory(page: _Page, view: UsageView) -> None:
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


def _room(page: _Page, row: MemoryRow, wide: float, most: int) -> None:
    full = row.capacity is not None and row.bytes > 0.9 * row.capacity
    page.text(16, page.y + 20, row.name)
    right = f"{bytes_text(row.bytes)}{f' · {percent(row.bytes / row.capacity)}' if row.capacity else ''}"
    page.text(WIDTH - 16, page.y + 13, right, "b", True)
    limit = "no limit" if row.capacity is None else f"of {bytes_text(row.capacity)}"
    page.text(WIDTH - 16, page.y + 28, f"{limit}, most {bytes_text(row.peak)}", "mu", True)
    low = page.y + 32
    if row.capacity is not None:
        at = low - 30 * row.capacity / most
        page.parts.append(f'<path class="cap" d="M{_n(LEFT)} {_n(at)}h{_n(wide)}"/>')
    _areas(page, [(row.series, "full" if full else "room", "")], LEFT, wide, 32, most * 32 / 30)
    page.y += 6


def _clients(page: _Page, view: UsageView, colours: Colours) -> None:
    order: list[ClientRow] = sorted(view.clients, key=lambda row: [*colours.of, row.name].index(row.name))
    rows, window = sliding(
        [view.by_client.get(row.name, ()) for row in order], len(next(iter(view.by_client.values()), ()))
    )
    about = (
        f"parts of the device time in a window of {seconds_text(window * view.step)}; dashed: as the shares asked for"
    )
    page.heading("Who got the devices, over time", about)
    layers = [(part, *_client_fill(colours, row.name)) for part, row in zip(rows, order, strict=True)]
    top, wide, asked = page.y, WIDTH - 32, 0.0
    _areas(page, layers, 16, wide, 120, 1.0)
    shares = sum(row.share for row in order if row.launches)
    for row in order:
        asked += row.share / shares if row.launches else 0.0
        if row.launches and asked < 0.999:
            page.parts.append(f'<path class="cap" d="M16 {_n(top + 120 * (1 - asked))}h{_n(wide)}"/>')
    page.axis(16, wide, view.seconds)
    half = (WIDTH - LEFT - 150) / 2
    page.text(LEFT, page.y + 10, "share asked", "mu")
    page.text(LEFT + half + 60, page.y + 10, "share got", "mu")
    page.y += 18
    for row in view.clients[:MOST_ROWS]:
        page.text(16, page.y + 10, one_line(row.name, 16))
        page.bar(LEFT, half, [(row.asked, "mu", "")])
        page.text(LEFT + half + 8, page.y + 10, percent(row.asked))
        page.bar(LEFT + half + 60, half, [(row.got, *_client_fill(colours, row.name))])
        page.text(WIDTH - 16, page.y + 10, percent(row.got), "b", True)
        page.y += 18


def _client_fill(colours: Colours, name: str) -> tuple[str, str]:
    key = colours.add(name)
    return f"c{key % HUES}", ("", "stripes", "dots")[key // HUES]


def _areas(
    page: _Page, layers: Sequence[tuple[Sequence[float], str, str]], x: float, wide: float, tall: float, top: float
) -> None:
    """Layers on top of each other, a step a bin; ``top`` is what is ``tall`` pixels high."""
    low = page.y + tall
    page.parts.append(f'<rect class="line" x="{_n(x)}" y="{_n(low)}" width="{_n(wide)}" height="1"/>')
    bins = max((len(values) for values, _, _ in layers), default=0)
    floor = [0.0] * bins
    for values, kind, mark in layers:
        path: list[str] = []
        start = 0
        while start < bins:
            value, under = (values[start] if start < len(values) else 0.0), floor[start]
            end = start
            # Bins alike are one box.
            while end < bins and floor[end] == under and (values[end] if end < len(values) else 0.0) == value:
                floor[end] += value
                end += 1
            if value > 0:
                at, across, high = x + wide * start / bins, wide * (end - start) / bins, tall * value / top
                path.append(f"M{_n(at)} {_n(low - tall * under / top)}v{_n(-high)}h{_n(across)}v{_n(high)}z")
            start = end
        page.shape(kind, mark, "".join(path))
    page.y += tall + 2


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
