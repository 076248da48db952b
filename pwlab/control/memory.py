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

    An unsound node waits for its users to release something, as long as that could help; where
    it cannot, it fails (``standstill.py``).  It protects nothing, so a client that fills the
    memory with what it keeps holds up itself and nobody who fits in the rest.  The same is true
    of what is suspended: it keeps what it holds, and takes its place in the picture again when
    it goes on.

Scratch and host memory
    A launch may take more while it runs than it leaves: the scratch of its executable, known
    once that is compiled, and what it reads that lies in host memory and is brought back for
    it (``suspension.py``).  Both are part of what must fit, now and in the picture, where one
    node runs at a time.  The argument holds for the scratch that is known: until a computation
    is compiled for the first time it counts as none, and one that turns out not to fit is
    unsound from then on.

What it costs
    Without limits, nothing; and next to nothing while all that is held and all that is
    submitted fit at once, which two sums an island say.  Else the picture's highest point over
    all older nodes, a bound from above, is known to each node from its submission on
    (``crests``).  What was launched out of order adds what it takes for as long as it is held
    (``Account.ahead``), and scratch that was learned since the most of it (``late``).  While the
    bound is below the capacity, a launch compares two numbers an account, and of accounts that
    belong to the same gangs one stands for all.  Where it is not, the gang waits until it is the
    oldest, or until the picture is drawn anew (:meth:`Memory.plan`): after as many changes as
    there are nodes in it, and at once if an island would idle otherwise.

Rejected: to reserve for each program all that it will ever need (a chain of a thousand
steps needs two buffers, not a thousand, and a program that grows by windows has no known
end); to launch strictly in order once memory is short (one big program stops all others);
to detect deadlocks and kill someone.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping

from ..errors import InternalError
from ..events import IslandSpec
from ..ids import BufferId, IslandId, NodeId
from .accounts import UNLIMITED, Account
from .clients import Client
from .draws import Draws, Needs
from .records import Node
from .store import Buffer, Store


