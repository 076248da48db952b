"""A :class:`~pwlab.viz.timeline.TimelinePicture` as SVG: one string, no scripts, nothing fetched.

Like the graph it brings its own background and both themes, tells kinds apart by pattern as well as by colour, and
escapes every name.  Boxes too narrow to be told apart are drawn as one, so a million launches give as large a file
as a few thousand.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from ..events import Link, NodeState
from ..observe import SpanKind
from .condense import condensed
from .format import count_text, escape, one_line, percent, seconds_text, width
from .timeline import Band, Box, Key, TimelinePicture, totals_text
from .timeline_style import patterns, style

#: Pixels: whole picture, labels at the left, totals at the right.
WIDTH, LEFT, RIGHT = 1060.0, 112.0, 88.0
_PAD, _GAP = 3.0, 8.0


class _Sizes(NamedTuple):
    """Pixels: where the first band begins, a row of one lane, and each lane of a row that has several."""

    top: float
    lane: float
    of_many: float


_SIZES, _LOW = _Sizes(70.0, 20.0, 13.0), _Sizes(54.0, 16.0, 6.0)

#: What has a pattern of its own, and how the legend calls it.
_KINDS = {SpanKind.CONTROL: "controller at work", SpanKind.COMPILE: "compiling", SpanKind.WAIT: "you waited"}


def timeline_svg(picture: TimelinePicture, wide: float = WIDTH) -> str:
    """The picture as an ``<svg>`` element that stands alone and may also be put inline."""
    prefix = f"pt{zlib.crc32(repr(picture).encode('utf-8', 'replace')):08x}"
    body, tall = panel(picture, prefix, wide)
    legend, legend_h = key_rows(picture.keys, picture, wide, prefix)
    whole = tall + legend_h + 10
    return (
        f"{opening(prefix, wide, whole, picture.title, describe_timeline(picture))}{body}"
        f'<g transform="translate(0 {_n(tall)})">{legend}</g></svg>'
    )


def opening(prefix: str, wide: float, tall: float, title: str, words: str) -> str:
    """The begin of an ``<svg>`` with its style, patterns and background."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-time" role="img" width="{_n(wide)}" '
        f'height="{_n(tall)}" viewBox="0 0 {_n(wide)} {_n(tall)}" aria-labelledby="{prefix}t {prefix}d">'
        f'<title id="{prefix}t">{escape(title)}</title><desc id="{prefix}d">{escape(words)}</desc>'
        f"<style>{style()}</style><defs>{patterns(prefix)}</defs>"
        f'<rect class="bg" x="0.5" y="0.5" width="{_n(wide - 1)}" height="{_n(tall - 1)}" rx="10"/>'
    )


def describe_timeline(picture: TimelinePicture) -> str:
    """The picture in one sentence, for those who do not see it."""
    islands = ", ".join(band.name for band in picture.bands[1:])
    text = f"Timeline of {picture.title}: {', '.join(totals_text(picture.totals))}"
    text += f" on {islands}" if islands else ""
    return text + (f"; {picture.note}" if picture.note else "") + "."


