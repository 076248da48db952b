"""The functions that a person calls to write a program: scopes, jit, pmap, host, shard, fetch."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar, overload

import jax
import numpy as np

from . import checks
from .errors import PlacementError, WaitTimeout
from .lazy import LazyTensor, Scope, active, one_call
from .lazy import on as _on
from .lazy.host import HostFunction
from .lazy.ops import transfer_p
from .lazy.places import user_frame
from .lazy.repeat import Repeatable
from .programs import dispatch_named
from .runtime.clock import now
from .session import Session, running, session
from .slices import Tpus, VirtualSlice

P = ParamSpec("P")
R = TypeVar("R")

Where = VirtualSlice | Tpus | str | jax.Device


def lazy(name: str | None = None, slice: Where | None = None, *, dispatch: str | None = None) -> Scope:
    """A scope: what JAX does in the block is recorded as one program and runs in the background.

        with pw.lazy():
            y = jnp.sin(x) @ w      # returns at once
        print(y)                    # waits

    Args:
      name: of the program, in views and in ``%pw run``; the place of the block if not given.
      slice: where things run that name no slice.
      dispatch: ``parallel`` or ``sequential`` (Pathways §4.5); the session's setting if not given.

    Raises:
      UnknownName: there is no such dispatch; the nearest is suggested.
    """
    s = session()
    frame = user_frame(sys._getframe(1))
    if name is None:
        label = "lazy" if frame is None else f"line {frame.f_lineno}"
    else:
        label = checks.text("the name of a program", name)
    where = s.slices.find(slice) if slice is not None else None
    return Scope(s.frontend, label, where, frame, dispatch=dispatch_named(dispatch))


def on(slice: Where) -> AbstractContextManager[VirtualSlice]:
    """Places what is recorded in the block on ``slice``, and its derivatives too.

    Raises:
      PlacementError: no such slice, or a device that is not the session's.
    """
    return _on(session().slices.find(slice))


@overload
def program(f: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def program(
    *, name: str | None = None, slice: Where | None = None, dispatch: str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def program(
    f: Any = None, /, *, name: str | None = None, slice: Where | None = None, dispatch: str | None = None
) -> Any:
    """Makes each call of a function one program (Pathways §3, ``@pw.program`` of Fig. 2).

    The call returns at once, with LazyTensors.  Called in a scope it is a part of that scope's program.
    """
    if name is not None:
        checks.text("the name of a program", name)
    chosen = dispatch_named(dispatch)

    def wrap(fn: Callable[..., Any]) -> Callable[..., Any]:
        label = getattr(fn, "__name__", "program") if name is None else name

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            s = session()
            where = s.slices.find(slice) if slice is not None else None
            if s.frontend.recording():
                if where is None:
                    return fn(*args, **kwargs)
                with _on(where):
                    return fn(*args, **kwargs)
            code = getattr(inspect.unwrap(fn), "__code__", None)
            with Scope(s.frontend, label, where, user_frame(sys._getframe(1)), code=code, dispatch=chosen):
                return fn(*args, **kwargs)

        return call

    return wrap if f is None else wrap(f)


def jit(f: Callable[..., Any], *, devices: Where | None = None, **options: Any) -> Callable[..., Any]:
    """``jax.jit`` of ``f`` as a computation of a Pathways program, on ``devices``.

    In a scope a call is recorded.  Outside it is a program of one node, and returns at once.

    Args:
      devices: a slice or its ``.tpus``; where its inputs are, if not given.
      options: as ``jax.jit`` takes them (``donate_argnums``, ``static_argnums``, …).
    """
    jitted = jax.jit(f, **options)
    recorded = Repeatable(jitted)
    label = getattr(f, "__name__", "computation")

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        s = session()
        with one_call(s.frontend, label):
            if devices is None:
                return recorded(*args, **kwargs)
            with _on(s.slices.find(devices)):
                return recorded(*args, **kwargs)

    call.lower = jitted.lower  # type: ignore[attr-defined]
    return call


def pmap(
    f: Callable[..., Any],
    axis_name: str | None = None,
    *,
    devices: Where | None = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
) -> Callable[..., Any]:
    """Maps ``f`` over the leading axis, one element a device of the slice (``jax.pmap`` in the paper's Fig. 2).

    Args:
      axis_name: for collectives inside, such as ``jax.lax.psum(x, "i")``.
      devices: a slice or its ``.tpus``; the default slice if not given.
      in_axes, out_axes: as in ``jax.vmap``.

    Raises:
      PlacementError: the mapped axis is longer than the slice, or not a multiple of it.
    """
    options: dict[str, Any] = {} if axis_name is None else {"axis_name": axis_name}
    mapped = jax.vmap(f, in_axes=in_axes, out_axes=out_axes, **options)
    label = getattr(f, "__name__", "pmap")

    mapped.__name__ = label
    anywhere = jax.jit(mapped)

    @functools.cache
    def in_place(mesh: Any, axis: int) -> Callable[..., Any]:
        """``mapped`` with its results one element a device, wherever XLA would rather have them."""
        sharding = jax.sharding.NamedSharding(mesh, _cut(axis))

        @functools.wraps(f)  # so that the computation counts as the user's, under its name
        def run(*args: Any) -> Any:
            return jax.tree.map(lambda y: jax.lax.with_sharding_constraint(y, sharding), mapped(*args))

        return Repeatable(jax.jit(run))

    @functools.wraps(f)
    def call(*args: Any) -> Any:
        s = session()
        where = s.slices.find(devices) if devices is not None else s.slices.default
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)

        def place(axis: int | None, x: Any) -> Any:
            x = _array(x)
            if axis is None:
                return x
            size = x.shape[axis] if x.ndim else 0
            if size != len(where):
                raise PlacementError(
                    f"{label} is mapped over {len(where)} devices of slice {where.name!r}, its argument has "
                    f"{size} elements along axis {axis} ({x.dtype}{list(x.shape)}): give one a device"
                )
            if isinstance(x, LazyTensor) and x._ref.laid == (where.id, axis):
                return x  # as an earlier pmap left it
            return _shard(s, x, _cut(axis), where)

        with one_call(s.frontend, label), _on(where):
            placed = [
                jax.tree.map(functools.partial(place, axis), arg) if _is_tree(arg) else place(axis, arg)
                for axis, arg in zip(axes, args, strict=True)
            ]
            if not isinstance(out_axes, int) or s.machine.shared:
                return anywhere(*placed)
            results = in_place(where.mesh("d"), out_axes)(*placed)
            for leaf in jax.tree.leaves(results):
                if isinstance(leaf, LazyTensor):
                    leaf._ref.laid = (where.id, out_axes)
            return results

    return call


def _is_tree(arg: Any) -> bool:
    """Whether an argument of ``pmap`` is a tree of arrays; nested lists of numbers are one array."""
    if isinstance(arg, (jax.Array, np.ndarray)):
        return False
    return not isinstance(arg, (list, tuple)) or any(isinstance(leaf, (jax.Array, np.ndarray)) for leaf in arg)


def _cut(axis: int) -> jax.sharding.PartitionSpec:
    """One element a device along ``axis``."""
    return jax.sharding.PartitionSpec(*([None] * axis), "d")


def host(fn: Callable[..., Any] | None = None, /, *, out: Any = None, name: str | None = None) -> Callable[..., Any]:
    """Makes a Python function a host node: it runs in the background, ahead of the devices that it feeds.

    For data loading and augmentation (Pathways App. C).  In a scope a call is recorded and returns LazyTensors; the
    first call with new shapes runs at once, to learn what it returns, unless ``out`` says it.

        load = pw.host(load_batch)
        with pw.lazy():
            for i in range(100):
                loss = step(load(i))

    Args:
      fn: gets NumPy arrays where it was given tensors, and everything else as it is; returns arrays.
      out: the shapes and dtypes of its result, a tree of ``jax.ShapeDtypeStruct``.
      name: in views; the function's if not given.
    """
    if fn is None:
        return functools.partial(host, out=out, name=name)  # type: ignore[return-value]
    label = getattr(fn, "__name__", "host") if name is None else checks.text("the name of a host function", name)
    made = HostFunction(fn, out, label)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        s = session()
        with one_call(s.frontend, made.name):
            recorder = active.get()
            assert recorder is not None
            return made.record(s.frontend, recorder, args, kwargs)

    return call


def shard(x: Any, spec: Any = None, slice: Where | None = None) -> Any:
    """Puts an array on a slice, cut up as ``spec`` says.

    Args:
      x: an array, or a tree of them.
      spec: a ``jax.sharding.PartitionSpec`` over the slice's axes (``P("d")`` cuts the first axis over all
        devices); ``P()`` puts a whole copy on each.
      slice: the slice; where ``x`` goes anyway if not given.

    Raises:
      PlacementError: the slice has no such axis, or the axis does not divide the shape.
    """
    s = session()
    spec = jax.sharding.PartitionSpec() if spec is None else spec
    if isinstance(spec, str):
        spec = jax.sharding.PartitionSpec(spec)
    with one_call(s.frontend, "shard"):
        return jax.tree.map(lambda leaf: _shard(s, _array(leaf), spec, _slice_for(s, slice, leaf)), x)


def _array(x: Any) -> Any:
    """An array as it is, anything else as NumPy makes one of it."""
    return x if isinstance(x, (jax.Array, np.ndarray)) else np.asarray(x)


def _slice_for(s: Session, slice: Where | None, x: Any) -> VirtualSlice:
    from .lazy.ops import current_slice

    if slice is not None:
        return s.slices.find(slice)
    here = current_slice()
    if here is not None:
        return s.slices.by_id[here]
    if isinstance(x, LazyTensor) and x.slice is not None:
        return x.slice
    return s.slices.default


def _shard(s: Session, x: Any, spec: Any, where: VirtualSlice) -> Any:
    names, sizes = where.mesh_for(spec)
    size = dict(zip(names, sizes, strict=True))
    if len(spec) > x.ndim:
        raise PlacementError(f"{spec} has {len(spec)} parts, the array {x.dtype}{list(x.shape)} has {x.ndim} axes")
    for axis, part in enumerate(spec):
        cut = 1
        for name in part if isinstance(part, tuple) else (part,) if part is not None else ():
            cut *= size[name]
        if x.shape[axis] % cut:
            raise PlacementError(
                f"axis {axis} of {x.dtype}{list(x.shape)} cannot be cut into {cut} equal parts over slice "
                f"{where.name!r}; pad it to a multiple of {cut}, or leave that axis whole"
            )
    return transfer_p.bind(x, slice=int(where.id), spec=spec)


def dump(program: str | Scope | None = None, after: str = "assign") -> str:
    """A program as text: a line a node, with slice, type, bytes, and the cell and line that recorded it.

    Args:
      program: its name, or the scope that recorded it; the newest if not given.
      after: the pass after which it is shown: ``prune``, ``place``, ``group``, ``transfer``, ``coalesce``, ``assign``.

    Raises:
      UnknownName: no such program or pass; the nearest name is suggested.
    """
    programs = session().programs
    record = program.program if isinstance(program, Scope) else program
    if record is None:
        names = programs.names()
        record = programs.find(names[0] if names else "")
    return programs.text(record, after)


# --- values -------------------------------------------------------------------------------------------


def fetch(tree: Any, timeout: float | None = None) -> Any:
    """Waits for every tensor in a tree and gives it back with NumPy arrays in their place.

    Args:
      timeout: seconds for all together.

    Raises:
      WaitTimeout: not all were there in time; the program goes on.
      ComputationFailed: one of them failed.
    """
    return jax.tree.map(_to_numpy, _results(tree, "pw.fetch", timeout))


#: What :func:`wait` was given where it was given nothing; None is a tree without tensors.
_EVERYTHING: Any = object()


def wait(tree: Any = _EVERYTHING, timeout: float | None = None) -> Any:
    """Waits until every tensor in a tree is there, and gives the tree back; without one, until all programs have ended.

    Args:
      timeout: seconds for all together.

    Raises:
      WaitTimeout: not all had ended in time; what runs goes on.
      ComputationFailed: a computation of the tree failed; or one of any program, and nobody had been told.
    """
    if tree is not _EVERYTHING:
        _results(tree, "pw.wait", timeout)
        return tree
    held = running()
    if held is not None:
        held.programs.wait(timeout=timeout)
    return None


def _results(tree: Any, reason: str, timeout: float | None) -> Any:
    deadline = None if timeout is None else now() + timeout

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, LazyTensor):
            return leaf
        left = None if deadline is None else max(0.0, deadline - now())
        try:
            return leaf._frontend.values.value(leaf, reason, left)
        except WaitTimeout as error:
            if left != timeout:
                raise WaitTimeout(f"{error} (the timeout of {timeout:g} s is for all tensors together)") from None
            raise

    return jax.tree.map(one, tree, is_leaf=lambda leaf: isinstance(leaf, LazyTensor))


def _to_numpy(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array):
        return leaf
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf  # NumPy has no keys
    return np.asarray(leaf)
