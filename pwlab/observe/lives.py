"""Nodes from their submission to their end, and what each spent its time on before it ran.

A device idles because of the launch that ends the gap.  The gap is taken apart with what is known of that launch: until
it was submitted nothing was queued; then it was prepared; then its inputs were computed elsewhere, or on their way;
then there was no memory; what is left went into dispatch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..events import NodeAdded, NodeEnded, NodeHeld, NodeKind, NodeMoved, NodeSpec, NodeState
from ..ids import BufferId, DeviceId, IslandId, NodeId

_NEVER = float("inf")

# Looked up once, for all three are asked for at each move of each node, and an enum is slow to find its members.
_WAITING, _PREPARED, _LAUNCHED = NodeState.WAITING, NodeState.PREPARED, NodeState.LAUNCHED


class Part(IntEnum):
    """What a device spends time on, or waits for."""

    COMPUTING = 0
    PREPARING = 1
    INPUT = 2
    TRANSFER = 3
    MEMORY = 4
    DISPATCH = 5
    NOTHING = 6

    @property
    def words(self) -> str:
        """As people say it."""
        return _WORDS[self]


_WORDS = ("computing", "preparing", "waiting for input", "transfer", "memory", "dispatch", "nothing queued")

COMPUTING, PREPARING, INPUT, TRANSFER, MEMORY, DISPATCH, NOTHING = Part

#: Parts that are counted as they happen; the last, nothing queued, is what remains.
COUNTED = len(Part) - 1

#: From, to, and what for.
Stretch = tuple[float, float, Part]


@dataclass(slots=True, eq=False)
class Life:
    """One node.  Times are seconds; infinite where not reached."""

    spec: NodeSpec
    client: str
    added: float
    #: The nodes that write what it reads.
    sources: tuple[Life, ...] = ()
    prepared: float = _NEVER
    #: Since when it was held back for want of memory, on which account and for how many bytes.
    held: float = _NEVER
    account: str = ""
    short: int = 0
    launched: float = _NEVER
    #: Bytes on each of its devices: of its scratch, and of each output where the compiler laid them out.
    scratch: int = 0
    written: tuple[int, ...] = ()
    start: float = _NEVER
    end: float = _NEVER
    island: IslandId | None = None
    #: Its client's record in the contest.
    owner: Any = None
    devices: tuple[DeviceId, ...] = ()

    @property
    def ended(self) -> bool:
        return self.end < _NEVER

    def before(self, at: float, to: float) -> list[Stretch]:
        """What the time from ``at`` to ``to`` went into, for a device that runs this node after that."""
        marks: list[tuple[float, Part]] = [(self.added, NOTHING), (self.prepared, PREPARING)]
        for source in self.sources if len(self.sources) < 2 else sorted(self.sources, key=_by_end):
            if source.spec.kind is NodeKind.TRANSFER:
                marks.append((source.start if source.ended else source.launched, INPUT))
                marks.append((source.end, TRANSFER))
            else:
                marks.append((source.end, INPUT))
        if self.held < _NEVER:
            marks += ((self.held, DISPATCH), (self.launched, MEMORY))
        marks += ((self.launched, DISPATCH), (to, DISPATCH if self.ended else COMPUTING))
        out: list[Stretch] = []
        for time, part in marks:
            stop = min(to, time)
            if stop > at:
                out.append((at, stop, part))
                at = stop
        return out


def _by_end(life: Life) -> tuple[float, NodeId]:
    return life.end, life.spec.id


@dataclass(slots=True)
class Lives:
    """The nodes that have not ended, in the order of submission, and the writers of what may be read."""

    open: dict[NodeId, Life] = field(default_factory=dict[NodeId, Life])
    writers: dict[BufferId, Life] = field(default_factory=dict[BufferId, Life])

    def added(self, fact: NodeAdded, client: str) -> Life:
        spec = fact.node
        sources = dict.fromkeys(filter(None, map(self.writers.get, spec.inputs)))
        life = self.open[spec.id] = Life(spec, client, fact.time, tuple(sources))
        for output in spec.outputs:
            self.writers[output.buffer] = life
        return life

    def moved(self, fact: NodeMoved) -> Life | None:
        """A node is further; or, when its slice moves, back at its beginning.  Gives it if it is launched now."""
        life = self.open.get(fact.node)
        if life is None:
            return None
        if fact.island is not None:
            life.island = fact.island
        if fact.devices:
            life.devices = fact.devices
        state = fact.state
        if state is _LAUNCHED:
            life.launched = fact.time
            life.scratch, life.written = fact.scratch, fact.written
            return life
        if state is _PREPARED:
            life.prepared = fact.time
        elif state is _WAITING:
            life.prepared = life.held = _NEVER
        return None

    def held(self, fact: NodeHeld) -> None:
        life = self.open.get(fact.node)
        if life is not None:
            life.held = min(life.held, fact.time)
            life.account, life.short = fact.account, fact.bytes

    def ended(self, fact: NodeEnded) -> Life | None:
        life = self.open.pop(fact.node, None)
        if life is None:
            return None
        if fact.end > fact.start:
            life.start, life.end = fact.start, fact.end
            life.devices = fact.devices
        else:
            life.start = life.end = fact.time
        life.launched = min(life.launched, life.start)
        life.island = life.island if fact.island is None else fact.island
        return life
