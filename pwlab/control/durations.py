"""Durations: how long a computation takes, learned from how long it took.

Runs of one computation on as many devices share one record, an average that forgets
(Pathways §4.4 names resource estimates as what a policy could use).  The table is bounded:
what was not submitted for longest is forgotten, and learned again when it returns.
"""

from __future__ import annotations

#: What a launch counts before anything like it was measured, in seconds a merged computation.
UNMEASURED = 1e-3
#: Weight of the newest measurement.
_NEWEST = 0.25
_KEEP = 4096


class Duration:
    """How long one computation takes, in seconds; None before it was measured."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds: float | None = None

    def measured(self, seconds: float) -> None:
        """Learns from a run."""
        seconds = max(seconds, 0.0)
        self.seconds = seconds if self.seconds is None else self.seconds + _NEWEST * (seconds - self.seconds)


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
