"""Resources: islands, their devices, and which of them a virtual slice gets (Pathways §4.1).

What always holds: a slice lies inside one island, on as many distinct physical
devices as it has virtual ones; they are in the order of their ids, or they are a
contiguous block of the island's mesh, in the order of the slice's own shape; and
the load of a device is the number of slices that lie on it or move to it.

The paper leaves the heuristic open and asks for balance.  Ours, for a slice of
n devices: on every island that is large enough take the n devices that carry
the fewest slices, then choose the island where these carry least in sum, then
the one that is emptier on the whole, then the one that joined under the smaller
id.  So two slices share a device only where every island would make them, and a
laptop with four devices still runs a program that asks for sixteen, four by four.
A slice with a shape goes to the block that carries least in sum, among equals to the
one that is not turned, then to the one at the smaller corner.

A slice may be moved (:meth:`Resources.retarget`): its new devices are chosen and booked
at once, and taken when nothing that was launched on it runs any more (``migration.py``).

Rejected: to hand devices out exclusively (the second client of a small machine
could start nothing; the paper's devices are shared by many clients, §5.2), and
to place by measured use of the devices, which would tie placement, hence
numbers and traces, to the clock.

A slice that cannot be placed is refused, which is an answer to the user and no
error of ours.  Its mapping is asked for when a node is submitted; nodes keep the
devices they were given, so a slice may be given back while they still run.
"""

from __future__ import annotations

from math import prod

from ..errors import InternalError, PlacementError, UnknownName, nearest, quoted, several
from ..events import IslandSpec, SliceMapped, SliceMoved, SliceRefused, SliceRequested
from ..ids import DeviceId, IslandId, SliceId
from .records import Placement
from .topology import blocks, nearest_fit


