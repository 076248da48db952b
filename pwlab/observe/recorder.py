"""One who has read everything: the model and the numbers of a whole run.

The ring forgets; totals must not.  A :class:`Recorder` folds facts into a
:class:`~pwlab.observe.RunModel` and :class:`~pwlab.observe.RunStats` when
somebody looks, on the thread that looks.  Where nobody does for long, the ring
calls it before what was not folded loses detail, so it never misses a fact; until
then a run pays for nothing.  Whoever looks late at a long run would wait for
seconds, so a thread that has nothing else to do may fold piece by piece before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from .garbage import no_collection
from .model import RunModel
from .ring import FactRing
from .stats import RunStats

#: Facts that are folded at once, and those that a look may have to fold: some tenths of a second of them at most.
PIECE, LATE = 4_096, 32_768


class Recorder:
    """Follows a ring.

    Read inside :meth:`reading`, which catches up and keeps others from folding meanwhile::

        with recorder.reading() as (model, stats):
            ...
    """

    def __init__(self, ring: FactRing, keep_nodes: int = 50_000, follow: bool = True):
        self.ring = ring
        self.model = RunModel(keep_nodes)
        self.stats = RunStats()
        #: Number of the last fact that was folded.
        self.seen = 0
        #: Facts that were overwritten before they were folded; 0 unless the recorder came late.
        self.missed = 0
        self._lock = threading.RLock()
        self._stop: Callable[[], None] | None = None
        if follow:
            self.follow()

    def follow(self) -> None:
        """Misses nothing from now on, though nobody looks."""
        with self._lock:
            if self._stop is None:
                self._stop = self.ring.each_half_turn(self._keep_up)
                self.catch_up()

    def catch_up(self) -> None:
        """Folds what came since the last time.  Any thread may call it."""
        with self._lock, no_collection():
            while self._fold(PIECE):
                pass

    def keep_near(self) -> bool:
        """Folds a bit, some milliseconds' worth, where a look would have to fold much; whether it still would.

        Any thread may call it; where somebody looks, that does it.
        """
        return self._behind(LATE, 1)  # no less than a packed block

    def _keep_up(self) -> None:
        """Folds as much as came since the last time, where it would soon be thinned.

        The driver's thread calls it, in the middle of a run: as long as it can wait, the run does not.
        """
        self._behind(self.ring.keep // 4, PIECE)

    def _behind(self, far: int, most: int) -> bool:
        """Folds a piece, if it is so far behind and nobody else does; whether it did."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self.ring.last - self.seen > far and self._fold(most)
        finally:
            self._lock.release()

    def _fold(self, most: int) -> bool:
        batch = self.ring.after(self.seen, limit=most)
        if batch.last == self.seen:
            return False
        # The count moves first: an interrupt may then lose a fact, but never counts one twice.
        self.seen = batch.last
        self.missed += batch.missed
        self.model.extend(batch.facts)
        self.stats.extend(batch.facts)
        return True

    @contextmanager
    def reading(self) -> Generator[tuple[RunModel, RunStats]]:
        """The model and the numbers, up to date, held still."""
        with self._lock:
            self.catch_up()
            yield self.model, self.stats

    def close(self) -> None:
        """Stops following; what was folded stays."""
        if self._stop is not None:
            self._stop()
