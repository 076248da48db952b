"""Topology: contiguous blocks of an island's mesh (Pathways §4.1), and islands that share chips.

A mesh of shape (2, 4) holds a block of shape (2, 2) at three places and, as (4, 1) turned by
a quarter, one of shape (4, 1) at two.  Blocks are aligned with the axes and do not wrap round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from math import prod

from ..events import IslandSpec
from ..ids import IslandId


def fitted(shape: Sequence[int], axes: int) -> tuple[int, ...] | None:
    """``shape`` written with so many axes, axes of size one being added or left out; None if it has more."""
    sizes = [size for size in shape if size != 1] if len(shape) > axes else list(shape)
    return None if len(sizes) > axes else (*sizes, *[1] * (axes - len(sizes)))


def blocks(mesh: tuple[int, ...], shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every block of ``shape`` in ``mesh``: positions in the mesh's row-major order, in that of ``shape``.

    Blocks as they are asked for come before turned ones, and then those at the smaller corner.
    """
    wanted = fitted(shape, len(mesh))
    if wanted is None:
        return
    strides = [prod(mesh[axis + 1 :]) for axis in range(len(mesh))]
    seen: set[tuple[int, ...]] = set()
    for turned in permutations(range(len(mesh))):  # axis i of the block runs along axis turned[i] of the mesh
        sizes = [0] * len(mesh)
        for axis, along in enumerate(turned):
            sizes[along] = wanted[axis]
        if tuple(sizes) in seen or any(size > room for size, room in zip(sizes, mesh, strict=True)):
            continue
        seen.add(tuple(sizes))
        for corner in product(*(range(room - size + 1) for size, room in zip(sizes, mesh, strict=True))):
            first = sum(c * stride for c, stride in zip(corner, strides, strict=True))
            yield tuple(
                first + sum(i * strides[along] for i, along in zip(index, turned, strict=True))
                for index in product(*(range(size) for size in wanted))
            )


def nearest_fit(mesh: tuple[int, ...], shape: Sequence[int]) -> tuple[int, ...]:
    """The block most like ``shape`` that ``mesh`` holds: each axis cut to its room, the largest by devices."""
    wanted = fitted(shape, len(mesh)) or tuple(sorted(shape, reverse=True)[: len(mesh)])
    cuts = ([min(w, r) for w, r in zip(wanted, rooms, strict=True)] for rooms in permutations(mesh))
    best = max(cuts, key=prod)
    while len(best) > max(len(shape), 1) and best[-1] == 1:
        best.pop()
    return tuple(best)


def homes(islands: Iterable[IslandSpec]) -> dict[IslandId, IslandId]:
    """The first of the islands with which each shares a chip, directly or over others; itself where it shares none.

    Logical islands on one chip take turns on it, so they have one queue between them.
    """
    home: dict[IslandId, IslandId] = {}
    first_on: dict[int, IslandId] = {}
    for island in islands:
        met = [home[first_on[chip]] for chip in island.chips if chip in first_on]
        home[island.id] = first = min(met, default=island.id)
        for other in [other for other, at in home.items() if at in met]:
            home[other] = first
        for chip in island.chips:
            first_on.setdefault(chip, island.id)
    return home
