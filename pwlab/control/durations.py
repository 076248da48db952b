"""Durations: how long a computation takes, learned from how long it took.

Runs of one computation on as many devices share one record, an average that forgets
(Pathways §4.4 names resource estimates as what a policy could use).  The table is bounded:
what was not submitted for longest is forgotten, and learned again when it returns.
"""

from __future__ import annotations

#: What a launch counts before anything like it was measured, in seconds a merged computation.
UNMEASURED = 1e-3
#: The average goes over so many runs, the newest counting most.
_RUNS = 16
#: A run counts as at most so many times the average.
_LATE = 2.0
#: Seconds for which a thread may wait for its turn; times that differ by less are one.
TURN = 1e-3
#: Averages of one computation closer than this factor, or than a turn, are one: what differs is who ran beside whom,
#: and when a thread had its turn.
_SAME = 2.0
_KEEP = 4096


class Duration:
    """How long one computation takes, in seconds; None before it was measured.

    Besides what its compiler said, once it has: bytes of scratch and of each output, on each device.
    """

    __slots__ = ("_runs", "scratch", "seconds", "written")

    def __init__(self) -> None:
        self.seconds: float | None = None
        self._runs = 0
        self.scratch = 0
        self.written: tuple[int, ...] = ()

    def measured(self, seconds: float) -> None:
        """Learns from a run; from one that took far longer only so much, for ends are seen late and never early."""
        before = self.seconds
        if seconds < 0.0:
            seconds = 0.0
        elif before and seconds > _LATE * before:
            seconds = _LATE * before
        if self._runs < _RUNS:
            self._runs += 1
        self.seconds = seconds if before is None else before + (seconds - before) / self._runs


class Durations:
    """All records, by computation and number of devices."""

    def __init__(self, keep: int = _KEEP) -> None:
        self._keep = keep
        self._records: dict[tuple[str, int], Duration] = {}

    def __len__(self) -> int:
        return len(self._records)

    def of(self, key: str, devices: int) -> Duration:
        """The record of a computation; a new one if it is not known."""
        records = self._records
        record = records.get((key, devices))
        if record is not None and len(records) < self._keep // 2:
            return record  # there is room: who was used last does not matter yet
        record = records.pop((key, devices), None) or Duration()
        if len(records) >= self._keep:
            del records[next(iter(records))]
        records[key, devices] = record
        return record


def counted(common: Duration, own: Duration) -> float:
    """Seconds that a run counts where device time is divided: what its computation takes, for everybody.

    One run's own time says little of the computation.  A thread that wakes late to see an end gives one run the time of
    the next, and who runs rarely always runs after others: with shares of 1:2:4:8 the first client's runs measured 7
    to 30 % longer than the last one's of the same computation.  So equal computations count equal.  A client for which
    one really takes longer, as where its data say how long it loops, shows in its ``own`` average, which counts then.
    """
    everybody, mine = common.seconds or 0.0, own.seconds or 0.0
    if everybody / _SAME <= mine <= everybody * _SAME or abs(mine - everybody) < TURN:
        return everybody
    return mine
