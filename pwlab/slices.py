"""Virtual slices: what a program is written against (Pathways §3, §4.1).

A slice has an abstract mesh and an identity of its own; equal meshes compare equal, slices do not.  Which physical
devices stand behind it is the resource manager's decision, so a function traced for a slice
can be lowered on any devices of the same number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType

from .errors import PlacementError, UnknownName, unknown
from .events import IslandSpec
from .ids import DeviceId, IslandId, SliceId

#: What the axes of a block are called.
BLOCK_AXES = ("x", "y", "z")


@dataclass(eq=False, slots=True)
class VirtualSlice:
    """Some virtual devices that belong together, all on one island.

    Attributes:
      devices: the physical devices that stand for them now.
      block: the shape of the block of the island's mesh that it is, if it was asked for as one.
    """

    id: SliceId
    name: str
    island: IslandId
    devices: tuple[DeviceId, ...]
    island_name: str = ""
    block: tuple[int, ...] = ()
    #: (axes, shape) → mesh, in the order in which they were first named.
    _meshes: dict[tuple[tuple[str, ...], tuple[int, ...]], AbstractMesh] = field(
        default_factory=dict[tuple[tuple[str, ...], tuple[int, ...]], AbstractMesh]
    )

    def __post_init__(self) -> None:
        if self.block:
            self.mesh(*self.axis_names, shape=self.block)

    def __len__(self) -> int:
        return len(self.devices)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The axes that go with :attr:`shape`: ``x``, ``y`` and ``z`` of a block, else ``d``."""
        return BLOCK_AXES[: len(self.block)] or ("d",)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of its block, else the number of its devices.  A spec over ``d`` cuts over all of them either way."""
        return self.block or (len(self.devices),)

    @property
    def tpus(self) -> Tpus:
        """Its virtual devices, as ``pw.jit(f, devices=...)`` and ``pw.pmap`` take them."""
        return Tpus(self)

    def mesh(self, *axis_names: str, shape: Sequence[int] | None = None) -> AbstractMesh:
        """An abstract mesh over the slice's devices, for ``shard_map`` and shardings.

        Args:
          axis_names: one name an axis; ``d`` if none is given.
          shape: devices along each axis; as square as possible if not given.

        Raises:
          PlacementError: the shape has another number of devices or axes.
        """
        names = axis_names or ("d",)
        n = len(self.devices)
        sizes = tuple(shape) if shape is not None else _square(n, len(names))
        if len(sizes) != len(names) or math.prod(sizes) != n:
            raise PlacementError(
                f"a mesh of shape {sizes} with axes {names} does not fit slice {self.name!r}, which has {n} "
                f"devices: give one size an axis, {n} in all"
            )
        mesh = self._meshes.get((names, sizes))
        if mesh is None:
            mesh = self._meshes[names, sizes] = AbstractMesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))
        return mesh

    def mesh_for(self, spec: Any) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """(axes, shape) of the slice's mesh that has all axes which a PartitionSpec names."""
        wanted = {a for part in spec if part is not None for a in (part if isinstance(part, tuple) else (part,))}
        known = [(("d",), (len(self.devices),)), *reversed(self._meshes)]
        for names, sizes in known:
            if wanted <= set(names):
                return names, sizes
        axes = sorted({a for names, _ in known for a in names})
        missing = sorted(wanted - set(axes)) or sorted(wanted)
        raise PlacementError(
            f"slice {self.name!r} has no mesh with axis {missing[0]!r}; its axes are {', '.join(axes)}. "
            f"Name one first: {self.name}.mesh({', '.join(repr(a) for a in sorted(wanted))})"
        )

    def __repr__(self) -> str:
        return f"VirtualSlice({self.name!r}, {len(self.devices)} devices on {self.island_name})"


@dataclass(frozen=True, slots=True)
class Tpus:
    """The virtual devices of a slice."""

    slice: VirtualSlice

    def __len__(self) -> int:
        return len(self.slice)

    def __iter__(self) -> Iterator[str]:
        return iter(f"{self.slice.name}:{i}" for i in range(len(self.slice)))

    def __repr__(self) -> str:
        return f"{self.slice.name}.tpus ({len(self.slice)})"


class Slices:
    """The slices of a session, by id and by name."""

    def __init__(self, physical: Sequence[Any], islands: Sequence[IslandSpec]):
        self._physical = tuple(physical)
        self.islands = tuple(islands)
        self.by_id: dict[SliceId, VirtualSlice] = {}
        self.devices: dict[SliceId, tuple[DeviceId, ...]] = {}
        self._whole: dict[IslandId, VirtualSlice] = {}
        self._island_of: dict[Any, IslandId] = {}
        for island in islands:
            for d in island.devices:
                self._island_of.setdefault(self._physical[d], island.id)

    def add(self, slice: VirtualSlice, whole_island: bool = False) -> None:
        self.by_id[slice.id] = slice
        self.devices[slice.id] = slice.devices
        if whole_island:
            self._whole[slice.island] = slice

    def remove(self, slice: VirtualSlice) -> None:
        self.by_id.pop(slice.id, None)

    @property
    def default(self) -> VirtualSlice:
        """Where a computation runs that names no slice and has no placed input."""
        return next(iter(self.by_id.values()))

    def __iter__(self) -> Iterator[VirtualSlice]:
        return iter(self.by_id.values())

    @property
    def names(self) -> Mapping[SliceId, str]:
        return {s.id: s.name for s in self.by_id.values()}

    def named(self, name: str) -> VirtualSlice:
        """The slice called ``name``.

        Raises:
          UnknownName: none is; the nearest name is suggested.
        """
        for s in self.by_id.values():
            if s.name == name:
                return s
        known = [s.name for s in self.by_id.values()]
        raise UnknownName(
            f"{unknown('slice', name, known)}; make one with "
            "pw.make_virtual_device_set().add_slice(tpu_devices=n, name=...)"
        )

    def find(self, where: Any) -> VirtualSlice:
        """The slice that the user means: a slice, its ``.tpus``, its name, or a device of the session.

        Raises:
          PlacementError: it is no such thing.
        """
        if isinstance(where, VirtualSlice):
            found = self.by_id.get(where.id)
            if found is not where:
                raise PlacementError(
                    f"slice {where.name!r} belongs to a session that was stopped, or was removed; make it again with "
                    "add_slice"
                )
            return where
        if isinstance(where, Tpus):
            return self.find(where.slice)
        if isinstance(where, str):
            return self.named(where)
        if isinstance(where, jax.Device):
            island = self._island_of.get(where)
            if island is not None:
                return self._whole[island]
        raise PlacementError(
            f"{where!r} is no slice of this session; use pw.on(slice) with a slice from add_slice, its name, or one of "
            f"{', '.join(s.name for s in self)}"
        )

    def home(self, array: jax.Array) -> tuple[SliceId | None, bool]:
        """(slice, spread) of a concrete array; no slice if it is uncommitted or not on the session's devices."""
        if not getattr(array, "committed", False):
            return None, False
        devices = array.sharding.device_set
        island = self._island_of.get(next(iter(devices)))
        if island is None:
            return None, False
        return self._whole[island].id, len(devices) > 1


def _square(n: int, axes: int) -> tuple[int, ...]:
    """``n`` devices as square as possible over so many axes: 8 over 2 is (4, 2)."""
    sizes: list[int] = []
    for left in range(axes, 1, -1):
        target = round(n ** (1 / left))
        size = next(d for d in range(max(target, 1), n + 1) if n % d == 0)
        sizes.append(size)
        n //= size
    sizes.append(n)
    return tuple(sorted(sizes, reverse=True))
