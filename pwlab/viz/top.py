"""What goes on at this moment, as ``top`` shows processes: the data of ``%pw top`` and of the toolbar at the prompt.

A pure function of a run's model and numbers, of a moment, and of what the controller of a running session says at a
glance, of which facts tell the policy alone.  It looks through what has not ended, never through the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ..events import IslandSpec, NodeKind, NodeState
from ..ids import DeviceId, IslandId, Source
from ..observe import ClientRow, IntervalSet, MemoryRow, NodeView, RunModel, RunStats

#: Utilisation is that of so many seconds before the moment; less where that many are not kept.
WINDOW = 3.0


@dataclass(frozen=True, slots=True)
class Glance:
    """How the scheduler stands, beyond what facts tell of it; of a recording that is nothing."""

    #: The policy; what the newest fact says if empty.
    policy: str = ""
    paused: bool = False
    #: Clients that launch nothing until they are resumed.
    suspended: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TopDevice:
    """One device.  Shares are of the window, from 0 to 1."""

    device: DeviceId
    computing: float = 0.0
    moving: float = 0.0
    #: What it runs now; empty where nothing was launched on it.
    runs: str = ""
    client: str = ""
    #: Launches on it that wait for what it runs.
    behind: int = 0
    #: Of its memory, which devices of one chip share; None where nobody limits them.
    bytes: int = 0
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class TopIsland:
    """An island: its devices, its launches in flight, and what is in its scheduler's queue."""

    name: str
    chip: str
    devices: tuple[TopDevice, ...]
    in_flight: int = 0
    queued: int = 0
    #: Functions that run on its host.
    host: tuple[str, ...] = ()

    @property
    def computing(self) -> float:
        """Mean share of its devices."""
        return sum(device.computing for device in self.devices) / len(self.devices) if self.devices else 0.0


@dataclass(frozen=True, slots=True)
class TopClient:
    """A client: the part of the device time that it asked for and got so far, from 0 to 1."""

    name: str
    asked: float = 0.0
    got: float = 0.0
    in_flight: int = 0
    #: Has not been launched.
    waiting: int = 0
    #: Of that, what waits for memory.
    held: int = 0
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class TopProgram:
    """A program that runs: how many of its nodes are done, and for how many seconds it has been open."""

    name: str
    client: str
    done: int
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TopNews:
    """Something that happened ``ago`` seconds before the moment."""

    ago: float
    #: ``failed``, ``waiting``, ``waited`` or ``note``.
    kind: str
    text: str
    source: Source | None = None
    #: Of a wait, how long it took, or has taken so far.
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Top:
    """The picture of one moment."""

    #: Since the first program was opened.
    seconds: float
    #: Nodes that have not ended, by state, in the order of a node's life.
    counts: tuple[tuple[NodeState, int], ...]
    islands: tuple[TopIsland, ...]
    #: The newest first.
    programs: tuple[TopProgram, ...] = ()
    clients: tuple[TopClient, ...] = ()
    #: The newest first.
    news: tuple[TopNews, ...] = ()
    glance: Glance = Glance()
    #: What a reader must know of a recording first.
    doubts: str = ""
    #: A damaged recording ends here, and what runs now is not known to have ended.
    cut: bool = False

    def count(self, *states: NodeState) -> int:
        """Nodes in these states."""
        return sum(n for state, n in self.counts if state in states)

    @property
    def computing(self) -> float:
        """Mean share of all devices."""
        devices = [device.computing for island in self.islands for device in island.devices]
        return sum(devices) / len(devices) if devices else 0.0


def top(
    model: RunModel,
    stats: RunStats,
    now: float,
    glance: Glance = Glance(),
    window: float = WINDOW,
    most: int = 8,
) -> Top:
    """What goes on at ``now``.

    Args:
      now: on the clock of the run, at or after its newest fact.
      glance: what the controller of a running session says.
      window: seconds that the shares are of.
      most: how many programs and how many news are told.
    """
    alive = list(model.alive.values())
    launched = sorted(
        (node for node in alive if node.state is NodeState.LAUNCHED), key=lambda node: node.times[NodeState.LAUNCHED]
    )
    began = next((program.opened for program in model.programs.values()), now)
    low = max(began, now - window)
    counts = [(state, sum(node.state is state for node in alive)) for state in NodeState]
    queued: dict[IslandId | None, int] = {}
    for node in alive:
        if node.state is NodeState.QUEUED:
            place = model.island_of(node)
            queued[place] = queued.get(place, 0) + 1
    if not glance.policy and model.settings:
        glance = replace(glance, policy=model.settings[-1].policy)
    usage = stats.usage.view(now)
    memory = {device: row for row in usage.memory for device in row.devices}
    return Top(
        seconds=max(0.0, now - began),
        counts=tuple((state, count) for state, count in counts if count),
        islands=tuple(
            _island(island, launched, queued.get(island.id, 0), memory, model, stats, (low, now))
            for island in model.islands.values()
        ),
        programs=tuple(islice(_programs(model, now), most)),
        clients=tuple(_client(row, launched, model, glance) for row in usage.clients),
        news=tuple(sorted(_news(model, now, most), key=lambda news: news.ago)[:most]),
        glance=glance,
    )


