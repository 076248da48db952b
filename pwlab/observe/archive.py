"""Where facts go that are no longer new: kept as columns, and thinned from the oldest on.

A run of a day has more facts than memory.  What is lost then should be what is missed least, so facts stand in three
layers, and where more than ``keep`` are held the first of these that can be done is done:

1. of the oldest nodes, *steps*: when they were prepared and queued;
2. of the oldest, what is about single *nodes*, launches, ends, buffers, waits and the controller's work, failures
   excepted;
3. the *outline*: programs, failures with their nodes, notes, islands and slices.

The newest half of ``keep`` is never thinned.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, compress
from operator import itemgetter
from typing import NamedTuple, cast

from ..events import (
    BuffersFreed,
    BuffersOffloaded,
    BuffersRestored,
    ControllerWorked,
    Fact,
    NodeAdded,
    NodeEnded,
    NodeMoved,
    NodeState,
    WaitBegan,
    Waited,
)
from ..ids import NodeId
from .columns import Column, column

STEPS, NODES, OUTLINE = range(3)

#: Kinds of which all facts stand in one layer; others are outline, and of two :func:`_apart` decides.
_LAYER: dict[type, int] = {
    WaitBegan: STEPS,
    **dict.fromkeys((NodeAdded, BuffersFreed, BuffersOffloaded, BuffersRestored, Waited, ControllerWorked), NODES),
}

_number = itemgetter(0)

#: Positions in a block, and the facts that stand there.
_Group = tuple[list[int], list[Fact]]


class _Part(NamedTuple):
    """The facts of one layer among those with numbers ``first`` to ``last``."""

    first: int
    last: int
    #: A kind each: for every fact its number less ``first``; and the facts.
    tables: list[tuple[array[int], Column]]

    def facts(self) -> Iterator[tuple[int, Fact]]:
        """Each with its number; kind by kind."""
        return chain.from_iterable(zip(map(self.first.__add__, at), facts, strict=True) for at, facts in self.tables)


class Archive:
    """Packed facts by number.

    One thread at a time adds; any may read.

    Args:
      keep: facts.
      least: as so many facts counts what has fewer, for what columns take themselves.
    """

    def __init__(self, keep: int, least: int = 0):
        self.keep = keep
        self._least = least
        #: Number of the newest fact that was added, here or thinned away.
        self.last = 0
        #: Number of the newest fact that may have been thinned away; what came after it is all here.
        self.thinned = 0
        self._held = 0
        self._layers: tuple[deque[_Part], ...] = (deque(), deque(), deque())
        #: Nodes that failed, of which the description is in the layer of nodes still.
        self._failed: set[NodeId] = set()
        self._lock = threading.Lock()

    def add(self, first: int, facts: Sequence[Fact]) -> bool:
        """Takes facts whose numbers are ``first``, ``first + 1``, …; whether older ones were thinned for them."""
        last = first + len(facts) - 1
        kinds = list(map(type, facts))
        places: dict[type, list[int]] = {kind: [] for kind in set(kinds)}
        put = {kind: at.append for kind, at in places.items()}
        for i, kind in enumerate(kinds):
            put[kind](i)
        layers: tuple[dict[type, _Group], ...] = ({}, {}, {})
        for kind, at in places.items():
            for layer, some in _apart(kind, (at, [facts[i] for i in at])):
                if some[0]:
                    layers[layer][kind] = some
        _, failures = layers[OUTLINE].get(NodeEnded, ([], []))
        self._failed.update(fact.node for fact in cast(list[NodeEnded], failures))
        parts = [_part(first, last, layer) for layer in layers]
        with self._lock:
            for layer, part in zip(self._layers, parts, strict=True):
                if part.tables:
                    layer.append(part)
                    self._held += self._weight(part)
            self.last = last
            thinned = False
            while self._held > self.keep and self._thin():
                thinned = True
        return thinned

    def between(self, low: int, high: int, most: int | None = None) -> tuple[list[tuple[int, Fact]], int]:
        """What there is of facts ``low`` to ``high - 1``, each with its number, and the number to go on from.

        Args:
          most: give no more than the facts of the blocks in which so many are found.
        """
        with self._lock:
            parts = [part for layer in self._layers for part in layer if part.first < high and part.last >= low]
        parts.sort(key=lambda part: part.first)
        found: list[tuple[int, Fact]] = []
        for i, part in enumerate(parts):
            if most is not None and len(found) >= most and part.first > parts[i - 1].first:
                high = part.first
                break
            found += part.facts()
        found.sort(key=_number)
        return found[bisect_left(found, low, key=_number) : bisect_left(found, high, key=_number)], high

    # --- inside -----------------------------------------------------------------------------

    def _weight(self, part: _Part) -> int:
        return max(self._least, sum(len(at) for at, _ in part.tables))

    def _thin(self) -> bool:
        """Drops the oldest part of the first layer that reaches below the newest half."""
        half = self.last - self.keep // 2
        for layer in self._layers:
            if layer and layer[0].last <= half:
                part = layer.popleft()
                self.thinned = max(self.thinned, part.last)
                self._held -= self._weight(part)
                if layer is self._layers[NODES] and self._failed:
                    self._save_failed(part)
                return True
        return False

    def _save_failed(self, part: _Part) -> None:
        """Moves the descriptions of nodes that failed to the outline."""
        at: list[int] = []
        nodes: list[Fact] = []
        for number, fact in part.facts():
            if isinstance(fact, NodeAdded) and fact.node.id in self._failed:
                self._failed.discard(fact.node.id)
                at.append(number - part.first)
                nodes.append(fact)
        if nodes:
            saved = _part(part.first, part.last, {NodeAdded: (at, nodes)})
            insort(self._layers[OUTLINE], saved, key=lambda part: part.first)
            self._held += self._weight(saved)


def _apart(kind: type, group: _Group) -> Iterator[tuple[int, _Group]]:
    """Facts of one kind by layer."""
    at, facts = group
    if kind is NodeMoved:
        # What took time to compile is no mere step.
        upper = [fact.state is NodeState.LAUNCHED or fact.seconds > 0 for fact in cast(list[NodeMoved], facts)]
        layers = NODES, STEPS
    elif kind is NodeEnded:
        upper = [fact.state is NodeState.FAILED for fact in cast(list[NodeEnded], facts)]
        layers = OUTLINE, NODES
    else:
        yield _LAYER.get(kind, OUTLINE), group
        return
    lower = [not each for each in upper]
    for layer, chosen in zip(layers, (upper, lower), strict=True):
        yield layer, (list(compress(at, chosen)), list(compress(facts, chosen)))


def _part(first: int, last: int, groups: dict[type, _Group]) -> _Part:
    tables = [(array("H", at), column(kind, facts)) for kind, (at, facts) in groups.items()]
    return _Part(first, last, tables)
