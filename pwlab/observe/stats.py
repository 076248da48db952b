"""From facts to numbers: what ran where, and how busy each device was.

:class:`RunStats` is a fold: :meth:`RunStats.add` takes one fact, and
``stats_of(facts)`` is the fold of many.  Times are seconds on the driver's
clock, sizes are bytes.  What counts how:

* **Busy** is the union of the spans in which a device *computed*.  Spans that overlap count once, and a
  span of a gang counts on each of its devices.
* **Moving** is time in which a device took part in a transfer and did not compute.
* **Device seconds of a name** are the busy seconds that its launches added, so the names together give
  exactly what the devices give together.  Where two launches overlap, the overlap belongs to the one
  that was reported first.
* **Launches**: one a node, whatever its shards; **computations** are those merged into it (``parts``).
* **Active** time is the union of the programs' lives.  The busy share is measured against it, so a coffee
  break between two cells makes no device look idle.
* **Compile seconds** are summed over computations: compiling in parallel they may exceed the wall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ..events import (
    Fact,
    Link,
    NodeAdded,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    Waited,
)
from ..ids import DeviceId, IslandId, NodeId, ProgramId, Source
from .fold import Fold, takes
from .intervals import Interval, IntervalSet
from .usage import Usage

T = TypeVar("T", bound="_Ends")

#: Name under which launches are counted whose :class:`~pwlab.events.NodeAdded` was not seen.
UNKNOWN = "(not seen)"


@dataclass(slots=True)
class DeviceTotal:
    """One device."""

    island: IslandId | None = None
    busy: IntervalSet = field(default_factory=IntervalSet)
    #: Computing or moving.
    occupied: IntervalSet = field(default_factory=IntervalSet)
    launches: int = 0

    @property
    def moving(self) -> float:
        """Seconds in which the device moved data and did not compute."""
        return max(0.0, self.occupied.total - self.busy.total)


@dataclass(slots=True)
class NameTotal:
    """All launches of one name."""

    launches: int = 0
    computations: int = 0
    #: Seconds by devices; what overlaps counts once.
    device_seconds: float = 0.0
    #: Seconds of host nodes, which take no device.
    host_seconds: float = 0.0
    failed: int = 0


@dataclass(slots=True)
class ProgramTotal:
    """One program."""

    name: str
    client: str = "main"
    source: Source | None = None
    opened: float = 0.0
    ended: float | None = None
    #: How it ended; None while it runs.
    state: NodeState | None = None

    def wall(self, now: float) -> float:
        """Seconds from its opening to its end, or to ``now`` while it runs."""
        return max(0.0, (now if self.ended is None else self.ended) - self.opened)


@dataclass(slots=True)
class WaitTotal:
    """Waits at one place for one reason, on the user's threads."""

    reason: str
    source: Source | None
    count: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class TransferTotal:
    """Transfers over one link."""

    count: int = 0
    bytes: int = 0
    #: Time from start to end of each, added up; several at once may exceed the wall.
    seconds: float = 0.0


