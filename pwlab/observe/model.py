"""The run as a view sees it: programs, nodes and buffers, folded from facts.

A view is a pure function of a :class:`RunModel` (and of
:class:`~pwlab.observe.RunStats`); nothing in it is live.  The model may be fed
any beginning of a stream of facts, or one with a hole where the ring turned
over: what refers to something that was never seen is left out.

Ended nodes are forgotten, oldest first, above ``keep_nodes``; the counts in
their program stay right, so a training loop of an hour does not fill memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..events import (
    BuffersFreed,
    ControllerWorked,
    Dispatch,
    DispatchChanged,
    Fact,
    IslandKnown,
    IslandSpec,
    NodeAdded,
    NodeEnded,
    NodeMoved,
    NodeSpec,
    NodeState,
    Noted,
    ProgramEnded,
    ProgramOpened,
    SettingsKnown,
    SliceMapped,
    SliceRefused,
    SliceUnmapped,
    WaitBegan,
    Waited,
)
from ..ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source
from .fold import Fold, takes
from .stats import forget_ended


@dataclass(slots=True)
class NodeView:
    """One node: what it is, and what became of it.  Times are seconds; None where not reached."""

    spec: NodeSpec
    program: ProgramId
    added: float
    state: NodeState = NodeState.WAITING
    #: Where it runs; None until it was queued.
    island: IslandId | None = None
    devices: tuple[DeviceId, ...] = ()
    #: When it entered each state.
    times: dict[NodeState, float] = field(default_factory=dict[NodeState, float])
    compile_seconds: float = 0.0
    #: On its devices from ``start`` to ``end``.
    start: float | None = None
    end: float | None = None
    error: str = ""
    #: The node that failed first; itself where the failure is its own.
    cause: NodeId | None = None

    @property
    def seconds(self) -> float | None:
        """Time on its devices, or None."""
        return None if self.start is None or self.end is None else self.end - self.start


@dataclass(slots=True)
class ProgramView:
    """One program.  ``counts`` is right also for nodes that were forgotten."""

    id: ProgramId
    name: str
    client: str
    source: Source | None
    opened: float
    ended: float | None = None
    #: How it ended; None while it runs.
    state: NodeState | None = None
    #: How its newest nodes are dispatched.
    dispatch: Dispatch = Dispatch.PARALLEL
    counts: dict[NodeState, int] = field(default_factory=dict[NodeState, int])
    #: It began where detail is gone: ``counts`` are of the nodes that are still known.
    partial: bool = False

    def until(self, now: float) -> float:
        """When it ended, or ``now`` while it runs."""
        return now if self.ended is None else self.ended

    def wall(self, now: float) -> float:
        """Seconds from its opening to its end, or to ``now`` while it runs."""
        return max(0.0, self.until(now) - self.opened)

    @property
    def nodes(self) -> int:
        return sum(self.counts.values())


@dataclass(slots=True)
class SliceView:
    """A virtual slice and where it is."""

    id: SliceId
    name: str
    #: None where it was refused.
    island: IslandId | None
    devices: tuple[DeviceId, ...]
    mapped: bool = True
    refused: str = ""


@dataclass(slots=True)
class RunModel(Fold):
    """All that views draw.  Feed it with :meth:`add`; read its dicts, which keep the order of arrival."""

    keep_nodes: int = 100_000
    keep_programs: int = 10_000
    islands: dict[IslandId, IslandSpec] = field(default_factory=dict[IslandId, IslandSpec])
    slices: dict[SliceId, SliceView] = field(default_factory=dict[SliceId, SliceView])
    programs: dict[ProgramId, ProgramView] = field(default_factory=dict[ProgramId, ProgramView])
    nodes: dict[NodeId, NodeView] = field(default_factory=dict[NodeId, NodeView])
    #: Those of the nodes that have not ended, so that a live view need not look through all.
    alive: dict[NodeId, NodeView] = field(default_factory=dict[NodeId, NodeView])
    #: Which node writes a buffer.
    producer: dict[BufferId, NodeId] = field(default_factory=dict[BufferId, NodeId])
    #: Bytes of each buffer, counted once however it is sharded.
    bytes: dict[BufferId, int] = field(default_factory=dict[BufferId, int])
    bytes_freed: int = 0
    #: The newest nodes that failed by themselves, waits, and what a person should know.
    failures: deque[NodeView] = field(default_factory=lambda: deque[NodeView](maxlen=100))
    waits: deque[Waited] = field(default_factory=lambda: deque[Waited](maxlen=10_000))
    #: Waits that go on, by when they began.
    waiting: dict[float, WaitBegan] = field(default_factory=dict[float, WaitBegan])
    #: When the controller was at work.
    control: deque[ControllerWorked] = field(default_factory=lambda: deque[ControllerWorked](maxlen=10_000))
    notes: deque[Noted] = field(default_factory=lambda: deque[Noted](maxlen=1_000))
    #: The settings of the controller, since when each held.
    settings: deque[SettingsKnown] = field(default_factory=lambda: deque[SettingsKnown](maxlen=1_000))
    #: Nodes that were forgotten.
    forgotten: int = 0
    #: From when on every node is known; None where none was forgotten or was missing from the beginning.
    whole_from: float | None = None
    #: What of the record is damaged, in a sentence.
    damage: str = ""
    #: Time of the newest fact, of what lasts its end.
    now: float = 0.0

    def nodes_of(self, program: ProgramId) -> list[NodeView]:
        """The nodes of a program that are still known, in order."""
        return [node for node in self.nodes.values() if node.program == program]

    def failed(self, programs: Collection[ProgramId] | None = None) -> int:
        """How many nodes of these programs, or of all, failed of their own, of those that are still known."""
        return sum(
            node.state is NodeState.FAILED
            and node.cause in (None, node.spec.id)
            and (programs is None or node.program in programs)
            for node in self.nodes.values()
        )

    def island_of(self, node: NodeView) -> IslandId | None:
        """Where it ran or runs, or else where its slice is."""
        if node.island is not None:
            return node.island
        where = self.slices.get(node.spec.slice)
        return where.island if where else None

    # --- inside ---------------------------------------------------------------------

    @takes(NodeAdded)
    def _node_added(self, fact: NodeAdded) -> None:
        spec = fact.node
        if spec.id in self.nodes:
            return
        self.nodes[spec.id] = self.alive[spec.id] = NodeView(spec, fact.program, fact.time)
        for output in spec.outputs:
            self.producer[output.buffer] = spec.id
            self.bytes[output.buffer] = output.bytes
        self._count(fact.program, None, NodeState.WAITING)
        if len(self.nodes) > self.keep_nodes:
            self._forget()

    @takes(NodeMoved)
    def _node_moved(self, fact: NodeMoved) -> None:
        node = self.alive.get(fact.node)
        if node is None:
            return
        state = fact.state
        self._count(node.program, node.state, state)
        node.state = state
        node.times[state] = fact.time
        if fact.island is not None:
            node.island = fact.island
        if fact.devices:
            node.devices = fact.devices
        if state is NodeState.LAUNCHED:
            node.start = fact.time
        elif state is NodeState.PREPARED:
            node.compile_seconds = fact.seconds

    @takes(NodeEnded)
    def _node_ended(self, fact: NodeEnded) -> None:
        node = self.alive.pop(fact.node, None)
        if node is None:
            return
        self._count(node.program, node.state, fact.state)
        node.state = fact.state
        node.times[fact.state] = fact.time
        node.start, node.end = (fact.start, fact.end) if fact.end > fact.start else (None, None)
        node.island = node.island if fact.island is None else fact.island
        node.devices = fact.devices or node.devices
        node.error, node.cause = fact.error, fact.cause
        if fact.state is NodeState.FAILED and fact.cause in (None, fact.node):
            self.failures.append(node)

    @takes(BuffersFreed)
    def _buffers_freed(self, fact: BuffersFreed) -> None:
        self.bytes_freed += fact.bytes

    @takes(WaitBegan)
    def _wait_began(self, fact: WaitBegan) -> None:
        self.waiting[fact.time] = fact

    @takes(Waited)
    def _waited(self, fact: Waited) -> None:
        self.waiting.pop(fact.time, None)
        self.waits.append(fact)
        self.now = max(self.now, fact.time + fact.seconds)

    @takes(ControllerWorked)
    def _controller_worked(self, fact: ControllerWorked) -> None:
        self.control.append(fact)
        self.now = max(self.now, fact.time + fact.seconds)

    @takes(Noted)
    def _noted(self, fact: Noted) -> None:
        self.notes.append(fact)

    @takes(ProgramOpened)
    def _program_opened(self, fact: ProgramOpened) -> None:
        self.programs[fact.program] = ProgramView(fact.program, fact.name, fact.client, fact.source, fact.time)
        for program in forget_ended(self.programs, self.keep_programs):
            self._lost(program.ended or program.opened)

    @takes(ProgramEnded)
    def _program_ended(self, fact: ProgramEnded) -> None:
        if (program := self.programs.get(fact.program)) is not None:
            program.ended, program.state = fact.time, fact.state

    @takes(DispatchChanged)
    def _dispatch_changed(self, fact: DispatchChanged) -> None:
        if (program := self.programs.get(fact.program)) is not None:
            program.dispatch = fact.dispatch

    @takes(SettingsKnown)
    def _settings_known(self, fact: SettingsKnown) -> None:
        self.settings.append(fact)

    @takes(IslandKnown)
    def _island_known(self, fact: IslandKnown) -> None:
        self.islands[fact.island.id] = fact.island

    @takes(SliceMapped)
    def _slice_mapped(self, fact: SliceMapped) -> None:
        self.slices[fact.slice] = SliceView(fact.slice, fact.name, fact.island, fact.devices)

    @takes(SliceRefused)
    def _slice_refused(self, fact: SliceRefused) -> None:
        self.slices[fact.slice] = SliceView(fact.slice, fact.name, None, (), False, fact.reason)

    @takes(SliceUnmapped)
    def _slice_unmapped(self, fact: SliceUnmapped) -> None:
        if (where := self.slices.get(fact.slice)) is not None:
            where.mapped = False

    def _count(self, program: ProgramId, left: NodeState | None, entered: NodeState) -> None:
        view = self.programs.get(program)
        if view is None:
            return
        counts = view.counts
        if left is not None and counts.get(left, 0):
            counts[left] -= 1
        counts[entered] = counts.get(entered, 0) + 1

    def _forget(self) -> None:
        # A tenth at a time, so that the walk over the oldest is paid for by many additions.
        ended = [key for key, node in self.nodes.items() if node.state.ended][: self.keep_nodes // 10 + 1]
        for key in ended:
            node = self.nodes.pop(key)
            self._lost(node.times[node.state])
            for output in node.spec.outputs:
                self.producer.pop(output.buffer, None)
                self.bytes.pop(output.buffer, None)
        self.forgotten += len(ended)

    def _lost(self, time: float) -> None:
        """Something is forgotten that had ended then."""
        self.whole_from = time if self.whole_from is None else max(self.whole_from, time)


def model_of(facts: Iterable[Fact]) -> RunModel:
    """The model of these facts."""
    model = RunModel()
    model.extend(tuple(facts))
    return model
