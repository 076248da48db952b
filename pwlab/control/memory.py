"""Back-pressure: a launch that finds no memory waits, and nobody waits for ever (Pathways §4.6).

Memory is granted to a gang whole, on all of its devices and on its client's own limit, when
it is launched.  That alone would deadlock: two programs each hold 40 of 100 bytes, and each
needs 30 more before it can give anything back.

The rule
    Picture all nodes run one after another, in the order of submission.  Where that needs
    more than there is, memory does not suffice, whoever decides.  A node may be launched
    if, on each account that it draws on,

    1. its outputs fit now, and
    2. every older node that is not launched would, in that picture, still fit beside them.

Why nobody is stuck
    Say of a node that it is *sound* if it, and all that it waits for, fits in the picture that
    starts from the present state.  In the picture all older nodes have ended, while what
    younger ones have been given is still there.  By 2 no launch makes an older sound node
    unsound, nor does a submission, for it comes last; an end, a failure or a release only
    gives back.  Now take the oldest sound node that is not launched.  It waits for older
    nodes only, for their launch or for their end (``edges.py``); these are sound too, hence
    launched, and so they end (``scheduler.py``).  Then the present is the picture at its
    place: it fits, nothing older is sound and waits, so both conditions hold, and it goes.
    By induction all sound nodes do.  It does not starve either: what younger nodes took was
    counted against its room from the moment of their launch.

    An unsound node waits for its users to release something.  It protects nothing, so a
    client that fills the memory with what it keeps holds up itself and nobody who fits in
    the rest.  The same is true of what is suspended: it keeps what it holds, and takes its
    place in the picture again when it goes on.

What it costs
    Without limits, nothing; and next to nothing while all that is held and all that is
    submitted fit at once, which two sums an island say.  Else the picture's highest point over all older nodes, a bound
    from above, is known to each node from its submission on (``crests``); a launch out of
    order adds what it takes (``Account.ahead``).  While the bound is below the capacity, a
    launch compares two numbers an account.  Where it is not, the picture is drawn anew
    (:meth:`Memory.plan`), once for as many changes as are a part of its own cost, and at
    once if an island would idle otherwise.

Rejected: to reserve for each program all that it will ever need (a chain of a thousand
steps needs two buffers, not a thousand, and a program that grows by windows has no known
end); to launch strictly in order once memory is short (one big program stops all others);
to detect deadlocks and kill someone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..events import IslandSpec
from ..ids import DeviceId, IslandId, NodeId
from ..units import bytes_text as sized
from .accounts import UNLIMITED, Account
from .clients import Client
from .records import Node
from .store import Buffer, Store

#: The picture is drawn anew after one change for so many live nodes.
_AMORTIZE = 16


class Memory:
    """Decides whether a gang that could go gets its memory."""

    def __init__(self, store: Store, nodes: Mapping[NodeId, Node], clients: Mapping[str, Client]):
        self.devices: dict[DeviceId, Account] = {}
        #: Whether any account has a limit.
        self.limited = False
        #: Nodes that do not fit, or wait for one that does not, as far as is known.
        self.unsound: dict[NodeId, Node] = {}
        self._store = store
        self._nodes = nodes
        self._clients = clients
        #: The accounts of each gang that there ever was.
        self._gangs: dict[tuple[DeviceId, ...], tuple[Account, ...]] = {}
        self._chips: dict[int, Account] = {}
        self._capacity: dict[IslandId, int] = {}
        #: Bytes a device that nodes which are not launched will draw, in sum, on each island.
        self._due: dict[IslandId, int] = {}
        #: Some accounts are not those of one device: the sums say nothing.
        self._entangled = False
        #: ``store.changes`` when the picture was drawn last.
        self._drawn_at = 0
        self._misaligned = False

    @property
    def changes(self) -> int:
        """How often memory may have become free."""
        return self._store.changes

    def join(self, island: IslandSpec) -> None:
        """Opens the accounts of an island's devices."""
        capacity = UNLIMITED if island.hbm_bytes is None else island.hbm_bytes
        self._capacity[island.id] = capacity
        self._due[island.id] = 0
        self._entangled = self._entangled or bool(island.chips)
        for i, device in enumerate(island.devices):
            account = None
            if island.chips:
                account = self._chips.get(island.chips[i])
                if account is None:
                    account = self._chips[island.chips[i]] = Account(f"chip {island.chips[i]}", capacity)
                account.capacity = min(account.capacity, capacity)
            self.devices[device] = account or Account(f"device {device}", capacity)
        self.limited = self.limited or island.hbm_bytes is not None
        self._misaligned = True

    def limit_changed(self) -> None:
        """A client's limit changed, or what a node draws on: what was planned holds no more."""
        if any(client.memory.limited for client in self._clients.values()):
            self.limited = self._entangled = True
        self._misaligned = True
        self._due = dict.fromkeys(self._due, 0)
        for node in self._nodes.values():
            if not node.launched:
                self._due[node.island] += node.draw
        self._store.changes += 1

    def settle(self, node: Node) -> None:
        """Tells a new node, or one that moved, what it draws on."""
        accounts = self._gangs.get(node.devices)
        if accounts is None:
            accounts = self._gangs[node.devices] = tuple(self.devices[device] for device in node.devices)
        node.accounts = accounts
        node.crests = ()
        self._due[node.island] += node.draw

    def impossible(self, node: Node) -> str:
        """Why a node can never fit, with the sums; empty if it can."""
        if not self.limited or not node.draw:
            return ""
        lying: dict[Account, int] = {}
        for id in node.reads:
            buffer = self._store.buffers[id]
            if id not in node.spec.donates:
                for account in buffer.accounts:
                    lying[account] = lying.get(account, 0) + buffer.share
        for account, need in self._takes(node).items():
            reads = lying.get(account, 0) if account is not node.client.memory else 0
            if need + reads > account.capacity:
                what = f"writes {sized(need)}" + (f" beside the {sized(reads)} it reads" if reads else "")
                return (
                    f"{node.spec.name!r} {what} on {account}, which may hold {sized(account.capacity)}: it can never "
                    f"run there, short by {sized(need + reads - account.capacity)}; make it smaller or spread it over "
                    "more devices"
                    if account is not node.client.memory
                    else f"{node.spec.name!r} {what}, but {account} may hold {sized(account.capacity)} (max_bytes): it "
                    "can never run; raise the limit or make it smaller"
                )
        return ""

    def shortage(self, node: Node) -> tuple[Account, int] | None:
        """The account on which a node's outputs do not fit now and by how many bytes, or None."""
        for account, need in self._needs(node).items():
            if need > 0 and account.used + need > account.capacity:
                return account, account.used + need - account.capacity
        return None

    def submitted(self, nodes: Iterable[Node]) -> None:
        """Extends the picture by new nodes, unless nobody needs one."""
        if self.limited and not self._misaligned:
            if all(self._ample(island) for island in self._due):
                self._misaligned = True
            else:
                self._draw(nodes, new=True)

    def grants(self, node: Node, idle: bool) -> bool:
        """Whether ``node`` may be launched now; ``idle``: nothing is in flight on its island."""
        if not self.limited or not node.draw or self._ample(node.island):
            return True
        needs = self._needs(node)
        for account, need in needs.items():
            if need > 0 and account.used + need > account.capacity:
                return False
        store = self._store
        certain = not self._misaligned and not (self.unsound and store.relieved)
        if certain and self._safe(node, needs):
            return True
        if self._oldest(node):
            return True
        changes = store.changes - self._drawn_at
        if self._misaligned or (changes and (idle or changes * _AMORTIZE >= len(self._nodes))):
            self.plan()
            return self._safe(node, needs)
        return False

    def launched(self, node: Node) -> None:
        """A node is about to be launched: what it takes out of order is counted against older ones."""
        self._due[node.island] -= node.draw
        if self.limited and not self._misaligned and node.draw and not self._oldest(node):
            for account, need in self._needs(node).items():
                if need > 0:
                    account.ahead += need

    def dropped(self, node: Node) -> None:
        """A node that was never launched has ended."""
        self._due[node.island] -= node.draw

    def plan(self) -> None:
        """Draws the picture anew, from the present state."""
        for account in self._all():
            account.future, account.crest, account.ahead = account.used, 0, 0
        self.unsound.clear()
        self._misaligned = False
        self._store.relieved = False
        self._store.plans += 1
        self._store.newest_unsound = -1
        self._drawn_at = self._store.changes
        self._draw(self._nodes.values(), new=False)

    def validate(self) -> None:
        """Recounts every account from the buffers, and compares with the capacities."""
        used: dict[Account, int] = dict.fromkeys(self.devices.values(), 0)
        for buffer in self._store.buffers.values():
            if buffer.held and buffer.producer is not None:
                for account in (*buffer.accounts, buffer.producer.client.memory):
                    bytes = buffer.share if account is not buffer.producer.client.memory else buffer.total
                    used[account] = used.get(account, 0) + bytes
        for account, bytes in used.items():
            assert account.used == bytes, f"{account} counts {account.used}, not {bytes}"
            assert account.peak >= bytes
        due = dict.fromkeys(self._due, 0)
        for node in self._nodes.values():
            due[node.island] += 0 if node.launched else node.draw
        assert due == self._due, "what is due is miscounted"
        for device in self.devices.values():
            assert device.used <= device.capacity, f"{device} overflows"

    def _ample(self, island: IslandId) -> bool:
        """Whether all that is held and all that is due fit at once on every device."""
        return not self._entangled and self._store.shares[island] + self._due[island] <= self._capacity[island]

    def _oldest(self, node: Node) -> bool:
        return node is next((n for n in self._nodes.values() if not n.launched and not n.held), None)

    def _all(self) -> Iterable[Account]:
        seen = dict.fromkeys(self.devices.values())
        seen.update((client.memory, None) for client in self._clients.values())
        seen.update((node.client.memory, None) for node in self._nodes.values())
        return seen

    def _takes(self, node: Node) -> dict[Account, int]:
        draw = node.draw
        takes: dict[Account, int] = {}
        for account in node.accounts:
            takes[account] = takes.get(account, 0) + draw
        takes[node.client.memory] = draw * len(node.accounts)
        return takes

    def _needs(self, node: Node) -> dict[Account, int]:
        """What its launch adds to each account; donated memory, wherever it lies, goes back at that moment."""
        needs = self._takes(node)
        for id in node.spec.donates:
            buffer = self._store.buffers[id]
            if buffer.producer is not None and not buffer.gone:
                for account in buffer.accounts:
                    needs[account] = needs.get(account, 0) - buffer.share
                owner = buffer.owner.memory
                needs[owner] = needs.get(owner, 0) - buffer.total
        return needs

    def _safe(self, node: Node, needs: Mapping[Account, int]) -> bool:
        """Whether all older sound nodes still fit beside it."""
        for account, crest in node.crests:
            need = needs[account]
            if need > 0 and crest and crest + account.ahead + need > account.capacity:
                return False
        return True

    def _draw(self, nodes: Iterable[Node], new: bool) -> None:
        """Runs ``nodes`` in the picture, one after another."""
        buffers, unsound = self._store.buffers, self.unsound
        left: dict[int, int] = {}
        given: set[int] = set()
        greedy = {node.client for node in unsound.values()}
        for node in nodes:
            if not node.launched:
                needs = self._needs(node)
                if node.draw:
                    node.crests = tuple((account, account.crest) for account in needs if account.limited)
                stays = node.held or (bool(unsound) and self._hangs(node))
                fits = stays or all(
                    need <= 0 or account.future + need <= account.capacity for account, need in needs.items()
                )
                if stays or not fits:
                    unsound[node.id] = node
                    self._store.newest_unsound = node.order
                    if new and node.client not in greedy:
                        self._store.relieved = True  # a bound from above says so, which is not certain
                    continue
                for account, need in needs.items():
                    account.future += need
                    if need > 0 and account.future > account.crest:
                        account.crest = account.future
                given.update(node.spec.donates)
            for id in node.reads:
                buffer = buffers[id]
                rest = left.get(id)
                left[id] = rest = (len(buffer.readers) if rest is None else rest) - 1
                if not rest and id not in given:
                    self._give_back(buffer)
            for output in node.spec.outputs:
                buffer = buffers[output.buffer]
                if not buffer.readers:
                    self._give_back(buffer)

    def _hangs(self, node: Node) -> bool:
        """Whether it waits for a node that is unsound."""
        unsound = self.unsound
        for id in node.reads:
            buffer = self._store.buffers[id]
            if buffer.producer is not None and buffer.producer.id in unsound:
                return True
        if any(id in unsound for id in node.spec.after):
            return True
        return any(
            reader.id in unsound and reader.order < node.order
            for id in node.spec.donates
            for reader in self._store.readers(id)
        )

    def _give_back(self, buffer: Buffer) -> None:
        if buffer.pinned or buffer.gone or buffer.producer is None:
            return
        for account in buffer.accounts:
            account.future -= buffer.share
        buffer.producer.client.memory.future -= buffer.total
