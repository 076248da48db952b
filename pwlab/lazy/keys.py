"""Structural keys: when two recorded operations are the same operation.

An operation is looked up twice.  First by *value*: primitive, parameters, types and context as JAX
hands them over, hashed as they are; jaxprs hash by identity there, so a function that JAX kept
traced is found in about a microsecond.  Only if that fails, as for a function traced anew on
every turn of a loop, it is looked up by *structure*: two jaxprs are equal if their equations,
wiring, types and constants are.

What counts and what does not:

* array constants count by identity, Python numbers by type and value;
* callables count by identity (two closures may differ in what they close over);
* derivative rules (``jvp``, ``fwd``, ``bwd``) do not count: what is recorded is not differentiated again.

A key holds what it names by identity, so an id is never reused while the key lives.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from . import _jax

#: Parameters of primitives that matter only to derivatives.
_DERIVATIVE_RULES = frozenset(
    {
        "jvp_jaxpr_fun",
        "jvp_jaxpr_thunk",
        "fwd_jaxpr_thunk",
        "bwd",
        "fwd",
        "jvp",
        "out_trees",
        "symbolic_zeros",
    }
)
#: Parameters that only describe.
_DESCRIPTIONS = frozenset({"debug_info", "name_and_src_info"})


class ById:
    """Wraps a value so that it is compared by identity and kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and other.value is self.value

    def __repr__(self) -> str:
        return f"ById({self.value!r})"


def params_key(params: dict[str, Any]) -> Hashable:
    """The structural key of a primitive's parameters."""
    return tuple(
        (name, structure(value))
        for name, value in params.items()
        if name not in _DERIVATIVE_RULES and name not in _DESCRIPTIONS
    )


def structure(value: Any) -> Hashable:
    """A hashable key that is equal for structurally equal values."""
    if _jax.is_jaxpr(value):
        return _jaxpr_key(value)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *map(structure, value))
    if isinstance(value, dict):
        return ("dict", *((k, structure(v)) for k, v in value.items()))
    if isinstance(value, np.ndarray):
        if value.size <= 16 and value.dtype != object:
            return ("np", value.dtype.str, value.shape, value.tobytes())
        return ById(value)
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))  # tells -0.0 from 0.0, and nan is nan
    if isinstance(value, (bool, int)):
        return (type(value), value)
    if callable(value) and not isinstance(value, (type, np.dtype)):
        return ById(value)
    try:
        hash(value)
    except TypeError:
        return ById(value)
    return value


def _jaxpr_key(jaxpr: Any) -> Hashable:
    open_jaxpr, consts = _jax.closed(jaxpr)
    numbers: dict[Any, int] = {}

    def atom(x: Any) -> Hashable:
        if _jax.is_literal(x):
            value = x.val
            if np.ndim(value) == 0 and not hasattr(value, "addressable_shards"):
                return ("lit", str(x.aval), type(value).__name__, str(value))
            return ("lit", ById(value))
        return numbers.setdefault(x, len(numbers))

    def binder(x: Any) -> Hashable:
        return (numbers.setdefault(x, len(numbers)), str(x.aval), getattr(x.aval, "weak_type", False))

    head = tuple(binder(v) for v in (*open_jaxpr.constvars, *open_jaxpr.invars))
    body = tuple(
        (
            eqn.primitive.name,
            tuple(map(atom, eqn.invars)),
            tuple(map(binder, eqn.outvars)),
            params_key(eqn.params),
            eqn.ctx,
        )
        for eqn in open_jaxpr.eqns
    )
    return ("jaxpr", head, body, tuple(map(atom, open_jaxpr.outvars)), tuple(ById(c) for c in consts))
