"""Islands from the devices that JAX has, or emulated ones.

Real devices are grouped by ``slice_index`` where they have one (multi-slice TPU, Pathways on Cloud), else in
islands of equal size.  Where there are too few, several islands share a chip, as on Colab's one-chip
TPU.  Emulated TPUs are CPU devices, which JAX makes only if it is asked before it starts.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import jax

from .. import checks
from ..errors import StartError
from ..events import IslandSpec
from ..ids import DeviceId, IslandId


@dataclass(frozen=True, slots=True)
class Machine:
    """The physical devices of a session: ``devices[i]`` is the JAX device of ``DeviceId(i)``.

    Two ids may stand for one JAX device: logical islands that share a chip.
    """

    islands: tuple[IslandSpec, ...]
    devices: tuple[Any, ...]

    @property
    def emulated(self) -> bool:
        """Whether CPU devices stand in for accelerators."""
        return all(d.platform == "cpu" for d in self.devices)

    @property
    def shared(self) -> bool:
        """Whether some chip carries several logical devices."""
        return len(set(self.devices)) < len(self.devices)


#: How islands are asked for: a number of them, or a description each, ``{"shape": (2, 4), "chip": "cpu"}``.
Islands = int | Sequence[Mapping[str, Any]] | None


def find(islands: Islands = None, devices_per_island: int | None = None, hbm_bytes: int | None = None) -> Machine:
    """The devices for so many islands of so many devices each.

    Without numbers: an island for each TPU slice, or two islands that share the accelerators evenly;
    where there is only a CPU, two emulated islands of four.

    Raises:
      StartError: a number is out of range, an island is not described as it must be, or JAX already runs with
        too few CPU devices.
    """
    shapes: list[tuple[tuple[int, ...], str | None]] = []
    count: int | None = None
    if isinstance(islands, Sequence) and not isinstance(islands, str):
        shapes = _shapes(islands)
    elif islands is not None:
        count = checks.whole("islands", islands, StartError, 'or a list such as [{"shape": (2, 4)}]')
        checks.at_least(1, "islands", count, StartError)
    if devices_per_island is not None:
        if shapes:
            raise StartError(
                f"devices_per_island={devices_per_island} goes with a number of islands; islands that are described "
                "have the devices of their shape"
            )
        devices_per_island = checks.at_least(1, "devices_per_island", devices_per_island, StartError)
    if hbm_bytes is not None:
        hbm_bytes = checks.size("hbm_bytes", hbm_bytes, StartError)
        checks.at_least(1, "hbm_bytes", hbm_bytes, StartError)
    sizes = [math.prod(shape) for shape, _ in shapes]
    emulated = sum(sizes) or (count or 2) * (devices_per_island or 4)
    _ask_for_cpu_devices(emulated)
    devices = jax.devices()
    for _, chip in shapes:
        if chip not in (None, devices[0].platform):
            raise StartError(f"an island of {chip!r} was asked for; JAX runs on {devices[0].platform!r} here")
    if devices[0].platform == "cpu" and len(devices) < emulated:
        raise StartError(
            f"{emulated} devices were asked for, JAX already runs with {len(devices)}; start pwlab before the "
            f"first JAX call, or restart the kernel (or ask for {len(devices)} in all, "
            f"such as pw.start(islands=1, devices_per_island={len(devices)}))"
        )
    if shapes:
        flat = _around(devices, sum(sizes))
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        groups = [flat[a : a + n] for a, n in zip(starts, sizes, strict=True)]
        return _machine(groups, hbm_bytes, [shape for shape, _ in shapes])
    if devices[0].platform == "cpu":
        return _grouped(devices, count or 2, devices_per_island or 4, hbm_bytes)
    return _real(devices, count, devices_per_island, hbm_bytes)


def _shapes(islands: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[int, ...], str | None]]:
    """(shape, chip) of each described island."""
    found: list[tuple[tuple[int, ...], str | None]] = []
    for i, given in enumerate(islands):
        island: Any = given  # a user's, and may be anything
        if not isinstance(island, Mapping) or not {"shape"} <= set(island) <= {"shape", "chip"}:
            raise StartError(
                f"island {i} is described as {island!r}; describe it by its mesh, and by its chip if you like: "
                '{"shape": (2, 4), "chip": "cpu"}'
            )
        shape = checks.shape(f"the shape of island {i}", island["shape"], StartError)
        chip = island.get("chip")
        found.append((shape, None if chip is None else checks.text(f"the chip of island {i}", chip, StartError)))
    if not found:
        raise StartError("islands is an empty list; describe at least one")
    return found


def _ask_for_cpu_devices(n: int) -> None:
    """Asks JAX for ``n`` CPU devices; without effect where JAX has started."""
    # Collectives of emulated devices take a thread each while they meet; too few threads abort the process.
    os.environ.setdefault("NPROC", str(2 * n))
    with contextlib.suppress(RuntimeError):  # JAX runs already: what it has is what there is
        jax.config.update("jax_num_cpu_devices", n)


def _real(devices: list[Any], islands: int | None, per_island: int | None, hbm_bytes: int | None = None) -> Machine:
    by_slice: dict[int, list[Any]] = {}
    for d in devices:
        by_slice.setdefault(getattr(d, "slice_index", 0) or 0, []).append(d)
    if len(by_slice) > 1 and islands in (None, len(by_slice)):
        return _machine([g[:per_island] for _, g in sorted(by_slice.items())], hbm_bytes)
    count = islands or 2
    return _grouped(devices, count, per_island or max(1, len(devices) // count), hbm_bytes)


def _grouped(devices: list[Any], islands: int, per_island: int, hbm_bytes: int | None = None) -> Machine:
    """``islands`` groups of ``per_island``, going round where there are fewer devices: those share a chip."""
    flat = _around(devices, islands * per_island)
    return _machine([flat[i * per_island : (i + 1) * per_island] for i in range(islands)], hbm_bytes)


def _around(devices: list[Any], n: int) -> list[Any]:
    return list(islice(cycle(devices), n))


def _machine(groups: list[list[Any]], hbm_bytes: int | None = None, shapes: Sequence[tuple[int, ...]] = ()) -> Machine:
    specs: list[IslandSpec] = []
    flat: list[Any] = []
    for i, group in enumerate(groups):
        ids = tuple(DeviceId(len(flat) + k) for k in range(len(group)))
        shape = tuple(shapes[i]) if shapes else ()
        chips = tuple(d.id for d in group)
        memory = hbm_bytes if hbm_bytes is not None else _memory_of(group[0])
        specs.append(IslandSpec(IslandId(i), f"island{i}", ids, group[0].platform, shape, memory, chips))
        flat += group
    return Machine(tuple(specs), tuple(flat))


def _memory_of(device: Any) -> int | None:
    """Bytes that JAX may take of a device, as the device itself says; None where it says nothing (a CPU)."""
    stats = getattr(device, "memory_stats", lambda: None)()
    return None if not stats else stats.get("bytes_limit")
