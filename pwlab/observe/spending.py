"""The devices' time: what each spent its own on, each island over time, and what each client computed over time.

A device's time is counted launch by launch: as one ends, the gap before it and what it computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..ids import DeviceId, IslandId
from .bins import Amounts
from .lives import COMPUTING, COUNTED, NOTHING, Life


@dataclass(slots=True)
class Device:
    """Seconds by :class:`Part`, counted until ``at``."""

    at: float
    parts: list[float] = field(default_factory=lambda: [0.0] * COUNTED)


@dataclass(slots=True)
class Spending:
    """What devices spent their time on."""

    #: Of islands and parts, device seconds in each bin; and of clients.
    over: Amounts
    by_client: Amounts
    #: Where a moment stands in the time of the bins.
    place: Callable[[float], float]
    devices: dict[DeviceId, Device] = field(default_factory=dict[DeviceId, Device])

    def ran(self, life: Life, gang: tuple[DeviceId, ...], until: float, client: list[float]) -> None:
        """Counts, for each device of a node, the gap before it and what it computed; it may not have ended.

        Args:
          client: its client's seconds by :class:`Part`, to which they are added.
        """
        island = IslandId(-1) if life.island is None else life.island
        alike: dict[float, list[Device]] = {}
        for id in gang:
            device = self.devices.get(id)
            if device is None:
                device = self.devices[id] = Device(life.added)
            alike.setdefault(device.at, []).append(device)
        for at, some in alike.items():
            start = min(max(life.start, at), until) if life.ended else until
            stretches = life.before(at, start) if start > at else []
            if until > start:
                stretches.append((start, until, COMPUTING))
            for low, high, part in stretches:
                if part is NOTHING:
                    continue
                for device in some:
                    device.parts[part] += high - low
                client[part] += (high - low) * len(some)
                begins, ends = self.place(low), self.place(high)
                self.over.add((island, part), begins, ends, len(some))
                if part is COMPUTING:
                    self.by_client.add(life.client, begins, ends, len(some))
            if until > at:
                for device in some:
                    device.at = until

    def copy(self) -> Spending:
        """The same, for what is counted only to be looked at."""
        devices = {id: Device(device.at, [*device.parts]) for id, device in self.devices.items()}
        return Spending(self.over.copy(), self.by_client.copy(), self.place, devices)
