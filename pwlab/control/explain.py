"""Explanation: why does it wait?  The present reason, and the chain behind it to the root.

The chain is built from the tables as they are, when somebody asks; nothing is recorded for
it, so it costs nothing until then.  Each step goes to a node that was submitted before, or
to one that is launched, and from a launched one only to what was launched before it, so
every chain ends.  Of several reasons the one is told that ends last: who would have to be
resumed is told so before who misses an input, and that before who is being compiled.
"""

from __future__ import annotations

from typing import Any

from ..events import NodeKind, NodeState
from ..ids import BufferId, NodeId, ProgramId
from .accounts import Account
from .edges import still_reads
from .memory import Memory
from .programs import Programs
from .reasons import Kind, Reason, Why
from .records import Node
from .resources import Resources
from .scheduler import Scheduler
from .store import Store

_Step = tuple[Reason, Node | None]


class Explainer:
    """Looks for reasons."""

    def __init__(self, programs: Programs, scheduler: Scheduler, store: Store, memory: Memory, resources: Resources):
        self._programs = programs
        self._scheduler = scheduler
        self._store = store
        self._memory = memory
        self._resources = resources

    def node(self, id: NodeId) -> Why:
        """Why a node has not ended."""
        node = self._programs.nodes.get(id)
        if node is None:
            kind = Kind.ENDED if self._programs.submitted(id) else Kind.UNKNOWN
            return Why((Reason(kind, f"node {id}", id),))
        return Why(tuple(self._chain(node)))

    def buffer(self, id: BufferId) -> Why:
        """Why a buffer has no value yet."""
        buffer = self._store.buffers.get(id)
        what = f"buffer {id}"
        if buffer is None:
            return Why((Reason(Kind.UNKNOWN, what, buffer=id),))
        producer = buffer.producer
        if producer is None:
            return Why((Reason(Kind.READY, f"{what}, an argument,", buffer=id),))
        what = f"{what}, a result of {producer.spec.name!r},"
        if producer.failure is not None:
            error = producer.failure.told_to(producer)
            return Why((Reason(Kind.FAILED, what, producer.id, buffer=id, detail=error, source=producer.spec.source),))
        if buffer.away:
            who = self._suspender(producer)
            detail = f"{who} is suspended" if who else "it comes back when a launch reads it, or there is room to spare"
            reason = Reason(Kind.AWAY, what, producer.id, buffer=id, detail=detail, bytes=buffer.total)
            return Why((reason,))
        if producer.state.ended:
            return Why((Reason(Kind.READY, what, producer.id, buffer=id),))
        return self.node(producer.id)

    def program(self, id: ProgramId) -> Why:
        """Why a program has not ended."""
        program = self._programs.programs.get(id)
        if program is None:
            return Why((Reason(Kind.ENDED, f"program {id}", program=id),))
        what = f"program {id} {program.name!r}"
        if not program.live:
            return Why((Reason(Kind.OPEN, what, program=id, client=program.client.name),))
        first = Reason(Kind.PROGRAM, what, program=id, client=program.client.name, count=len(program.live))
        return Why((first, *self._chain(next(iter(program.live.values())))))

    def _chain(self, node: Node | None) -> list[Reason]:
        reasons: list[Reason] = []
        seen: set[NodeId] = set()
        while node is not None and node.id not in seen:
            seen.add(node.id)
            reason, node = self._present(node)
            reasons.append(reason)
        return reasons

    def _present(self, node: Node) -> _Step:
        if node.launched:
            return self._awaited(node, launched=True) or self._occupied(node) or self._runs(node)
        if node.held:
            return self._stopped(node)
        if node.missing:
            step = self._awaited(node, launched=False) or self._followed(node)
            if step is not None:
                return step
        if node.state is NodeState.WAITING:
            return _reason(Kind.COMPILING, node), None
        return self._queued(node)

    def _awaited(self, node: Node, launched: bool) -> _Step | None:
        """The first input whose producer has not been launched or, for a launched node, has not ended."""
        for id in node.reads:
            buffer = self._store.buffers[id]
            producer = buffer.producer
            if producer is None or (buffer.settled if launched else producer.launched):
                continue
            if producer.spec.kind is NodeKind.TRANSFER:
                link = str(producer.spec.link or "")
                return _reason(Kind.TRANSFER, node, producer, buffer=id, bytes=moved(producer), detail=link), producer
            return _reason(Kind.INPUT, node, producer, buffer=id), producer
        return None

    def _followed(self, node: Node) -> _Step | None:
        for id in node.spec.after:
            before = self._programs.nodes.get(id)
            if before is not None:
                return _reason(Kind.ORDER, node, before), before
        for id in node.spec.donates:
            for reader in self._store.readers(id):
                if still_reads(reader, node) and reader.order < node.order:
                    return _reason(Kind.DONATION, node, reader, buffer=id), reader
        return None

    def _occupied(self, node: Node) -> _Step | None:
        """The gang that was launched on one of its devices before it, if there is one."""
        if node.host:
            return None
        chips = self._memory.devices
        mine = {chips[device]: device for device in node.devices}
        for other in self._scheduler.queue(node.island).flying.values():
            if other is node:
                return None
            shared = [mine[chips[device]] for device in other.devices if chips[device] in mine]
            if shared:
                return _reason(Kind.BUSY, node, other, detail=f"device {min(shared)}"), other
        return None

    def _runs(self, node: Node) -> _Step:
        if node.spec.kind is NodeKind.TRANSFER:
            return _reason(Kind.RUNNING, node, bytes=moved(node), detail=str(node.spec.link or "")), None
        return _reason(Kind.RUNNING, node), None

    def _stopped(self, node: Node) -> _Step:
        place = node.place
        who = self._suspender(node)
        if who:
            away = sum(self._store.away[id].total for id in node.reads if id in self._store.away)
            return _reason(Kind.SUSPENDED, node, detail=who, bytes=away), None
        last = next((n for n in self._programs.nodes.values() if n.launched and n.place is place), None)
        return _reason(Kind.MOVING, node, last, detail=repr(place.name)), last

    def _suspender(self, node: Node) -> str:
        """What is suspended that a node belongs to, for people; empty if nothing is."""
        if node.client.suspended:
            return f"client {node.client.name!r}"
        if node.program.suspended:
            return f"program {node.program.id} {node.program.name!r}"
        return f"slice {node.place.name!r}" if node.place.suspended else ""

    def _queued(self, node: Node) -> _Step:
        """It misses nothing, and is not launched."""
        scheduler, client = self._scheduler, node.client
        if node.host or (scheduler.paused and not scheduler.steps):
            return _reason(Kind.PAUSED, node), None
        queue = scheduler.queue(node.island)
        if node.id in queue.aside:
            return self._short(node)
        if client.full:
            flights = (n for q in scheduler.queues.values() for n in q.flying.values() if n.client is client)
            first = min(flights, key=lambda n: n.order)
            return _reason(Kind.LIMIT, node, first, count=client.in_flight), first
        lane = queue.lanes[client]
        head = lane.gangs[0][1]
        if head is not node:
            return _reason(Kind.BEHIND, node, head), head
        if queue.flying:
            first = next(iter(queue.flying.values()))
            island = self._resources.islands[node.island].name
            return _reason(Kind.BUSY, node, first, detail=island, count=len(queue.flying)), first
        return self._short(node)

    def _short(self, node: Node) -> _Step:
        older = next((n for n in self._programs.nodes.values() if n.order < node.order and not n.held and n.draw), None)
        shortage = self._memory.shortage(node)
        if shortage is None:
            kept = next((n for n in self._programs.nodes.values() if not n.launched and not n.held and n.draw), node)
            return _reason(Kind.RESERVED, node, kept), kept if kept is not node else None
        account, bytes = shortage
        return _reason(Kind.MEMORY, node, self._holder(account), detail=str(account), bytes=bytes), older

    def _holder(self, account: Account) -> Node | None:
        """Whose results take most of an account."""
        holds: dict[Node, int] = {}
        for buffer in self._store.buffers.values():
            producer = buffer.producer
            if producer is not None and buffer.held and not buffer.away:
                if account in buffer.accounts:
                    holds[producer] = holds.get(producer, 0) + buffer.share
                elif account is buffer.owner.memory:
                    holds[producer] = holds.get(producer, 0) + buffer.total
        return max(holds, key=lambda node: (holds[node], -node.order), default=None)


def moved(node: Node) -> int:
    """Bytes that a transfer moves."""
    return node.spec.bytes_in or sum(output.bytes for output in node.spec.outputs)


def named(node: Node) -> str:
    return f"{node.spec.name!r} of program {node.program.id} {node.program.name!r}"


def _reason(kind: Kind, node: Node, other: Node | None = None, **more: Any) -> Reason:
    other_name = ""
    if other is not None:
        other_name = repr(other.spec.name) if other.program is node.program else named(other)
        if other.client is not node.client:
            other_name += f" (client {other.client.name!r})"
    return Reason(
        kind,
        named(node),
        node.id,
        node.program.id,
        node.client.name,
        slice=node.spec.slice,
        island=node.island,
        source=node.spec.source,
        other=other.id if other is not None else None,
        other_name=other_name,
        **more,
    )
