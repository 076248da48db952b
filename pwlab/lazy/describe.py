"""What a view may know of a tensor: plain data, gathered without waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..ids import Source

#: Elements of a value that a preview shows at most.
_PREVIEW = 16


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Metadata of one :class:`~pwlab.lazy.LazyTensor`.

    Attributes:
      dtype: as JAX abbreviates it, ``f32``, ``key<fry>``.
      slice: name of the virtual slice; empty while that is not decided.
      state: recorded, waiting, queued, running, ready, failed, cancelled or released.
      spread: whether it is sharded over the devices of its slice.
      spec: its PartitionSpec as text, such as ``P('d')``.
      nbytes: bytes of the whole value, counted once.
      preview: its values as text, only where it is ready and small.
      error: why it will never be there, one line.
      grid: into how many parts each dimension is cut, ``(4, 1)``.
      holders: for each part, in row-major order, the devices that hold it.
    """

    dtype: str
    shape: tuple[int, ...]
    slice: str = ""
    state: str = "recorded"
    source: Source | None = None
    spread: bool = False
    spec: str = ""
    nbytes: int = 0
    preview: str | None = None
    error: str = ""
    grid: tuple[int, ...] = ()
    holders: tuple[tuple[int, ...], ...] = ()


def preview_of(array: Any) -> str | None:
    """The values of a small array that is ready, as text; None for any other."""
    if not isinstance(array, jax.Array) or array.size > _PREVIEW or array.is_deleted():
        return None
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        return None
    return np.array2string(np.asarray(array), precision=4, separator=", ")


def parts_of(sharding: Any, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """(grid, holders) of a named sharding, from metadata alone; empty where it has none."""
    if not isinstance(sharding, jax.sharding.NamedSharding) or not shape:
        return (), ()
    try:
        block = sharding.shard_shape(shape)
    except ValueError:
        return (), ()
    grid = tuple(n // max(b, 1) for n, b in zip(shape, block, strict=True))
    holders: dict[tuple[int, ...], list[int]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        at = tuple((s.start or 0) // max(b, 1) for s, b in zip(index, block, strict=True))
        holders.setdefault(at, []).append(device.id)
    return grid, tuple(tuple(sorted(holders[at])) for at in sorted(holders))


#: How tensors show themselves; the package sets these to the views' functions, which lie above this layer.
as_text: Callable[[TensorInfo], str] = repr
as_html: Callable[[TensorInfo], str] = repr


def set_views(text: Callable[[TensorInfo], str], html: Callable[[TensorInfo], str]) -> None:
    """Says how LazyTensors show themselves as text and as HTML."""
    global as_text, as_html
    as_text, as_html = text, html