class Memory:
    """Decides whether a gang that could go gets its memory."""

    def __init__(self, store: Store, nodes: Mapping[NodeId, Node], clients: Mapping[str, Client]):
        self._draws = Draws(store)
        self.devices = self._draws.devices
        #: Whether any account has a limit.
        self.limited = False
        #: Nodes that do not fit, or wait for one that does not, as far as is known.
        self.unsound: dict[NodeId, Node] = {}
        self._store = store
        self._nodes = nodes
        self._clients = clients
        self._capacity: dict[IslandId, int] = {}
        #: Bytes a device that nodes which are not launched will draw, in sum, on each island.
        self._due: dict[IslandId, int] = {}
        #: Nodes that are neither launched nor held, in the order of submission.
        self._waiting: OrderedDict[NodeId, Node] = OrderedDict()
        #: Some accounts are not those of one device: the sums say nothing.
        self._entangled = False
        #: ``store.changes`` when the picture was drawn last, and what of it was brought back from host memory there.
        self._drawn_at = 0
        self._brought: set[BufferId] = set()
        self._misaligned = False
        #: How often the oldest node that waits was launched, so that another is the oldest.
        self._firsts = 0

    @property
    def shifts(self) -> int:
        """How often something has happened for which a gang that waits for memory may go."""
        return self._store.changes + self._store.plans + self._firsts

    @property
    def plans(self) -> int:
        """How often the picture was drawn."""
        return self._store.plans

    def join(self, island: IslandSpec) -> None:
        """Opens the accounts of an island's devices."""
        capacity = UNLIMITED if island.hbm_bytes is None else island.hbm_bytes
        self._capacity[island.id] = capacity
        self._due[island.id] = 0
        self._entangled = self._draws.join(island, capacity) or self._entangled
        self.limited = self.limited or island.hbm_bytes is not None
        self.revise()

    def limit_changed(self) -> None:
        """A client's limit changed."""
        if any(client.memory.limited for client in self._clients.values()):
            self.limited = self._entangled = True
        self.revise()

    def revise(self) -> None:
        """What was planned holds no more: limits changed, or what nodes draw on, or who is held."""
        self._misaligned = True
        self._due = dict.fromkeys(self._due, 0)
        self._waiting.clear()
        writers = (b.producer for b in self._store.buffers.values() if b.producer is not None)
        known = dict.fromkeys((*writers, *self._nodes.values()))
        self._draws.learn(node.devices for node in known)
        for node in known:
            node.accounts = self._draws.accounts(node.devices)
            self._draws.stake(node)
        for node in self._nodes.values():
            if not node.launched:
                self._due[node.island] += node.draw + node.scratch
                if not node.held:
                    self._waiting[node.id] = node
        self._store.changes += 1

    def settle(self, node: Node) -> None:
        """Tells a new node, or one that moved, what it draws on."""
        if not self._draws.knows(node.devices):
            self.revise()  # ``node`` too
            return
        node.accounts = self._draws.accounts(node.devices)
        if not self.limited:
            return
        node.crests = ()
        self._draws.stake(node)
        self._due[node.island] += node.draw + node.scratch
        if not node.held:
            self._waiting[node.id] = node

    def learn(self, node: Node, scratch: int, written: tuple[int, ...]) -> bool:
        """A node is prepared; tells whether it takes something else than was thought, as ``written`` and scratch.

        Raises:
          InternalError: ``written`` is not one number an output.
        """
        if written and len(written) != len(node.written):
            raise InternalError(f"{node} was prepared with {len(written)} outputs, and has {len(node.written)}")
        node.laid = node.duration.written = written
        if not written and not node.host:
            written = tuple([output.share(len(node.devices)) for output in node.spec.outputs])
        if node.host or (scratch == node.scratch and written == node.written):
            return False
        due = node.draw + node.scratch if self.limited else 0
        node.scratch = node.duration.scratch = scratch
        if written != node.written:
            node.written = written
            node.draw = sum(written)
            for output, share in zip(node.spec.outputs, written, strict=True):
                self._store.buffers[output.buffer].share = share
            self._misaligned = True
        if not self.limited:
            return True
        self._due[node.island] += node.draw + node.scratch - due
        self._draws.stake(node)
        for account, times in node.shares:
            if account is not node.client.memory:
                account.late = max(account.late, scratch * times)
        return True

    def impossible(self, node: Node) -> str:
        """Why a node can never fit, with the sums; empty if it can."""
        return self._draws.impossible(node) if self.limited else ""

    def needs(self, node: Node) -> Needs:
        """What a launch of the node takes of each account."""
        return self._draws.needs(node)

    def shortage(self, node: Node) -> tuple[Account, int] | None:
        """The account on which a node's outputs do not fit now and by how many bytes, or None."""
        for account, top, _ in self._draws.needs(node):
            if top > 0 and account.used + top > account.capacity:
                return account, account.used + top - account.capacity
        return None

    def submitted(self, nodes: Iterable[Node]) -> None:
        """Extends the picture by new nodes, unless nobody needs one."""
        if self.limited and not self._misaligned:
            if all(self.ample(island) for island in self._due):
                self._misaligned = True
            else:
                self._draw(nodes, new=True)

    def grants(self, node: Node) -> bool:
        """Whether ``node`` may be launched now; if not, its ``obstacle`` says for what."""
        if not self.limited or self.ample(node.island):
            return True
        needs = self._draws.needs(node)
        takes = False
        for account, top, _ in needs:
            if top > 0:
                takes = True
                if account.used + top > account.capacity:
                    node.obstacle = account, top
                    return False
        node.obstacle = None
        if not takes:
            return True
        certain = not self._misaligned and not (self.unsound and self._store.relieved)
        if (certain and self._safe(node, needs)) or self._oldest(node):
            return True
        if self.stale:
            self.plan()
            return self._safe(node, needs)
        return False

    @staticmethod
    def fits(node: Node) -> bool:
        """Whether there is room now where ``node`` met an obstacle, if it met one."""
        if node.obstacle is None:
            return True
        account, top = node.obstacle
        return account.used + top <= account.capacity

    @property
    def stale(self) -> bool:
        """Whether the picture shall be drawn anew, for that so much has changed since."""
        changes = self._store.changes - self._drawn_at
        return self.limited and (self._misaligned or changes >= len(self._nodes) > 0)

    def first(self) -> Node | None:
        """The oldest node that is neither launched nor held."""
        return next(iter(self._waiting.values()), None)

    def reconsiders(self) -> bool:
        """Draws the picture anew if it may have changed: an island would idle otherwise."""
        if not self.limited or (not self._misaligned and self._store.changes == self._drawn_at):
            return False
        self.plan()
        return True

    def spares(self, buffer: Buffer) -> bool:
        """Whether a buffer may come back from host memory though no launch needs it; what is planned goes first."""
        if not self.limited:
            return True
        assert buffer.producer is not None
        if self._misaligned or (self._store.changes != self._drawn_at and (self.stale or not self._waiting)):
            self.plan()
        shares = [(account, buffer.share * times) for account, times in buffer.producer.shares]
        for account, bytes in shares:
            planned = account.crest + account.ahead + account.late if account.crest else 0
            if max(account.used, planned) + bytes > account.capacity:
                return False
        for account, bytes in shares:
            account.ahead += bytes
        return True

    def launched(self, node: Node) -> None:
        """A node is about to be launched: what it takes out of order is counted against older ones."""
        if not self.limited:
            return
        self._due[node.island] -= node.draw + node.scratch
        oldest = self._oldest(node)
        self._firsts += oldest
        self._waiting.pop(node.id, None)
        if not self._misaligned and not oldest:
            node.early = True
            for account, top, _ in self._draws.needs(node, donated=False):
                account.ahead += top

    def ended(self, node: Node) -> None:
        """A launched node has ended."""
        if node.early and node.scratch and node.plan == self._store.plans:
            for account, times in node.shares:
                if account is not node.client.memory:
                    account.ahead -= node.scratch * times

    def dropped(self, node: Node) -> None:
        """A node that was never launched has ended."""
        if not self.limited:
            return
        self._due[node.island] -= node.draw + node.scratch
        self._waiting.pop(node.id, None)

    def misalign(self) -> None:
        """The present is not what the picture began with: it is drawn anew before anybody looks at it."""
        self._misaligned = True

    def plan(self) -> None:
        """Draws the picture anew, from the present state."""
        for account in self._all():
            account.future, account.crest, account.ahead, account.late = account.used, 0, 0, 0
        self.unsound.clear()
        self._brought.clear()
        self._misaligned = False
        self._store.relieved = False
        self._store.plans += 1
        self._store.newest_unsound = -1
        self._drawn_at = self._store.changes
        self._draw(self._nodes.values(), new=False)

    def validate(self) -> None:
        """Recounts every account from the buffers, and compares with the capacities."""
        used: Counter[Account] = Counter(dict.fromkeys(self.devices.values(), 0))
        for buffer in self._store.buffers.values():
            if buffer.held and not buffer.away and buffer.producer is not None:
                for account in buffer.accounts:
                    used[account] += buffer.share
                used[buffer.producer.client.memory] += buffer.total
        for node in self._nodes.values():
            if node.launched:
                for account in node.accounts:
                    used[account] += node.scratch
        for account, bytes in used.items():
            assert account.used == bytes, f"{account} counts {account.used}, not {bytes}"
            assert account.peak >= bytes
        due = dict.fromkeys(self._due, 0)
        for node in self._nodes.values():
            due[node.island] += 0 if node.launched else node.draw + node.scratch
            standing = {account for account, _ in node.shares}
            assert all(
                any(a.used == b.used and a.capacity == b.capacity for b in standing) for a in node.accounts if a.limited
            ), f"nothing stands for some devices of {node}"
        waiting = [node for node in self._nodes.values() if not node.launched and not node.held]
        assert not self.limited or due == self._due, "what is due is miscounted"
        assert not self.limited or list(self._waiting.values()) == waiting, "who waits is not known"
        for device in self.devices.values():
            assert device.used <= device.capacity, f"{device} overflows"

    def ample(self, island: IslandId) -> bool:
        """Whether all that is held and all that is due fit at once on every device."""
        store = self._store
        return (
            not self._entangled
            and not store.away
            and store.shares[island] + self._due[island] <= self._capacity[island]
        )

    def _oldest(self, node: Node) -> bool:
        return node is self.first()

    def _all(self) -> Iterable[Account]:
        seen = dict.fromkeys(self.devices.values())
        seen.update((client.memory, None) for client in self._clients.values())
        seen.update((node.client.memory, None) for node in self._nodes.values())
        return seen

    def _safe(self, node: Node, needs: Needs) -> bool:
        """Whether all older sound nodes still fit beside it."""
        crests = dict(node.crests)
        for account, top, _ in needs:
            crest = crests.get(account, 0)
            if top > 0 and crest and crest + account.ahead + account.late + top > account.capacity:
                return False
        return True

    def _draw(self, nodes: Iterable[Node], new: bool) -> None:
        """Runs ``nodes`` in the picture, one after another."""
        buffers, unsound, away, brought = self._store.buffers, self.unsound, self._store.away, self._brought
        left: dict[int, int] = {}
        given: set[int] = set()
        greedy = {node.client for node in unsound.values()}
        for node in nodes:
            if not node.launched:
                needs = self._draws.needs(node, brought)
                node.crests = tuple([(account, account.crest) for account, _, _ in needs])
                stays = node.held or (bool(unsound) and self._hangs(node))
                if not stays:
                    for account, top, _ in needs:
                        if top > 0 and account.future + top > account.capacity:
                            stays = True
                            break
                if stays:
                    unsound[node.id] = node
                    self._store.newest_unsound = node.order
                    if new and node.client not in greedy:
                        self._store.relieved = True  # a bound from above says so, which is not certain
                    continue
                for account, top, more in needs:
                    if top > 0 and account.future + top > account.crest:
                        account.crest = account.future + top
                    account.future += more
                given.update(node.spec.donates)
                if away and not node.host:
                    brought.update(id for id in node.reads if id in away)
            elif node.scratch:
                for account, times in node.shares:
                    if account is not node.client.memory:
                        account.future -= node.scratch * times
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
        if buffer.away and buffer.id not in self._brought:
            return
        for account, times in buffer.producer.shares:
            account.future -= buffer.share * times
