"""The JAX trace that records.

One :class:`RecordingTrace` serves a whole session: JAX's caches are keyed by the trace, and a trace for each
scope made them grow by an entry a scope.  A scope is this trace *and* the context variable
:data:`active`: the trace belongs to a thread, so without the variable another asyncio task would be
recorded across an ``await``.  Where the variable is unset the trace steps aside and JAX runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import jax

from . import _jax
from .host import record_compiled_functions
from .recorder import Recorder

#: The recorder of the innermost scope of this thread or task.
active: ContextVar[Recorder | None] = ContextVar("pwlab_scope", default=None)

_hooked = False


def install_hooks(trace: RecordingTrace) -> None:
    """Once a process: tells JAX and Flax that recording is no transformation of theirs."""
    global _hooked
    if _hooked:
        return
    _hooked = True
    _jax.share_trace_state(trace)
    _jax.allow_set_mesh(trace)
    _jax.quiet_callbacks()
    _jax.lower_for_device_put()
    _jax.give_values_to_device_get(trace)
    record_compiled_functions(active.get)


class RecordingTrace(_jax.Trace):  # type: ignore[misc]
    """Hands each primitive that JAX binds to the active recorder."""

    def __init__(self) -> None:
        super().__init__()
        self.requires_low = True

    def process_primitive(self, primitive: Any, args: Sequence[Any], params: dict[str, Any], /) -> Any:
        recorder = active.get()
        if recorder is None or recorder.over:
            return _jax.eval_primitive(primitive, list(map(_jax.full_lower, args)), params)
        return recorder.record(primitive, args, params)

    def stage_value(self, val: Any) -> Any:
        if isinstance(val, jax.Array):  # a LazyTensor is one too
            return val
        return self.process_primitive(_jax.copy_p, [val], {})

    def process_call(self, call_primitive: Any, f: Any, tracers: Any, params: Any, /) -> Any:
        with _jax.set_current_trace(self):
            return f.call_wrapped(*tracers)

    # What is recorded is never differentiated afterwards (derivatives are taken of traces above this
    # one), so custom rules have done their part: the function itself is recorded.

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: bool
    ) -> Any:
        with _jax.set_current_trace(self):
            return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **_: Any) -> Any:
        with _jax.set_current_trace(self):
            return fun.call_wrapped(*tracers)

    def process_shard_map(self, primitive: Any, fun: Callable[..., Any], args: Any, /, **params: Any) -> Any:
        """An un-jitted ``shard_map`` is recorded as the jit of itself."""
        results: list[Any] = []

        def shard_map(*xs: Any) -> list[Any]:
            tree = primitive.bind(*xs, subfuns=(fun,), **params)  # JAX's flat tree, which also carries the specs
            results.append(tree)
            return list(tree)

        with _jax.set_current_trace(self):
            flat = jax.jit(shard_map)(*args)
        return results[0].update(flat)