@dataclass(slots=True)
class RunStats(Fold):
    """The numbers of a run so far."""

    devices: dict[DeviceId, DeviceTotal] = field(default_factory=dict[DeviceId, DeviceTotal])
    names: dict[str, NameTotal] = field(default_factory=dict[str, NameTotal])
    #: The newest ten thousand.
    programs: dict[ProgramId, ProgramTotal] = field(default_factory=dict[ProgramId, ProgramTotal])
    waits: dict[tuple[str, Source | None], WaitTotal] = field(
        default_factory=dict[tuple[str, Source | None], WaitTotal]
    )
    transfers: dict[Link | None, TransferTotal] = field(default_factory=dict[Link | None, TransferTotal])
    #: Nodes that ended, by how.
    ended: dict[NodeState, int] = field(default_factory=dict[NodeState, int])
    compilations: int = 0
    compile_seconds: float = 0.0
    #: What time and memory went into.
    usage: Usage = field(default_factory=Usage)
    #: Of a run whose oldest detail is gone: all is counted from then on; see :mod:`~pwlab.observe.window`.
    since: float | None = None
    #: Time of the newest fact.
    now: float = 0.0
    #: Lives of the programs that ended.
    _lives: IntervalSet = field(default_factory=IntervalSet)
    _open: dict[NodeId, NodeSpec] = field(default_factory=dict[NodeId, NodeSpec])

    # --- the fold ---------------------------------------------------------------

    def extend(self, facts: Sequence[Fact]) -> None:
        """Takes facts in order; each must be given once."""
        self.usage.extend(facts)
        Fold.extend(self, facts)

    @takes(NodeAdded)
    def _node_added(self, fact: NodeAdded) -> None:
        self._open[fact.node.id] = fact.node

    @takes(NodeMoved)
    def _node_moved(self, fact: NodeMoved) -> None:
        if fact.seconds > 0 and fact.state is NodeState.PREPARED:
            self.compilations += 1
            self.compile_seconds += fact.seconds

    @takes(ProgramOpened)
    def _program_opened(self, fact: ProgramOpened) -> None:
        self.programs[fact.program] = ProgramTotal(fact.name, fact.client, fact.source, fact.time)
        forget_ended(self.programs)

    @takes(NodeEnded)
    def _node_ended(self, fact: NodeEnded) -> None:
        spec = self._open.pop(fact.node, None)
        self.ended[fact.state] = self.ended.get(fact.state, 0) + 1
        ran = fact.end > fact.start
        if not ran and fact.state is not NodeState.DONE:
            # It never reached a device: it failed while it was compiled, or because of another node.
            if spec is not None and fact.state is NodeState.FAILED:
                self._named(spec.name).failed += 1
            return
        moves = spec is not None and spec.kind is NodeKind.TRANSFER
        added = 0.0
        for device in fact.devices:
            total = self.devices.get(device)
            if total is None:
                total = self.devices[device] = DeviceTotal(fact.island)
            total.occupied.add(fact.start, fact.end)
            if not moves:
                total.launches += 1
                added += total.busy.add(fact.start, fact.end)
        if spec is not None and moves:
            if fact.state is NodeState.DONE:
                moved = self.transfers.setdefault(spec.link, TransferTotal())
                moved.count += 1
                moved.bytes += spec.bytes_in
                moved.seconds += fact.end - fact.start
            return
        name = self._named(spec.name if spec else UNKNOWN)
        name.launches += 1
        name.computations += spec.parts if spec else 1
        name.device_seconds += added
        if spec is not None and spec.kind is NodeKind.HOST:
            name.host_seconds += fact.end - fact.start
        if fact.state is NodeState.FAILED:
            name.failed += 1

    def _named(self, name: str) -> NameTotal:
        total = self.names.get(name)
        if total is None:
            total = self.names[name] = NameTotal()
        return total

    @takes(ProgramEnded)
    def _program_ended(self, fact: ProgramEnded) -> None:
        program = self.programs.get(fact.program)
        if program is None or program.state is not None:
            return
        program.ended, program.state = fact.time, fact.state
        self._lives.add(program.opened, fact.time)

    @takes(Waited)
    def _waited(self, fact: Waited) -> None:
        self.now = max(self.now, fact.time + fact.seconds)
        key = (fact.reason, fact.source)
        total = self.waits.setdefault(key, WaitTotal(*key))
        total.count += 1
        total.seconds += fact.seconds

    # --- questions -------------------------------------------------------------------

    def active_seconds(self) -> float:
        """Seconds in which at least one program was open."""
        lives = IntervalSet(self._lives)
        settled = self._lives.total - lives.total
        for program in self.programs.values():
            if program.ended is None:
                lives.add(program.opened, self.now)
        return settled + lives.total

    def busy_share(self, device: DeviceId, window: Interval | None = None) -> float:
        """Share, 0 to 1, of the window in which the device computed; without a window, of the active time."""
        total = self.devices.get(device)
        if total is None:
            return 0.0
        if window is None:
            busy, whole = total.busy.total, self.active_seconds()
        else:
            busy, whole = total.busy.within(*window), window[1] - window[0]
        return min(1.0, busy / whole) if whole > 0 else 0.0

    @property
    def wait_count(self) -> int:
        return sum(total.count for total in self.waits.values())

    @property
    def wait_seconds(self) -> float:
        """Seconds in which the user's threads waited, added up."""
        return sum(total.seconds for total in self.waits.values())

    @property
    def device_seconds(self) -> float:
        """Busy seconds of all devices together."""
        return sum(total.busy.total for total in self.devices.values())


class _Ends(Protocol):
    state: NodeState | None


def forget_ended(programs: dict[ProgramId, T], keep: int = 10_000) -> list[T]:
    """Forgets the oldest ended programs where there are far more than ``keep``, and gives them."""
    if len(programs) <= keep + keep // 10:
        return []
    ended = [key for key, program in programs.items() if program.state is not None]
    return [programs.pop(key) for key in ended[: len(programs) - keep]]


def stats_of(facts: Iterable[Fact]) -> RunStats:
    """The numbers of these facts."""
    stats = RunStats()
    stats.extend(tuple(facts))
    return stats
