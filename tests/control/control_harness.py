"""A controller on a bench: events are sent by hand, and an independent model checks each answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pwlab.control import Controller
from pwlab.control.scheduler import LOOK_BEHIND
from pwlab.events import (
    Abandon,
    BuffersFreed,
    BuffersReleased,
    ClientCancelled,
    ClientClosed,
    ClientOpened,
    Event,
    Fact,
    Free,
    Instruction,
    IslandJoined,
    IslandSpec,
    Launch,
    Move,
    NodeBroke,
    NodeCompleted,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodePrepared,
    NodeSpec,
    NodesSubmitted,
    NodeState,
    Offload,
    OutputSpec,
    Paused,
    Prepare,
    ProgramCancelled,
    ProgramEnded,
    Restore,
    Resumed,
    ResumedEntity,
    SettingsChanged,
    SliceMapped,
    SliceMoved,
    SliceRefused,
    SliceReleased,
    SliceRequested,
    Stepped,
    Suspended,
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
        #: The client of each node, by name and, as names are used again, which of that name it is; what clients may
        #: have; and what is held back by hand.
        self.owner: dict[NodeId, str] = {}
        self.client_of: dict[NodeId, tuple[str, int]] = {}
        self.generation: Counter[str] = Counter()
        self.program_of: dict[NodeId, ProgramId] = {}
        self.client_limits: dict[str, tuple[int | None, int | None]] = {}
        self.suspended: set[tuple[str, Any]] = set()
        self.steps: int | None = None
        #: Where each buffer lies that takes memory, and its bytes on each device.
        self.moved: set[SliceId] = set()
        self.moving: set[SliceId] = set()
        self.lying: dict[BufferId, tuple[tuple[DeviceId, ...], int]] = {}
        #: What lies in host memory, and where it lay; the scratch that nodes take while they run, by name.
        self.away: dict[BufferId, tuple[tuple[DeviceId, ...], int]] = {}
        self.scratch: dict[str, int] = {}

    # --- what can be sent ---

    def send(self, event: Event) -> tuple[list[Instruction], list[Fact]]:
        instructions, facts = self.controller.handle(event)
        self.trace.append((event, instructions, facts))
        self.moving = {fact.slice for fact in facts if isinstance(fact, SliceMapped) and fact.slice in self.slices}
        for fact in facts:
            self._saw(fact)
        for instruction in instructions:
            self._told(instruction)
        self._check_memory()
        self.controller.validate()
        return instructions, facts

    def tick(self) -> float:
        self.time += 1.0
        return self.time

    def island(self, devices: int = 4, **more: Any) -> IslandId:
        number = len(self.islands)
        first = sum(len(spec.devices) for spec in self.islands.values())
        members = tuple(DeviceId(device) for device in range(first, first + devices))
        spec = IslandSpec(IslandId(number), f"island{number}", members, **more)
        self.islands[spec.id] = spec
        self.flying[spec.id] = []
        self.send(IslandJoined(self.tick(), spec))
        return spec.id

    def request(
        self, devices: int = 1, island: int | None = None, name: str = "s", **more: Any
    ) -> SliceMapped | SliceRefused:
        slice = self.ids.slice()
        place = None if island is None else IslandId(island)
        _, (fact,) = self.send(SliceRequested(self.tick(), slice, name, devices, place, **more))
        assert isinstance(fact, SliceMapped | SliceRefused)
        return fact

    def slice(self, devices: int = 1, island: int | None = None, **more: Any) -> SliceId:
        fact = self.request(devices, island, **more)
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
        bytes: int = 100,
        per_device: int | None = None,
        **rest: Any,
    ) -> NodeSpec:
        """A node with one output, of 100 bytes if nothing else is said, which reads the first output of others."""
        buffer = self.ids.buffer()
        return NodeSpec(
            self.ids.node(),
            name,
            kind,
            SliceId(slice),
            inputs=tuple(buffer_of(r) for r in reads),
            outputs=(OutputSpec(buffer, bytes, per_device),),
            after=tuple(n.id for n in after),
            donates=tuple(buffer_of(r) for r in donates),
            pinned=(buffer,) if pinned else (),
            **rest,
        )

    def submit(
        self, *nodes: NodeSpec, program: ProgramId | None = None, name: str = "p", holds: bool = True, **rest: Any
    ) -> ProgramId:
        program = program or self.ids.program()
        for spec in nodes:
            self.specs[spec.id] = spec
            self.owner[spec.id] = rest.get("client", "main")
            self.client_of[spec.id] = self.owner[spec.id], self.generation[self.owner[spec.id]]
            self.program_of[spec.id] = program
            self.producer.update((output.buffer, spec.id) for output in spec.outputs)
            if holds:
                self.held.update(spec.pinned)
                self.held.update(buffer for buffer in spec.inputs if buffer not in self.producer)
        self.send(NodesSubmitted(self.tick(), program, name, nodes, **rest))
        return program

    def prepare(self, *nodes: NodeSpec | NodeId) -> None:
        for node in nodes:
            if id_of(node) in self.preparing:
                self.preparing.remove(id_of(node))
            scratch = self.scratch.get(self.specs[id_of(node)].name, 0)
            self.send(NodePrepared(self.tick(), id_of(node), 0.5, scratch))

    def complete(self, *nodes: NodeSpec | NodeId) -> None:
        for node in nodes:
            self._landed(id_of(node))
            self.send(NodeCompleted(self.tick(), id_of(node), self.time - 1, self.time))

    def breaks(self, node: NodeSpec | NodeId, error: str = "boom") -> None:
        if id_of(node) in self.preparing:
            self.preparing.remove(id_of(node))
        ran = any(id_of(node) in flying for flying in self.flying.values())
        self._landed(id_of(node))
        self.send(NodeBroke(self.tick(), id_of(node), error, *((self.time - 1, self.time) if ran else ())))

    def release(self, *nodes: NodeSpec | BufferId) -> None:
        buffers = tuple(buffer_of(node) for node in nodes)
        self.held.difference_update(buffers)
        self.send(BuffersReleased(self.tick(), buffers))

    def cancel(self, program: ProgramId, **rest: Any) -> None:
        self.send(ProgramCancelled(self.tick(), program, **rest))

    def open(self, client: str, **settings: Any) -> None:
        self.client_limits[client] = (settings.get("max_in_flight"), settings.get("max_bytes"))
        self.send(ClientOpened(self.tick(), client, **settings))

    def close(self, client: str) -> None:
        """Closes a client; what it held is let go of."""
        mine = {b for b, n in self.producer.items() if self.owner[n] == client}
        others = {b for n, spec in self.specs.items() if self.owner[n] != client for b in spec.inputs}
        theirs = {b for n, spec in self.specs.items() if self.owner[n] == client for b in spec.inputs}
        self.held -= mine | (theirs - others - self.producer.keys())
        self.client_limits.pop(client, None)
        self.generation[client] += 1
        self.suspended.discard(("client", client))
        self.send(ClientClosed(self.tick(), client))

    def cancel_client(self, client: str, **rest: Any) -> None:
        self.send(ClientCancelled(self.tick(), client, **rest))

    def pause(self) -> None:
        self.steps = 0
        self.send(Paused(self.tick()))

    def step(self, n: int = 1) -> None:
        self.steps = n
        self.send(Stepped(self.tick(), n))

    def resume(self) -> None:
        self.steps = None
        self.send(Resumed(self.tick()))

    def suspend(self, **entity: Any) -> None:
        self.suspended.update(entity.items())
        self.send(Suspended(self.tick(), **entity))

    def unsuspend(self, **entity: Any) -> None:
        self.suspended.difference_update(entity.items())
        self.send(ResumedEntity(self.tick(), **entity))

    def move(self, slice: int, island: int | None = None) -> None:
        self.send(SliceMoved(self.tick(), SliceId(slice), None if island is None else IslandId(island)))

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

    def gang(self, spec: NodeSpec) -> tuple[DeviceId, ...]:
        """The devices on which a node is to run."""
        whole = self.slices[spec.slice].devices
        return () if spec.kind is NodeKind.HOST else whole if spec.spread else whole[:1]

    def inputs_ended(self, node: NodeId) -> bool:
        return all(self.producer[buffer] in self.ended for buffer in self.specs[node].inputs if buffer in self.producer)

    def input_failed(self, node: NodeId) -> bool:
        causes = (self.ended.get(self.producer.get(b, NodeId(-1))) for b in self.specs[node].inputs)
        return any(end is not None and end.state is not NodeState.DONE for end in causes)

    def end(self) -> None:
        """Everything is run, closed and released: nothing may be left."""
        self.drain()
        self.release(*self.held)
        self.drain()  # what waited for that memory
        sizes = self.controller.sizes()
        assert sizes["nodes"] == sizes["programs"] == sizes["buffers"] == 0, sizes
        assert self.ended.keys() == self.specs.keys()
        assert all(self.controller.bytes(island)[0] == 0 for island in self.islands)
        assert self.dropped.keys() == self.freed.keys()
        assert self.dropped.keys() >= self.producer.keys()

    # --- what must hold when all is at rest ---

    def check_who_is_left(self) -> None:
        """All is at rest: who could go, and is among the first of its client, has no memory, by our own count."""
        limits = {device: island.hbm_bytes for island in self.islands.values() for device in island.devices}
        used: Counter[DeviceId] = Counter()
        mine: Counter[tuple[str, int]] = Counter()
        for buffer, (devices, bytes) in self.lying.items():
            mine[self.client_of[self.producer[buffer]]] += bytes * len(devices)
            for device in devices:
                used[device] += bytes
        tried: Counter[str] = Counter()
        for id, spec in self.specs.items():
            if id in self.ended:
                continue
            if not self.inputs_ended(id) or any(n not in self.ended for n in spec.after):
                continue
            if not self._may_overwrite(spec):
                continue
            tried[self.owner[id]] += 1
            if tried[self.owner[id]] > LOOK_BEHIND:
                continue
            devices = self.gang(spec)
            gets, scratch = share(spec.outputs[0], devices), self.scratch.get(spec.name, 0)
            lie = {**self.lying, **(self.away if devices else {})}
            given = [lie.get(b, ((), 0)) for b in spec.donates]
            # What it takes of devices and of clients, with what it must bring back from host memory.
            needs: Counter[Any] = Counter(
                {d: gets + scratch - sum(bytes for where, bytes in given if d in where) for d in devices}
            )
            owns: Counter[Any] = Counter({self.client_of[id]: gets * len(devices)})
            for buffer, (where, bytes) in zip(spec.donates, given, strict=True):
                if buffer in self.producer:
                    owns[self.client_of[self.producer[buffer]]] -= bytes * len(where)
            for buffer in [b for b in dict.fromkeys(spec.inputs) if b in self.away and devices]:
                where, bytes = self.away[buffer]
                needs.update(dict.fromkeys(where, bytes))
                owns[self.client_of[self.producer[buffer]]] += bytes * len(where)
            brings = sum(b in self.away for b in spec.donates)
            short = any(n > 0 and used[d] + n > most for d, n in needs.items() if (most := limits[d]) is not None)
            poor = any(
                n > 0 and (most := self._max_bytes(who)) is not None and mine[who] + n > most for who, n in owns.items()
            )
            short = short or bool(brings)  # it has to lie there first, which can be more than what is left in the end
            assert short or poor, f"node {id} is stuck: {self.controller.why(id)}"

    # --- what every answer must keep to ---

    def _has_read(self, reader: NodeSpec, donor: NodeSpec) -> bool:
        """Whether an earlier reader can no longer meet what the launch of ``donor`` overwrites."""
        if reader.id in self.ended:
            return True
        here = reader.kind is not NodeKind.HOST and reader.slice == donor.slice
        return here and reader.id in self.launched

    def _may_overwrite(self, donor: NodeSpec) -> bool:
        given = set(donor.donates)
        readers = [s for s in self.specs.values() if s.id < donor.id and given.intersection(s.inputs)] if given else []
        return all(self._has_read(reader, donor) for reader in readers)

    def _told(self, instruction: Instruction) -> None:
        match instruction:
            case Prepare(node, devices):
                assert node not in self.launched, f"node {node} is launched already"
                assert node not in self.asked or self.specs[node].slice in self.moved, "prepared twice"
                if self.specs[node].slice not in self.moving:  # in this event: for the old devices, then for the new
                    self._on_its_slice(node, devices)
                self.asked.add(node)
                self.preparing.append(node)
            case Launch(node, island, devices):
                spec = self.specs[node]
                assert node in self.asked and node not in self.preparing
                assert node not in self.launched, f"node {node} was launched twice"
                self._on_its_slice(node, devices)
                self._not_held_back(node)
                for buffer in spec.inputs:
                    assert not self.dropped[buffer], f"node {node} reads buffer {buffer}, which is gone"
                    made_by = self.producer.get(buffer)
                    assert made_by is None or made_by in self.launched, "launched before its producer"
                    assert buffer not in self.away or not devices, f"buffer {buffer} lies in host memory"
                assert all(other in self.ended for other in spec.after), "launched before its turn"
                assert self._may_overwrite(spec), "an earlier reader would find its input overwritten"
                self.launched.append(node)
                self.flying[island].append(node)
                for output in spec.outputs:
                    if devices:
                        self.lying[output.buffer] = devices, share(output, devices)
                gangs = [n for n in self.flying[island] if self.specs[n].kind is not NodeKind.HOST]
                if spec.kind is not NodeKind.HOST:
                    assert len(gangs) <= self.limit, f"{len(gangs)} gangs are in flight"
            case Move(buffers, slice, island, devices):
                assert (self.slices[slice].island, self.slices[slice].devices) == (island, devices)
                for buffer in buffers:
                    maker = self.producer[buffer]
                    assert self.specs[maker].slice == slice
                    assert maker in self.launched and self.flying_on(slice) == []
                    if buffer in self.away:
                        self.away[buffer] = devices[: len(self.away[buffer][0])], self.away[buffer][1]
                    if buffer in self.lying:  # not given back in the same event
                        self.lying[buffer] = devices[: len(self.lying[buffer][0])], self.lying[buffer][1]
            case Offload(buffers):
                for buffer in buffers:
                    maker = self.producer[buffer]
                    assert maker in self.ended and not self.dropped[buffer], f"buffer {buffer} is not there"
                    assert self._is_suspended(maker), f"buffer {buffer} belongs to nobody suspended"
                    for spec in self.specs.values():
                        if buffer in spec.inputs and spec.id not in self.ended:
                            assert spec.id not in self.launched, f"buffer {buffer} is in use"
                            assert self._is_suspended(spec.id), f"buffer {buffer} is still wanted"
                    self.away[buffer] = self.lying.pop(buffer)
            case Restore(buffers):
                for buffer in buffers:
                    self.lying[buffer] = self.away.pop(buffer)
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
            case SliceMapped():
                if fact.slice in self.slices:
                    self.moved.add(fact.slice)
                self.slices[fact.slice] = fact
            case _:
                pass

    def _on_its_slice(self, node: NodeId, devices: tuple[Any, ...]) -> None:
        assert devices == self.gang(self.specs[node])

    def flying_on(self, slice: int) -> list[NodeId]:
        return [node for nodes in self.flying.values() for node in nodes if self.specs[node].slice == slice]

    def _max_bytes(self, client: tuple[str, int]) -> int | None:
        name, which = client
        return self.client_limits.get(name, (None, None))[1] if which == self.generation[name] else None

    def _is_suspended(self, node: NodeId) -> bool:
        client = self.owner[node] if self.client_of[node][1] == self.generation[self.owner[node]] else None
        names = {("client", client), ("program", self.program_of[node]), ("slice", self.specs[node].slice)}
        return bool(names & self.suspended)

    def _not_held_back(self, node: NodeId) -> None:
        client = self.owner[node]
        assert not self._is_suspended(node), f"node {node} is suspended"
        if self.steps is not None:
            assert self.steps > 0, f"node {node} was launched in a pause"
            self.steps -= 1
        most, _ = self.client_limits.get(client, (None, None))
        if most is not None and self.specs[node].kind is not NodeKind.HOST:
            flying = [n for nodes in self.flying.values() for n in nodes if self.specs[n].kind is not NodeKind.HOST]
            own = [n for n in flying if self.client_of[n] == self.client_of[node]]
            assert len(own) < most, f"{client} has too much in flight"

    def _check_memory(self) -> None:
        used: Counter[DeviceId] = Counter()
        for buffer, (devices, bytes) in list(self.lying.items()):
            if self.freed[buffer]:
                del self.lying[buffer]
                continue
            for device in devices:
                used[device] += bytes
        for buffer in [buffer for buffer in self.away if self.freed[buffer]]:
            del self.away[buffer]
        for node in (n for nodes in self.flying.values() for n in nodes):
            for device in self.gang(self.specs[node]):
                used[device] += self.scratch.get(self.specs[node].name, 0)
        for island in self.islands.values():
            if island.hbm_bytes is not None:
                assert all(used[device] <= island.hbm_bytes for device in island.devices), "memory overflows"

    def _landed(self, node: NodeId) -> None:
        for flying in self.flying.values():
            if node in flying:
                flying.remove(node)


def share(output: OutputSpec, devices: tuple[DeviceId, ...]) -> int:
    if not devices:
        return 0
    return -(-output.bytes // len(devices)) if output.per_device is None else output.per_device


def id_of(node: NodeSpec | NodeId) -> NodeId:
    return node.id if isinstance(node, NodeSpec) else node


def buffer_of(node: NodeSpec | BufferId) -> BufferId:
    return node.outputs[0].buffer if isinstance(node, NodeSpec) else node
