"""Bytes on each device over time, counted as the controller counts them, from facts alone.

A result takes memory from the launch of its node until it is freed, on each device of the gang (Pathways §4.6), and a
launch its scratch until it ends.
Devices that share a chip share its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..events import IslandSpec, NodeKind, SliceMapped
from ..ids import BufferId, DeviceId
from .bins import BinClock, Level
from .lives import Life


@dataclass(slots=True, eq=False)
class Room:
    """The memory of one device, or of one chip where several devices share it."""

    name: str
    level: Level
    devices: list[DeviceId] = field(default_factory=list[DeviceId])
    #: Bytes it may hold, or None where nobody limits it.
    capacity: int | None = None

    @property
    def label(self) -> str:
        """For people: a chip of one device is called as that device."""
        if len(self.devices) == 1:
            return f"device {self.devices[0]}"
        low, high = min(self.devices), max(self.devices)
        together = high - low == len(self.devices) - 1
        return f"{self.name} (devices {f'{low}–{high}' if together else ', '.join(map(str, self.devices))})"


@dataclass(slots=True, eq=False)
class Holding:
    """A result that takes memory: so many bytes in each room, as often as it stands there."""

    life: Life
    share: int
    rooms: tuple[Room, ...]

    @property
    def bytes(self) -> int:
        return self.share * len(self.rooms)


class Holdings:
    """What lies where."""

    def __init__(self, clock: BinClock, place: Callable[[float], float]):
        self._clock = clock
        #: Where a moment stands in the time of the bins.
        self._place = place
        self.rooms: dict[DeviceId, Room] = {}
        #: Those of the gangs that were asked for.
        self._gangs: dict[tuple[DeviceId, ...], tuple[Room, ...]] = {}
        self._chips: dict[int, Room] = {}
        self.held: dict[BufferId, Holding] = {}
        #: Results that lie in host memory, for what they belong to is suspended.
        self.away: dict[BufferId, Holding] = {}
        #: Bytes of each client's results on all devices together.
        self.clients: dict[str, int] = {}

    def join(self, island: IslandSpec) -> None:
        """Makes room on the devices of an island."""
        for i, device in enumerate(island.devices):
            if device in self.rooms:
                continue
            room = self._chips.get(island.chips[i]) if island.chips else None
            if room is None:
                name = f"chip {island.chips[i]}" if island.chips else f"device {device}"
                room = Room(name, Level(self._clock), [], island.hbm_bytes)
                if island.chips:
                    self._chips[island.chips[i]] = room
            limits = [limit for limit in (room.capacity, island.hbm_bytes) if limit is not None]
            room.capacity = min(limits, default=None)
            room.devices.append(device)
            self.rooms[device] = room
        self._gangs.clear()

    def launched(self, life: Life, time: float) -> None:
        """The results of a node take their memory; those of a host node take none on devices."""
        if life.spec.kind is NodeKind.HOST or not life.devices:
            return
        rooms = self._rooms(life.devices)
        shares = life.written or [output.share(len(life.devices)) for output in life.spec.outputs]
        for output, share in zip(life.spec.outputs, shares, strict=False):
            if output.buffer not in self.held:
                holding = self.held[output.buffer] = Holding(life, share, rooms)
                self._count(holding, time, 1)
        self._scratch(life, time, 1)

    def ended(self, life: Life, time: float) -> None:
        """A launch gives its scratch back."""
        self._scratch(life, time, -1)

    def _scratch(self, life: Life, time: float, sign: int) -> None:
        if life.scratch:
            self._change(self._rooms(life.devices), time, sign * life.scratch)

    def offloaded(self, buffers: Iterable[BufferId], time: float) -> None:
        """Results leave the devices for host memory."""
        for buffer in buffers:
            holding = self.held.pop(buffer, None)
            if holding is not None:
                self.away[buffer] = holding
                self._count(holding, time, -1)

    def restored(self, buffers: Iterable[BufferId], time: float) -> None:
        """Results are back on their devices."""
        for buffer in buffers:
            holding = self.away.pop(buffer, None)
            if holding is not None:
                self.held[buffer] = holding
                self._count(holding, time, 1)

    def freed(self, buffers: Iterable[BufferId], time: float) -> None:
        for buffer in buffers:
            self.away.pop(buffer, None)
            holding = self.held.pop(buffer, None)
            if holding is not None:
                self._count(holding, time, -1)

    def moved(self, fact: SliceMapped, before: tuple[DeviceId, ...]) -> None:
        """A slice lies elsewhere, and what lay on it goes with it."""
        if before == fact.devices:
            return
        for held, sign in ((self.held, 1), (self.away, 0)):
            for holding in held.values():
                if holding.life.spec.slice == fact.slice:
                    self._count(holding, fact.time, -sign)
                    holding.rooms = self._rooms(fact.devices if holding.life.spec.spread else fact.devices[:1])
                    self._count(holding, fact.time, sign)

    def _rooms(self, devices: tuple[DeviceId, ...]) -> tuple[Room, ...]:
        rooms = self._gangs.get(devices)
        if rooms is None:
            rooms = tuple(room for device in devices if (room := self.rooms.get(device)) is not None)
            self._gangs[devices] = rooms
        return rooms

    def _count(self, holding: Holding, time: float, sign: int) -> None:
        by = sign * holding.share
        self._change(holding.rooms, time, by)
        client = holding.life.client
        self.clients[client] = self.clients.get(client, 0) + by * len(holding.rooms)

    def _change(self, rooms: tuple[Room, ...], time: float, by: int) -> None:
        at = self._place(time)
        for room in rooms:
            room.level.change(time, at, by)
