"""Lanes: what one island could launch now, a lane a client, and each client's turn.

What always holds: a lane has a first gang, and that may go; the gangs of a lane go in the
order of submission; a client without a lane on an island has nothing there that may go,
or is held back (see ``scheduler.py``).

Device time is divided by *virtual time* (start-time fair queueing; stride scheduling is
the same with equal costs).  A client's tally on an island counts the device time that it
was given, divided by its share; the policy ``proportional`` picks the least.  A launch is
charged what it is expected to take, at once, so that many can be in flight, and corrected
by what it took (see ``counted``).  The island's own virtual time is that of the newest
launch; where the island was idle itself, the highest that any client was charged to.  A
client that comes back from idleness is put there: who was away has no credit, and no debt but for its last launch, if
that is still ahead.  Without this last a client that waits for each of its results would be
idle for a moment after each, and never pay.  More than that the order of virtual times leaves
nobody with; what other policies gave in their time is not asked back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from ..events import NodeState
from ..ids import NodeId
from .accounts import Account
from .clients import Client
from .durations import UNMEASURED, Duration, counted
from .records import Node, Placement

_KEEP_DURATIONS = 256


class Tally:
    """What one client has had of one island."""

    __slots__ = ("aside", "flying", "last", "newest", "own", "turn", "virtual")

    def __init__(self, virtual: float, turn: int):
        #: Device time charged, in seconds times devices, over share.
        self.virtual = virtual
        #: What its last launch was charged, over share.
        self.last = 0.0
        #: The number of the island's launch that was its last.
        self.turn = turn
        #: Gangs launched and not ended, and gangs that may go but wait for memory.
        self.flying = 0
        self.aside = 0
        #: The highest order of those that were set aside: what is older goes before them, however many they are.
        self.newest = -1
        #: How long its own runs took, by what is known of everybody's.
        self.own: dict[Duration, Duration] = {}


@dataclass(slots=True, eq=False)
class ClientLane:
    """The gangs that one client could launch on one island now; at least one."""

    client: str
    #: Submission order of its first gang.
    order: int = 0
    #: A heap of (order, node); its first may go, later ones may have been withdrawn.
    gangs: list[tuple[int, Node]] = field(default_factory=list[tuple[int, Node]])
    owner: Client = field(default_factory=lambda: Client(""))
    tally: Tally = field(default_factory=lambda: Tally(0.0, 0))
    #: Launches of the island so far, in a list that all of its lanes share.
    turns: list[int] = field(default_factory=lambda: [0])

    @property
    def passed(self) -> int:
        """How many gangs of others were launched on this island since this lane had its last turn, or came."""
        return self.turns[0] - self.tally.turn

    @property
    def expected(self) -> float | None:
        """Seconds that the first gang is expected to take; None if nothing like it was measured."""
        return self.gangs[0][1].duration.seconds if self.gangs else None

    def shown(self) -> Lane:
        """As a policy of the user's sees it."""
        owner, first = self.owner, self.gangs[0][1]
        return Lane(
            self.client,
            first.spec.name,
            owner.share,
            owner.priority,
            self.order,
            self.tally.virtual,
            self.passed,
            self.expected,
            len(self.gangs),
            self.tally.flying,
            owner.launches,
        )


@dataclass(frozen=True, slots=True)
class Lane:
    """What a policy of the user's sees of one client that could launch now.

    A copy: nothing that is done to it reaches the scheduler.

    Attributes:
      client: its name.
      node: name of its first gang, the one that would be launched.
      share: the client's part of the device time, relative to others.
      priority: the client's; the highest goes first under the policy ``priority``.
      order: submission order of the first gang, over all clients.
      virtual: device time that the client was given on this island, over its share; see ``lanes.py``.
      passed: how many gangs of others were launched on this island since the lane had its last turn, or came.
      expected: seconds that the first gang is expected to take; None if nothing like it was measured.
      queued: gangs that the client could launch on this island one after another, this one included.
      in_flight: gangs of the client that are launched on this island and have not ended.
      launches: gangs of the client that were launched so far, on all islands.
    """

    client: str
    node: str
    share: float
    priority: int
    order: int
    virtual: float
    passed: int
    expected: float | None
    queued: int
    in_flight: int
    launches: int


