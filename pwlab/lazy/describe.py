"""What a view may know of a tensor: plain data, gathered without waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..ids import Source

#: Up to so many elements are all shown; of more the first and last of each axis.
_WHOLE = 16
#: Devices whose memory is the host's: nothing is copied.  From others so many bytes may be, to be shown.
_AT_HAND, _CHEAP = ("cpu",), 1 << 16
#: A value of more shards is not looked at; of one with many axes so many lines are shown.
_MOST_SHARDS, _MOST_LINES = 64, 16


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
      preview: its values as text, or a corner of them, only where it is ready and looking costs next to nothing.
      error: why it will never be there, one line.
      grid: into how many parts each dimension is cut, ``(4, 1)``.
      holders: for each part, in row-major order, the devices that hold it.
      failed: the computation that failed first, and so this; ``failed_at`` is where that was recorded.
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
    failed: str = ""
    failed_at: Source | None = None


def preview_of(array: Any) -> str | None:
    """The values of an array that is ready, as NumPy would print them: all of a small one, else its corners.

    None where they would have to be fetched, and for what NumPy cannot hold.  Of a sharded array only the shards with
    its corners are looked at.
    """
    if not isinstance(array, jax.Array) or jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        return None
    edge = 3 if array.ndim <= 2 else 1
    try:
        corner = _corner(array, edge)
    except RuntimeError:  # deleted at this moment, by its owner's thread
        return None
    if corner is None:
        return None
    threshold = _WHOLE if array.size <= _WHOLE else 0
    text = np.array2string(corner, precision=4, separator=", ", threshold=threshold, edgeitems=edge)
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "…"])


def _corner(array: jax.Array, edge: int) -> np.ndarray[Any, Any] | None:
    """The array without the middle of its long axes, of which one element stands in; None where it is not at hand."""
    if array.is_deleted() or not array.is_fully_addressable or len(array.sharding.device_set) > _MOST_SHARDS:
        return None
    small = array.size <= _WHOLE
    kept = [np.arange(n) if small or n <= 2 * edge else np.r_[:edge, edge, n - edge : n] for n in array.shape]
    corner = np.zeros([len(places) for places in kept], array.dtype)
    cost = 0
    for shard in array.addressable_shards:
        spans = [part.indices(n)[:2] for part, n in zip(shard.index, array.shape, strict=True)]
        inside = [(places >= low) & (places < high) for places, (low, high) in zip(kept, spans, strict=True)]
        at = [np.flatnonzero(mask) for mask in inside]
        if shard.replica_id or not all(map(len, at)):
            continue
        cost += 0 if shard.device.platform in _AT_HAND else shard.data.nbytes
        if cost > _CHEAP:
            return None
        own = [places[k] - low for places, k, (low, _) in zip(kept, at, spans, strict=True)]
        corner[np.ix_(*at)] = np.asarray(shard.data)[np.ix_(*own)]
    return corner


def spec_text(spec: Any) -> str:
    """A PartitionSpec as it is typed: ``P('d')``, ``P(None, 'y')``."""
    return f"P({', '.join(map(repr, spec))})"


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
