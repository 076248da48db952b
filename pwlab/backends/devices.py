"""Islands from the devices that JAX has, or emulated ones.

Real devices are grouped by ``slice_index`` where they have one (multi-slice TPU, Pathways on Cloud), else in
islands of equal size.  Where there are too few, several islands share a chip, as on Colab's one-chip
TPU.  Emulated TPUs are CPU devices, which JAX makes only if it is asked before it starts.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jax

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


def find(islands: int | None = None, devices_per_island: int | None = None) -> Machine:
    """The devices for so many islands of so many devices each.

    Without numbers: an island for each TPU slice, or two islands that share the accelerators evenly;
    where there is only a CPU, two emulated islands of four.

    Raises:
      StartError: a number is out of range, or JAX already runs with too few CPU devices.
    """
    for name, n in (("islands", islands), ("devices_per_island", devices_per_island)):
        if n is not None and n < 1:
            raise StartError(f"{name} is {n}; it is at least 1")
    emulated = (islands or 2) * (devices_per_island or 4)
    _ask_for_cpu_devices(emulated)
    devices = jax.devices()
    if devices[0].platform == "cpu":
        if len(devices) < emulated:
            raise StartError(
                f"{emulated} devices were asked for, JAX already runs with {len(devices)}; start pwlab before the "
                f"first JAX call, or restart the kernel (or ask for {len(devices)} in all, "
                f"such as pw.start(islands=1, devices_per_island={len(devices)}))"
            )
        return _grouped(devices, islands or 2, devices_per_island or 4)
    return _real(devices, islands, devices_per_island)


def _ask_for_cpu_devices(n: int) -> None:
    """Asks JAX for ``n`` CPU devices; without effect where JAX has started."""
    # Collectives of emulated devices take a thread each while they meet; too few threads abort the process.
    os.environ.setdefault("NPROC", str(2 * n))
    with contextlib.suppress(RuntimeError):  # JAX runs already: what it has is what there is
        jax.config.update("jax_num_cpu_devices", n)


def _real(devices: list[Any], islands: int | None, per_island: int | None) -> Machine:
    by_slice: dict[int, list[Any]] = {}
    for d in devices:
        by_slice.setdefault(getattr(d, "slice_index", 0) or 0, []).append(d)
    if len(by_slice) > 1 and islands in (None, len(by_slice)):
        groups = [g[:per_island] for _, g in sorted(by_slice.items())]
        return _machine(groups)
    count = islands or 2
    return _grouped(devices, count, per_island or max(1, len(devices) // count))


def _grouped(devices: list[Any], islands: int, per_island: int) -> Machine:
    """``islands`` groups of ``per_island``, going round where there are fewer devices: those share a chip."""
    wanted = islands * per_island
    rounds = -(-wanted // len(devices))
    flat = list(islice((d for _ in range(rounds) for d in devices), wanted))
    return _machine([flat[i * per_island : (i + 1) * per_island] for i in range(islands)])


def _machine(groups: list[list[Any]]) -> Machine:
    specs: list[IslandSpec] = []
    flat: list[Any] = []
    for i, group in enumerate(groups):
        ids = tuple(DeviceId(len(flat) + k) for k in range(len(group)))
        specs.append(IslandSpec(IslandId(i), f"island{i}", ids, group[0].platform))
        flat += group
    return Machine(tuple(specs), tuple(flat))