def panel(picture: TimelinePicture, prefix: str, wide: float = WIDTH, low: bool = False) -> tuple[str, float]:
    """Heading, axis and rows; and their height.

    Args:
      low: with low rows and without totals, for where two stand one above the other.
    """
    left, across = LEFT, wide - LEFT - RIGHT
    parts = [f'<text class="h1" x="16" y="26">{escape(picture.title)}</text>']
    if not low:
        parts.append(f'<text class="mu num" x="16" y="44">{escape(" · ".join(totals_text(picture.totals)))}</text>')
    if picture.note:
        note = _label(picture.note, wide - 48 - 9 * width(picture.title))
        parts.append(f'<text class="mu" x="{_n(wide - 16)}" y="26" text-anchor="end">{note}</text>')
    sizes = _LOW if low else _SIZES
    tops, heights, y = _places(picture, sizes)
    high = sizes.top - 4
    for band in picture.bands:
        parts.append(_band(picture, band, tops, heights, wide))
    for row, top, height in zip(picture.rows, tops, heights, strict=True):
        parts.append(f'<rect class="track" x="{_n(left)}" y="{_n(top)}" width="{_n(across)}" height="{_n(height)}"/>')
        parts.append(f'<text x="{_n(left - 8)}" y="{_n(top + height / 2 + 4)}" text-anchor="end">'
                     f"{_label(row.label, left - 20)}</text>")  # fmt: skip
        parts.append(_total(row.share, row.about, wide - RIGHT + 8, top, height))
    for at, text in _spread(picture.axis.ticks(), across):
        x = left + at * across
        parts.append(f'<path class="grid" d="M{_n(x)} {_n(high - 2)}V{_n(y)}"/>')
        parts.append(f'<text class="tk num" x="{_n(x)}" y="{_n(high - 6)}" text-anchor="middle">{text}</text>')
    for start, end, seconds in picture.axis.breaks():
        parts.append(_break(left + start * across, left + end * across, high, y, seconds))
    for box in condensed(picture.boxes, picture.axis, across / 1.5):
        parts.append(_box(box, picture, prefix, tops, heights, left, across))
    for arrow in picture.arrows:
        parts.append(_arrow(arrow.source, arrow.target, arrow.start, arrow.end, arrow.link, arrow.about,
                            picture, prefix, tops, heights, left, across))  # fmt: skip
    if not picture.boxes:
        none = escape(picture.note or "nothing has run yet")
        parts.append(f'<text class="mu" x="{_n(left + 8)}" y="{_n(y - 4)}">{none}</text>')
    return "".join(parts), y + 6


def key_rows(keys: tuple[Key, ...], picture: TimelinePicture, wide: float, prefix: str) -> tuple[str, float]:
    """The legend: names with their time, and what the patterns mean, in as many lines as it takes."""
    entries: list[tuple[str, str]] = []
    for key in keys:
        text = f"{key.name} {seconds_text(key.seconds)}" + (f" ({key.launches:,})" if key.launches else "")
        entries.append((_swatch(key.colour, prefix), text))
    kinds = {box.kind for box in picture.boxes}
    for kind, text in _KINDS.items():
        if kind in kinds:
            inner = f'<rect class="f" fill="url(#{prefix}{kind.value})" x="0" y="-9" width="16" height="11" rx="2"/>'
            entries.append((f'<g class="b k-{kind.value}">{inner}</g>', text))
    for link in dict.fromkeys(box.link for box in picture.boxes if box.kind is SpanKind.TRANSFER):
        name = _link(link)
        inner = f'<path class="ar {name}" marker-end="url(#{prefix}h{name})" d="M0 -3H18"/>'
        entries.append((inner, f"{link.value if link else 'other'} transfer"))
    if any(box.state is NodeState.FAILED for box in picture.boxes):
        inner = f'<rect fill="url(#{prefix}failed)" x="0" y="-9" width="16" height="11" rx="2"/>'
        entries.append((f'<g class="b s-failed">{inner}</g>', "failed"))
    parts: list[str] = []
    x, y = 16.0, 16.0
    for sign, text in entries:
        need = 24 + 6.1 * width(text) + 16
        if x + need > wide - 16 and x > 16:
            x, y = 16.0, y + 18
        parts.append(f'<g transform="translate({_n(x)} {_n(y)})">{sign}<text class="mu num" x="22" y="1">'
                     f"{escape(text)}</text></g>")  # fmt: skip
        x += need
    return "".join(parts), y + 6 if entries else 0.0


# --- pieces ------------------------------------------------------------------------------------


def _n(number: float) -> str:
    text = f"{number:.1f}"
    return text[:-2] if text.endswith(".0") else text


def _label(text: str, room: float) -> str:
    """A label of so many pixels at most; the whole of it is its tooltip."""
    short, columns = text, min(width(text), int(room / 4) + 2)  # no character is narrower
    while columns > 1 and _pixels(short) > room:
        columns -= 1
        short = one_line(text, columns)
    return escape(short) if short == text else f"<title>{escape(text)}</title>{escape(short)}"