# --- inside -----------------------------------------------------------------------------------


def _island(
    island: IslandSpec,
    launched: list[NodeView],
    queued: int,
    memory: dict[DeviceId, MemoryRow],
    model: RunModel,
    stats: RunStats,
    window: tuple[float, float],
) -> TopIsland:
    mine = [node for node in launched if model.island_of(node) == island.id]
    by_device: dict[DeviceId, list[NodeView]] = {}
    for node in mine:
        if node.spec.kind is not NodeKind.HOST:
            for device in node.devices:
                by_device.setdefault(device, []).append(node)
    return TopIsland(
        island.name,
        f"{len(island.devices)} × {island.chip}",
        tuple(
            _device(device, by_device.get(device, []), memory.get(device), model, stats, window)
            for device in island.devices
        ),
        len(mine),
        queued,
        tuple(node.spec.name for node in mine if node.spec.kind is NodeKind.HOST),
    )


def _device(
    device: DeviceId,
    launched: list[NodeView],
    memory: MemoryRow | None,
    model: RunModel,
    stats: RunStats,
    window: tuple[float, float],
) -> TopDevice:
    total = stats.devices.get(device)
    computing = _share(total.busy if total else None, (n for n in launched if n.spec.kind is NodeKind.COMPUTE), window)
    occupied = _share(total.occupied if total else None, launched, window)
    first = launched[0] if launched else None
    program = model.programs.get(first.program) if first else None
    return TopDevice(
        device,
        computing,
        max(0.0, occupied - computing),
        first.spec.name if first else "",
        program.client if program else "",
        max(0, len(launched) - 1),
        memory.bytes if memory else 0,
        memory.capacity if memory else None,
    )


def _share(ended: IntervalSet | None, launched: Iterable[NodeView], window: tuple[float, float]) -> float:
    """The part of the window that is covered by what ended, and by what was launched and has not ended."""
    low, now = window
    if ended is not None:
        low = max(low, ended.kept_since)
    since = max(low, min((node.times[NodeState.LAUNCHED] for node in launched), default=now))
    covered = max(0.0, now - since) + (ended.within(low, since) if ended is not None and since > low else 0.0)
    return min(1.0, covered / (now - low)) if now > low else 0.0


def _programs(model: RunModel, now: float) -> Iterator[TopProgram]:
    for program in reversed(model.programs.values()):
        if program.state is None and program.nodes:
            done = program.counts.get(NodeState.DONE, 0)
            yield TopProgram(program.name, program.client, done, program.nodes, program.wall(now))


def _client(row: ClientRow, launched: list[NodeView], model: RunModel, glance: Glance) -> TopClient:
    mine = sum((program := model.programs.get(n.program)) is not None and program.client == row.name for n in launched)
    suspended = row.name in glance.suspended
    return TopClient(row.name, row.asked, row.got, mine, row.waiting, row.held, suspended)


def _news(model: RunModel, now: float, most: int) -> list[TopNews]:
    """The newest of each kind."""
    news: list[TopNews] = []
    for node in islice(reversed(model.failures), most):
        text = f"{node.spec.name}: {node.error}"
        news.append(TopNews(now - node.times[NodeState.FAILED], "failed", text, node.spec.source))
    for wait in islice(reversed(model.waits), most):
        ended = wait.time + wait.seconds
        news.append(TopNews(now - ended, "waited", wait.reason, wait.source, wait.seconds))
    for wait in islice(reversed(model.waiting.values()), most):
        news.append(TopNews(0.0, "waiting", wait.reason, wait.source, now - wait.time))
    news += [TopNews(now - note.time, "note", note.text) for note in islice(reversed(model.notes), most)]
    return news
