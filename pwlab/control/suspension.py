"""Suspension: what belongs to a suspended client, program or slice goes to host memory (Pathways §4.1).

Who is suspended launches nothing (``scheduler.py``), and its devices serve others; so shall
their memory.  A buffer goes as soon as nothing that is launched writes or reads it and nobody
is to read it who is not suspended himself.  One :class:`~pwlab.events.Offload` names all that
go at a time, and from then on they count on no device and against no client's limit.

They come back in two ways:

1. for a launch that reads them, of whoever: in one instruction before it.  What they take is a
   part of what the launch needs, so it waits for memory as for its outputs (``memory.py``);
2. of themselves when they are not suspended any more and nobody waits for memory, as far as
   that leaves what is planned its room.

So whoever goes on needs no memory for what it does not use, and no room is promised to what
nobody waits for.  If there is never any, a buffer stays in host memory and loses nothing:
who only wants to see the value is given a copy by the backend, and so is a host function.

Rejected: to stop what is launched (§4.4); to wait until all of it has ended (a long chain would
keep its memory for its last launch); to bring everything back before anything goes on (what
needs two buffers at a time would wait for room for a hundred); and to count the copy that is
given to a reader (it is his own from then on, as any array that he takes out).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..events import BuffersOffloaded, Offload
from ..ids import BufferId
from .memory import Memory
from .records import Answer
from .scheduler import Scheduler
from .store import Buffer, Store

#: How many buffers may have no room before the rest is left for the next event.
_LOOK_BEHIND = 8


class Suspension:
    """Moves the buffers of who is suspended."""

    def __init__(self, store: Store, memory: Memory, scheduler: Scheduler):
        self._store = store
        self._memory = memory
        self._scheduler = scheduler
        #: What lies in host memory and is suspended no more.
        self._returning: dict[BufferId, None] = {}

    def leave(self, answer: Answer) -> None:
        """Sends what may go to host memory; before the launches of an event, which may use the room."""
        store = self._store
        if store.revised:
            store.revised = False
            mine = [b for b in store.buffers.values() if b.producer is not None and b.producer.suspended]
            store.leaving = {b.id: None for b in mine if b.accounts and not b.away and not b.gone}
            self._returning = {id: None for id, b in store.away.items() if b.producer and not b.producer.suspended}
            asked: Iterable[BufferId] = list(store.leaving)
        else:
            asked = store.rested
        gone = [store.buffers[id] for id in dict.fromkeys(asked) if id in store.leaving and _free(store.buffers[id])]
        store.rested.clear()
        if not gone:
            return
        for buffer in gone:
            store.offload(buffer)
        self._memory.misalign()
        ids = tuple(buffer.id for buffer in gone)
        answer.instructions.append(Offload(ids))
        answer.facts.append(BuffersOffloaded(answer.time, ids, sum(buffer.held for buffer in gone)))

    def come_back(self, answer: Answer) -> None:
        """Brings back what nobody waits for, if nobody waits for memory; after the launches of an event."""
        if not self._returning or any(queue.aside for queue in self._scheduler.queues.values()):
            return
        self._store.restore(self._spared(), answer)

    def _spared(self) -> Iterator[Buffer]:
        """What may come back; each is counted before the next is looked at."""
        refused = 0
        for id in list(self._returning):
            buffer = self._store.away.get(id)
            if buffer is not None and not self._memory.spares(buffer):
                refused += 1
                if refused == _LOOK_BEHIND:
                    return
                continue
            del self._returning[id]
            if buffer is not None:
                yield buffer

    def validate(self) -> None:
        """Checks that nothing stays on devices that could go."""
        for id in self._store.leaving:
            assert not _free(self._store.buffers[id]), f"buffer {id} of something suspended keeps its memory"
        for buffer in self._store.buffers.values():
            producer = buffer.producer
            if producer is not None and producer.suspended and buffer.held and buffer.accounts:
                assert buffer.away or buffer.id in self._store.leaving, f"buffer {buffer.id} was overlooked"
            if buffer.away and producer is not None and not producer.suspended:
                assert buffer.id in self._returning, f"buffer {buffer.id} was forgotten in host memory"


def _free(buffer: Buffer) -> bool:
    """Whether nobody uses a buffer's memory, or will while its owner is suspended."""
    return (
        bool(buffer.held and buffer.settled)
        and not buffer.gone
        and all(reader.suspended and not reader.launched for reader in buffer.readers.values())
    )
