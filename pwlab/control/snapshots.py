"""Snapshots: what is held and by whom, as plain data (Pathways §4.6, ``%pw memory``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..events import IslandSpec
from ..ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, Source
from .memory import Memory
from .store import Store


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """Bytes on one device: now, the most ever, and how many there may be (None: nobody limits them)."""

    device: DeviceId
    island: IslandId
    bytes: int
    peak_bytes: int
    capacity: int | None


@dataclass(frozen=True, slots=True)
class Holder:
    """One buffer that takes memory on devices.

    Attributes:
      bytes: on all devices together.
      name, node: the computation that wrote it.
      pinned: the client holds it; else it goes when the last of its ``readers`` ends.
      readers: how many nodes read it and have not ended.
      away: it lies in host memory, and takes none of its devices'.
    """

    buffer: BufferId
    bytes: int
    devices: tuple[DeviceId, ...]
    name: str
    node: NodeId
    program: ProgramId
    program_name: str
    client: str
    pinned: bool
    readers: int
    source: Source | None
    away: bool = False


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """All devices, and who holds what on them, the most first; what is suspended may lie in host memory instead."""

    devices: tuple[DeviceUse, ...]
    holders: tuple[Holder, ...]

    @property
    def host_bytes(self) -> int:
        """Bytes in host memory that come back to devices."""
        return sum(holder.bytes for holder in self.holders if holder.away)


def memory_use(store: Store, memory: Memory, islands: Iterable[IslandSpec]) -> MemoryUse:
    """Looks at everything that takes memory now."""
    devices: list[DeviceUse] = []
    for island in islands:
        for device in island.devices:
            account = memory.devices[device]
            capacity = account.capacity if account.limited else None
            devices.append(DeviceUse(device, island.id, account.used, account.peak, capacity))
    holders: list[Holder] = []
    for buffer in store.buffers.values():
        producer = buffer.producer
        if producer is not None and buffer.held and buffer.accounts:
            program, spec = producer.program, producer.spec
            holders.append(
                Holder(
                    buffer.id,
                    buffer.total,
                    producer.devices,
                    spec.name,
                    spec.id,
                    program.id,
                    program.name,
                    program.client.name,
                    buffer.pinned,
                    len(buffer.readers),
                    spec.source,
                    buffer.away,
                )
            )
    holders.sort(key=lambda holder: (-holder.bytes, holder.buffer))
    return MemoryUse(tuple(devices), tuple(holders))
