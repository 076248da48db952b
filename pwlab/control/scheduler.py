"""The gang scheduler: one consistent order of launches for each island (Pathways §4.4).

What always holds:

1. A gang is launched whole, by one instruction that names all of its devices;
   all devices of an island therefore see its gangs in one order.
2. A node is launched after everything that writes what it reads was launched,
   on whichever island, and after everything it must follow has ended.
3. At most ``max_in_flight`` gangs of an island are launched and not ended, unless
   the setting was lowered meanwhile; and an island with a free place has nothing
   left that could go.

No deadlock follows from 1 and 2.  Launches, put in the order in which they were
decided, are a linear extension of the graph, over all islands.  Take the first
of them that has not ended: what it reads was launched before it and has ended,
and so has all that its island launched before it.  So nothing holds it, it
ends, and by induction all do.  Two gangs that communicate and were enqueued in
different orders on two devices, the deadlock of §2 and §4.4, would break 1.

Nor is anything left behind.  Take the first node, in the order of submission,
that has neither been launched nor ended.  All that it waits for was submitted
before it, so it was launched and will end: then the node is launchable, and as
the number of places is limited but each becomes free again, its turn comes.

What cannot go yet does not stand in the way of what can: a node that is still
being compiled, or whose inputs nobody has launched, is in no lane at all; it
enters its client's lane when the last thing it misses has happened.  Strict
head-of-line order was rejected: one slow compilation would idle an island, and
with two islands that wait for each other's heads it deadlocks.  A scan of the
queue for what can go was rejected too, for it makes a launch cost what is queued.

Host nodes take no device and no place; they go as soon as they may.  Only how
many are in flight is bounded here; bytes are the store's, which is where
back-pressure (§4.6) will ask before a gang is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from ..errors import InternalError
from ..events import NodeState
from ..ids import IslandId
from .policies import Lane, Policy, fifo
from .records import Node


class IslandQueue:
    """What one island could launch now."""

    __slots__ = ("in_flight", "lanes")

    def __init__(self) -> None:
        #: Gangs that are launched and have not ended.
        self.in_flight = 0
        #: By client; never an empty lane, never one whose first gang was withdrawn.
        self.lanes: dict[str, Lane] = {}

    def push(self, node: Node) -> None:
        lane = self.lanes.get(node.client)
        if lane is None:
            lane = self.lanes[node.client] = Lane(node.client)
        heappush(lane.gangs, (node.order, node))
        lane.order = lane.gangs[0][0]

    def pop(self, lane: Lane) -> Node:
        node = heappop(lane.gangs)[1]
        self.tidy(lane)
        return node

    def tidy(self, lane: Lane) -> None:
        """Drops withdrawn gangs from the front, and the lane with its last gang."""
        gangs = lane.gangs
        while gangs and gangs[0][1].state is not NodeState.QUEUED:
            heappop(gangs)
        if gangs:
            lane.order = gangs[0][0]
        else:
            del self.lanes[lane.client]


class Scheduler:
    """Decides the order of launches, island by island."""

    def __init__(self, policy: Policy = fifo):
        self.queues: dict[IslandId, IslandQueue] = {}
        self.policy = policy
        self.max_in_flight = 16
        self._hosts: list[tuple[int, Node]] = []
        #: Islands where a launch may have become possible; a dict for its order.
        self._stirred: dict[IslandId, None] = {}

    def join(self, island: IslandId) -> None:
        """Makes the queue of a new island."""
        self.queues[island] = IslandQueue()

    def limit(self, max_in_flight: int) -> None:
        """Sets how many gangs an island may have in flight.

        Raises:
          InternalError: fewer than one.
        """
        if max_in_flight < 1:
            raise InternalError(f"max_in_flight is at least 1, not {max_in_flight}")
        self.max_in_flight = max_in_flight
        self._stirred.update(dict.fromkeys(self.queues))

    def offer(self, node: Node) -> None:
        """Takes a queued node that misses nothing more."""
        if node.host:
            heappush(self._hosts, (node.order, node))
        else:
            self.queues[node.island].push(node)
            self._stirred[node.island] = None

    def withdraw(self, node: Node) -> None:
        """Forgets a node that was queued and will never run."""
        if not node.host:  # a host node goes with the event that lets it go: it never waits here
            queue = self.queues[node.island]
            lane = queue.lanes.get(node.client)
            if lane is not None:
                queue.tidy(lane)

    def take(self) -> Node | None:
        """The next node to launch, which its caller must launch; None when nothing more can go."""
        if self._hosts:
            return heappop(self._hosts)[1]
        while self._stirred:
            island = next(iter(self._stirred))
            queue = self.queues[island]
            if queue.lanes and queue.in_flight < self.max_in_flight:
                queue.in_flight += 1
                return queue.pop(self.policy(queue.lanes.values()))
            del self._stirred[island]
        return None

    def end(self, node: Node) -> None:
        """Gives the place of a launched node back."""
        if not node.host:
            self.queues[node.island].in_flight -= 1
            self._stirred[node.island] = None

    def validate(self, nodes: Iterable[Node]) -> None:
        """Checks lanes and places against ``nodes``, all that have not ended."""
        nodes = list(nodes)
        assert not self._stirred, "an island was left with something to do"
        assert not self._hosts, "a host node was left behind"
        able = {node for node in nodes if node.state is NodeState.QUEUED and not node.missing}
        offered: set[Node] = set()
        for island, queue in self.queues.items():
            flying = sum(n.state is NodeState.LAUNCHED and not n.host and n.island == island for n in nodes)
            assert flying == queue.in_flight, f"island {island} counts {queue.in_flight}, not {flying}"
            assert not queue.lanes or flying >= self.max_in_flight, f"island {island} idles"
            for client, lane in queue.lanes.items():
                assert lane.client == client
                assert lane.gangs, f"the lane of {client!r} is empty"
                assert lane.order == lane.gangs[0][0] == min(lane.gangs)[0]
                assert lane.gangs[0][1] in able, f"{lane.gangs[0][1]} cannot go"
                offered.update(node for _, node in lane.gangs if node.state is NodeState.QUEUED)
        assert offered == able, "what can go and what is offered differ"
