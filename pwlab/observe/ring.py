"""The ring of facts: what the run says about itself, kept for whoever looks.

Facts flow one way.  The driver appends what the controller decided, the user's
thread appends its waits, and views read; nothing that reads can change or slow
a run.  What holds always:

* **Numbers.**  Every fact has a number, from 1 on, without gaps.  A view keeps the number of the last fact
  it saw and asks for :meth:`FactRing.after` that one; the answer says how many are no longer kept.
* **Two ages.**  The newest facts stand in the ring as they are.  Each thousand is also packed into columns (see
  :mod:`pwlab.observe.archive`), where a fact takes 25 bytes and the oldest detail is given up first; a view that
  keeps up never reads those.  A :class:`~pwlab.events.Noted` says once that older detail is gone.
* **Lasting facts.**  Which islands and slices there are is said once, perhaps a million facts ago.  These
  facts are also kept apart (of each slice the newest mapping), and a view that missed them gets them still.
* **Cheap appends.**  An append is a count, three stores and a dict test, and its part of a packing, about a
  microsecond, which is less than what the garbage collector takes to walk a million objects again and again.  There is
  no lock: a number comes from
  ``itertools.count``, which is atomic under the GIL.  A slot's number is 0 while the slot is written, so a
  reader that finds the same number before and after it took the fact has the right one; an older number
  says stop here, a newer one that the writer has lapped it.  Pairs ``(number, fact)`` in one list would be
  simpler and cost 76 bytes a fact more.  A ``deque`` was rejected: it can be read only whole, and 200,000
  facts copied ten times a second cost more than the run.
* **Observers never break a run.**  They are indexed by type of fact; one that raises is removed, and a
  :class:`~pwlab.events.Noted` says so.
"""

from __future__ import annotations

import itertools
import threading
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter

from ..events import Fact, IslandKnown, Noted, SliceMapped, SliceUnmapped
from .archive import Archive
from .garbage import no_collection

Observer = Callable[[Fact], None]

_LASTING = frozenset({IslandKnown, SliceMapped, SliceUnmapped})


@dataclass(frozen=True, slots=True)
class Batch:
    """The answer to "what came after number N?"."""

    #: Facts in order; where some are no longer kept, the lasting ones among those stand in their place.
    facts: tuple[Fact, ...]
    #: Number of the last fact here: ask for what comes after it next time.
    last: int
    #: Facts that were no longer kept when they were asked for, less the lasting ones.
    missed: int = 0
    #: How many of the newest of ``facts`` follow each other without a gap.
    whole: int = 0


#: Facts that are kept as they are.
RECENT = 8_192


