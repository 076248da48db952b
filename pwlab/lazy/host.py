"""Python functions as host nodes, and compiled functions that record.

A host node runs in a background thread once its inputs are there, and its results feed the devices (Pathways
App. C).  What it will return must be known when it is recorded; a function that does not say so runs once,
in place, for each new signature of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..ir import OpKind
from . import _jax
from .keys import ById
from .ops import Op
from .places import here
from .tensor import LazyTensor

if TYPE_CHECKING:
    from .frontend import Frontend
    from .recorder import Recorder


class HostFunction:
    """One function of the user's that runs on hosts."""

    def __init__(self, fn: Callable[..., Any], out: Any, name: str):
        self._fn = fn
        self.name = name
        self._out = out
        #: signature of the arguments → (tree of the result, its types)
        self._known: dict[Hashable, tuple[Any, tuple[Any, ...]]] = {}

    def record(self, frontend: Frontend, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Puts down one call, or makes it at once if it is the first of its kind."""
        leaves, tree = jax.tree.flatten((args, kwargs))
        signature = (tree, tuple(map(_signature, leaves)))
        known = self._known.get(signature)
        if known is None:
            if self._out is None:
                return self._learn(frontend, recorder, leaves, tree, signature)
            specs, out_tree = jax.tree.flatten(self._out)
            known = self._known[signature] = (out_tree, tuple(map(_type_of, specs)))
        out_tree, types = known
        op = self._op(frontend, types, (ById(self), tree), lambda: self._runner(tree, out_tree, types))
        return jax.tree.unflatten(out_tree, recorder.record_known(op, [_Given(v) for v in leaves]))

    def _op(self, frontend: Frontend, types: Sequence[Any], key: Hashable, fn: Callable[[], Callable[..., Any]]) -> Op:
        """What a call puts down; ``fn()`` makes what runs, once for each ``key``."""
        whole = ("host", key, tuple(types), self.name, _jax.trace_context())
        return frontend.table.special(whole, self.name, OpKind.HOST, types, lambda op: op.params.update(fn=fn()))

    def _learn(self, frontend: Frontend, recorder: Recorder, leaves: list[Any], tree: Any, signature: Hashable) -> Any:
        """The first call: runs in place, and its result is what such calls return."""
        values = [_to_host(v.result() if isinstance(v, LazyTensor) else v) for v in leaves]
        args, kwargs = jax.tree.unflatten(tree, values)
        wait = frontend.driver.waiting(f"first call of host function {self.name}", here())
        with wait, _jax.set_current_trace(_jax.eval_trace):
            result = self._fn(*args, **kwargs)
        flat, out_tree = jax.tree.flatten(result)
        arrays = list(map(_canonical, flat))
        _, types = self._known[signature] = (out_tree, tuple(map(_type_of, arrays)))
        # Its node is there as that of any other call, and gives what is known.
        op = self._op(frontend, types, "known", lambda: _given)
        return jax.tree.unflatten(out_tree, recorder.record_known(op, arrays))

    def _runner(self, tree: Any, out_tree: Any, types: tuple[Any, ...]) -> Callable[..., Sequence[Any]]:
        def run(*values: Any) -> list[Any]:
            args, kwargs = jax.tree.unflatten(tree, [_to_host(getattr(v, "value", v)) for v in values])
            flat, got = jax.tree.flatten(self._fn(*args, **kwargs))
            arrays = list(map(_canonical, flat))
            wanted = [f"{t.dtype}{list(t.shape)}" for t in types]
            found = [f"{a.dtype}{list(a.shape)}" for a in arrays]
            if got != out_tree or wanted != found:
                raise TypeError(
                    f"host function {self.name} returned {', '.join(found) or 'nothing'} where its calls return "
                    f"{', '.join(wanted) or 'nothing'}; it must return the same shapes for the same kinds of arguments"
                )
            return arrays

        return run


def _given(*values: Any) -> list[Any]:
    return list(values)


class _Given:
    """An argument of a host call that is no tensor: passed on as it is."""

    __slots__ = ("value",)

    def __new__(cls, value: Any) -> Any:
        if isinstance(value, (LazyTensor, jax.Array, np.ndarray)):
            return value
        return super().__new__(cls)

    def __init__(self, value: Any):
        self.value = value


def _signature(leaf: Any) -> Hashable:
    if isinstance(leaf, (jax.Array, np.ndarray)):
        return (leaf.shape, str(leaf.dtype))
    return type(leaf)


def _canonical(value: Any) -> np.ndarray[Any, Any]:
    """As JAX would take it: 64-bit types only where they are enabled."""
    array = np.asarray(value)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)


def _type_of(spec: Any) -> Any:
    return _jax.ShapedArray(tuple(spec.shape), jax.dtypes.canonicalize_dtype(spec.dtype))


def _to_host(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, jax.Array) else value


def record_compiled_functions(recorder_now: Callable[[], Recorder | None]) -> None:
    """Makes AOT-compiled functions take LazyTensors: recorded in a scope, waited for outside."""
    compiled_call = jax.stages.Compiled.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if not any(isinstance(v, LazyTensor) for v in leaves):
            return compiled_call(self, *args, **kwargs)
        recorder = recorder_now()
        if recorder is None:
            values = [v.result() if isinstance(v, LazyTensor) else v for v in leaves]
            args, kwargs = jax.tree.unflatten(tree, values)
            return compiled_call(self, *args, **kwargs)
        out = jax.tree.leaves(self.out_info)
        types = tuple(_jax.ShapedArray(o.shape, o.dtype) for o in out)

        def run(*values: Any) -> list[Any]:
            given, named = jax.tree.unflatten(tree, [getattr(v, "value", v) for v in values])
            return jax.tree.leaves(compiled_call(self, *given, **named))

        op: Op = recorder.table.special(
            ("compiled", ById(self), tree),
            "compiled",
            OpKind.HOST,
            types,
            lambda op: op.params.update(fn=run),
        )
        results = recorder.record_known(op, [_Given(v) for v in leaves])
        return jax.tree.unflatten(jax.tree.structure(self.out_info), results)

    jax.stages.Compiled.__call__ = call  # type: ignore[method-assign]
