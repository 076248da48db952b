"""Two runs one above the other on one time axis, with their totals beside each other.

FIFO against shares, GPipe against 1F1B, sequential against parallel dispatch: both begin at 0, a second is as long in
one as in the other, and a name has one colour.  A pause is cut only where nothing happened in either.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass

from ..ids import ProgramId
from ..observe import RunModel, Totals
from ..units import bytes_text
from .axis import axis_of
from .format import escape, one_line, percent, seconds_text, width
from .palette import Colours
from .timeline import Colour, Key, TimelinePicture, drawn_spans, named, timeline
from .timeline_svg import WIDTH, key_rows, opening, panel
from .timeline_text import timeline_text
from .view import StaticView


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: its name, its run, and which programs of it; None means all."""

    name: str
    model: RunModel
    programs: Collection[ProgramId] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of both runs, as it is written, and how the second stands to the first."""

    name: str
    a: str
    b: str
    #: Such as ``−32%``, or empty where there is nothing to compare.
    change: str
    #: Whether that is good: -1 worse, 0 neither, 1 better.
    better: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two timelines on one axis, and their totals."""

    a: TimelinePicture
    b: TimelinePicture
    figures: tuple[Figure, ...]


def comparison(a: Side, b: Side, colour: Colour = "computation") -> Comparison:
    """Both runs as plain data."""
    spans = [drawn_spans(side.model, side.programs) for side in (a, b)]
    axis = axis_of((span.start, span.end) for held in spans for span in held)
    colours = Colours(name for side in (a, b) for name in named(side.model, side.programs, colour)).of
    one, other = (
        timeline(side.model, side.programs, colour=colour, title=side.name, axis=axis, colours=colours)
        for side in (a, b)
    )
    return Comparison(one, other, figures(one.totals, other.totals))


def figures(a: Totals, b: Totals) -> tuple[Figure, ...]:
    """The totals that two runs are compared by."""

    def less(name: str, x: float, y: float) -> Figure:
        return Figure(name, seconds_text(x), seconds_text(y), *_change(x, y, -1))

    def count(name: str, x: int, y: int, shown: tuple[str, str] | None = None) -> Figure:
        texts = shown or (f"{x:,}", f"{y:,}")
        return Figure(name, *texts, _change(x, y, 0)[0])

    busy = (b.busy - a.busy) * 100
    points = f"{busy:+.0f} points".replace("-", "−") if abs(busy) >= 0.5 else ""
    rows = [
        less("wall", a.wall, b.wall),
        Figure("computing", percent(a.busy), percent(b.busy), points, (busy > 0.5) - (busy < -0.5)),
        less("device time", a.device_seconds, b.device_seconds),
        count("launches", a.launches, b.launches),
        count("transfers", a.transfers, b.transfers),
        count("moved", a.bytes_moved, b.bytes_moved, (bytes_text(a.bytes_moved), bytes_text(b.bytes_moved))),
        count("waits", a.waits, b.waits),
        less("waited", a.wait_seconds, b.wait_seconds),
        less("compiling", a.compile_seconds, b.compile_seconds),
    ]
    if a.failed or b.failed:
        rows.append(count("failed", a.failed, b.failed))
    return tuple(rows)


def compare_svg(both: Comparison, wide: float = WIDTH) -> str:
    """The comparison as one ``<svg>`` element."""
    prefix = f"pc{zlib.crc32(repr(both).encode('utf-8', 'replace')):08x}"
    table, y = _table(both, wide)
    parts = [table]
    for picture in (both.a, both.b):
        body, tall = panel(picture, prefix, wide)
        parts.append(f'<g transform="translate(0 {y:.1f})">{body}</g>')
        y += tall + 6
    merged = TimelinePicture("", both.a.axis, (), (), (*both.a.boxes, *both.b.boxes), (), (), both.a.totals)
    legend, tall = key_rows(_keys(both), merged, wide, prefix)
    parts.append(f'<g transform="translate(0 {y:.1f})">{legend}</g>')
    title = f"{both.a.title} against {both.b.title}"
    return f"{opening(prefix, wide, y + tall + 10, title, describe_comparison(both))}{''.join(parts)}</svg>"


