"""The gang scheduler: one consistent order of launches for each island (Pathways §4.4).

What always holds:

1. A gang is launched whole, by one instruction that names all of its devices;
   all devices of an island therefore see its gangs in one order.
2. A node is launched after everything that writes what it reads was launched,
   on whichever island, and after everything it must follow has ended.
3. At most ``max_in_flight`` gangs of an island are launched and not ended, and of
   a client as many as it may have, unless a setting was lowered meanwhile; and an
   island with a free place has nothing left that could go.

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

Host nodes take no device and no place; they go as soon as they may.

What may not go is kept where it costs nothing until that changes: a suspended gang
and one without memory leave their lane for a list of their island, and the lanes of
a client with all its launches in flight are not shown to the policy.  Memory is asked
for only when a gang is about to go, after the policy chose it; then up to
:data:`LOOK_BEHIND` others of its client may pass it (``memory.py`` says which), and
all clients.  A pause holds everything, in whatever order it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from ..errors import InternalError
from ..events import IslandSpec, NodeState
from ..ids import IslandId, NodeId
from .clients import Client
from .lanes import ClientLane, IslandQueue
from .memory import Memory
from .records import Node, Placement
from .registry import Registry
from .topology import homes

#: How many gangs of one client may wait for memory while later ones of it are tried.
LOOK_BEHIND = 8


class Scheduler:
    """Decides the order of launches, island by island."""

    def __init__(self, registry: Registry, memory: Memory):
        #: One an island, or one for all that share chips, under the first of them.
        self.queues: dict[IslandId, IslandQueue] = {}
        self._islands: list[IslandSpec] = []
        self._home: dict[IslandId, IslandId] = {}
        self.registry = registry
        self.max_in_flight = 16
        self.paused = False
        #: How many nodes may be launched in spite of the pause.
        self.steps = 0
        self._memory = memory
        #: What :attr:`Memory.shifts` was when somebody looked who of those that wait for memory may have found some.
        self._seen = 0
        #: Islands where a gang may wait for memory.
        self._short: dict[IslandId, None] = {}
        #: Gangs that were found to lack memory, or to lack another amount of it, since observers were told.
        self._lacking: dict[NodeId, Node] = {}
        self._hosts: list[tuple[int, Node]] = []
        self._held_hosts: dict[NodeId, Node] = {}
        #: Islands where a launch may have become possible; a dict for its order.
        self._stirred: dict[IslandId, None] = {}

    def join(self, island: IslandSpec) -> None:
        """Makes the queue of a new island, unless it shares chips with one that has a queue.

        Raises:
          InternalError: it joins islands on whose chips gangs are queued already, apart from each other.
        """
        home = homes([*self._islands, island])
        merged = [id for id in self.queues if home[id] != id]
        if any(self.queues[id].tallies for id in merged):
            raise InternalError(f"island {island.id} shares chips with islands that have had queues of their own")
        for id in merged:
            del self.queues[id]
        self._islands.append(island)
        self._home = home
        self.queues.setdefault(home[island.id], IslandQueue())

    def queue(self, island: IslandId) -> IslandQueue:
        """The queue in which an island's gangs wait."""
        return self.queues[self._home[island]]

    def _stir(self, node: Node) -> None:
        self._stirred[self._home[node.island]] = None

    def limit(self, max_in_flight: int) -> None:
        """Sets how many gangs an island may have in flight.

        Raises:
          InternalError: fewer than one.
        """
        if max_in_flight < 1:
            raise InternalError(f"max_in_flight is at least 1, not {max_in_flight}")
        self.max_in_flight = max_in_flight
        self.stir()

    def step(self, n: int) -> None:
        """Pauses, but for the next ``n`` launches.

        Raises:
          InternalError: fewer than one.
        """
        if n < 1:
            raise InternalError(f"a step is at least 1 launch, not {n}")
        self.paused, self.steps = True, n

    def pause(self, paused: bool) -> None:
        self.paused, self.steps = paused, 0

    def stir(self) -> None:
        """A setting changed: everywhere a launch may have become possible."""
        self._stirred.update(dict.fromkeys(self.queues))

    def revise(self) -> None:
        """Something was suspended or goes on again."""
        for queue in self.queues.values():
            queue.revise()
        held, self._held_hosts = self._held_hosts, {}
        for node in held.values():
            self.offer(node, node.offered)
        self.stir()

    def offer(self, node: Node, time: float) -> None:
        """Takes a queued node that misses nothing more."""
        node.offered = time
        node.lack = None
        if not node.host:
            self.queue(node.island).push(node)
            self._stir(node)
        elif node.held:
            self._held_hosts[node.id] = node
        else:
            heappush(self._hosts, (node.order, node))

    def withdraw(self, node: Node) -> None:
        """Forgets a node that was queued and will never run, or moves elsewhere."""
        if node.host:
            self._held_hosts.pop(node.id, None)
            return
        queue = self.queue(node.island)
        lane = queue.lanes.get(node.client)
        if lane is not None:
            queue.tidy(lane)
        queue.forget(node)

    def purge(self, place: Placement) -> None:
        """Forgets all gangs of a slice, which moves from its island."""
        self.queue(place.island).purge(place)

    def forget(self, client: Client) -> None:
        """A client is gone: no queue remembers what it has had."""
        for queue in self.queues.values():
            queue.tallies.pop(client, None)

    def take(self, time: float) -> Node | None:
        """The next node to launch, which its caller must launch; None when nothing more can go."""
        if self.paused and not self.steps:
            return None
        node = self._next()
        if node is not None:
            self.steps -= self.steps > 0
            client = node.client
            client.waited += time - node.offered
            client.launches += 1
        return node

    def _next(self) -> Node | None:
        hosts = self._hosts
        while hosts:
            node = heappop(hosts)[1]
            if node.state is not NodeState.QUEUED:
                continue
            if not node.held:
                return node
            self._held_hosts[node.id] = node
        while (self._short and self._wake()) or self._stirred:
            island = next(iter(self._stirred))
            queue = self.queues[island]
            while len(queue.flying) < self.max_in_flight:
                if island in self._short:
                    self._weed(queue, island)
                lanes = self.shown(queue)
                if not lanes:
                    if queue.tried and queue.aside and self._recall(queue, island):
                        continue
                    break
                queue.tried = True
                node = queue.pop(self.registry.choose(lanes))
                if self._memory.grants(node):
                    queue.launch(node)
                    node.client.in_flight += 1
                    return node
                self._set_aside(node, queue, island)
            del self._stirred[island]
        return None

    def _wake(self) -> bool:
        """Whether gangs that wait for memory may have found it since somebody looked; their islands are stirred."""
        memory = self._memory
        woken = False
        if self._seen != memory.shifts:
            if memory.stale:
                memory.plan()
            self._seen = memory.shifts
            for island in list(self._short):
                if self._recall(self.queues[island], island):
                    self._stirred[island] = None
                    woken = True
        return woken

    def _recall(self, queue: IslandQueue, island: IslandId) -> bool:
        """Whether a gang that waits for memory is in its lane again."""
        memory = self._memory
        queue.tried = False
        if queue.recall(memory.plans, memory.ample(island), memory.first()):
            return True
        if not queue.aside:
            del self._short[island]
        elif not queue.flying and not self.shown(queue) and memory.reconsiders():
            return queue.recall(memory.plans, False, memory.first())
        return False

    def _weed(self, queue: IslandQueue, island: IslandId) -> None:
        """Sets aside again what was recalled and came too late."""
        fits = self._memory.fits
        for lane in list(queue.lanes.values()):
            while lane.gangs and (node := lane.gangs[0][1]).obstacle is not None and not fits(node):
                self._set_aside(queue.pop(lane), queue, island)

    def _set_aside(self, node: Node, queue: IslandQueue, island: IslandId) -> None:
        self._lacks(node, first=not queue.tallies[node.client].aside)
        queue.set_aside(node)
        self._short[island] = None

    @property
    def short(self) -> bool:
        """Whether a gang may wait for memory."""
        return bool(self._short)

    def lacking(self) -> list[tuple[NodeId, str, int]]:
        """Gangs that wait for memory, which account is too small and by how many bytes; each new finding once."""
        if not self._lacking:
            return []
        waiting = [node for node in self._lacking.values() if node.state is NodeState.QUEUED]
        self._lacking.clear()
        return [(node.id, *node.lack) for node in waiting if node.lack is not None]

    def _lacks(self, node: Node, first: bool) -> None:
        """Notes what a gang lacks; after the first time only of the ``first`` of its client, to bound what is told."""
        if node.lack is not None and not first:
            return
        lack = "", 0
        if node.obstacle is not None:
            account, bytes = node.obstacle
            lack = account.name, account.used + bytes - account.capacity
        if lack != node.lack:
            node.lack = lack
            self._lacking[node.id] = node

    def shown(self, queue: IslandQueue) -> list[ClientLane]:
        """The lanes that a policy may choose from."""
        return [
            lane
            for lane in queue.lanes.values()
            if (lane.tally.aside < LOOK_BEHIND or lane.order < lane.tally.newest)
            and (lane.owner.max_in_flight is None or not lane.owner.full)
        ]

    def end(self, node: Node, seconds: float | None) -> None:
        """Gives the place of a launched node back; it took ``seconds``, or nobody knows."""
        if node.host:
            return
        client = node.client
        limited = client.full
        client.in_flight -= 1
        if seconds is not None:
            node.duration.measured(seconds)
            client.device_seconds += max(seconds, 0.0) * len(node.devices)
        self.queue(node.island).end(node, seconds)
        self._stir(node)
        if limited:  # its lanes were hidden, by its own limit: that earns no credit
            for island, queue in self.queues.items():
                if client in queue.lanes:
                    tally = queue.tallies[client]
                    tally.virtual = max(tally.virtual, queue.virtual)
                    self._stirred[island] = None

    def validate(self, nodes: Iterable[Node]) -> None:
        """Checks lanes and places against ``nodes``, all that have not ended."""
        nodes = list(nodes)
        assert all(island in self._short for island, queue in self.queues.items() if queue.aside)
        assert all(node.lack is not None for queue in self.queues.values() for node in queue.aside.values())
        resting = self.paused and not self.steps
        for queue in self.queues.values():
            for node in queue.aside.values():
                room = node.obstacle is not None and self._memory.fits(node)
                assert resting or not room or len(queue.flying) >= self.max_in_flight, f"{node} has room and waits"
        assert resting or not self._stirred, "an island was left with something to do"
        assert resting or not any(n.state is NodeState.QUEUED for _, n in self._hosts), "a host node was left behind"
        able = {node for node in nodes if node.state is NodeState.QUEUED and not node.missing}
        offered = {node for _, node in self._hosts if node.state is NodeState.QUEUED} | set(self._held_hosts.values())
        for island, queue in self.queues.items():
            launched = (n for n in nodes if n.state is NodeState.LAUNCHED and not n.host)
            flying = [n for n in launched if self._home[n.island] == island]
            assert set(flying) == set(queue.flying.values()), f"island {island} counts its launches wrong"
            assert resting or not self.shown(queue) or len(flying) >= self.max_in_flight, f"island {island} idles"
            for client, lane in queue.lanes.items():
                assert lane.owner is client and lane.tally is queue.tallies[client]
                assert lane.gangs, f"the lane of {client.name!r} is empty"
                assert lane.order == lane.gangs[0][0] == min(lane.gangs)[0]
                assert lane.gangs[0][1] in able and not lane.gangs[0][1].held, f"{lane.gangs[0][1]} cannot go"
                offered.update(node for _, node in lane.gangs if node.state is NodeState.QUEUED)
            for client, tally in queue.tallies.items():
                assert not client.closed
                assert tally.flying == sum(n.client is client for n in flying)
                assert tally.aside == sum(n.client is client for n in queue.aside.values())
            assert all(node.held for node in queue.held.values()), "a gang that may go is held"
            offered.update(queue.held.values(), queue.aside.values())
        assert offered == able, "what can go and what is offered differ"
        for client in {node.client for node in nodes}:
            mine = [node for node in nodes if node.client is client]
            assert client.in_flight == sum(node.launched and not node.host for node in mine)
            assert client.queued == sum(not node.launched for node in mine)