#: Pixels that characters take at most in the fonts of a system, in a label: those that are no common letter.
_WIDTHS = {
    **dict.fromkeys("fijlrt.,:;'|!()[] ", 4.4),
    **dict.fromkeys("<>=+~#&…", 9.4),
    **dict.fromkeys("mwMW@%", 10.8),
}


def _pixels(text: str) -> float:
    """About how wide a label is, and rather too wide: fonts differ."""
    wide = sum(_WIDTHS.get(char, 8.4 if char.isupper() else 7.0) for char in text)
    return wide + 7.0 * (width(text) - len(text))


def _places(picture: TimelinePicture, sizes: _Sizes) -> tuple[list[float], list[float], float]:
    """Top and height of each row, and where the last ends."""
    tops: list[float] = []
    heights: list[float] = []
    y = sizes.top
    for band in picture.bands:
        y += 20.0
        for row in picture.rows[band.first : band.first + band.rows]:
            height = sizes.lane if row.lanes == 1 else sizes.of_many * row.lanes + 2
            tops.append(y)
            heights.append(height)
            y += height + (0.0 if row.kind == "device" else 2.0)
        y += _PAD + _GAP
    return tops, heights, y - _GAP


def _band(picture: TimelinePicture, band: Band, tops: list[float], heights: list[float], wide: float) -> str:
    if not band.rows:
        return ""
    top = tops[band.first] - 20
    last = band.first + band.rows - 1
    tall = tops[last] + heights[last] + _PAD - top
    return (
        f'<rect class="band" x="8" y="{_n(top)}" width="{_n(wide - 16)}" height="{_n(tall)}" rx="6"/>'
        f'<text x="16" y="{_n(top + 14)}"><tspan class="h2">{escape(band.name)}</tspan>'
        f'<tspan class="mu" dx="7">{escape(band.about)}</tspan></text>'
    )


def _total(share: float | None, about: str, x: float, y: float, height: float) -> str:
    """At the right of a row: how busy the device was, or the total."""
    middle = y + height / 2
    if share is None:
        return f'<text class="mu num" x="{_n(x)}" y="{_n(middle + 4)}">{escape(about)}</text>'
    bar = f'<rect class="bar" x="{_n(x)}" y="{_n(middle - 3)}" width="{_n(max(0.8, 34 * share))}" height="6" rx="1"/>'
    return (
        f'<g><title>{escape(about)}</title><rect class="track" x="{_n(x)}" y="{_n(middle - 3)}" width="34" '
        f'height="6" rx="1"/>{bar if share else ""}<text class="mu num" x="{_n(x + 40)}" y="{_n(middle + 4)}">'
        f"{escape(percent(share))}</text></g>"
    )


def _spread(ticks: list[tuple[float, str]], across: float) -> list[tuple[float, str]]:
    """Ticks whose labels do not run into each other."""
    kept: list[tuple[float, str]] = []
    until = -1e9
    for at, text in ticks:
        half = 3.2 * len(text) + 6
        if at * across - half >= until:
            kept.append((at, text))
            until = at * across + half
    return kept


