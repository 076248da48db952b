"""The object store: one record and one count of readers a logical buffer (Pathways §4.2, §4.6).

A buffer, however many shards it has, is needed while the client holds it (its
*pin*), while a node that reads it has not ended, or while its producer has not.
When none of this is true it is dropped: :class:`~pwlab.events.Free` tells the
backend to let go of it, and nothing of it is remembered.

Its *memory* can go back earlier, once, and observers learn of that by
:class:`~pwlab.events.BuffersFreed`: when the buffer is dropped, when its
producer fails, or when a node to which it was donated is launched, which takes
the memory over.  Memory counts from the launch of the producer, for that is
when a device allocates it.

Donation belongs to the order of submission, as in the program that the user
wrote: the donating node waits until all earlier readers have read it (``edges.py``),
and every later reader fails at once.  If the donating node ends without having been
launched, nothing happened to the buffer, and later readers may have it again.

While the client holds a buffer that was donated, or that will never exist, its
record stays, so that late readers can be told why.

A buffer that is read and that no node of the session writes is the client's
own, an argument: it is held from the first node that reads it until the client
releases it, as if it were pinned, and counts no bytes.

A release may name buffers that are unknown: finalizers of Python objects run at
any moment, also after the buffer was dropped with its failed program.

Rejected: counts per shard (the paper measures why: the cost grows with the
machine), weak references from the controller to the client's objects (they tie
the controller to threads and to the garbage collector's mood), and freeing at
the last reader's *launch*, which is safe only where each backend keeps order.

Bytes are counted on every device on which a buffer lies, and for its client; whether a
launch gets them is for ``memory.py`` to say.  What lies on a host counts for its island
alone.  A buffer belongs to the client of its producer, an argument to that of its first
reader; when a client is closed all its pins are loosed (ownership labels, §4.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, ValuesView

from ..events import BuffersFreed, BuffersRestored, Free, Restore
from ..ids import BufferId, DeviceId, IslandId, NodeId
from .accounts import Account
from .clients import Client
from .records import Answer, Failure, Node, Placement


class Buffer:
    """One logical buffer."""

    __slots__ = (
        "accounts",
        "away",
        "bytes",
        "donor",
        "gone",
        "held",
        "id",
        "owner",
        "pinned",
        "producer",
        "readers",
        "settled",
        "share",
    )

    def __init__(self, id: BufferId, bytes: int, producer: Node | None, owner: Client):
        self.id = id
        self.bytes = bytes
        self.owner = owner
        #: The devices on which it lies, and its bytes on each.
        self.accounts: tuple[Account, ...] = ()
        self.share = 0
        #: None for an argument.
        self.producer = producer
        #: The client holds it.
        self.pinned = producer is None and not owner.closed
        #: Its producer has ended, or never was.
        self.settled = producer is None
        #: Nodes that read it and have not ended, in the order of submission.
        self.readers: dict[NodeId, Node] = {}
        #: The node to which it was given away.
        self.donor: Node | None = None
        #: Bytes that count for it now.
        self.held = 0
        #: It lies in host memory, and counts on no device.
        self.away = False
        #: Observers were told that its memory went back.
        self.gone = False

    @property
    def promised(self) -> bool:
        """Whether its value is there or under way: its producer was launched, or never was."""
        return self.producer is None or self.producer.launched

    @property
    def total(self) -> int:
        """Its bytes on all devices together."""
        return self.share * len(self.accounts)

    def refusal(self, reader: Node) -> Failure | None:
        """Why ``reader`` can never have it, or None."""
        if self.donor is not None:
            what = f"a result of {self.producer.spec.name!r}" if self.producer else "an argument"
            taker = self.donor.spec
            where = f" ({taker.source})" if taker.source else ""
            return Failure.of(
                reader,
                f"{reader.spec.name!r} reads {what} that was donated to {taker.name!r}{where} and is gone: "
                "read it before, or do not donate it",
            )
        return self.producer.failure if self.producer else None


class Store:
    """Knows every buffer that somebody may still read."""

    def __init__(self) -> None:
        self.buffers: dict[BufferId, Buffer] = {}
        #: Bytes that count now on each island, and the most that ever did.
        self.present: dict[IslandId, int] = {}
        self.peak: dict[IslandId, int] = {}
        #: Bytes a device of what is held, in sum over the buffers of each island.
        self.shares: dict[IslandId, int] = {}
        #: How often memory may have become free, or likely to.
        self.changes = 0
        #: For ``memory.py``: how often it has planned; the newest node that did not fit then; whether more
        #: has become free since than was planned, so that it might.
        self.plans = 0
        self.newest_unsound = -1
        self.relieved = False
        #: For ``suspension.py``: what lies in host memory; what shall go there when nothing that is launched uses it;
        #: which of that may be free to; and whether something was suspended or goes on since it looked.
        self.away: dict[BufferId, Buffer] = {}
        self.leaving: dict[BufferId, None] = {}
        self.rested: list[BufferId] = []
        self.revised = False
        self._dropped: list[BufferId] = []
        self._freed: list[BufferId] = []
        self._freed_bytes = 0

    def join(self, island: IslandId) -> None:
        """Opens the account of a new island."""
        self.present[island] = self.peak[island] = self.shares[island] = 0

    def write(self, node: Node) -> None:
        """Makes the buffers that ``node`` will write."""
        buffers = self.buffers
        for output, share in zip(node.spec.outputs, node.written, strict=True):
            buffer = buffers[output.buffer] = Buffer(output.buffer, output.bytes, node, node.client)
            buffer.accounts, buffer.share = node.accounts, share
        if not node.client.closed:
            for id in node.spec.pinned:
                buffers[id].pinned = True

    def read(self, id: BufferId, node: Node) -> Buffer:
        """Counts ``node`` among the readers; an unknown buffer is an argument of the client."""
        buffer = self.buffers.get(id)
        if buffer is None:
            buffer = self.buffers[id] = Buffer(id, 0, None, node.client)
        buffer.readers[node.id] = node
        return buffer

    def donate(self, id: BufferId, node: Node) -> list[Node]:
        """Gives a buffer that ``node`` reads away to it; returns the other readers, which have not ended."""
        buffer = self.buffers[id]
        buffer.donor = node
        return [reader for reader in buffer.readers.values() if reader is not node]

    def readers(self, id: BufferId) -> ValuesView[Node]:
        """The nodes that read a buffer and have not ended."""
        return self.buffers[id].readers.values()

    def launch(self, node: Node) -> None:
        """``node`` is launched: it takes over what was donated to it, and its outputs count."""
        spec, island = node.spec, node.island
        for id in spec.donates:
            self._give_back(self.buffers[id])
        node.plan = self.plans
        present = self.present[island]
        for output in spec.outputs:
            self.buffers[output.buffer].held = output.bytes
            present += output.bytes
        self.present[island] = present
        if present > self.peak[island]:
            self.peak[island] = present
        draw, scratch = node.draw, node.scratch
        if draw or scratch:
            accounts = node.accounts
            self.shares[island] += draw + scratch
            for account in accounts:
                account.used += draw + scratch
                if account.used > account.peak:
                    account.peak = account.used
            account = node.client.memory
            account.used += draw * len(accounts)
            if account.used > account.peak:
                account.peak = account.used

    def end(self, node: Node) -> None:
        """``node`` has ended and reads nothing more; what nobody needs is dropped."""
        buffers = self.buffers
        self.changes += 1
        if not node.launched:
            self.relieved = True
        elif node.scratch:
            self.shares[node.island] -= node.scratch
            for account in node.accounts:
                account.used -= node.scratch
        if self.leaving:
            self.rested += (*node.reads, *(output.buffer for output in node.spec.outputs))
        for id in node.reads:
            buffer = buffers[id]
            del buffer.readers[node.id]
            if buffer.donor is node and not node.launched:
                buffer.donor = None
            if not buffer.readers and not buffer.pinned and buffer.settled:
                self._drop(buffer)
        for output in node.spec.outputs:
            buffer = buffers[output.buffer]
            buffer.settled = True
            if node.failure is not None:
                self._give_back(buffer)
            if not buffer.readers and not buffer.pinned:
                self._drop(buffer)

    def release(self, ids: Iterable[BufferId]) -> None:
        """The client lets go of buffers; those that are unknown or released already are ignored."""
        for id in ids:
            buffer = self.buffers.get(id)
            if buffer is not None and buffer.pinned:
                self._unpin(buffer)

    def disown(self, owner: Client) -> None:
        """A client is gone, and with it all of its pins."""
        for buffer in list(self.buffers.values()):
            if buffer.owner is owner and buffer.pinned:
                self._unpin(buffer)

    def lying(self, place: Placement) -> list[Buffer]:
        """The buffers that lie on a slice now, and those that its nodes will write."""
        return [b for b in self.buffers.values() if b.producer is not None and b.producer.place is place]

    def move(self, place: Placement, before: IslandId, devices: Mapping[DeviceId, Account]) -> list[BufferId]:
        """Counts what lies on a slice that has moved at its new place; returns what must be brought there."""
        moved: list[BufferId] = []
        for buffer in self.lying(place):
            producer = buffer.producer
            assert producer is not None
            producer.settle()
            old, buffer.accounts = buffer.accounts, tuple(devices[device] for device in producer.devices)
            if buffer.away:
                moved.append(buffer.id)
            elif buffer.held:
                self.shares[before] -= buffer.share
                self.shares[place.island] += buffer.share
                self.present[before] -= buffer.held
                self.present[place.island] += buffer.held
                self.peak[place.island] = max(self.peak[place.island], self.present[place.island])
                if old:
                    moved.append(buffer.id)
                for account in old:
                    account.used -= buffer.share
                for account in buffer.accounts:
                    account.used += buffer.share
                    account.peak = max(account.peak, account.used)
        return moved

    def offload(self, buffer: Buffer) -> None:
        """A buffer goes to host memory."""
        buffer.away = True
        self.away[buffer.id] = buffer
        self.leaving.pop(buffer.id, None)
        self._count(buffer, -1)
        self.changes += 1
        self.relieved = True

    def restore(self, buffers: Iterable[Buffer], answer: Answer) -> None:
        """Buffers come back from host memory."""
        ids: list[BufferId] = []
        bytes = 0
        for buffer in buffers:
            buffer.away = False
            del self.away[buffer.id]
            self._count(buffer, 1)
            ids.append(buffer.id)
            bytes += buffer.held
            if buffer.producer is not None and buffer.producer.suspended:
                self.leaving[buffer.id] = None
        if ids:
            self.changes += 1
            answer.instructions.append(Restore(tuple(ids)))
            answer.facts.append(BuffersRestored(answer.time, tuple(ids), bytes))

    def flush(self, answer: Answer) -> None:
        """Tells what was dropped and freed since the last time, in one instruction and one fact."""
        if self._dropped:
            answer.instructions.append(Free(tuple(self._dropped)))
            self._dropped.clear()
        if self._freed:
            answer.facts.append(BuffersFreed(answer.time, tuple(self._freed), self._freed_bytes))
            self._freed.clear()
            self._freed_bytes = 0

    def validate(self, nodes: Iterable[Node]) -> None:
        """Recounts the bytes, and checks against ``nodes``, all that have not ended, that nothing needless is kept."""
        assert not self._dropped and not self._freed, "buffers were dropped and nobody was told"
        present = dict.fromkeys(self.present, 0)
        shares = dict.fromkeys(self.present, 0)
        for id, buffer in self.buffers.items():
            producer = buffer.producer
            assert buffer.id == id
            assert buffer.readers or buffer.pinned or not buffer.settled, f"nobody needs buffer {id}"
            for reader in buffer.readers.values():
                assert not reader.state.ended, f"{reader} has ended and reads buffer {id}"
                assert id in reader.reads
            if buffer.donor is not None:
                assert id in buffer.donor.spec.donates
                assert buffer.donor.launched or buffer.donor.id in buffer.readers
            if producer is None:
                assert buffer.settled and not buffer.held
                continue
            assert buffer.settled == producer.state.ended
            counts = producer.launched and not buffer.gone
            assert buffer.held == (buffer.bytes if counts else 0), f"buffer {id} is miscounted"
            assert buffer.away == (id in self.away)
            if buffer.away:
                assert buffer.held and buffer.accounts and buffer.settled, f"buffer {id} has nothing to put away"
                assert not any(r.launched and not r.host for r in buffer.readers.values()), f"buffer {id} is in use"
                continue
            present[producer.island] += buffer.held
            shares[producer.island] += buffer.share if buffer.held else 0
        for node in nodes:
            if node.launched:
                shares[node.island] += node.scratch
        assert self.buffers.keys() >= self.away.keys() and self.buffers.keys() >= self.leaving.keys()
        assert shares == self.shares
        assert present == self.present, "the bytes are miscounted"
        assert all(self.peak[island] >= bytes for island, bytes in present.items())

    def _unpin(self, buffer: Buffer) -> None:
        buffer.pinned = False
        self.changes += 1
        producer = buffer.producer
        if producer is not None and (producer.order < self.newest_unsound or producer.plan != self.plans):
            self.relieved = True
        if not buffer.readers and buffer.settled:
            self._drop(buffer)

    def _drop(self, buffer: Buffer) -> None:
        self._give_back(buffer)
        self._dropped.append(buffer.id)
        del self.buffers[buffer.id]
        self.leaving.pop(buffer.id, None)

    def _give_back(self, buffer: Buffer) -> None:
        if buffer.gone:
            return
        buffer.gone = True
        self._freed.append(buffer.id)
        producer = buffer.producer
        if buffer.held and producer is not None:
            if buffer.away:
                buffer.away = False
                del self.away[buffer.id]
            else:
                share = buffer.share
                for account in buffer.accounts:
                    account.used -= share
                buffer.owner.memory.used -= share * len(buffer.accounts)
                self.shares[producer.island] -= share
                self.present[producer.island] -= buffer.held
                self.changes += 1
            if producer.plan != self.plans:
                self.relieved = True
            elif producer.early:
                for account, times in producer.shares:
                    account.ahead -= buffer.share * times
            self._freed_bytes += buffer.held
            buffer.held = 0

    def _count(self, buffer: Buffer, sign: int) -> None:
        """Counts a buffer that is held on its devices, or no longer."""
        assert buffer.producer is not None
        island, share = buffer.producer.island, sign * buffer.share
        for account in buffer.accounts:
            account.used += share
            if account.used > account.peak:
                account.peak = account.used
        owner = buffer.owner.memory
        owner.used += share * len(buffer.accounts)
        owner.peak = max(owner.peak, owner.used)
        self.shares[island] += share
        self.present[island] += sign * buffer.held
        self.peak[island] = max(self.peak[island], self.present[island])
