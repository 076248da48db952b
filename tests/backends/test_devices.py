"""How islands are made of the devices that there are; accelerators are played by stand-ins."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from pwlab.backends.devices import Machine, _grouped, _real
from pwlab.errors import StartError


@dataclass(frozen=True)
class Chip:
    """A device of an accelerator, as JAX would list it."""

    id: int
    platform: str = "tpu"
    slice_index: int | None = None


def chips(n: int, slices: int = 1) -> list[Any]:
    return [Chip(i, slice_index=None if slices == 1 else i * slices // n) for i in range(n)]


def shape(machine: Machine) -> list[list[int]]:
    """The chips of each island."""
    return [[machine.devices[d].id for d in island.devices] for island in machine.islands]


@pytest.mark.parametrize(
    ("devices", "islands", "per_island", "expected"),
    [
        # Colab's v5e-1: one chip carries two logical islands.
        (chips(1), None, None, [[0], [0]]),
        (chips(1), 2, 2, [[0, 0], [0, 0]]),
        # Kaggle's v5e-8.
        (chips(8), None, None, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (chips(8), 4, None, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (chips(8), 1, 3, [[0, 1, 2]]),
        # Several TPU slices: each is an island.
        (chips(8, slices=2), None, None, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (chips(6, slices=3), None, None, [[0, 1], [2, 3], [4, 5]]),
        (chips(8, slices=2), 2, 2, [[0, 1], [4, 5]]),
        # More islands than slices are cut from all devices alike.
        (chips(4, slices=2), 4, None, [[0], [1], [2], [3]]),
    ],
)
def test_islands_of_accelerators(
    devices: list[Any], islands: int | None, per_island: int | None, expected: list[list[int]]
) -> None:
    machine = _real(devices, islands, per_island)
    assert shape(machine) == expected
    assert not machine.emulated
    assert machine.shared == (len({d.id for d in machine.devices}) < len(machine.devices))
    assert [d for island in machine.islands for d in island.devices] == list(range(len(machine.devices)))


def test_a_machine_knows_that_it_is_emulated() -> None:
    assert _grouped([Chip(i, "cpu") for i in range(8)], 2, 4).emulated


def run(code: str) -> str:
    """Runs Python in a process of its own, where JAX has not started."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_too_few_devices_says_what_to_do() -> None:
    out = run(
        "import jax; jax.devices()\n"
        "import pwlab as pw\n"
        "try: pw.start(islands=2, devices_per_island=4)\n"
        "except pw.errors.StartError as error: print(error)\n"
        "print(pw.start(islands=1, devices_per_island=1))"
    )
    assert (
        "8 devices were asked for, JAX already runs with 1; start pwlab before the first JAX call, or restart the "
        "kernel (or ask for 1 in all, such as pw.start(islands=1, devices_per_island=1))"
    ) in out
    assert "Session(1 island of emulated TPUs (island0: 1))" in out


@pytest.mark.parametrize(("name", "value"), [("islands", 0), ("devices_per_island", -1)])
def test_numbers_out_of_range(name: str, value: int) -> None:
    import pwlab as pw

    with pytest.raises(StartError, match=f"{name} is {value}; it is at least 1"):
        pw.start(**{name: value})


def test_two_islands_share_a_chip() -> None:
    """One CPU device stands for the one chip of a small TPU, with two logical islands of four on it."""
    out = run(
        "import jax, jax.numpy as jnp, numpy as np\n"
        "import pwlab as pw, pwlab.session, sys\n"
        "from pwlab.backends import devices\n"
        "one = jax.devices()[:1]\n"
        "module = sys.modules['pwlab.session']\n"
        "module.find = lambda *_: devices._grouped(one, 2, 4)\n"
        "session = pw.start()\n"
        "assert session.machine.shared\n"
        "add = pw.make_virtual_device_set().add_slice\n"
        "a = pw.pmap(lambda x: x * 2.0, devices=add(tpu_devices=2).tpus)\n"
        "b = pw.pmap(lambda x: jax.lax.psum(x, 'i'), axis_name='i', devices=add(tpu_devices=2).tpus)\n"
        "with pw.lazy():\n"
        "    x = b(a(np.array([1.0, 2.0])))\n"
        "    with pw.on('island1'):\n"
        "        y = jnp.arange(8.0) * 2\n"
        "    z = pw.shard(y, jax.P('d'), 'island0') + 1\n"
        "print(pw.fetch((x, y, z)))\n"
        "s = add(tpu_devices=2, island='island1')\n"
        "d = jax.P('d')\n"
        "cut = jax.shard_map(lambda v: v + jax.lax.psum(v, 'd'), mesh=s.mesh(), in_specs=d, out_specs=d)\n"
        "with pw.lazy(), pw.on(s):\n"
        "    w = jax.jit(cut)(jnp.ones(2))\n"
        "try:\n"
        "    w.result()\n"
        "except pw.errors.ComputationFailed as error:\n"
        "    print(error)"
    )
    assert "cannot be compiled for 2 virtual devices on 1 chip: JAX cuts values up over chips alone; use pw.pmap" in out
    assert "[6., 6.]" in out
    assert "[ 0.,  2.,  4.,  6.,  8., 10., 12., 14.]" in out
    assert "[ 1.,  3.,  5.,  7.,  9., 11., 13., 15.]" in out


class Measured:
    """A device that says, or does not say, how much memory JAX may take of it."""

    platform = "tpu"

    def __init__(self, id: int, stats: dict[str, int] | None):
        self.id = id
        self._stats = stats

    def memory_stats(self) -> dict[str, int] | None:
        return self._stats


@pytest.mark.parametrize(
    ("stats", "asked", "capacity"),
    [
        ({"bytes_limit": 16 << 30, "bytes_in_use": 5}, None, 16 << 30),
        ({"bytes_limit": 16 << 30}, 1000, 1000),
        ({"bytes_in_use": 5}, None, None),
        (None, None, None),
    ],
)
def test_capacity_is_what_the_device_says_unless_it_is_given(
    stats: dict[str, int] | None, asked: int | None, capacity: int | None
) -> None:
    (island,) = _grouped([Measured(0, stats), Measured(1, stats)], 1, 2, asked).islands
    assert island.hbm_bytes == capacity