class FactRing:
    """Keeps about ``keep`` facts, of the oldest no detail, and those about islands and slices for ever.

    Args:
      keep: facts; where these are no more than ``recent``, the oldest go whole.
      recent: facts that are kept as they are, and what a view may be behind without unpacking.
    """

    def __init__(self, keep: int = 1_000_000, recent: int = RECENT):
        if keep < 2:
            raise ValueError(f"a ring keeps at least 2 facts, not {keep}")
        self.keep = keep
        self.recent = min(keep, recent)
        self._facts: list[Fact | None] = [None] * self.recent
        self._at = array("q", [0]) * self.recent
        self._numbers = itertools.count(1)
        self._hint = 0
        self._half = self.recent // 2
        # Lasting kinds always have an entry, so that an append tests one dict alone.
        self._hooks: dict[type, tuple[Observer, ...]] = dict.fromkeys(_LASTING, ())
        self._half_turn: tuple[Callable[[], object], ...] = ()
        self._lasting: dict[tuple[type, int], tuple[int, Fact]] = {}
        #: Few of them are a turn, so that a packer that is late loses nothing.
        self._block = max(1, self.recent // 8)
        self._archive = Archive(keep if keep > self.recent else 0, self._block // 16)
        self._packing = threading.Lock()
        self._told = False

    # --- writing: the driver, and the user's thread for its waits -------------------

    def append(self, fact: Fact) -> None:
        """Adds a fact.  Never waits and never raises."""
        number = next(self._numbers)
        slot = number % self.recent
        self._at[slot] = 0
        self._facts[slot] = fact
        self._at[slot] = number
        self._hint = number
        hooks = self._hooks.get(type(fact))
        if hooks is not None:
            self._tell(hooks, number, fact)
        if not number % self._block:
            self._pack(fact.time)
        if not number % self._half:
            self._press()

    def extend(self, facts: Iterable[Fact]) -> None:
        """Adds facts in order."""
        for fact in facts:
            self.append(fact)

    # --- reading: any thread ----------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the newest fact; 0 where there is none."""
        number = self._hint
        while self._at[(number + 1) % self.recent] == number + 1:
            number += 1
        return number

    def after(self, number: int, limit: int | None = None) -> Batch:
        """Facts with numbers above ``number``, about ``limit`` of them at most, oldest first."""
        found: list[Fact] = []
        missed, want, gap = 0, number + 1, number
        while limit is None or len(found) < limit:
            most = None if limit is None else limit - len(found)
            row, stands = self._row(want, most)
            found += row
            want += len(row)
            if stands <= want:
                break
            # Lapped: what can still be there is less than one turn behind the newest.
            older, upto = self._older(want, max(stands, self._hint) - self.recent + 1, most)
            found += older
            if len(older) < upto - want:
                missed += upto - want - len(older)
                gap = min(self._archive.thinned or upto - 1, upto - 1)
            want = upto
        return Batch(tuple(found), want - 1, missed, want - 1 - gap)

    def lasting(self) -> tuple[Fact, ...]:
        """The facts about islands and slices, the newest for each, in order."""
        return tuple(fact for _, fact in self._lasting_between(1, self.last + 1))

    # --- observers ----------------------------------------------------------------------

    def observe(self, observer: Observer, *kinds: type) -> Callable[[], None]:
        """Calls ``observer(fact)`` for each later fact of these types, on the thread that appends it.

        Returns a function that ends this.  Observers must be quick; a view that can wait reads
        :meth:`after` instead.
        """
        if not kinds:
            raise ValueError("name the types of facts to observe, such as NodeEnded")
        for kind in kinds:
            self._hooks[kind] = (*self._hooks.get(kind, ()), observer)
        return lambda: self._forget(observer)

    def each_half_turn(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls ``callback()`` whenever another ``recent // 2`` facts came.

        One who reads then misses nothing and unpacks nothing, however seldom they look otherwise.  Returns a
        function that ends this.
        """
        self._half_turn = (*self._half_turn, callback)
        return lambda: self._forget(callback)

    # --- inside -----------------------------------------------------------------------------

    def _tell(self, hooks: tuple[Observer, ...], number: int, fact: Fact) -> None:
        if isinstance(fact, IslandKnown):
            self._lasting[IslandKnown, fact.island.id] = (number, fact)
        elif isinstance(fact, SliceMapped | SliceUnmapped):
            self._lasting[type(fact), fact.slice] = (number, fact)
        for hook in hooks:
            try:
                hook(fact)
            except Exception as error:
                self._remove(hook, error, fact.time)

    def _press(self) -> None:
        for callback in self._half_turn:
            try:
                callback()
            except Exception as error:
                self._remove(callback, error, 0.0)

    def _remove(self, hook: Callable[..., object], error: Exception, time: float) -> None:
        self._forget(hook)
        name = getattr(hook, "__qualname__", None) or type(hook).__name__
        self.append(Noted(time, f"observer {name} raised {type(error).__name__}: {error}; it was removed"))

    def _forget(self, hook: Callable[..., object]) -> None:
        # Tuples are replaced, never changed, so a writer that walks one is not disturbed.
        for kind, hooks in list(self._hooks.items()):
            left = tuple(other for other in hooks if other != hook)
            if left or kind in _LASTING:
                self._hooks[kind] = left
            else:
                self._hooks.pop(kind, None)
        self._half_turn = tuple(other for other in self._half_turn if other != hook)

    def _pack(self, time: float) -> None:
        """Packs what came since the last time, unless a thread is at it."""
        if not self._archive.keep or not self._packing.acquire(blocking=False):
            return
        try:
            first = max(self._archive.last + 1, self._hint - self.recent + 2)
            row, _ = self._row(first)
            thinned = bool(row) and self._archive.add(first, row)
        finally:
            self._packing.release()
        if thinned and not self._told:
            self._told = True
            self.append(
                Noted(
                    time,
                    f"the run has more than {self.keep:,} facts: of its oldest part the detail is no longer kept, the "
                    "steps of nodes first; the setting keep_facts says how many are",
                )
            )

    def _row(self, first: int, most: int | None = None) -> tuple[list[Fact], int]:
        """Facts from number ``first`` on as they stand in the ring, and the number that stands where they end."""
        at, facts, size = self._at, self._facts, self.recent
        found: list[Fact] = []
        want = first
        while True:
            slot = want % size
            stands, fact = at[slot], facts[slot]
            if stands != want or fact is None or at[slot] != want:
                return found, max(stands, at[slot])
            if len(found) == most:
                return found, want
            found.append(fact)
            want += 1

    def _older(self, low: int, high: int, most: int | None) -> tuple[list[Fact], int]:
        """Facts ``low`` to ``high - 1`` as far as they are kept, about ``most``, and the number to go on from."""
        with no_collection():
            held, upto = self._archive.between(low, high, most)
            if lasting := self._lasting_between(low, upto):
                held = sorted((dict(lasting) | dict(held)).items(), key=itemgetter(0))
            return [fact for _, fact in held], upto

    def _lasting_between(self, low: int, high: int) -> list[tuple[int, Fact]]:
        kept = sorted(self._lasting.copy().values(), key=lambda pair: pair[0])
        return [(number, fact) for number, fact in kept if low <= number < high]
