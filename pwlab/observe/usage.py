"""What the devices and clients of a run spent their time and memory on, in total and over time.

:class:`Usage` is a fold like :class:`~pwlab.observe.RunStats`: it takes facts one by one, holds what has not ended and
a fixed number of bins, and answers with a :class:`UsageView`, plain data that every view of the three subjects draws.
``pwlab/viz/js/src/usage.js`` is the same fold in the page; tests compare the two.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..events import (
    BuffersFreed,
    BuffersOffloaded,
    BuffersRestored,
    ClientGone,
    ClientKnown,
    IslandKnown,
    IslandSpec,
    NodeAdded,
    NodeEnded,
    NodeHeld,
    NodeKind,
    NodeMoved,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
)
from ..ids import DeviceId, IslandId, ProgramId, SliceId
from .bins import Amounts, BinClock
from .contest import Contest
from .fold import Fold, takes
from .holdings import Holding, Holdings, Room
from .lives import COUNTED, Life, Lives, Part
from .spending import Spending
from .usage_view import ClientRow, HeldRow, HolderRow, MemoryRow, Parts, Spent, UsageView


@dataclass(slots=True)
class _Active:
    """Time in which a program was open."""

    seconds: float = 0.0
    open: int = 0
    since: float = 0.0

    def change(self, time: float, by: int) -> None:
        if self.open == 0:
            self.since = time
        elif self.open + by == 0:
            self.seconds += max(0.0, time - self.since)
        self.open += by

    def until(self, time: float) -> float:
        """Seconds of it until a time of the present stretch, or after the last."""
        return self.seconds + (max(0.0, time - self.since) if self.open > 0 else 0.0)


class Usage(Fold):
    """The fold.  A fact that refers to something unknown is left out."""

    def __init__(self) -> None:
        self.now = 0.0
        self._clock = BinClock()
        self._lives = Lives()
        self._islands: dict[IslandId, IslandSpec] = {}
        self._slices: dict[SliceId, tuple[DeviceId, ...]] = {}
        self._programs: dict[ProgramId, str] = {}
        self._contest = Contest()
        self._active = _Active()
        self._spending = Spending(Amounts(self._clock), Amounts(self._clock), self._active.until)
        self.holdings = Holdings(self._clock, self._active.until)

    # --- facts -------------------------------------------------------------------------

    @takes(IslandKnown)
    def _island_known(self, fact: IslandKnown) -> None:
        self._islands[fact.island.id] = fact.island
        self.holdings.join(fact.island)

    @takes(SliceMapped)
    def _slice_mapped(self, fact: SliceMapped) -> None:
        before = self._slices.get(fact.slice)
        self._slices[fact.slice] = fact.devices
        if before is not None:
            self.holdings.moved(fact, before)

    @takes(ClientKnown)
    def _client_known(self, fact: ClientKnown) -> None:
        self._contest.known(fact)

    @takes(ClientGone)
    def _client_gone(self, fact: ClientGone) -> None:
        self._contest.gone(fact.client)

    @takes(ProgramOpened)
    def _opened(self, fact: ProgramOpened) -> None:
        self._programs[fact.program] = fact.client
        self._contest.of(fact.client)
        self._active.change(fact.time, 1)

    @takes(ProgramEnded)
    def _closed(self, fact: ProgramEnded) -> None:
        if self._programs.pop(fact.program, None) is not None:
            self._active.change(fact.time, -1)

    @takes(NodeAdded)
    def _added(self, fact: NodeAdded) -> None:
        life = self._lives.added(fact, self._programs.get(fact.program, ""))
        life.owner = self._contest.of(life.client)
        self._contest.changed(life.owner, 1)

    @takes(NodeMoved)
    def _moved(self, fact: NodeMoved) -> None:
        life = self._lives.moved(fact)
        if life is not None:
            self.holdings.launched(life, fact.time)

    @takes(NodeHeld)
    def _held(self, fact: NodeHeld) -> None:
        self._lives.held(fact)

    @takes(BuffersFreed)
    def _freed(self, fact: BuffersFreed) -> None:
        self.holdings.freed(fact.buffers, fact.time)
        for buffer in fact.buffers:
            self._lives.writers.pop(buffer, None)

    @takes(BuffersOffloaded)
    def _offloaded(self, fact: BuffersOffloaded) -> None:
        self.holdings.offloaded(fact.buffers, fact.time)

    @takes(BuffersRestored)
    def _restored(self, fact: BuffersRestored) -> None:
        self.holdings.restored(fact.buffers, fact.time)

    @takes(NodeEnded)
    def _ended(self, fact: NodeEnded) -> None:
        known = self._lives.open.get(fact.node)
        unseen = known is not None and known.launched == float("inf")
        life = self._lives.ended(fact)
        if life is None:
            return
        self.holdings.ended(life, fact.time)
        if unseen and fact.state is NodeState.DONE:
            self.holdings.launched(life, fact.time)
        client = life.owner or self._contest.of(life.client)
        client.failed += fact.state is NodeState.FAILED
        if fact.end > fact.start and life.spec.kind is NodeKind.COMPUTE:
            client.launches += 1
            gang = self._gang(life)
            self._spending.ran(life, gang, life.end, client.parts)
            self._contest.ran((life.end - life.start) * len(gang))
        self._contest.changed(client, -1)
        # Its readers need to know when it ran, and nothing of what it read.
        life.sources = ()

    def _gang(self, life: Life) -> tuple[DeviceId, ...]:
        """The devices of a node, or those on which it will run."""
        if life.devices:
            return life.devices
        devices = self._slices.get(life.spec.slice, ())
        return devices if life.spec.spread else devices[:1]

    # --- the answer -------------------------------------------------------------------------------

    def view(self, now: float | None = None) -> UsageView:
        """All of it, with what has not ended counted until ``now``, or until the newest fact."""
        now = self.now if now is None else max(now, self.now)
        seconds = self._active.until(now)
        used = self._clock.used(seconds)
        clients = {name: [*client.parts] for name, client in self._contest.clients.items()}
        spending = self._spending.copy()
        for life in self._next():
            spending.ran(life, self._gang(life), now, clients.setdefault(life.client, [0.0] * COUNTED))
        spent: dict[DeviceId, Spent] = {}
        islands: dict[IslandId, Spent] = {}
        series: dict[IslandId, tuple[Parts, ...]] = {}
        for island in self._islands.values():
            for id in island.devices:
                parts = spending.devices[id].parts if id in spending.devices else [0.0] * COUNTED
                spent[id] = Spent((*parts, max(0.0, seconds - sum(parts))))
            sums = zip(*(spent[id].parts for id in island.devices), strict=True)
            islands[island.id] = Spent(tuple(map(sum, sums)))
            rows = (spending.over.of.get((island.id, Part(part))) for part in range(COUNTED))
            series[island.id] = tuple(tuple(row[:used]) if row else (0.0,) * used for row in rows)
        return UsageView(
            seconds,
            self._clock.width,
            tuple(self._islands.values()),
            spent,
            islands,
            self._client_rows(clients),
            self._memory_rows(used),
            holder_rows(self.holdings.held.values()),
            self._held_rows(),
            series,
            {str(name): tuple(row[:used]) for name, row in spending.by_client.of.items()},
        )

    def _next(self) -> list[Life]:
        """Of each device what runs on it, or else what is next for it; each node once, in order of submission."""
        taken: set[DeviceId] = set()
        found: list[Life] = []
        everything = sum(len(island.devices) for island in self._islands.values())
        open = [life for life in self._lives.open.values() if life.spec.kind is NodeKind.COMPUTE]
        for wanted in (True, False):
            for life in open:
                if len(taken) >= everything:
                    return found
                if (life.launched < float("inf")) is not wanted:
                    continue
                gang = self._gang(life)
                if gang and taken.isdisjoint(gang):
                    taken.update(gang)
                    found.append(life)
        return found

    def _client_rows(self, parts: dict[str, list[float]]) -> tuple[ClientRow, ...]:
        waiting: Counter[str] = Counter()
        held: Counter[str] = Counter()
        for life in self._lives.open.values():
            waiting[life.client] += life.launched == float("inf")
            held[life.client] += life.held < float("inf") and life.launched == float("inf")
        rows: list[ClientRow] = []
        for name, client in self._contest.clients.items():
            asked, got = self._contest.divided(client)
            rows.append(
                ClientRow(
                    name,
                    client.open,
                    client.share,
                    client.priority,
                    asked,
                    got,
                    Spent((*parts[name],)),
                    client.launches,
                    client.failed,
                    waiting[name],
                    held[name],
                    self.holdings.clients.get(name, 0),
                    client.max_bytes,
                )
            )
        return tuple(rows)

    def _memory_rows(self, used: int) -> tuple[MemoryRow, ...]:
        rows: dict[int, tuple[Room, IslandId]] = {}
        for island in self._islands.values():
            for device in island.devices:
                room = self.holdings.rooms[device]
                rows.setdefault(id(room), (room, island.id))
        out: list[MemoryRow] = []
        for room, island in rows.values():
            series = room.level.series(used)
            out.append(
                MemoryRow(
                    room.label, island, tuple(room.devices), room.level.now, room.level.peak, room.capacity, series
                )
            )
        return tuple(out)

    def _held_rows(self) -> tuple[HeldRow, ...]:
        labels = {room.name: room.label for room in self.holdings.rooms.values()}
        return tuple(
            HeldRow(
                life.spec.id,
                life.spec.name,
                life.client,
                life.spec.source,
                life.held,
                labels.get(life.account, life.account),
                life.short,
            )
            for life in self._lives.open.values()
            if life.held < float("inf") and life.launched == float("inf")
        )


def holder_rows(held: Any) -> tuple[HolderRow, ...]:
    """What holds memory, by computation, line, client and slice; the largest first."""
    groups: dict[tuple[Any, ...], list[Holding]] = {}
    for holding in held:
        spec = holding.life.spec
        groups.setdefault((spec.name, spec.source, holding.life.client, spec.slice), []).append(holding)
    rows = [
        HolderRow(
            group[0].life.spec.id, name, client, source, slice, len(group), sum(holding.bytes for holding in group)
        )
        for (name, source, client, slice), group in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.bytes, row.node)))
