"""Runs that the real controller decides, on devices that take as long as a seed says."""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush

from pwlab.control import Controller
from pwlab.errors import PlacementError
from pwlab.events import (
    BuffersReleased,
    ClientOpened,
    Event,
    Fact,
    IslandJoined,
    IslandSpec,
    Launch,
    Link,
    NodeBroke,
    NodeCompleted,
    NodeKind,
    NodePrepared,
    NodeSpec,
    NodesSubmitted,
    OutputSpec,
    Prepare,
    ResumedEntity,
    SliceMapped,
    SliceMoved,
    SliceRequested,
    Suspended,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source

SHARES = {"a": 1.0, "b": 2.0, "greedy": 4.0}
#: Bytes of a device's memory, and what the client ``greedy`` may have on all devices together.
HBM, GREEDY = 1000, 900


class Simulated:
    """Two islands of four devices, the second with two devices a chip; three clients that submit chains of nodes."""

    def __init__(self, seed: int, programs: int = 6, check: Callable[[Simulated], None] = lambda run: None):
        self.chance = random.Random(seed)
        self.controller = Controller(policy="proportional", max_in_flight=2)
        self.facts: list[Fact] = []
        self.now = 0.0
        self._check = check
        self._queue: list[tuple[float, int, Event]] = []
        self._free: dict[DeviceId, float] = {}
        self._nodes: dict[NodeId, NodeSpec] = {}
        self._held: list[BufferId] = []
        for i in range(2):
            devices = tuple(DeviceId(4 * i + k) for k in range(4))
            chips = (0, 0, 1, 1) if i else ()
            self.send(IslandJoined(0.0, IslandSpec(IslandId(i), f"island{i}", devices, "tpu", (), HBM, chips)))
        for i, devices in enumerate((4, 2, 4)):
            self.send(SliceRequested(0.0, SliceId(i + 1), f"s{i}", devices, IslandId(min(i, 1))))
        for client, share in SHARES.items():
            limit = GREEDY if client == "greedy" else None
            self.send(ClientOpened(0.0, client, share, max_bytes=limit))
        for number in range(programs):
            self._at(0.513 * number, self._program(number))
        self._at(0.81, Suspended(0.81, client="b"))
        self._at(2.43, ResumedEntity(2.43, client="b"))
        self._at(1.71, SliceMoved(1.71, SliceId(2), IslandId(0)))
        while self._queue:
            self.step()

    def step(self) -> None:
        """The next event."""
        self.now, _, event = heappop(self._queue)
        self.send(event)
        if self.chance.random() < 0.5 and self._held:
            gone = self._held.pop(self.chance.randrange(len(self._held)))
            self.send(BuffersReleased(self.now, (gone,)))

    def send(self, event: Event) -> None:
        try:
            instructions, facts = self.controller.handle(event)
        except PlacementError:
            return  # the slice does not fit there now
        self.facts += facts
        for instruction in instructions:
            if isinstance(instruction, Prepare):
                took = self.chance.choice((0.0, 0.01))
                scratch = self.chance.choice((0, 0, 60))
                laid = tuple(output.bytes + 1 for output in self._nodes[instruction.node].outputs)
                written = self.chance.choice(((), (), laid))
                self._at(self.now + took, NodePrepared(self.now + took, instruction.node, took, scratch, written))
            elif isinstance(instruction, Launch):
                self._launch(instruction)
        if not any(isinstance(fact, SliceMapped) for fact in facts):
            self._check(self)

    def _launch(self, launch: Launch) -> None:
        begin = max([self.now, *(self._free.get(device, 0.0) for device in launch.devices)])
        spec = self._nodes[launch.node]
        end = begin + self.chance.uniform(0.001, 0.1)
        for device in launch.devices:
            self._free[device] = end
        if self.chance.random() < 0.05:
            self._at(end, NodeBroke(end, spec.id, "it broke", begin, end))
        else:
            self._at(end, NodeCompleted(end, spec.id, begin, end))

    def _program(self, number: int) -> NodesSubmitted:
        client = self.chance.choice(list(SHARES))
        nodes: list[NodeSpec] = []
        for k in range(self.chance.randrange(3, 12)):
            id = 100 * (number + 1) + k
            before = nodes[-1].outputs[0].buffer if nodes and self.chance.random() < 0.7 else None
            moves = before is not None and self.chance.random() < 0.2
            donates = before is not None and not moves and self.chance.random() < 0.3
            size = self.chance.randrange(10, 250)
            nodes.append(
                NodeSpec(
                    NodeId(id),
                    f"f{k % 3}",
                    NodeKind.TRANSFER if moves else NodeKind.COMPUTE,
                    SliceId(self.chance.randrange(1, 4)),
                    () if before is None else (before,),
                    (OutputSpec(BufferId(id), size, size if self.chance.random() < 0.2 else None),),
                    donates=(before,) if donates and before is not None else (),
                    pinned=(BufferId(id),) if self.chance.random() < 0.5 else (),
                    spread=self.chance.random() < 0.7,
                    bytes_in=size if moves else 0,
                    link=Link.DCN if moves else None,
                    source=Source("Cell In[2]", k + 1, f"y{k} = f(x)"),
                )
            )
        self._nodes.update((node.id, node) for node in nodes)
        self._held += [buffer for node in nodes for buffer in node.pinned]
        time = 0.513 * number
        return NodesSubmitted(time, ProgramId(number + 1), f"p{number}", tuple(nodes), client=client)

    def _at(self, time: float, event: Event) -> None:
        heappush(self._queue, (time, len(self._queue) + 1000 * len(self.facts), event))
