"""Resources: islands, their devices, and which of them a virtual slice gets (Pathways §4.1).

What always holds: a slice lies inside one island, on as many distinct physical
devices as it has virtual ones, in the order of their ids; and the load of a
device is the number of slices that lie on it.

The paper leaves the heuristic open and asks for balance.  Ours, for a slice of
n devices: on every island that is large enough take the n devices that carry
the fewest slices, then choose the island where these carry least in sum, then
the one that is emptier on the whole, then the one that joined under the smaller
id.  So two slices share a device only where every island would make them, and a
laptop with four devices still runs a program that asks for sixteen, four by four.

Rejected: to hand devices out exclusively (the second client of a small machine
could start nothing; the paper's devices are shared by many clients, §5.2), and
to place by measured use of the devices, which would tie placement, hence
numbers and traces, to the clock.

A slice that cannot be placed is refused, which is an answer to the user and no
error of ours.  Its mapping is asked for when a node is submitted; nodes keep the
devices they were given, so a slice may be given back while they still run.
"""

from __future__ import annotations

from ..errors import InternalError
from ..events import IslandSpec, SliceMapped, SliceRefused, SliceRequested
from ..ids import DeviceId, IslandId, SliceId
from .records import Placement


class Resources:
    """The resource manager: maps virtual slices to physical devices."""

    def __init__(self) -> None:
        self.islands: dict[IslandId, IslandSpec] = {}
        self.slices: dict[SliceId, Placement] = {}
        #: Slices on each device.
        self.load: dict[DeviceId, int] = {}

    def join(self, island: IslandSpec) -> None:
        """Takes an island in.

        Raises:
          InternalError: it has joined before, has no devices, or shares one with another island.
        """
        if island.id in self.islands:
            raise InternalError(f"island {island.id} {island.name!r} joined twice")
        if not island.devices:
            raise InternalError(f"island {island.id} {island.name!r} joined without devices")
        for device in island.devices:
            if device in self.load:
                raise InternalError(
                    f"device {device} of island {island.id} {island.name!r} is already in another island"
                )
        self.islands[island.id] = island
        self.load.update(dict.fromkeys(island.devices, 0))

    def request(self, event: SliceRequested) -> SliceMapped | SliceRefused:
        """Maps a slice, or says why it cannot be.

        Raises:
          InternalError: the slice is mapped already.
        """
        if event.slice in self.slices:
            raise InternalError(f"slice {event.slice} {event.name!r} was requested twice")
        reason = self._refusal(event)
        if reason:
            return SliceRefused(event.time, event.slice, event.name, reason)
        place = self._choose(event)
        self.slices[event.slice] = place
        for device in place.devices:
            self.load[device] += 1
        return SliceMapped(event.time, event.slice, event.name, place.island, place.devices)

    def release(self, slice: SliceId) -> bool:
        """Forgets a slice; False if it was not mapped (it was refused, or given back before)."""
        place = self.slices.pop(slice, None)
        if place is None:
            return False
        for device in place.devices:
            self.load[device] -= 1
        return True

    def validate(self) -> None:
        """Checks that slices lie where they may, and recounts the loads."""
        load = dict.fromkeys(self.load, 0)
        for slice, place in self.slices.items():
            assert place.slice == slice
            assert place.devices, f"slice {slice} has no devices"
            assert len(set(place.devices)) == len(place.devices), f"slice {slice} has a device twice"
            assert set(place.devices) <= set(self.islands[place.island].devices), f"slice {slice} leaves its island"
            for device in place.devices:
                load[device] += 1
        assert load == self.load, "the loads are miscounted"

    def _choose(self, event: SliceRequested) -> Placement:
        def rank(island: IslandSpec) -> tuple[int, float, IslandId]:
            loads = sorted(self.load[device] for device in island.devices)
            return sum(loads[: event.devices]), sum(loads) / len(loads), island.id

        islands = [self.islands[event.island]] if event.island is not None else self.islands.values()
        island = min((i for i in islands if len(i.devices) >= event.devices), key=rank)
        devices = sorted(island.devices, key=lambda device: (self.load[device], device))
        return Placement(event.slice, event.name, island.id, tuple(sorted(devices[: event.devices])))

    def _refusal(self, event: SliceRequested) -> str:
        """Why no island can hold the slice, and what would fit; empty if one can."""
        who = f"slice {event.name!r} asks for {event.devices} device{'s' * (event.devices != 1)}"
        if event.devices < 1:
            return f"{who}: ask for at least 1"
        if not self.islands:
            return f"{who}, but no island has joined yet: start the session first"
        largest = max(self.islands.values(), key=lambda island: (len(island.devices), -island.id))
        most = len(largest.devices)
        if event.island is not None:
            named = self.islands.get(event.island)
            if named is None:
                known = ", ".join(f"{island.id} ({island.name})" for island in self.islands.values())
                return f"{who} of island {event.island}, which has not joined: the islands are {known}"
            size = len(named.devices)
            if size < event.devices <= most:
                return (
                    f"{who} of {named.name}, which has {size}: "
                    f"ask for at most {size}, or name no island; {largest.name} has {most}"
                )
        if event.devices > most:
            return (
                f"{who}; the largest island, {largest.name}, has {most}: "
                f"ask for at most {most}, or start with more devices_per_island"
            )
        return ""
