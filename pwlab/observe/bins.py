"""Amounts and levels over time in a fixed number of bins, so that a run of days takes no more room than one of seconds.

Time is that in which programs ran, so the pauses between two cells take no bins.  When it runs past the last bin,
neighbours melt into one and every bin becomes twice as wide: the whole run stays in sight, and detail goes evenly.
Widths are powers of two of a second, so that whoever bins the same facts, in whatever language, gets the same bins.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

#: Bins of a series, and seconds of one at the beginning.
COUNT = 512
FIRST_WIDTH = 2.0**-10

_NAN = float("nan")


@dataclass(slots=True)
class BinClock:
    """The bins that several series share; times begin at 0."""

    width: float = FIRST_WIDTH
    _melt: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def follow(self, melt: Callable[[], None]) -> None:
        """``melt()`` is called whenever neighbours melt."""
        self._melt.append(melt)

    def place(self, time: float) -> float:
        """Where a time stands, in bins; below :data:`COUNT`, for bins widen as they must."""
        while (at := time / self.width) >= COUNT:
            self.width *= 2.0
            for melt in self._melt:
                melt()
        return at

    def used(self, now: float) -> int:
        """How many bins have begun by ``now``."""
        return int(self.place(now)) + 1


class Amounts:
    """Seconds by key and bin."""

    def __init__(self, clock: BinClock):
        self.clock = clock
        self.of: dict[Hashable, array[float]] = {}
        clock.follow(self._melt)

    def add(self, key: Hashable, start: float, end: float, weight: float = 1.0) -> None:
        """Adds the length of ``[start, end]``, so many times, to the bins that it crosses."""
        last = self.clock.place(end)  # the bins may widen
        first = start / self.clock.width
        row = self.of.get(key)
        if row is None:
            row = self.of[key] = array("d", bytes(8 * COUNT))
        if int(first) == int(last):
            row[int(first)] += (end - start) * weight
            return
        scale = self.clock.width * weight
        for bin in range(int(first), math.ceil(last)):
            row[bin] += (min(last, bin + 1) - max(first, bin)) * scale

    def copy(self) -> Amounts:
        """The same, on a clock of its own, for what is added only to be looked at."""
        twin = Amounts(BinClock(self.clock.width))
        twin.of = {key: array("d", row) for key, row in self.of.items()}
        return twin

    def _melt(self) -> None:
        for row in self.of.values():
            for bin in range(COUNT // 2):
                row[bin] = row[2 * bin] + row[2 * bin + 1]
            row[COUNT // 2 :] = array("d", bytes(4 * COUNT))


class Level:
    """A number that changes at moments: the most of it in each bin.  Changes of one moment count together."""

    def __init__(self, clock: BinClock):
        self.clock = clock
        self.now = 0
        self._peak = 0
        #: The last moment.
        self._moment = float("-inf")
        #: Its bin, and from when to when that is; -1 before the first moment.
        self._bin, self._begins, self._ends = -1, 0.0, 0.0
        #: The most in it after a moment that is over.
        self._top = float("-inf")
        #: Of each earlier bin in which it changed: the most after a change, and what it was at its end; NaN in others.
        self._most = array("d", [_NAN]) * COUNT
        self._last = array("d", [_NAN]) * COUNT
        clock.follow(self._melt)

    def change(self, moment: float, at: float, by: int) -> None:
        """It changes at a moment, which never goes back and stands at time ``at`` of the bins."""
        if moment > self._moment:
            self._moment = moment
            if self.now > self._top:
                self._top = self.now
            if not self._begins <= at < self._ends:
                self._enter(at)
        self.now += by

    @property
    def peak(self) -> int:
        """The most there ever was."""
        return int(max(self._peak, self._top, self.now))

    def series(self, used: int) -> tuple[int, ...]:
        """The most in each of the first ``used`` bins."""
        out: list[int] = []
        held = 0.0
        for i, (most, last) in enumerate(zip(self._most[:used], self._last[:used], strict=True)):
            most, last = (_most(most, max(self._top, self.now)), self.now) if i == self._bin else (most, last)
            out.append(int(_most(most, held)))
            held = held if math.isnan(last) else last
        return tuple(out)

    def _enter(self, at: float) -> None:
        """The last moment was the last of its bin."""
        if self._bin >= 0:
            self._peak = max(self._peak, self._top)
            self._most[self._bin] = _most(self._most[self._bin], self._top)
            self._last[self._bin] = self.now
        self._top = float("-inf")
        self._stand(int(self.clock.place(at)))

    def _stand(self, bin: int) -> None:
        self._bin, self._begins, self._ends = bin, bin * self.clock.width, (bin + 1) * self.clock.width

    def _melt(self) -> None:
        for bin in range(COUNT // 2):
            self._most[bin] = _most(self._most[2 * bin], self._most[2 * bin + 1])
            a, b = self._last[2 * bin], self._last[2 * bin + 1]
            self._last[bin] = a if math.isnan(b) else b
        for row in (self._most, self._last):
            row[COUNT // 2 :] = array("d", [_NAN]) * (COUNT // 2)
        self._stand(self._bin // 2)


def _most(a: float, b: float) -> float:
    """The larger; the other where one is NaN."""
    return b if math.isnan(a) else a if math.isnan(b) else max(a, b)
