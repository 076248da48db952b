"""What :class:`~pwlab.observe.Usage` answers with: utilisation, memory and clients at one moment, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from ..events import IslandSpec
from ..ids import DeviceId, IslandId, NodeId, SliceId, Source
from .lives import Part

Parts = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """How a device, an island or a client spent its time: seconds by :class:`Part`, in device seconds."""

    parts: Parts

    @property
    def whole(self) -> float:
        return sum(self.parts)

    def share(self, part: Part) -> float:
        """From 0 to 1."""
        whole = self.whole
        return self.parts[part] / whole if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class ClientRow:
    """A client: its part of the device time, 0 to 1, and what it has under way.

    ``asked`` and ``got`` are of the device time that was given out while the client had work: what its share was of all
    that had some, and what it took.  ``spent`` is the device time that it took and what devices idled for before its
    launches; the rest went to others.
    """

    name: str
    open: bool
    share: float
    priority: int
    asked: float
    got: float
    spent: Spent
    launches: int
    failed: int
    waiting: int
    held: int
    bytes: int
    max_bytes: int | None


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """The memory of a device, or of a chip that devices share: now, at most, and the most in each bin."""

    name: str
    island: IslandId
    devices: tuple[DeviceId, ...]
    bytes: int
    peak: int
    capacity: int | None
    series: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HolderRow:
    """Results of one line of a cell that take memory now, all devices together; ``node`` wrote the first."""

    node: NodeId
    name: str
    client: str
    source: Source | None
    slice: SliceId
    values: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A launch that waits for memory, since when, and by how many bytes ``account`` is too small (empty: see there)."""

    node: NodeId
    name: str
    client: str
    source: Source | None
    since: float
    account: str
    bytes: int


@dataclass(frozen=True, slots=True)
class UsageView:
    """The three subjects at one moment.

    Attributes:
      seconds: in which at least one program was open.
      step: seconds of a bin.  Bins divide the time in which programs were open, without the pauses between.
      specs: the islands that are known.
      over: of each island, and each part but the last, device seconds in each bin.
      by_client: of each client, device seconds in each bin.
    """

    seconds: float
    step: float
    specs: tuple[IslandSpec, ...]
    devices: dict[DeviceId, Spent]
    islands: dict[IslandId, Spent]
    clients: tuple[ClientRow, ...]
    memory: tuple[MemoryRow, ...]
    holders: tuple[HolderRow, ...]
    held: tuple[HeldRow, ...]
    over: dict[IslandId, tuple[Parts, ...]]
    by_client: dict[str, Parts]
