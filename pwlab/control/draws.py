"""Draws: what a launch takes of which accounts.

A gang draws on the account of each of its devices and on that of its client.  Accounts that
belong to the same gangs, each as often, and may hold the same, always count the same: so of
those one *stands* for all when somebody asks whether there is room, and those without a limit
for none.  Slices are few and a session asks for every launch; a gang of eight devices that
share nothing with another slice costs one comparison.

What a launch takes is two numbers an account: the most at any moment of it, and what is left
when it has ended.  They differ by scratch, and by what is brought from host memory to be given
away (``suspension.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import TypeAlias

from ..events import IslandSpec
from ..ids import BufferId, DeviceId
from ..units import bytes_text as sized
from .accounts import Account
from .records import Node
from .store import Store

#: What a launch takes of accounts: each with the most at any moment of it, and what is left when it has ended.
Needs: TypeAlias = Sequence[tuple[Account, int, int]]

_Gang: TypeAlias = tuple[DeviceId, ...]


class Draws:
    """The accounts of devices, and what launches take of them."""

    def __init__(self, store: Store):
        self.devices: dict[DeviceId, Account] = {}
        self._store = store
        self._chips: dict[int, Account] = {}
        #: The accounts of each gang that there ever was, and those that stand for them, each with how often.
        self._gangs: dict[_Gang, tuple[Account, ...]] = {}
        self._stand: dict[_Gang, tuple[tuple[Account, int], ...]] = {}

    def join(self, island: IslandSpec, capacity: int) -> bool:
        """Opens the accounts of an island's devices; tells whether some of them share a chip."""
        shared = False
        for i, device in enumerate(island.devices):
            if not island.chips:
                self.devices[device] = Account(f"device {device}", capacity)
                continue
            chip = island.chips[i]
            shared = shared or chip in self._chips
            account = self._chips.setdefault(chip, Account(f"chip {chip}", capacity))
            account.capacity = min(account.capacity, capacity)
            self.devices[device] = account
        return shared

    def knows(self, devices: _Gang) -> bool:
        return devices in self._gangs

    def accounts(self, devices: _Gang) -> tuple[Account, ...]:
        """Those of a gang that is known, one a device."""
        return self._gangs[devices]

    def learn(self, gangs: Iterable[_Gang]) -> None:
        """Makes gangs known, and chooses anew who stands for whom; all nodes must be staked then."""
        for devices in gangs:
            self._gangs[devices] = tuple(self.devices[device] for device in devices)
        self._choose_stands()

    def impossible(self, node: Node) -> str:
        """Why a node can never fit, with the sums; empty if it can."""
        buffers = self._store.buffers
        reads = 0
        for id in node.reads:
            reads += buffers[id].share
        for (account, times), (_, top, _) in zip(node.shares, node.needs, strict=False):
            if top + reads * times > account.capacity:
                break
        else:
            return ""  # nearly always
        lying: Counter[Account] = Counter()
        for id in node.reads:
            buffer = buffers[id]
            if id not in node.spec.donates:
                for account in buffer.accounts:
                    lying[account] += buffer.share
        times = Counter(node.accounts)
        for account, n in times.items():
            draw, scratch, reads = node.draw * n, node.scratch * n, lying[account]
            if draw + scratch + reads > account.capacity:
                what = f"writes {sized(draw)}" + (f" beside the {sized(reads)} it reads" if reads else "")
                what += f" and needs {sized(scratch)} of scratch while it runs" * (scratch > 0)
                return (
                    f"{node.spec.name!r} {what} on {account}, which may hold {sized(account.capacity)}: it can never "
                    f"run there, short by {sized(draw + scratch + reads - account.capacity)}; make it smaller or "
                    "spread it over more devices"
                )
        account, draw = node.client.memory, node.draw * len(node.accounts)
        if draw > account.capacity:
            return (
                f"{node.spec.name!r} writes {sized(draw)}, but {account} may hold {sized(account.capacity)} "
                "(max_bytes): it can never run; raise the limit or make it smaller"
            )
        return ""

    def stake(self, node: Node) -> None:
        """Works out what a launch of ``node`` takes if nothing is donated to it."""
        shares = self._stand[node.devices]
        draw, top = node.draw, node.draw + node.scratch
        needs = tuple((account, top * times, draw * times) for account, times in shares) if top else ()
        mine = node.client.memory
        if mine.limited:
            all_devices = len(node.devices)
            shares = (*shares, (mine, all_devices))
            if draw:
                needs = (*needs, (mine, draw * all_devices, draw * all_devices))
        node.shares, node.needs = shares, needs

    def needs(self, node: Node, there: Container[BufferId] = (), donated: bool = True) -> Needs:
        """What its launch takes of each account: its outputs, its scratch, and what it reads from host memory.

        Donated memory, wherever it lies, goes back at that moment.  ``there`` has been brought back before.
        """
        away = self._store.away
        comes = () if node.host or not away else [id for id in node.reads if id in away and id not in there]
        goes = node.spec.donates if donated else ()
        if not comes and not goes:
            return node.needs
        brings, gives = self._sum(comes), self._sum(goes if not node.host else [id for id in goes if id not in away])
        takes = {account: (top, stays) for account, top, stays in node.needs}
        needs: list[tuple[Account, int, int]] = []
        for account in dict.fromkeys((*takes, *brings, *gives)):
            top, stays = takes.get(account, (0, 0))
            more = brings[account] - gives[account]
            needs.append((account, max(top + more, brings[account]), stays + more))
        return needs

    def _choose_stands(self) -> None:
        """Of accounts that belong to the same gangs, and so always count the same, one is looked at."""
        member: dict[Account, list[tuple[int, int]]] = {}
        for number, accounts in enumerate(self._gangs.values()):
            for account, times in Counter(accounts).items():
                if account.limited:
                    member.setdefault(account, []).append((number, times))
        for devices, accounts in self._gangs.items():
            stands: dict[tuple[int, tuple[tuple[int, int], ...]], tuple[Account, int]] = {}
            for account, times in Counter(accounts).items():
                if account.limited:
                    stands.setdefault((account.capacity, tuple(member[account])), (account, times))
            self._stand[devices] = tuple(stands.values())

    def _sum(self, ids: Iterable[BufferId]) -> Counter[Account]:
        """Bytes of buffers on the accounts that need a look."""
        bytes: Counter[Account] = Counter()
        for id in ids:
            buffer = self._store.buffers[id]
            if buffer.producer is not None and not buffer.gone:
                for account, times in buffer.producer.shares:
                    bytes[account] += buffer.share * times
        return bytes
