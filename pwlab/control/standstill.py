"""Standstill: nothing runs, what waits lacks memory, and nobody can give it any.

A node that does not fit in the order of submission is unsound (``memory.py``): it waits until users release something.
Where all that they could release would not help either, it would wait for ever and hold up everybody who needs what it
and its like keep.  So it fails, with the sums, and what it kept is free.

It is looked for at rest alone: nothing is launched or being prepared, nothing is paused, suspended or on its way, so
that only gangs are left which wait for memory, and what waits for them.  If one of them could go if users released
all that nobody else reads, it may wait for that; else the oldest is given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..events import NodeState
from ..units import bytes_text as sized
from .accounts import Account
from .memory import Memory
from .records import Node
from .scheduler import Scheduler
from .store import Store


def hopeless(nodes: Iterable[Node], scheduler: Scheduler, memory: Memory, store: Store) -> tuple[Node, str] | None:
    """The node to give up and why, with the sums; None if there is hope."""
    queues = scheduler.queues.values()
    if scheduler.paused or store.away or not any(q.aside for q in queues) or any(q.flying or q.held for q in queues):
        return None
    if any(node.held or node.launched or (node.asked and node.state is NodeState.WAITING) for node in nodes):
        return None
    kept = _kept(store)
    waiting = sorted((node for queue in queues for node in queue.aside.values()), key=lambda node: node.order)
    lacks = [_lacks(node, memory, kept) for node in waiting]
    if any(lack is None for lack in lacks):
        return None
    first, lack = waiting[0], lacks[0]
    assert lack is not None
    account, needed = lack
    return first, (
        f"{first.spec.name!r} needs {sized(needed)} on {account}, where {sized(kept[account])} of "
        f"{sized(account.capacity)} hold what others will read that wait for memory, too: in the order in which all "
        f"this was submitted it cannot run, short by {sized(kept[account] + needed - account.capacity)}; compute less "
        "at once, or spread it over more devices"
    )


def _kept(store: Store) -> Counter[Account]:
    """Bytes on each account that no user can release: somebody will read them."""
    kept: Counter[Account] = Counter()
    for buffer in store.buffers.values():
        if buffer.held and buffer.producer is not None and (buffer.readers or not buffer.pinned):
            for account in buffer.accounts:
                kept[account] += buffer.share
            kept[buffer.producer.client.memory] += buffer.total
    return kept


def _lacks(node: Node, memory: Memory, kept: Counter[Account]) -> tuple[Account, int] | None:
    """The account on which a node finds no room even if all is released that may be, and what it needs there."""
    for account, top, _ in memory.needs(node):
        if top > 0 and kept[account] + top > account.capacity:
            return account, top
    return None
