"""A :class:`~pwlab.viz.compare.Comparison` as SVG: the table of both sides, then one timeline above the other."""

from __future__ import annotations

import zlib
from dataclasses import replace

from .compare import Comparison
from .compare_text import CLIENT_HEADS, Line, about_marks, client_cells, describe_comparison, table_lines
from .format import count_text, escape, one_line
from .timeline import Key
from .timeline_svg import WIDTH, key_rows, opening, panel

#: Clients in the table; of more, the first.
MOST_CLIENTS = 10
#: Pixels: a line of the table, and its columns for a name, for each side, and for the change.
_LINE, _NAME, _SIDE, _CHANGE = 18.0, 152.0, 124.0, 84.0


def compare_svg(both: Comparison, wide: float = WIDTH) -> str:
    """The comparison as one ``<svg>`` element that stands alone and may also be put inline."""
    prefix = f"pc{zlib.crc32(repr(both).encode('utf-8', 'replace')):08x}"
    table, y = _table(both, wide)
    parts = [table]
    for picture, how in zip((both.a, both.b), both.settings, strict=True):
        note = "; ".join(filter(None, (str(how), picture.note)))
        body, tall = panel(replace(picture, note=note), prefix, wide, low=True)
        parts.append(f'<g transform="translate(0 {y:.1f})">{body}</g>')
        y += tall
    merged = replace(both.a, boxes=(*both.a.boxes, *both.b.boxes))
    legend, tall = key_rows(_keys(both), merged, wide, prefix)
    parts.append(f'<g transform="translate(0 {y:.1f})">{legend}</g>')
    title = f"{both.a.title} against {both.b.title}"
    return f"{opening(prefix, wide, y + tall + 10, title, describe_comparison(both))}{''.join(parts)}</svg>"


# --- pieces -----------------------------------------------------------------------------------


def _keys(both: Comparison) -> tuple[Key, ...]:
    """One legend for both, with the time of both together."""
    found: dict[tuple[str, int], Key] = {}
    for key in (*both.a.keys, *both.b.keys):
        held = found.get((key.name, key.colour))
        more = (held.seconds, held.launches) if held else (0.0, 0)
        found[key.name, key.colour] = Key(key.name, key.colour, key.seconds + more[0], key.launches + more[1])
    return tuple(sorted(found.values(), key=lambda key: (-key.seconds, key.name)))


def _text(x: float, y: float, text: str, kind: str = "", end: bool = True) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(text)}</text>'


def _table(both: Comparison, wide: float) -> tuple[str, float]:
    """The figures, beside them the clients if there are several; and the height of it."""
    title = f"{one_line(both.a.title, 40)} against {one_line(both.b.title, 40)}"
    parts = [_text(16, 26, title, "h1", end=False)]
    y = 34.0
    for line in both.doubts:
        y += _LINE
        parts.append(_text(16, y, one_line(line, 150), "bad", end=False))
    lines = table_lines(both)
    split = len(lines) if both.clients else -(-len(lines) // 2)
    parts.append(_lines(both, lines[:split], 16.0, y))
    if both.clients:
        beside, high = _client_rows(both, 530.0, y, wide)
    else:
        beside, high = _lines(both, lines[split:], 544.0, y), split
    y += _LINE * (2 + max(split, high)) + 8
    parts.append(beside)
    if marks := about_marks(both):
        parts.append(_text(16, y + 8, " · ".join(marks), "mu", end=False))
        y += 14
    return "".join(parts), y


def _lines(both: Comparison, lines: list[Line], x: float, y: float) -> str:
    """Lines below each other, with their heads."""
    a, b, change = x + _NAME + _SIDE, x + _NAME + 2 * _SIDE, x + _NAME + 2 * _SIDE + _CHANGE
    y += _LINE
    parts = [_text(at, y, one_line(name, 19), "h2") for at, name in ((a, both.a.title), (b, both.b.title))]
    parts.append(f'<path class="grid" d="M{x:.0f} {y + 5:.0f}H{change:.0f}"/>')
    y += 3
    for line in lines:
        y += _LINE
        parts.append(_text(x, y, line.name, "", end=False))
        for at, text, side in ((a, line.a, -1), (b, line.b, 1)):
            parts.append(_text(at, y, one_line(text, 19), "good num" if line.better == side else "num"))
        parts.append(_text(change, y, line.change, "mu num"))
    return "".join(parts)


def _client_rows(both: Comparison, x: float, y: float, wide: float) -> tuple[str, int]:
    """A row a client: what it asked for and got, its device time and its end, on both sides; and how many lines."""
    first, across = x + 110, (wide - 16 - x - 110) / (2 * len(CLIENT_HEADS))
    parts: list[str] = []
    for i, head in enumerate(CLIENT_HEADS):
        middle = first + (2 * i + 1.1) * across
        parts.append(f'<text class="h2" x="{middle:.1f}" y="{y + 4:.1f}" text-anchor="middle">{head}</text>')
        for k, side in enumerate((both.a.title, both.b.title)):
            parts.append(_text(first + (2 * i + k + 1) * across, y + _LINE, one_line(side, 8), "mu"))
    y += _LINE
    parts.append(f'<path class="grid" d="M{x:.0f} {y + 5:.0f}H{wide - 16:.0f}"/>')
    y += 3
    shown = both.clients[:MOST_CLIENTS]
    for name, *sides in shown:
        y += _LINE
        parts.append(_text(x, y, one_line(name, 16), "", end=False))
        for k, side in enumerate(sides):
            for i, cell in enumerate(client_cells(side)):
                parts.append(_text(first + (2 * i + k + 1) * across, y, cell, "num"))
    if rest := len(both.clients) - len(shown):
        parts.append(_text(x, y + _LINE, f"and {count_text(rest, 'client')} more", "mu", end=False))
    return "".join(parts), len(shown) + (1 if rest else 0)
