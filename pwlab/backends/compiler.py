"""Compiles computations ahead of time, for one device or for a mesh, and keeps what it compiled.

A computation is compiled for where its inputs lie.  Without sharded inputs that is one device.  With them it is
the slice's mesh: inputs that have a sharding there keep it, the others are replicated, and the shardings
of the results are what XLA chose; they are known once the computation is compiled, so
computations are prepared in the order in which they feed each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from ..runtime import Buffer, Computation, Task

_WIDE = frozenset({"int64", "uint64", "float64", "complex128"})


class Executable:
    """A compiled computation: where its inputs must lie, and where its results will."""

    __slots__ = ("call", "in_shardings", "out_shardings", "scratch", "several", "written")

    def __init__(
        self, call: Any, in_shardings: Sequence[Any], out_shardings: Sequence[Any], several: bool, scratch: int = 0
    ):
        self.call = call
        #: Bytes that it needs on each device while it runs, beside inputs and results, where XLA says.
        self.scratch = scratch
        #: Bytes of each result on each device of the slice, once somebody asked; empty where they are cut up evenly.
        self.written: tuple[int, ...] | None = None
        self.in_shardings = list(in_shardings)
        self.out_shardings = list(out_shardings)
        #: Whether it runs on several devices, so that its launches must be ordered on all of them.
        self.several = several


def sharding_of(value: Any) -> Any:
    """Where an input lies, or None for what is on the host.  A buffer knows it before it has a value."""
    return value.sharding if isinstance(value, (Buffer, jax.Array)) else None


def find(task: Task, devices: tuple[Any, ...]) -> Executable | None:
    """The executable for this task, if it was compiled before."""
    computation = task.computation
    assert computation is not None
    return computation.executables.get(_key(task, devices))


def make(task: Task, devices: tuple[Any, ...]) -> Executable:
    """Compiles the task's computation for these devices."""
    computation = task.computation
    assert computation is not None
    devices = computation.mesh_devices or devices
    key = _key(task, devices)
    found = computation.executables.get(key)
    if found is None:
        found = _compile(computation, task.inputs, task.spread, devices)
        computation.executables[key] = found
    return found


def _key(task: Task, devices: tuple[Any, ...]) -> Any:
    if not task.spread:
        return devices[0]
    computation = task.computation
    devices = (computation and computation.mesh_devices) or devices
    return (devices, tuple(sharding_of(v) for v in task.inputs))


def _compile(computation: Computation, inputs: list[Any], spread: bool, devices: tuple[Any, ...]) -> Executable:
    if spread:
        everywhere = NamedSharding(Mesh(np.array(devices), ("d",)), PartitionSpec())
        wanted = set(devices)
        shardings = [s if (s := sharding_of(v)) is not None and s.device_set == wanted else everywhere for v in inputs]
    else:
        shardings = [SingleDeviceSharding(devices[0])] * len(inputs)

    def run(*values: Any) -> list[Any]:
        return list(computation.fn(*values))

    run.__name__ = run.__qualname__ = _identifier(computation.name)
    if inputs:
        jitted = jax.jit(run, donate_argnums=computation.donate)
    else:  # nothing says where it runs, so the results do
        target = everywhere if spread else SingleDeviceSharding(devices[0])
        jitted = jax.jit(run, out_shardings=target)
    wide = any(str(a.dtype) in _WIDE for a in computation.in_avals)
    with jax.enable_x64(True) if wide else nullcontext():  # else JAX would make these types 32-bit ones
        specs = [
            jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s, weak_type=getattr(a, "weak_type", False))
            for a, s in zip(computation.in_avals, shardings, strict=True)
        ]
        compiled = jitted.lower(*specs).compile()
    out = compiled.output_shardings
    call = _in_x64(compiled) if wide else compiled
    out = out if isinstance(out, (list, tuple)) else [out]
    return Executable(call, shardings, out, spread and len(devices) > 1, _scratch(compiled))


def _scratch(compiled: Any) -> int:
    stats = compiled.memory_analysis()
    return 0 if stats is None else stats.temp_size_in_bytes


def _in_x64(compiled: Any) -> Callable[..., Any]:
    """Calls it in 64-bit mode, so that NumPy arguments keep their types."""

    def call(*values: Any) -> Any:
        with jax.enable_x64(True):
            return compiled(*values)

    return call


def _identifier(name: str) -> str:
    """A name that shows in XLA's profiles: letters, digits and underscores."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)[:60].strip("_")
    return text or "computation"


def written(outputs: Sequence[Buffer], shardings: Sequence[Any], width: int) -> tuple[int, ...]:
    """Bytes of each output on each of a slice's ``width`` virtual devices, which may share chips.

    Empty where each is cut up evenly, as is thought of all until they are compiled.
    """
    bytes: list[int] = []
    for buffer, sharding in zip(outputs, shardings, strict=True):
        shape = buffer.aval.shape
        part = math.prod(sharding.shard_shape(shape)) / max(math.prod(shape), 1)
        bytes.append(math.ceil(buffer.nbytes * part * len(sharding.device_set) / width))
    even = [-(-buffer.nbytes // width) for buffer in outputs]
    return () if bytes == even else tuple(bytes)


def on_slice(spec: Any, devices: tuple[Any, ...], axes: tuple[str, ...], shape: tuple[int, ...]) -> NamedSharding:
    """The sharding ``spec`` over the slice's own mesh.

    Virtual devices that share chips are fewer physical ones than the mesh has places; then each chip has a whole copy.
    """
    if len(devices) < math.prod(shape):
        return NamedSharding(Mesh(np.array(devices), ("d",)), PartitionSpec())
    return NamedSharding(Mesh(np.array(devices).reshape(shape), axes), spec)
