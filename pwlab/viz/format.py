"""How numbers, names and states are written, the same in every view.

Names come from users: they may hold tags, line ends, direction marks or ten
thousand characters.  :func:`one_line` makes a name fit for a label;
:func:`escape` makes a text fit for HTML and SVG, and is the only way in.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import NamedTuple

from ..events import NodeState
from ..ids import Source


class StateStyle(NamedTuple):
    """What a state looks like where there is no colour, and with which colour where there is."""

    word: str
    glyph: str
    #: A style of rich.
    colour: str


#: The states in the order of a node's life, which is the order of every legend.
STATES: dict[NodeState, StateStyle] = {
    NodeState.WAITING: StateStyle("waiting", "○", "bright_black"),
    NodeState.PREPARED: StateStyle("prepared", "◔", "bright_black"),
    NodeState.QUEUED: StateStyle("queued", "◑", "yellow"),
    NodeState.LAUNCHED: StateStyle("running", "▶", "blue"),
    NodeState.DONE: StateStyle("done", "✓", "green"),
    NodeState.FAILED: StateStyle("failed", "✗", "red"),
    NodeState.CANCELLED: StateStyle("cancelled", "⊘", "magenta"),
}

#: The state that a group of nodes shows: the first of these that one of them has.
LOUDEST = (
    NodeState.FAILED,
    NodeState.LAUNCHED,
    NodeState.QUEUED,
    NodeState.PREPARED,
    NodeState.WAITING,
    NodeState.CANCELLED,
    NodeState.DONE,
)

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal; emoji and East Asian characters take two."""
    if text.isascii():
        return len(text)
    columns = 0
    for char in text:
        if unicodedata.combining(char) or char in "\u200d\ufe0f":
            continue
        columns += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return columns


def one_line(text: str, columns: int = 32) -> str:
    """``text`` in one line of at most ``columns``, shortened with ``…``, without invisible characters."""
    # Cut first: a name may be megabytes long.
    cut = text[: 8 * columns + 64]
    plain = " ".join(_BIDI.sub("", _CONTROL.sub(" ", cut)).split())
    if len(cut) == len(text) and width(plain) <= columns:
        return plain
    while plain and width(plain) > columns - 1:
        plain = plain[: max(0, min(len(plain) - 1, columns - 1))]
    return plain.rstrip() + "…"


def escape(text: str, limit: int = 1000) -> str:
    """``text`` for HTML and SVG, content or quoted attribute; control characters go, ``limit`` bounds it."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return html.escape(_BIDI.sub("", _CONTROL.sub("", short)), quote=True)


def seconds_text(seconds: float) -> str:
    """Three digits and a unit: ``850 µs``, ``1.20 ms``, ``3.4 s``, ``2 min 05 s``."""
    if seconds <= 0:
        return "0 ms"
    if seconds < 0.9995e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        ms = seconds * 1e3
        return f"{ms:.2f} ms" if ms < 9.995 else f"{ms:.1f} ms" if ms < 99.95 else f"{ms:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def percent(share: float) -> str:
    """``42%``; ``<1%`` for what is little but not nothing, ``>99%`` for what is not quite all."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def count_text(count: int, one: str, many: str | None = None) -> str:
    """``1 node``, ``12,000 nodes``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def source_text(source: Source | None, columns: int = 24) -> str:
    """``Cell In[4]:3``; of a path in a script, its end."""
    if source is None:
        return ""
    cell = source.cell
    if not cell.startswith("Cell "):
        cell = cell.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{one_line(cell, columns)}:{source.line}"


def ranges_text(numbers: tuple[int, ...], most: int = 4) -> str:
    """``(0, 1, 2, 3, 8)`` as ``0–3, 8``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{a}" if a == b else f"{a}–{b}" for a, b in runs]
    return ", ".join(texts[:most]) + (" …" if len(texts) > most else "")
