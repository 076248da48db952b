"""Arrays in host memory, bit for bit and shard by shard, and back to how they lay on their devices.

Where devices name a pinned memory of their host the copy is an array there: each device moves its own shards,
and nobody waits.  Elsewhere it is one NumPy array a different shard.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..runtime.buffers import Parked

_PINNED = "pinned_host"


class HostCopy(Parked):
    """An array in host memory.

    Attributes:
      sharding: how it lay on its devices, or shall lie now.
    """

    __slots__ = ("_array", "_implementation", "_shape", "_shards", "sharding")

    def __init__(self, array: jax.Array):
        self.sharding: Any = array.sharding
        self._array: Any = None
        if _pinned(array):
            self._array = jax.device_put(array, array.sharding.with_memory_kind(_PINNED))
            return
        #: A key is its numbers and the name of what makes more of them.
        self._implementation = jax.random.key_impl(array) if _is_key(array) else None
        data = array if self._implementation is None else jax.random.key_data(array)
        self._shape = data.shape
        self._shards: list[tuple[Any, Any]] = [
            (_bounds(shard.index, data.shape), np.array(shard.data))
            for shard in data.addressable_shards
            if shard.replica_id == 0
        ]

    def copied(self) -> Any:
        if self._array is not None:
            return jax.device_put(self._array, self.sharding)
        whole = np.empty(self._shape, self._shards[0][1].dtype)
        for bounds, data in self._shards:
            whole[tuple(slice(*b) for b in bounds)] = data
        if self._implementation is None:
            return jax.device_put(whole, self.sharding)
        keys = jax.random.wrap_key_data(jax.numpy.asarray(whole), impl=self._implementation)
        return jax.device_put(keys, self.sharding)


def _pinned(array: jax.Array) -> bool:
    """Whether every device of an array has pinned memory on its host, other than its own."""
    return all(
        device.default_memory().kind != _PINNED and any(m.kind == _PINNED for m in device.addressable_memories())
        for device in array.sharding.device_set
    )


def _is_key(array: jax.Array) -> bool:
    return jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(part.indices(size)[:2] for part, size in zip(index, shape, strict=True))
