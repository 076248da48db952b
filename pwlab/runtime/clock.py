"""The one clock of a session: monotonic seconds."""

from time import perf_counter as now

__all__ = ["now"]