def _break(start: float, end: float, top: float, bottom: float, seconds: float) -> str:
    """A strip of paper with torn edges, and how long it is."""
    steps = int((bottom - top) // 6)
    zig = "".join(f"l{3 if i % 2 else -3} 6" for i in range(steps))
    middle = (start + end) / 2
    return (
        f"<g><title>{escape(f'{seconds_text(seconds)} in which nothing ran')}</title>"
        f'<rect class="gap" x="{_n(start + 1)}" y="{_n(top)}" width="{_n(max(1, end - start - 2))}" '
        f'height="{_n(bottom - top)}"/><path class="zig" d="M{_n(start + 2)} {_n(top)}{zig}"/>'
        f'<path class="zig" d="M{_n(end)} {_n(top)}{zig}"/>'
        f'<text class="tk" transform="translate({_n(middle + 3)} {_n((top + bottom) / 2)}) rotate(-90)" '
        f'text-anchor="middle">{escape(seconds_text(seconds))} cut</text></g>'
    )


def _link(link: Link | None) -> str:
    return "move" if link is None else link.value.lower()


def _swatch(colour: int, prefix: str) -> str:
    plain = '<rect x="0" y="-9" width="16" height="11" rx="2"/>'
    if colour < 0:
        return f'<g class="b c-none">{plain}</g>'
    over = f'<rect style="fill:url(#{prefix}c{colour})" x="0" y="-9" width="16" height="11" rx="2"/>'
    return f'<g class="b c{colour % 8}">{plain}{over if colour >= 8 else ""}</g>'


def _box(
    box: Box, picture: TimelinePicture, prefix: str, tops: list[float], heights: list[float], left: float, across: float
) -> str:
    x = left + picture.axis.place(box.start) * across
    end = left + picture.axis.place(box.end) * across
    w = max(1.2, end - x)
    many = picture.rows[box.row].lanes
    last = box.row + box.rows - 1
    y, h = tops[box.row] + 1.5, tops[last] + heights[last] - tops[box.row] - 3.0
    if many > 1:
        h /= many
        y += box.lane * h
        h -= 1.0
    if box.kind is SpanKind.TRANSFER and many == 1:
        y, h = y + h / 4, h / 2
    rx = 2.0 if w > 5 else 0.6
    frame = f'x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(rx)}"'
    kind, fill = _looks(box, prefix)
    over = f'<rect style="fill:url(#{prefix}{fill})" {frame}/>' if fill else ""
    parts = [f'<g class="b {kind}{" s-failed" if box.state is NodeState.FAILED else ""}" '
             f'data-name="{escape(box.label, 80)}"><title>{escape(box.about)}</title>'
             f'<rect class="paper{" open" if box.open else ""}" {frame}/>{over}']  # fmt: skip
    if box.state is NodeState.FAILED:
        parts.append(f'<rect style="fill:url(#{prefix}failed)" {frame}/>')
    room = int((w - 8) / 6.5)
    if room >= 3 and h >= 10 and box.kind is not SpanKind.TRANSFER:
        text = box.label if box.count == 1 else count_text(box.count, "box", "boxes")
        if box.state is NodeState.FAILED:
            text = "✗ " + text
        parts.append(f'<text class="bl" x="{_n(x + 4)}" y="{_n(y + h / 2 + 3.7)}">'
                     f"{escape(one_line(text, room))}</text>")  # fmt: skip
    parts.append("</g>")
    return "".join(parts)


def _looks(box: Box, prefix: str) -> tuple[str, str]:
    """Class of a box, and the pattern over it."""
    if box.kind is SpanKind.TRANSFER:
        name = _link(box.link)
        return f"k-{name}", name
    if box.kind in _KINDS:
        return f"k-{box.kind.value}", box.kind.value
    if box.kind is SpanKind.PROGRAM and box.colour < 0:
        return "k-program", ""
    return (f"c{box.colour % 8}", f"c{box.colour}" if box.colour >= 8 else "") if box.colour >= 0 else ("c-none", "")


def _arrow(
    source: int, target: int, start: float, end: float, link: Link | None, about: str,
    picture: TimelinePicture, prefix: str, tops: list[float], heights: list[float], left: float, across: float,
) -> str:  # fmt: skip
    x, nx = left + picture.axis.place(start) * across, left + picture.axis.place(end) * across
    down = tops[target] > tops[source]
    y = tops[source] + (heights[source] - 2 if down else 2)
    ny = tops[target] + (2 if down else heights[target] - 2)
    bend = (ny - y) * 0.45
    name = _link(link)
    return (
        f'<path class="ar {name}" marker-end="url(#{prefix}h{name})" '
        f'd="M{_n(x)} {_n(y)}C{_n(x)} {_n(y + bend)} {_n(nx)} {_n(ny - bend)} {_n(nx)} {_n(ny)}">'
        f"<title>{escape(about)}</title></path>"
    )
