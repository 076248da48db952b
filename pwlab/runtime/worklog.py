"""When the controller's thread worked, in stretches that a person can see."""

from __future__ import annotations

from collections.abc import Sequence

from ..events import ControllerWorked, Fact, Instruction, Launch, ProgramEnded

#: What follows within so many seconds belongs to the same stretch, of which none is much longer than ``LONGEST``.
NEAR, LONGEST = 1e-3, 10e-3


class WorkLog:
    """Joins turns of work to stretches, so that one fact tells of many launches.  Times are seconds."""

    def __init__(self) -> None:
        #: Of the stretch that is under way.
        self._start = self._end = self._busy = 0.0
        self._events = self._launches = 0
        #: Of the turn that is under way.
        self._began = 0.0
        self._handled = self._launched = 0
        self._told_now = False

    @property
    def open(self) -> bool:
        """Whether there is work that was not told yet."""
        return self._events > 0

    def begin(self, time: float) -> None:
        """A turn begins: events that were there at once."""
        self._began = time

    def handled(self, instructions: Sequence[Instruction], facts: Sequence[Fact]) -> None:
        """The controller took an event, and this is what it answered."""
        self._handled += 1
        self._launched += sum(isinstance(instruction, Launch) for instruction in instructions)
        # Whoever looks when a program ends sees what was done for it.
        self._told_now = self._told_now or any(isinstance(fact, ProgramEnded) for fact in facts)

    def end(self, time: float) -> list[ControllerWorked]:
        """The turn is over; gives the stretches that are."""
        if not self._handled:
            return []
        begins = self._began - self._end > NEAR or self._began - self._start > LONGEST
        over = self.close() if begins else []
        if not self._events:
            self._start = self._began
        self._end = time
        self._busy += time - self._began
        self._events += self._handled
        self._launches += self._launched
        if self._told_now:
            over += self.close()
        self._handled = self._launched = 0
        self._told_now = False
        return over

    def close(self) -> list[ControllerWorked]:
        """The stretch that is under way, if one is; what comes then begins another."""
        if not self._events:
            return []
        told = ControllerWorked(self._start, self._end - self._start, self._busy, self._events, self._launches)
        self._busy, self._events, self._launches = 0.0, 0, 0
        return [told]
