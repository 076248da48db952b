"""Edges: what a node misses before it may be launched.

It is one number.  It counts

- each buffer that the node reads whose producer has not been launched: inputs
  are futures whose values the backend awaits, so a launch is all that is needed;
- each node that it comes ``after`` and that has not ended (ordered effects),
  however that ends: the order is kept, success is not asked for;
- for each buffer donated to it, each earlier reader that has not read it yet: in the one order of its slice a
  launch is enough; a host function, or a launch on another slice, reads at a time of its own, so it must have ended.

All three point from a node to one submitted before it, so there is no circle.
The number is counted down by what it counts: readers are found through their
buffer, the others in the lists ``on_launch`` and ``on_end``.  So an event costs
what it changes and never what is queued.

Rejected: to count a producer until it is *done*, which costs a round trip from
device to controller for each edge (§2, §4.5); and to let a failed effect fail
the nodes after it, which would turn a broken ``print`` into a broken training step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..ids import NodeId
from .memory import Memory
from .records import Failure, Node
from .store import Store


def wire(node: Node, nodes: Mapping[NodeId, Node], store: Store, memory: Memory) -> None:
    """Enters a new node at all that it depends on, or finds out that it can never run.

    Sets ``node.missing`` and, if an input is lost, the program was given up or no memory can ever hold its
    outputs, ``node.failure``.
    """
    reason = node.program.given_up
    if reason is not None:
        node.failure = Failure.of(node, reason, cancelled=True)
    for id in node.reads:
        buffer = store.read(id, node)
        node.failure = node.failure or buffer.refusal(node)
        if not buffer.promised:
            node.missing += 1
    memory.settle(node)
    store.write(node)
    if node.failure is None and (never := memory.impossible(node)):
        node.failure = Failure.of(node, never)
    if node.failure is not None:
        return
    for id in node.spec.donates:
        for reader in store.donate(id, node):
            if not still_reads(reader, node):
                continue
            if in_one_order(reader, node):
                reader.on_launch = _joined(reader.on_launch, node)
            else:
                reader.on_end = _joined(reader.on_end, node)
            node.missing += 1
    for id in node.spec.after:
        before = nodes.get(id)
        if before is not None:
            before.on_end = _joined(before.on_end, node)
            node.missing += 1


def in_one_order(reader: Node, donor: Node) -> bool:
    """Whether ``reader``, once launched, reads before ``donor`` can write, being launched later on the same slice.

    Two slices of one island are in one order too, until one of them moves.
    """
    return not reader.host and reader.spec.slice == donor.spec.slice


def still_reads(reader: Node, donor: Node) -> bool:
    """Whether ``donor`` must wait for an earlier reader, which has not ended, of what was donated to it."""
    return reader is not donor and not (reader.launched and in_one_order(reader, donor))


def _joined(waiting: list[Node] | None, node: Node) -> list[Node]:
    """Those that wait, and one more."""
    if waiting is None:
        return [node]
    waiting.append(node)
    return waiting


def recount(nodes: Iterable[Node], store: Store) -> Counter[NodeId]:
    """What each of ``nodes`` misses, counted anew; for checking."""
    missing: Counter[NodeId] = Counter()
    for node in nodes:
        missing[node.id] += sum(not store.buffers[id].promised for id in node.reads)
        missing.update(other.id for other in (*(node.on_launch or ()), *(node.on_end or ())))
    return missing