def compare_text(both: Comparison, columns: int = 100) -> str:
    """The comparison for a terminal: the totals, then one timeline above the other."""
    room = max(12, (columns - 44) // 2)
    a, b = (one_line(picture.title, room) for picture in (both.a, both.b))
    wide = [
        max(width(head), *(width(getattr(row, field)) for row in both.figures))
        for head, field in (("", "name"), (a, "a"), (b, "b"), ("", "change"))
    ]
    lines = [f"{'':{wide[0]}}  {_right(a, wide[1])}  {_right(b, wide[2])}"]
    for row in both.figures:
        texts = (_right(row.a, wide[1]), _right(row.b, wide[2]), _right(row.change, wide[3]))
        lines.append(f"{row.name:{wide[0]}}  {'  '.join(texts)}".rstrip())
    for picture in (both.a, both.b):
        lines += ["", one_line(picture.title, columns), timeline_text(picture, columns, head=False)]
    return "\n".join(lines)


def describe_comparison(both: Comparison) -> str:
    """The comparison in one sentence."""
    told = "; ".join(f"{row.name} {row.a} against {row.b}" for row in both.figures)
    return f"{both.a.title} against {both.b.title}, on one time axis: {told}."


def compare_view(both: Comparison, columns: int = 100) -> StaticView:
    """The comparison in its three forms."""
    return StaticView(compare_svg(both), compare_text(both, columns), describe_comparison(both))


# --- pieces -----------------------------------------------------------------------------------


def _change(a: float, b: float, good: int) -> tuple[str, int]:
    """``−32%`` and whether that is better, where ``good`` is the sign of an improvement."""
    if a <= 0 or a == b:
        return "", 0
    ratio = b / a
    if ratio >= 10:
        return f"×{ratio:.0f}", good
    share = round((ratio - 1) * 100)
    if not share:
        return "", 0
    return f"{share:+d}%".replace("-", "−"), good if share > 0 else -good


def _keys(both: Comparison) -> tuple[Key, ...]:
    """One legend for both, with the time of both together."""
    found: dict[tuple[str, int], Key] = {}
    for key in (*both.a.keys, *both.b.keys):
        held = found.get((key.name, key.colour))
        more = (held.seconds, held.launches) if held else (0.0, 0)
        found[key.name, key.colour] = Key(key.name, key.colour, key.seconds + more[0], key.launches + more[1])
    return tuple(sorted(found.values(), key=lambda key: (-key.seconds, key.name)))


def _right(text: str, columns: int) -> str:
    return " " * max(0, columns - width(text)) + text


def _table(both: Comparison, wide: float) -> tuple[str, float]:
    """The totals as a table in the picture, the figures side by side; and its height."""
    parts = ['<text class="h1" x="16" y="26">']
    parts.append(f"{escape(one_line(both.a.title, 40))} against {escape(one_line(both.b.title, 40))}</text>")
    heads = [one_line(both.a.title, 22), one_line(both.b.title, 22)]
    left = 6.4 * max(map(width, heads)) + 28
    across = (wide - left - 20) / len(both.figures)
    for text, y in zip(heads, (68.0, 88.0), strict=True):
        parts.append(f'<text class="h2" x="16" y="{y:.0f}">{escape(text)}</text>')
    parts.append(f'<path class="grid" d="M16 54H{wide - 16:.0f}M16 94H{wide - 16:.0f}"/>')
    for i, row in enumerate(both.figures):
        x = left + (i + 1) * across
        mark = {-1: "bad", 0: "mu", 1: "good"}[row.better]
        parts.append(
            f'<g text-anchor="end"><text class="mu" x="{x:.1f}" y="48">{escape(row.name)}</text>'
            f'<text class="num" x="{x:.1f}" y="68">{escape(row.a)}</text>'
            f'<text class="num" x="{x:.1f}" y="88">{escape(row.b)}</text>'
            f'<text class="{mark} num" x="{x:.1f}" y="108">{escape(row.change)}</text></g>'
        )
    return "".join(parts), 118.0
