"""Sizes, times and names as people read them.

Names come from users: they may hold line ends, direction marks or ten thousand characters.
"""

from __future__ import annotations

import re
import unicodedata

#: What no line and no page may hold, and marks that turn or hide text.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
BIDI = re.compile("[\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def bytes_text(count: float) -> str:
    """``4096`` as ``4.0 KB``; KB is 1,024 bytes."""
    if count < 1024:
        return f"{count:.0f} B"
    size = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1024
        if size < 999.5 or unit == "TB":
            return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"
    raise AssertionError


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
    plain = " ".join(BIDI.sub("", CONTROL.sub(" ", cut)).split())
    if len(cut) == len(text) and width(plain) <= columns:
        return plain
    while plain and width(plain) > columns - 1:
        plain = plain[: max(0, min(len(plain) - 1, columns - 1))]
    return plain.rstrip(" …") + "…"  # a name in it may have been shortened just there
