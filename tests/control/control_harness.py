"""A controller on a bench: events are sent by hand, and an independent model checks each answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pwlab.control import Controller
from pwlab.events import (
    Abandon,
    BuffersFreed,
    BuffersReleased,
    Event,
    Fact,
    Free,
    Instruction,
    IslandJoined,
    IslandSpec,
    Launch,
    NodeBroke,
    NodeCompleted,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodePrepared,
    NodeSpec,
    NodesSubmitted,
    NodeState,
    OutputSpec,
    Prepare,
    ProgramCancelled,
    ProgramEnded,
    SettingsChanged,
    SliceMapped,
    SliceRefused,
    SliceReleased,
    SliceRequested,
)
from pwlab.ids import BufferId, DeviceId, IdCounters, IslandId, NodeId, ProgramId, SliceId


class Lab:
    """Sends events and checks, after each, the controller's invariants and its promises to a backend."""

    def __init__(self, **settings: Any):
        self.controller = Controller(**settings)
        self.limit: int = settings.get("max_in_flight", 16)
        self.ids = IdCounters()
        self.time = 0.0
        self.trace: list[tuple[Event, list[Instruction], list[Fact]]] = []
        self.islands: dict[IslandId, IslandSpec] = {}
        self.slices: dict[SliceId, SliceMapped] = {}
        self.specs: dict[NodeId, NodeSpec] = {}
        self.producer: dict[BufferId, NodeId] = {}
        self.held: set[BufferId] = set()
        #: What the backend was told: to prepare and has not answered, launched (in order), running.
        self.preparing: list[NodeId] = []
        self.launched: list[NodeId] = []
        self.flying: dict[IslandId, list[NodeId]] = {}
        self.ended: dict[NodeId, NodeEnded] = {}
        self.programs: dict[ProgramId, NodeState] = {}
        self.asked: set[NodeId] = set()
        self.dropped: Counter[BufferId] = Counter()
        self.freed: Counter[BufferId] = Counter()

    # --- what can be sent ---

    def send(self, event: Event) -> tuple[list[Instruction], list[Fact]]:
        instructions, facts = self.controller.handle(event)
        self.trace.append((event, instructions, facts))
        for fact in facts:
            self._saw(fact)
        for instruction in instructions:
            self._told(instruction)
        self.controller.validate()
        return instructions, facts

    def tick(self) -> float:
        self.time += 1.0
        return self.time

    def island(self, devices: int = 4) -> IslandId:
        number = len(self.islands)
        first = sum(len(spec.devices) for spec in self.islands.values())
        members = tuple(DeviceId(device) for device in range(first, first + devices))
        spec = IslandSpec(IslandId(number), f"island{number}", members)
        self.islands[spec.id] = spec
        self.flying[spec.id] = []
        self.send(IslandJoined(self.tick(), spec))
        return spec.id

    def request(self, devices: int = 1, island: int | None = None, name: str = "s") -> SliceMapped | SliceRefused:
        slice = self.ids.slice()
        place = None if island is None else IslandId(island)
        _, (fact,) = self.send(SliceRequested(self.tick(), slice, name, devices, place))
        assert isinstance(fact, SliceMapped | SliceRefused)
        if isinstance(fact, SliceMapped):
            self.slices[slice] = fact
        return fact

    def slice(self, devices: int = 1, island: int | None = None) -> SliceId:
        fact = self.request(devices, island)
        assert isinstance(fact, SliceMapped)
        return fact.slice

    def release_slice(self, slice: SliceId) -> None:
        self.send(SliceReleased(self.tick(), slice))

    def node(
        self,
        name: str,
        *reads: NodeSpec | BufferId,
        slice: int = 1,
        kind: NodeKind = NodeKind.COMPUTE,
        after: tuple[NodeSpec, ...] = (),
        donates: tuple[NodeSpec | BufferId, ...] = (),
        pinned: bool = True,
        **rest: Any,
    ) -> NodeSpec:
        """A node with one output of 100 bytes, which reads the first output of others."""
        buffer = self.ids.buffer()
        return NodeSpec(
            self.ids.node(),
            name,
            kind,
            SliceId(slice),
            inputs=tuple(buffer_of(r) for r in reads),
            outputs=(OutputSpec(buffer, 100),),
            after=tuple(n.id for n in after),
            donates=tuple(buffer_of(r) for r in donates),
            pinned=(buffer,) if pinned else (),
            **rest,
        )

    def submit(self, *nodes: NodeSpec, program: ProgramId | None = None, name: str = "p", **rest: Any) -> ProgramId:
        program = program or self.ids.program()
        for spec in nodes:
            self.specs[spec.id] = spec
            self.producer.update((output.buffer, spec.id) for output in spec.outputs)
            self.held.update(spec.pinned)
            self.held.update(buffer for buffer in spec.inputs if buffer not in self.producer)
        self.send(NodesSubmitted(self.tick(), program, name, nodes, **rest))
        return program

    def prepare(self, *nodes: NodeSpec | NodeId) -> None:
        for node in nodes:
            if id_of(node) in self.preparing:
                self.preparing.remove(id_of(node))
            self.send(NodePrepared(self.tick(), id_of(node), 0.5))

    def complete(self, *nodes: NodeSpec | NodeId) -> None:
        for node in nodes:
            self._landed(id_of(node))
            self.send(NodeCompleted(self.tick(), id_of(node), self.time - 1, self.time))

    def breaks(self, node: NodeSpec | NodeId, error: str = "boom") -> None:
        if id_of(node) in self.preparing:
            self.preparing.remove(id_of(node))
        self._landed(id_of(node))
        self.send(NodeBroke(self.tick(), id_of(node), error))

    def release(self, *nodes: NodeSpec | BufferId) -> None:
        buffers = tuple(buffer_of(node) for node in nodes)
        self.held.difference_update(buffers)
        self.send(BuffersReleased(self.tick(), buffers))

    def cancel(self, program: ProgramId, **rest: Any) -> None:
        self.send(ProgramCancelled(self.tick(), program, **rest))

    def settings(self, **settings: Any) -> None:
        self.limit = settings.get("max_in_flight") or self.limit
        self.send(SettingsChanged(self.tick(), **settings))

    def run(self, *nodes: NodeSpec, **rest: Any) -> ProgramId:
        """Submits, prepares and completes."""
        program = self.submit(*nodes, **rest)
        self.drain()
        return program

    def drain(self) -> None:
        """Plays the strictest backend to the end: each island runs one launch after another."""
        while self.preparing or any(self.flying.values()):
            for node in list(self.preparing):
                self.prepare(node)
            heads = [flying[0] for flying in self.flying.values() if flying]
            ready = [node for node in heads if self.inputs_ended(node)]
            assert ready or not heads or self.preparing, "deadlock: every island waits"
            for node in ready:
                if self.input_failed(node):
                    self.breaks(node, "an input is an error")
                else:
                    self.complete(node)

    # --- what is known ---

    def state(self, node: NodeSpec) -> NodeState:
        moved = [
            fact.state
            for _, _, facts in self.trace
            for fact in facts
            if isinstance(fact, NodeMoved | NodeEnded) and fact.node == node.id
        ]
        return moved[-1] if moved else NodeState.WAITING

    def told(self, kind: type[Instruction]) -> list[Any]:
        """All instructions of a kind, in order."""
        return [i for _, instructions, _ in self.trace for i in instructions if isinstance(i, kind)]

    def inputs_ended(self, node: NodeId) -> bool:
        return all(self.producer[buffer] in self.ended for buffer in self.specs[node].inputs if buffer in self.producer)

    def input_failed(self, node: NodeId) -> bool:
        causes = (self.ended.get(self.producer.get(b, NodeId(-1))) for b in self.specs[node].inputs)
        return any(end is not None and end.state is not NodeState.DONE for end in causes)

    def end(self) -> None:
        """Everything is run, closed and released: nothing may be left."""
        self.drain()
        self.release(*self.held)
        sizes = self.controller.sizes()
        assert sizes["nodes"] == sizes["programs"] == sizes["buffers"] == 0, sizes
        assert self.ended.keys() == self.specs.keys()
        assert all(self.controller.bytes(island)[0] == 0 for island in self.islands)
        assert self.dropped.keys() == self.freed.keys()
        assert self.dropped.keys() >= self.producer.keys()

    # --- what every answer must keep to ---

    def _told(self, instruction: Instruction) -> None:
        match instruction:
            case Prepare(node, devices):
                assert node not in self.asked, f"node {node} was to be prepared twice"
                self._on_its_slice(node, devices)
                self.asked.add(node)
                self.preparing.append(node)
            case Launch(node, island, devices):
                spec = self.specs[node]
                assert node in self.asked and node not in self.preparing
                assert node not in self.launched, f"node {node} was launched twice"
                self._on_its_slice(node, devices)
                for buffer in spec.inputs:
                    assert not self.dropped[buffer], f"node {node} reads buffer {buffer}, which is gone"
                    made_by = self.producer.get(buffer)
                    assert made_by is None or made_by in self.launched, "launched before its producer"
                assert all(other in self.ended for other in spec.after), "launched before its turn"
                assert all(
                    other.id in self.launched or other.id in self.ended
                    for buffer in spec.donates
                    for other in self.specs.values()
                    if buffer in other.inputs and other.id < node
                ), "an earlier reader would find its input overwritten"
                self.launched.append(node)
                self.flying[island].append(node)
                gangs = [n for n in self.flying[island] if self.specs[n].kind is not NodeKind.HOST]
                if spec.kind is not NodeKind.HOST:
                    assert len(gangs) <= self.limit, f"{len(gangs)} gangs are in flight"
            case Abandon(node, error, cause, cancelled):
                end = self.ended[node]
                assert end.state is (NodeState.CANCELLED if cancelled else NodeState.FAILED)
                assert (end.error, end.cause) == (error, cause)
                assert error and "\n" not in error
            case Free(buffers):
                self.dropped.update(buffers)
                for buffer in buffers:
                    assert self.dropped[buffer] == 1, f"buffer {buffer} was dropped twice"
                    assert buffer not in self.held, f"the client holds buffer {buffer}"
                    users = (s.id for s in self.specs.values() if buffer in s.inputs)
                    assert all(user in self.ended for user in users), f"buffer {buffer} is read"
                    assert buffer not in self.producer or self.producer[buffer] in self.ended

    def _saw(self, fact: Fact) -> None:
        match fact:
            case NodeEnded():
                assert fact.node not in self.ended, f"node {fact.node} ended twice"
                self.ended[fact.node] = fact
            case ProgramEnded():
                assert fact.program not in self.programs, f"program {fact.program} ended twice"
                self.programs[fact.program] = fact.state
            case BuffersFreed():
                self.freed.update(fact.buffers)
                assert all(self.freed[buffer] == 1 for buffer in fact.buffers), "freed twice"
            case _:
                pass

    def _on_its_slice(self, node: NodeId, devices: tuple[Any, ...]) -> None:
        spec = self.specs[node]
        whole = self.slices[spec.slice].devices
        assert devices == (() if spec.kind is NodeKind.HOST else whole if spec.spread else whole[:1])

    def _landed(self, node: NodeId) -> None:
        for flying in self.flying.values():
            if node in flying:
                flying.remove(node)


def id_of(node: NodeSpec | NodeId) -> NodeId:
    return node.id if isinstance(node, NodeSpec) else node


def buffer_of(node: NodeSpec | BufferId) -> BufferId:
    return node.outputs[0].buffer if isinstance(node, NodeSpec) else node
