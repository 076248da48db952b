"""A run as pure data: its facts, and all that can be told from them, without a device or a thread.

A :class:`Run` comes from a file (:func:`pwlab.load`) or from the session's ring.  Its model and its numbers are the
same folds that the live views read, so whatever draws a running session draws this too.

Not all of a run may be there.  Of a long one the oldest detail is no longer kept (``missing``): then everything is
shown, and counted is what came from :attr:`Run.whole_from` on.  A file may be damaged (``damage``).  The model and the
numbers carry both, so that each view can say so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..events import ControllerWorked, Fact, NodeAdded, NodeEnded, NodeMoved, Noted, ProgramEnded, ProgramOpened, Waited
from ..ids import ProgramId
from .doubts import doubts
from .model import RunModel
from .stats import UNKNOWN, RunStats, stats_of
from .window import stats_since, told, until


@dataclass(frozen=True)
class Run:
    """Facts of a run, in the order in which they were reported.

    Attributes:
      facts: all that is there.
      missing: older facts that were no longer kept when the run was saved.
      about: of a file, what its header says: the versions of pwlab and JAX, and what kind of machine it was.
      gap: where facts are missing, the time of the first after the last of these.
      damage: of a damaged file, what is damaged.
    """

    facts: tuple[Fact, ...]
    missing: int = 0
    about: dict[str, object] = field(default_factory=dict[str, object])
    gap: float | None = None
    damage: str = ""

    @cached_property
    def mended(self) -> tuple[Fact, ...]:
        """The facts, with an opening for each program whose own is gone: it was open when all of them are there."""
        if not self.missing and not self.damage:
            return self.facts
        opened = {fact.program for fact in self.facts if isinstance(fact, ProgramOpened)}
        lost: dict[ProgramId, Fact] = {}
        for fact in self.facts:
            if isinstance(fact, NodeAdded | ProgramEnded) and fact.program not in opened and fact.program not in lost:
                time = fact.time if self.gap is None else min(fact.time, self.gap)
                lost[fact.program] = ProgramOpened(time, fact.program, UNKNOWN, UNKNOWN, None)
        return (*lost.values(), *self.facts)

    @cached_property
    def model(self) -> RunModel:
        """Programs, nodes and buffers at the end.  Nothing is forgotten, however long the run."""
        return self._model(self.mended, self.end)

    @cached_property
    def stats(self) -> RunStats:
        """The numbers at the end, of what came from :attr:`whole_from` on."""
        return self._stats(self.mended)

    @cached_property
    def start(self) -> float:
        """Time of the earliest fact, in seconds on the clock of the run; 0 where there is none."""
        return min((fact.time for fact in self.facts), default=0.0)

    @cached_property
    def begin(self) -> float:
        """When anything began to happen, the first program or wait; what comes before is the session's start.

        Moments are counted from here, as scrubbers and timelines do.
        """
        return min((f.time for f in self.mended if isinstance(f, ProgramOpened | Waited)), default=self.start)

    @cached_property
    def end(self) -> float:
        """Time of the latest fact, ends of what lasts included."""
        return max(map(told, self.facts), default=0.0)

    @property
    def seconds(self) -> float:
        """From :attr:`begin` to the end."""
        return self.end - self.begin

    @cached_property
    def whole_from(self) -> float | None:
        """From when on nothing is missing, in seconds on the clock of the run; None where nothing is at all.

        A node whose beginning is gone is known only when it has ended.
        """
        if not self.missing:
            return None
        whole = self.start if self.gap is None else self.gap
        known: set[int] = set()
        for fact in self.facts:
            if isinstance(fact, NodeAdded):
                known.add(fact.node.id)
            elif isinstance(fact, NodeMoved | NodeEnded) and fact.node not in known:
                whole = max(whole, fact.time)
        return whole

    @property
    def doubts(self) -> str:
        """What a reader must know first, in a sentence; empty where all is there."""
        return doubts(self.damage, self.whole_from, self.end)

    def at(self, moment: float) -> RunModel:
        """The model at a moment, in seconds after :attr:`begin`: what had happened by then."""
        now = min(self.begin + moment, self.end)
        return self._model([fact for fact in self.mended if fact.time <= now], now)

    def stats_at(self, moment: float) -> RunStats:
        """The numbers at a moment."""
        return self._stats(tuple(until(self.mended, self.begin + moment)))

    def between(self, low: float, high: float) -> tuple[Fact, ...]:
        """The facts of ``low < time <= high``, in seconds after :attr:`begin`."""
        return tuple(fact for fact in self.facts if low < fact.time - self.begin <= high)

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __repr__(self) -> str:
        lost = f", {self.missing:,} older ones missing" if self.missing else ""
        return f"Run({len(self.facts):,} facts over {self.seconds:.6g} s{lost}{', damaged' if self.damage else ''})"

    # --- inside ---------------------------------------------------------------------------

    def _model(self, facts: Sequence[Fact], now: float) -> RunModel:
        model = RunModel(
            keep_nodes=len(facts) + 1, keep_programs=len(facts) + 1, waits=deque[Waited](),
            control=deque[ControllerWorked](), notes=deque[Noted](), whole_from=self.whole_from, damage=self.damage,
        )  # fmt: skip
        model.extend(facts)
        model.now = now
        for program in model.programs.values():
            program.partial = self.whole_from is not None and program.opened < self.whole_from
        return model

    def _stats(self, facts: Sequence[Fact]) -> RunStats:
        return stats_of(facts) if self.whole_from is None else stats_since(facts, self.whole_from)
