"""One who has read everything: the model and the numbers of a whole run.

The ring forgets; totals must not.  A :class:`Recorder` folds facts into a
:class:`~pwlab.observe.RunModel` and :class:`~pwlab.observe.RunStats` when
somebody looks, on the thread that looks.  Where nobody does, the ring calls it
each half turn, so it never misses a fact, and a run that nobody watches pays
for nothing before that.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from .model import RunModel
from .ring import FactRing
from .stats import RunStats


class Recorder:
    """Follows a ring for as long as it lives.

    Read inside :meth:`reading`, which catches up and keeps others from folding meanwhile::

        with recorder.reading() as (model, stats):
            ...
    """

    def __init__(self, ring: FactRing, keep_nodes: int = 50_000):
        self.ring = ring
        self.model = RunModel(keep_nodes)
        self.stats = RunStats()
        #: Number of the last fact that was folded.
        self.seen = 0
        #: Facts that were overwritten before they were folded; 0 unless the recorder came late.
        self.missed = 0
        self._lock = threading.RLock()
        self._stop = ring.each_half_turn(self.catch_up)
        self.catch_up()

    def catch_up(self) -> None:
        """Folds what came since the last time.  Any thread may call it."""
        with self._lock:
            while (batch := self.ring.after(self.seen, limit=4096)).last > self.seen:
                # The count moves first: an interrupt may then lose a fact, but never counts one twice.
                self.seen = batch.last
                self.missed += batch.missed
                for fact in batch.facts:
                    self.model.add(fact)
                    self.stats.add(fact)

    @contextmanager
    def reading(self) -> Generator[tuple[RunModel, RunStats]]:
        """The model and the numbers, up to date, held still."""
        with self._lock:
            self.catch_up()
            yield self.model, self.stats

    def close(self) -> None:
        """Stops following; what was folded stays."""
        self._stop()
