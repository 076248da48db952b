"""Every private part of JAX that pwlab stands on, in one place.

Nothing else in pwlab imports ``jax._src``.  ``tests/lazy/test_jax_assumptions.py`` pins what is
assumed of each name here, on the oldest and the newest JAX that pwlab supports.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import api as _api
from jax._src import config as _config
from jax._src import core as _core
from jax._src import dispatch as _dispatch
from jax._src import dtypes as _dtypes
from jax._src import mesh as _mesh
from jax._src import sharding_impls as _sharding_impls
from jax._src import xla_metadata_lib as _xla_metadata
from jax._src.lax import lax as _lax
from jax._src.lax import slicing as _slicing
from jax._src.literals import TypedNdArray as TypedNdArray
from jax._src.numpy import indexing as _indexing
from jax._src.pjit import jit_p as jit_p
from jax.extend import core as _extend_core

#: Base classes; untyped, since what LazyTensor overrides is declared never to return.
Tracer: Any = _core.Tracer
Trace: Any = _core.Trace
Primitive = _core.Primitive
eval_trace = _core.eval_trace
typeof = _core.typeof
full_lower = _core.full_lower
set_current_trace = _core.set_current_trace
#: All settings that a trace depends on, as one hashable tuple (0.2 µs).
trace_context: Callable[[], tuple[Any, ...]] = _config.trace_context
ShapedArray = _core.ShapedArray
slice_p = _slicing.slice_p
dynamic_slice_p = _slicing.dynamic_slice_p
copy_p = _lax.copy_p
device_put_p = _dispatch.device_put_p

#: The one function that may ask a tracer for its value (see ``LazyTensor.to_concrete_value``).
CONCRETE_OR_ERROR_CODE = _core.concrete_or_error.__code__
#: Indexing asks through ``core.is_concrete``, from these: a boolean mask, and the bounds of a slice.
INDEX_CODES = frozenset(
    {
        _indexing.NDIndexer.expand_bool_indices.__code__,
        _indexing._is_slice_element_none_or_constant_or_symbolic.__code__,
    }
)


def install_trace(trace: Any) -> None:
    """Makes ``trace`` the current trace of this thread."""
    _core.trace_ctx.set_trace(trace)


def current_trace() -> Any:
    """The current trace of this thread."""
    return _core.trace_ctx.trace


def is_array_aval(aval: Any) -> bool:
    return isinstance(aval, ShapedArray)


def is_ref_aval(aval: Any) -> bool:
    """Whether the type is a mutable reference (``jax.new_ref``)."""
    return type(aval).__name__ in ("AbstractRef", "TransformedRef")


def weak_cast(x: Any, dtype: Any) -> Any:
    """``x`` as a weakly typed scalar, as a Python number would be."""
    return _lax._convert_element_type(x, dtype, weak_type=True)


def closed(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """(open jaxpr, its constants), whether JAX keeps the constants beside it or in it."""
    if hasattr(jaxpr, "jaxpr"):
        return jaxpr.jaxpr, jaxpr.consts
    return jaxpr, getattr(jaxpr, "consts", ())


#: JAX 0.12 has one type of jaxpr, which may hold constants; before, ``ClosedJaxpr`` held them beside it.
_JAXPRS = (_core.Jaxpr, getattr(_core, "ClosedJaxpr", _core.Jaxpr))


def is_jaxpr(x: Any) -> bool:
    return isinstance(x, _JAXPRS)


def is_literal(x: Any) -> bool:
    return isinstance(x, _core.Literal)


def dim_bytes(aval: Any) -> int:
    """Bytes of the whole logical array of this type; 0 for what has no fixed size."""
    if is_ref_aval(aval):
        aval = getattr(aval, "inner_aval", aval)
    dtype = getattr(aval, "dtype", None)
    if dtype is None:
        return 0
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        physical: Any = _core.physical_aval(aval)
        return int(np.prod(physical.shape, dtype=np.int64)) * physical.dtype.itemsize
    return int(np.prod(aval.shape, dtype=np.int64)) * dtype.itemsize


def short_dtype(aval: Any) -> str:
    """``f32``, ``bf16``, ``key<fry>``; ``Ref{f32}`` for a reference."""
    if is_ref_aval(aval):
        return f"Ref{{{short_dtype(getattr(aval, 'inner_aval', aval))}}}"
    dtype = getattr(aval, "dtype", None)
    return "?" if dtype is None else _dtypes.short_dtype_name(dtype)


# --- equation context -----------------------------------------------------------------


def xla_metadata_value(key: str) -> Any:
    """The value of ``key`` in the equation context, or None (0.1 µs where there is none)."""
    current = _xla_metadata.current_xla_metadata()
    return None if current is None else current.get(key)


def equation_context() -> Any:
    """The context under which an equation is recorded now; ``.manager`` re-enters it."""
    return _core.current_jaxpr_eqn_context()


def x64_enabled() -> bool:
    return bool(_config.enable_x64.value)


@contextlib.contextmanager
def reenter(context: Any, x64: bool) -> Iterator[None]:
    """Evaluates as it was recorded: equation context and 64-bit mode."""
    if x64 == x64_enabled():
        with context.manager:
            yield
    else:
        with context.manager, jax.enable_x64(x64):
            yield


def context_mesh(context: Any) -> Any | None:
    """The abstract mesh that ``jax.set_mesh`` put in force, or None."""
    mesh = context.cur_abstract_mesh
    return None if mesh is None or mesh.empty else mesh


# --- who defined a jit --------------------------------------------------------------------


def defined_at(jaxpr: Any) -> str:
    """File in which the function of a jaxpr was written, or an empty text."""
    debug = getattr(closed(jaxpr)[0], "debug_info", None)
    info = getattr(debug, "func_src_info", "") or ""
    return info.rpartition(" at ")[2].rpartition(":")[0]


# --- evaluating outside the record ------------------------------------------------------------


def eval_primitive(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Runs a primitive at once, as JAX does outside all transformations."""
    with set_current_trace(eval_trace):
        return eval_trace.process_primitive(primitive, list(args), params)


