"""A set of spans of time, so that what overlaps is counted once.

A device runs one computation at a time, but what is *measured* overlaps: a
launch begins when it is handed over, while its predecessor still runs.  Adding
up the lengths would report a device as busy for 140 % of the time.
:class:`IntervalSet` adds up the union.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

Interval = tuple[float, float]


class IntervalSet:
    """Disjoint spans in order of time; adding at the end, the usual case, costs O(1).

    At most ``keep`` spans are held one by one.  The older half is then settled: its length stays in
    :attr:`total`, and a span that begins before the settled time is cut there, so nothing counts twice.
    """

    __slots__ = ("_ends", "_keep", "_settled_until", "_starts", "total")

    def __init__(self, spans: Iterable[Interval] = (), keep: int = 1024):
        self._starts = array("d")
        self._ends = array("d")
        self._keep = keep
        self._settled_until = float("-inf")
        #: Length of the union, in seconds.
        self.total = 0.0
        for start, end in spans:
            self.add(start, end)

    def add(self, start: float, end: float) -> float:
        """Adds ``[start, end]`` and returns how many seconds of it were new."""
        if start < self._settled_until:
            start = self._settled_until
        if not end > start:
            return 0.0
        starts, ends = self._starts, self._ends
        if not ends or start > ends[-1]:
            new = end - start
            starts.append(start)
            ends.append(end)
        elif start >= starts[-1]:
            held = ends[-1] - starts[-1]
            ends[-1] = max(ends[-1], end)
            new = (ends[-1] - starts[-1]) - held
        else:
            new = self._melt(start, end)
        if new < 0.0:  # by a hair, from rounding
            new = 0.0
        self.total += new
        if len(starts) > self._keep:
            self._settle()
        return new

    def within(self, low: float, high: float) -> float:
        """Seconds of the union inside ``[low, high]``; settled time is not seen."""
        first = bisect_right(self._ends, low)
        seconds = 0.0
        for i in range(first, len(self._starts)):
            if self._starts[i] >= high:
                break
            seconds += min(self._ends[i], high) - max(self._starts[i], low)
        return seconds

    @property
    def kept_since(self) -> float:
        """Where settled time ends, before which :meth:`within` sees nothing; minus infinity if none is settled."""
        return self._settled_until

    @property
    def span(self) -> Interval | None:
        """The first start and the last end that are held, or None."""
        return (self._starts[0], self._ends[-1]) if self._starts else None

    def __iter__(self) -> Iterator[Interval]:
        return iter(list(zip(self._starts, self._ends, strict=True)))

    def __len__(self) -> int:
        return len(self._starts)

    def __repr__(self) -> str:
        return f"IntervalSet({len(self)} spans, {self.total:.6g} s)"

    def _melt(self, start: float, end: float) -> float:
        """Makes one of a span and those that it touches, if it does; the seconds that are new."""
        starts, ends = self._starts, self._ends
        # They are low..high-1.
        low = bisect_left(ends, start)
        high = bisect_right(starts, end, low)
        held = 0.0
        if low < high:
            held = sum(ends[i] - starts[i] for i in range(low, high))
            start = min(start, starts[low])
            end = max(end, ends[high - 1])
        starts[low:high] = array("d", (start,))
        ends[low:high] = array("d", (end,))
        return (end - start) - held

    def _settle(self) -> None:
        half = len(self._starts) // 2
        self._settled_until = self._ends[half - 1]
        del self._starts[:half], self._ends[:half]


def union_seconds(spans: Iterable[Interval]) -> float:
    """Seconds covered by at least one of the spans."""
    return IntervalSet(spans).total