class IslandQueue:
    """What one island could launch now, and what it has launched."""

    __slots__ = (
        "aside",
        "flying",
        "held",
        "lanes",
        "latest",
        "least",
        "planned",
        "tallies",
        "tried",
        "turns",
        "virtual",
    )

    def __init__(self) -> None:
        #: Gangs that are launched and have not ended, in the order of launch.
        self.flying: dict[NodeId, Node] = {}
        #: By client; never an empty lane, never one whose first gang was withdrawn.
        self.lanes: dict[Client, ClientLane] = {}
        #: Gangs that may go but wait for memory; the fewest bytes that would let one go, by account, and the number of
        #: the memory plan under which they were set aside.
        self.aside: dict[NodeId, Node] = {}
        self.least: dict[Account, int] = {}
        self.planned = -1
        #: Whether a gang was tried since somebody looked which of them may go.
        self.tried = False
        #: Gangs that could go, were they not suspended.
        self.held: dict[NodeId, Node] = {}
        self.tallies: dict[Client, Tally] = {}
        self.turns = [0]
        #: Virtual time: of the newest launch, and the highest that any client was charged to.
        self.virtual = 0.0
        self.latest = 0.0

    @property
    def in_flight(self) -> int:
        return len(self.flying)

    def push(self, node: Node, back: bool = False) -> None:
        """Enters a gang that may go unless it is suspended; ``back``: it was set aside."""
        client = node.client
        tally = self.tallies.get(client)
        if tally is None:
            tally = self.tallies[client] = Tally(self.virtual, self.turns[0])
        if node.held:
            self.held[node.id] = node
            tally.aside -= back
            return
        lane = self.lanes.get(client)
        if lane is None:
            if not back and not tally.flying and not tally.aside:
                self.arrive(tally)
            lane = self.lanes[client] = ClientLane(client.name, 0, [], client, tally, self.turns)
        if back:
            tally.aside -= 1
        heappush(lane.gangs, (node.order, node))
        lane.order = lane.gangs[0][0]

    def revise(self) -> None:
        """Something was suspended or goes on again."""
        for lane in list(self.lanes.values()):
            self.tidy(lane)
        held, self.held = self.held, {}
        for node in held.values():
            self.push(node)
        for node in [node for node in self.aside.values() if node.held]:
            del self.aside[node.id]
            self.push(node, back=True)

    def arrive(self, tally: Tally) -> None:
        """A client was idle, by its own will or another's: it starts level with all others (see above)."""
        if not (self.flying or self.lanes or self.aside):
            self.virtual = self.latest
        tally.virtual = max(self.virtual, min(tally.virtual, self.virtual + tally.last))
        tally.turn = self.turns[0]

    def pop(self, lane: ClientLane) -> Node:
        node = heappop(lane.gangs)[1]
        self.tidy(lane)
        return node

    def set_aside(self, node: Node) -> None:
        """Keeps a gang that was popped until there is memory for it."""
        self.aside[node.id] = node
        tally = self.tallies[node.client]
        tally.aside += 1
        tally.newest = max(tally.newest, node.order)
        if node.obstacle is not None:
            account, bytes = node.obstacle
            self.least[account] = min(bytes, self.least.get(account, bytes))

    def forget(self, node: Node) -> None:
        """Lets go of a gang that was set aside or held."""
        if self.aside.pop(node.id, None) is not None:
            self.tallies[node.client].aside -= 1
        self.held.pop(node.id, None)

    def purge(self, place: Placement) -> None:
        """Forgets all gangs of a slice, which moves."""
        for lane in list(self.lanes.values()):
            lane.gangs = [gang for gang in lane.gangs if gang[1].place is not place]
            heapify(lane.gangs)
            self.tidy(lane)
        for node in [node for node in (*self.aside.values(), *self.held.values()) if node.place is place]:
            self.forget(node)

    def recall(self, plan: int, ample: bool, first: Node | None) -> bool:
        """Enters again what may have found memory; tells whether there is any.

        Under a new ``plan`` or in ``ample`` memory that is all; else ``first``, the oldest that waits for anything, and
        of each client the first for which there is room.
        """
        if self.planned != plan or ample:
            self.planned = plan
            self.least.clear()
            found = list(self.aside.values())
            for node in found:
                node.obstacle = None
        else:
            found: list[Node] = []
            for account, bytes in self.least.items():
                if account.used + bytes <= account.capacity:
                    found = self._fitting()
                    break
            if first is not None and first.id in self.aside and first.obstacle is None:
                found.append(first)
        for node in found:
            del self.aside[node.id]
            self.push(node, back=True)
        return bool(found)

    def _fitting(self) -> list[Node]:
        """Of each client the first that was set aside for want of room that is there now."""
        chosen: dict[Client, Node] = {}
        self.least.clear()
        for node in self.aside.values():
            if node.obstacle is None:
                continue
            account, bytes = node.obstacle
            if account.used + bytes <= account.capacity:
                other = chosen.get(node.client)
                if other is None or node.order < other.order:
                    chosen[node.client] = node
            known = self.least.get(account)
            if known is None or bytes < known:
                self.least[account] = bytes
        return list(chosen.values())

    def launch(self, node: Node) -> None:
        """Gives a gang that was popped its place, and charges its client."""
        duration = node.duration.seconds
        node.charge = (node.spec.parts * UNMEASURED if duration is None else duration) * len(node.devices)
        tally = self.tallies[node.client]
        if tally.virtual > self.virtual:
            self.virtual = tally.virtual
        tally.last = node.charge / node.client.share
        tally.virtual += tally.last
        if tally.virtual > self.latest:
            self.latest = tally.virtual
        self.turns[0] = tally.turn = self.turns[0] + 1
        tally.flying += 1  # as is Client.in_flight, over all islands
        self.flying[node.id] = node

    def end(self, node: Node, seconds: float | None) -> None:
        """Gives the place of a launched gang back; it took ``seconds``, or nobody knows."""
        del self.flying[node.id]
        tally = self.tallies.get(node.client)
        if tally is None:  # its client is closed
            return
        tally.flying -= 1
        if seconds is not None:
            own = tally.own.get(node.duration)
            if own is None:
                if len(tally.own) >= _KEEP_DURATIONS:
                    tally.own.clear()
                own = tally.own[node.duration] = Duration()
            own.measured(seconds)
            taken, share = counted(node.duration, own) * len(node.devices), node.client.share
            tally.virtual += (taken - node.charge) / share
            tally.last = taken / share
            if tally.virtual > self.latest:
                self.latest = tally.virtual

    def tidy(self, lane: ClientLane) -> None:
        """Drops withdrawn and suspended gangs from the front, and the lane with its last gang."""
        gangs = lane.gangs
        while gangs and ((node := gangs[0][1]).state is not NodeState.QUEUED or node.held):
            heappop(gangs)
            if node.state is NodeState.QUEUED:
                self.held[node.id] = node
        if gangs:
            lane.order = gangs[0][0]
        else:
            del self.lanes[lane.owner]