def abstract_eval(primitive: Any, avals: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
    """(output types, effects); one type for a primitive with one result."""
    with set_current_trace(eval_trace):
        return primitive.abstract_eval(*avals, **params)


def default_device() -> Any | None:
    """The device that ``jax.default_device`` put in force, or None."""
    return _config.default_device.value


def concrete_mesh() -> Any | None:
    """The physical mesh that ``jax.set_mesh`` put in force, or None."""
    mesh = _mesh.get_concrete_mesh()
    return None if mesh is None or mesh.empty else mesh


# --- hooks: where JAX asks "is this a transformation?" and recording should answer no --------------


def share_trace_state(trace: Any) -> None:
    """Makes ``trace`` and the plain eval trace look alike to ``get_opaque_trace_state``.

    Flax NNX keeps that state in each variable and refuses to update it under another one; recording is no
    transformation, so a module made in a plain cell may train in a scope and the reverse.
    """
    original = _core.get_opaque_trace_state

    def get_opaque_trace_state(convention: Any = None) -> Any:
        if current_trace() is trace:
            return _core.OpaqueTraceState(eval_trace._weakref)
        return original(convention)

    _core.get_opaque_trace_state = get_opaque_trace_state
    _extend_core.get_opaque_trace_state = get_opaque_trace_state


def quiet_callbacks() -> None:
    """Keeps JAX from logging a callback's exception where the failure is told by us, with the cell and line."""

    def elsewhere(_: logging.LogRecord) -> bool:
        return not threading.current_thread().name.startswith("pwlab-")

    logging.getLogger("jax._src.callback").addFilter(elsewhere)


def allow_set_mesh(trace: Any) -> None:
    """Lets ``jax.set_mesh`` and ``jax.sharding.get_mesh`` work while ``trace`` records."""
    set_mesh = _sharding_impls.set_mesh
    original_init, original_get = set_mesh.__init__, _sharding_impls.get_mesh

    def init(self: Any, mesh: Any) -> None:
        if current_trace() is not trace:
            return original_init(self, mesh)
        with set_current_trace(eval_trace):
            return original_init(self, mesh)

    def get_mesh() -> Any:
        if current_trace() is not trace:
            return original_get()
        with set_current_trace(eval_trace):
            return original_get()

    set_mesh.__init__ = init
    _sharding_impls.get_mesh = get_mesh
    jax.sharding.get_mesh = get_mesh


def lower_for_device_put() -> None:
    """Makes ``jax.device_put`` in a plain cell wait for tracers that stand for values, as all else there does.

    Outside all transformations it hands its arguments to the devices without asking any trace.
    """
    original = _dispatch._batched_device_put_impl

    def put(*xs: Any, **params: Any) -> Any:
        return original(*map(full_lower, xs), **params)

    _dispatch._batched_device_put_impl = put


def give_values_to_device_get(trace: Any) -> None:
    """Makes ``jax.device_get`` take the value of ``trace``'s tensors; it gives every other tracer back as it is."""
    original = _api._device_get

    def get(x: Any) -> Any:
        if isinstance(x, Tracer) and x._trace is trace:
            x = x._value("jax.device_get")
        return original(x)

    _api._device_get = get
