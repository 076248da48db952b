"""A static estimate of what an operation costs on a device, from its types alone.

It decides one thing only: which computations are so small that launching each by itself would cost more
than running it (see ``coalesce`` in :mod:`pwlab.ir.passes`).  So it need not be right, only
never call a large computation small: loops of unknown length and kernels it cannot see
into count as large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _jax

#: Elements that a slow device (one CPU core) moves through an elementwise operation in a microsecond.
_ELEMENTS_PER_US = 2000.0
#: Multiply-adds that it does in a microsecond.
_MADS_PER_US = 10_000.0
#: Stands for "unknown, so take it for large".
_LARGE_US = 1e6

_FREE = frozenset({"reshape", "squeeze", "broadcast_in_dim", "stop_gradient", "convert_element_type", "copy"})
_HEAVY_PER_ELEMENT = {"exp": 4, "log": 4, "tanh": 6, "logistic": 5, "sin": 6, "cos": 6, "erf": 6, "pow": 6}
_HEAVY_PER_ELEMENT |= {"sort": 30, "random_bits": 10, "threefry2x32": 10, "erf_inv": 10}
_OPAQUE = frozenset({"while", "custom_call", "ffi_call", "pallas_call", "fft", "eigh", "svd", "qr", "lu", "cholesky"})
_OPAQUE |= {"pure_callback", "io_callback", "debug_callback", "debug_print"}  # and a failure names its own line


def estimate(name: str, inputs: Sequence[Any], outputs: Sequence[Any], params: dict[str, Any]) -> tuple[float, int]:
    """(device time in µs, equations) of one primitive."""
    elements = sum(_elements(a) for a in outputs)
    if name in _OPAQUE:
        return _LARGE_US, 1
    if name == "dot_general":
        return _dot(inputs, outputs, params), 1
    if name == "conv_general_dilated":
        taps = _elements(inputs[1]) / max(1, getattr(inputs[1], "shape", (1,))[0])
        return elements * taps / _MADS_PER_US, 1
    inner = [v for v in params.values() if _jax.is_jaxpr(v)]
    inner += [j for v in params.values() if isinstance(v, (list, tuple)) for j in v if _jax.is_jaxpr(j)]
    if inner:
        costs = [estimate_jaxpr(j) for j in inner]
        turns = params.get("length", 1) if name == "scan" else 1
        return sum(c for c, _ in costs) * turns, sum(n for _, n in costs) + 1
    moved = max(elements, sum(_elements(a) for a in inputs))
    weight = 0.2 if name in _FREE else _HEAVY_PER_ELEMENT.get(name, 1)
    return moved * weight / _ELEMENTS_PER_US, 1


def estimate_jaxpr(jaxpr: Any) -> tuple[float, int]:
    """The sum over a jaxpr's equations."""
    total, size = 0.0, 0
    for eqn in _jax.closed(jaxpr)[0].eqns:
        cost, n = estimate(eqn.primitive.name, [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars], eqn.params)
        total += cost
        size += n
    return total, size


def _dot(inputs: Sequence[Any], outputs: Sequence[Any], params: dict[str, Any]) -> float:
    (lhs_contract, _), _ = params["dimension_numbers"]
    depth = math.prod(inputs[0].shape[d] for d in lhs_contract)
    return _elements(outputs[0]) * depth / _MADS_PER_US


def _elements(aval: Any) -> int:
    return math.prod(getattr(aval, "shape", ()))