class Resources:
    """The resource manager: maps virtual slices to physical devices."""

    def __init__(self) -> None:
        self.islands: dict[IslandId, IslandSpec] = {}
        self.slices: dict[SliceId, Placement] = {}
        #: The slices that shall move and have not yet.
        self.moving: dict[SliceId, Placement] = {}
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
        if island.shape and prod(island.shape) != len(island.devices):
            raise InternalError(
                f"island {island.id} {island.name!r} has {len(island.devices)} devices, which are no mesh of shape "
                f"{island.shape}"
            )
        if island.hbm_bytes is not None and island.hbm_bytes < 1:
            raise InternalError(f"island {island.id} {island.name!r} has hbm_bytes={island.hbm_bytes}: at least 1")
        if island.chips and len(island.chips) != len(island.devices):
            raise InternalError(f"island {island.id} {island.name!r} names {len(island.chips)} chips, not one a device")
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
        self._book(place, 1)
        return SliceMapped(event.time, event.slice, event.name, place.island, place.devices, place.shape)

    def retarget(self, event: SliceMoved) -> Placement:
        """Chooses and books the devices to which a slice shall move.

        Raises:
          UnknownName: the slice is not mapped.
          PlacementError: it moves already, no such island can hold it, or it lies there.
        """
        place = self.slices.get(event.slice)
        if place is None:
            raise UnknownName(f"slice {event.slice} cannot move: it is not mapped")
        if place.target is not None:
            where = self.islands[place.target.island].name
            raise PlacementError(f"slice {place.name!r} moves already, to {where}: wait until it is there")
        wanted = SliceRequested(
            event.time, place.slice, place.name, len(place.devices), event.island, place.shape or None
        )
        reason = self._refusal(wanted)
        if reason:
            raise PlacementError(reason)
        self._book(place, -1)
        target = self._choose(wanted)
        self._book(place, 1)
        if (target.island, target.devices) == (place.island, place.devices):
            where = self.islands[place.island].name
            raise PlacementError(
                f"slice {place.name!r} lies on devices {listed(place.devices)} of {where} already, and nowhere better: "
                "name another island"
            )
        self._book(target, 1)
        place.target = target
        self.moving[place.slice] = place
        return place

    def arrive(self, place: Placement) -> None:
        """A slice takes the devices to which it moves."""
        target = place.target
        assert target is not None
        self._book(place, -1)
        place.island, place.devices, place.target = target.island, target.devices, None
        del self.moving[place.slice]

    def stay(self, place: Placement) -> None:
        """A slice does not move after all."""
        if place.target is not None:
            self._book(place.target, -1)
            place.target = None
            del self.moving[place.slice]

    def release(self, slice: SliceId) -> bool:
        """Forgets a slice; False if it was not mapped (it was refused, or given back before)."""
        place = self.slices.pop(slice, None)
        if place is None:
            return False
        self.stay(place)
        place.suspended = False  # nobody could name it any more
        self._book(place, -1)
        return True

    def validate(self) -> None:
        """Checks that slices lie where they may, and recounts the loads."""
        load = dict.fromkeys(self.load, 0)
        for slice, place in self.slices.items():
            assert place.slice == slice
            assert place.devices, f"slice {slice} has no devices"
            assert len(set(place.devices)) == len(place.devices), f"slice {slice} has a device twice"
            assert set(place.devices) <= set(self.islands[place.island].devices), f"slice {slice} leaves its island"
            for device in (*place.devices, *(place.target.devices if place.target else ())):
                load[device] += 1
        moving = {slice: place for slice, place in self.slices.items() if place.target is not None}
        assert moving == self.moving
        assert load == self.load, "the loads are miscounted"

    def _book(self, place: Placement, slices: int) -> None:
        for device in place.devices:
            self.load[device] += slices

    def _choose(self, event: SliceRequested) -> Placement:
        if event.shape is not None:
            return self._choose_block(event, event.shape)

        def rank(island: IslandSpec) -> tuple[int, float, IslandId]:
            loads = sorted(self.load[device] for device in island.devices)
            return sum(loads[: event.devices]), sum(loads) / len(loads), island.id

        island = min((i for i in self._allowed(event) if len(i.devices) >= event.devices), key=rank)
        devices = sorted(island.devices, key=lambda device: (self.load[device], device))
        return Placement(event.slice, event.name, island.id, tuple(sorted(devices[: event.devices])))

    def _choose_block(self, event: SliceRequested, shape: tuple[int, ...]) -> Placement:
        best: tuple[float, ...] | None = None
        chosen: tuple[IslandId, tuple[DeviceId, ...]] | None = None
        for island in self._allowed(event):
            whole = sum(self.load[device] for device in island.devices) / len(island.devices)
            for number, block in enumerate(blocks(mesh_of(island), shape)):
                devices = tuple(island.devices[position] for position in block)
                rank = (sum(self.load[device] for device in devices), whole, island.id, number)
                if best is None or rank < best:
                    best, chosen = rank, (island.id, devices)
        assert chosen is not None
        return Placement(event.slice, event.name, *chosen, shape)

    def _allowed(self, event: SliceRequested) -> list[IslandSpec]:
        """The islands that the request does not exclude by name or chip."""
        islands = [self.islands[event.island]] if event.island is not None else list(self.islands.values())
        return [island for island in islands if event.chip is None or island.chip == event.chip]

    def _refusal(self, event: SliceRequested) -> str:
        """Why no island can hold the slice, and what would fit; empty if one can."""
        who = f"slice {event.name!r} asks for {event.devices} device{'s' * (event.devices != 1)}"
        if event.devices < 1:
            return f"{who}: ask for at least 1"
        if not self.islands:
            return f"{who}, but no island has joined yet: start the session first"
        if event.island is not None and event.island not in self.islands:
            known = ", ".join(f"{island.id} ({island.name})" for island in self.islands.values())
            return f"{who} of island {event.island}, which has not joined: the islands are {known}"
        if event.chip is not None and not self._allowed(event):
            chips = list(dict.fromkeys(island.chip for island in self.islands.values()))
            if event.chip in chips and event.island is not None:
                named = self.islands[event.island]
                return f"{who} of chip {event.chip!r} on {named.name}, which has {named.chip!r}: name another island"
            of = f"{who} of chip {quoted(event.chip)}{nearest(event.chip, chips) or '.'}"
            return f"{of} The islands have: {several(chips)}"
        if event.shape is not None:
            return self._shape_refusal(event, event.shape)
        allowed = self._allowed(event) if event.chip is not None and event.island is None else self.islands.values()
        largest = max(allowed, key=lambda island: (len(island.devices), -island.id))
        most = len(largest.devices)
        if event.island is not None:
            named = self.islands[event.island]
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

    def _shape_refusal(self, event: SliceRequested, shape: tuple[int, ...]) -> str:
        who = f"slice {event.name!r} asks for a block of shape {shape}"
        if not shape or any(size < 1 for size in shape):
            return f"{who}: give each axis a size of at least 1"
        if prod(shape) != event.devices:
            return f"{who}, which has {prod(shape)} devices, and for {event.devices} devices: leave one of them out"
        islands = self._allowed(event)
        if any(next(blocks(mesh_of(island), shape), None) is not None for island in islands):
            return ""
        fits = {island: nearest_fit(mesh_of(island), shape) for island in islands}
        island = max(islands, key=lambda island: (prod(fits[island]), -island.id))
        meshes = ", ".join(f"{island.name} is {mesh_of(island)}" for island in islands)
        return f"{who}; {meshes}: a block of shape {fits[island]} would fit on {island.name}"


def mesh_of(island: IslandSpec) -> tuple[int, ...]:
    """The shape of an island's mesh."""
    return island.shape or (len(island.devices),)


def listed(devices: tuple[DeviceId, ...]) -> str:
    return ",".join(map(str, devices))
