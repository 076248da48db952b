"""A run as pure data: its facts, and all that can be told from them, without a device or a thread.

A :class:`Run` comes from a file (:func:`pwlab.load`) or from the session's ring.  Its model and its numbers are the
same folds that the live views read, so whatever draws a running session draws this too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..events import ControllerWorked, Fact, Noted, Waited
from .model import RunModel
from .stats import RunStats, stats_of


@dataclass(frozen=True)
class Run:
    """Facts of a run, in the order in which they were reported.

    Attributes:
      facts: all that is there.
      missing: older facts that were no longer kept when the run was saved.
      about: of a file, what its header says: the versions of pwlab and JAX, and what kind of machine it was.
    """

    facts: tuple[Fact, ...]
    missing: int = 0
    about: dict[str, object] = field(default_factory=dict[str, object])

    @cached_property
    def model(self) -> RunModel:
        """Programs, nodes and buffers at the end.  Nothing is forgotten, however long the run."""
        return whole_model(self.facts)

    @cached_property
    def stats(self) -> RunStats:
        """The numbers at the end."""
        return stats_of(self.facts)

    @cached_property
    def start(self) -> float:
        """Time of the earliest fact, in seconds on the clock of the run; 0 where there is none."""
        return min((fact.time for fact in self.facts), default=0.0)

    @cached_property
    def end(self) -> float:
        """Time of the latest fact, ends of what lasts included."""
        return max((fact.time + _lasts(fact) for fact in self.facts), default=0.0)

    @property
    def seconds(self) -> float:
        """From the first fact to the last."""
        return self.end - self.start

    def at(self, time: float) -> RunModel:
        """The model at a moment, in seconds after :attr:`start`: what had been reported by then."""
        return whole_model(fact for fact in self.facts if fact.time - self.start <= time)

    def between(self, low: float, high: float) -> tuple[Fact, ...]:
        """The facts of ``low < time <= high``, in seconds after :attr:`start`."""
        return tuple(fact for fact in self.facts if low < fact.time - self.start <= high)

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __repr__(self) -> str:
        lost = f", {self.missing:,} older ones missing" if self.missing else ""
        return f"Run({len(self.facts):,} facts over {self.seconds:.6g} s{lost})"


def whole_model(facts: Iterable[Fact]) -> RunModel:
    """The model of these facts that forgets no node and no wait."""
    held = tuple(facts)
    model = RunModel(
        keep_nodes=len(held) + 1, waits=deque[Waited](), control=deque[ControllerWorked](), notes=deque[Noted]()
    )
    for fact in held:
        model.add(fact)
    return model


def _lasts(fact: Fact) -> float:
    return fact.seconds if isinstance(fact, Waited | ControllerWorked) else 0.0
