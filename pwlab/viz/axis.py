"""A time axis on which the hours between two cells do not push the milliseconds of a cell into one pixel.

A session in a notebook is a few bursts with long pauses.  On an even axis the bursts would be hairlines, so a pause
that is long against all that happened is *cut*: it takes a fixed small width, is drawn as a break, and tells how
long it was.  Everything else keeps one scale, so lengths can be compared across breaks, and ticks tell true times.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

#: A pause is cut where it is longer than this share of the time in which something happened.
LONG = 0.15
#: What takes less is a moment: clocks do not resolve it.
MOMENT = 1e-9
#: Width of a break, as a share of the axis, and of all breaks together at most.
BREAK, BREAKS = 0.03, 0.25


@dataclass(frozen=True, slots=True)
class Axis:
    """From times to places between 0 and 1.

    Attributes:
      parts: the times that are drawn to scale, in order, in seconds; between two of them is a break.
      gap: width of a break, as a share of the axis; many breaks take less each.
    """

    parts: tuple[tuple[float, float], ...]
    gap: float = BREAK

    @property
    def start(self) -> float:
        return self.parts[0][0] if self.parts else 0.0

    @property
    def end(self) -> float:
        return self.parts[-1][1] if self.parts else 0.0

    @property
    def drawn(self) -> float:
        """Seconds that are drawn to scale."""
        return sum(end - start for start, end in self.parts)

    @property
    def _break(self) -> float:
        many = len(self.parts) - 1
        return min(self.gap, BREAKS / many) if many > 0 else 0.0

    def place(self, time: float) -> float:
        """Where ``time`` stands, 0 to 1; times in a break stand in it, times beyond an end at that end."""
        if not self.parts:
            return 0.0
        scale = (1.0 - self._break * (len(self.parts) - 1)) / (self.drawn or 1.0)
        index = max(0, bisect_right(self.parts, time, key=lambda part: part[0]) - 1)
        before = sum(end - start for start, end in self.parts[:index]) * scale + index * self._break
        start, end = self.parts[index]
        if time <= end or index == len(self.parts) - 1:
            return min(1.0, before + max(0.0, min(time, end) - start) * scale)
        after = self.parts[index + 1][0]
        return before + (end - start) * scale + self._break * (time - end) / (after - end)

    def breaks(self) -> list[tuple[float, float, float]]:
        """Of each break: where it begins and ends, 0 to 1, and how many seconds it leaves out."""
        pairs = zip(self.parts, self.parts[1:], strict=False)
        return [(self.place(a[1]), self.place(b[0]), b[0] - a[1]) for a, b in pairs]

    def ticks(self, about: int = 8) -> list[tuple[float, str]]:
        """Around ``about`` places with the time there, counted from the start of the axis."""
        if self.drawn <= 0:
            return [(0.0, "0")]
        step = _round_step(self.drawn / about)
        found: list[tuple[float, str]] = []
        for low, high in self.parts:
            first = math.ceil((low - self.start) / step - 1e-9)
            last = math.floor((high - self.start) / step + 1e-9)
            for i in range(first, min(last, first + 4 * about) + 1):
                found.append((self.place(self.start + i * step), _tick_text(i * step, step) if i else "0"))
        return found


def axis_of(spans: Iterable[tuple[float, float]], cut: bool = True) -> Axis:
    """The axis for things that took from start to end; pauses between them are cut."""
    merged: list[list[float]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    if not merged:
        return Axis(())
    whole = sum(end - start for start, end in merged)
    parts = [merged[0]]
    for start, end in merged[1:]:
        if cut and whole > MOMENT and start - parts[-1][1] > LONG * whole:
            parts.append([start, end])
        else:
            parts[-1][1] = end
    if sum(end - start for start, end in parts) <= MOMENT:
        parts[-1][1] = parts[-1][0] + 1e-3  # something to draw it on
    return Axis(tuple((start, end) for start, end in parts))


def _tick_text(seconds: float, step: float) -> str:
    """``5 ms``, ``1.5 s``, ``1 min 40 s``: as many digits as tell it from the next one."""
    if seconds < 99.95:
        unit, name = (1e-6, "µs") if seconds < 0.9995e-3 else (1e-3, "ms") if seconds < 0.9995 else (1.0, "s")
        return f"{seconds / unit:.{_decimals(step / unit)}f} {name}"
    decimals = _decimals(step)
    minutes, rest = divmod(round(seconds, decimals), 60)
    hours, minutes = divmod(int(minutes), 60)
    texts = [f"{hours} h"] if hours else []
    if minutes or step < 3600:
        texts.append(f"{minutes:02d} min" if hours else f"{minutes} min")
    if step < 60:
        texts.append(f"{rest:0{3 + decimals if decimals else 2}.{decimals}f} s")
    return " ".join(texts)


def _decimals(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))


def _round_step(seconds: float) -> float:
    """The next of 1, 2, 5, 10, … above; above a minute, of minutes and hours."""
    for step in (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 86400.0):
        if 30.0 < seconds <= step:
            return step
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= seconds * (1 - 1e-9))
