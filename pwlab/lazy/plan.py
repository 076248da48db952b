"""From a window to tasks: found again where the structure is known, lowered where it is not.

A :class:`Plan` is what the passes made of a window's structure: its nodes, each with the computation to
run and where its inputs come from.  It holds no values, so every later window of the same structure
reuses it, with other arguments; then nothing is traced, lowered or compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..events import NodeKind
from ..ids import DeviceId, SliceId
from ..ir import Argument, Call, Graph, Limits, Node, OpKind, Program, lower
from ..runtime import Buffer, Computation
from . import _jax
from .ops import Op, tensor_type
from .recorder import Window


class Step:
    """One node of a plan, ready to be instantiated with a window's values.

    ``reads`` are value codes of arrays; ``packs`` are Python scalars, passed as one vector a type.
    """

    __slots__ = ("computation", "kind", "node", "packs", "reads", "spec")

    def __init__(self, node: Node, kind: NodeKind, computation: Computation | None, spec: Any):
        self.node = node
        self.kind = kind
        self.computation = computation
        self.reads: tuple[int, ...] = node.reads
        self.packs: tuple[tuple[Any, tuple[int, ...]], ...] = ()
        self.spec = spec


class Plan:
    """The steps of a window's structure."""

    __slots__ = ("_avals", "_shapes", "program", "steps")

    def __init__(self, program: Program, steps: list[Step], avals: dict[int, Any]):
        self.program = program
        self.steps = steps
        self._avals = avals
        self._shapes: dict[int, str] = {}

    def shape(self, value: int) -> str:
        """What people write for a value that a step writes, ``f32[8,128]``; made once a plan."""
        text = self._shapes.get(value)
        if text is None:
            aval = self._avals[value]
            text = self._shapes[value] = "" if aval is None else str(tensor_type(aval))
        return text

    def aval(self, value: int) -> Any:
        """The JAX type of a value that a step writes."""
        return self._avals[value]


class Planner:
    """Makes plans and keeps them by structure.

    Args:
      home: the slice and spread of a concrete array.
      slices: those that there are.
    """

    def __init__(self, home: Callable[[jax.Array], tuple[SliceId | None, bool]], slices: Container[SliceId]):
        self._home = home
        self._slices = slices
        self._plans: dict[Hashable, Plan] = {}
        self._computations: dict[Hashable, Computation] = {}
        #: Plans made, that is, structures seen for the first time.
        self.made = 0

    def plan(
        self,
        window: Window,
        live: tuple[int, ...],
        default: SliceId,
        devices: Mapping[SliceId, tuple[DeviceId, ...]],
        limits: Limits,
    ) -> Plan:
        """The plan for a window; made if its structure is new."""
        places = tuple(map(self.placed, window.args))
        key = (
            tuple([(op.id, codes, first) for op, codes, _, first in window.calls]),
            live,
            places,
            default,
            limits,
        )
        plan = self._plans.get(key)
        if plan is None:
            graph = graph_of(window, live, places, default)
            program = lower(graph, devices, limits)
            avals = _avals(program, window)
            plan = Plan(program, [self._step(program, node, window, avals) for node in program.nodes], avals)
            if len(self._plans) > 5000:
                self._plans.clear()
            self._plans[key] = plan
            self.made += 1
        return plan

    def placed(self, value: Any) -> Any:
        """What a plan depends on of an argument beyond its type, which its operation knows."""
        if isinstance(value, Buffer):
            # What lies on a slice that was removed has no home any more.
            home = (value.slice, value.spread) if value.slice in self._slices else (None, False)
            return (*home, value.failure is not None)
        if isinstance(value, jax.Array):
            return (*self._home(value), False)
        return None

    # --- one node ------------------------------------------------------------------------------

    def _step(self, program: Program, node: Node, window: Window, avals: dict[int, Any]) -> Step:
        graph = program.graph
        if node.kind is OpKind.TRANSFER:
            spec = _op(graph, node.calls[0]).spec if node.calls else None
            return Step(node, NodeKind.TRANSFER, None, spec)
        calls = [graph.calls[c] for c in node.calls]
        if node.kind is OpKind.HOST:
            op = _op(graph, node.calls[0])
            step = Step(node, NodeKind.HOST, Computation(op.id, op.name, _host_function(op), ()), None)
            step.reads = tuple(calls[0].inputs)
            # Every result is written, also what nobody wants: the function makes them all at once.
            return step
        arrays, packs = _split_scalars(node, window)
        wiring = _Wiring(arrays, packs, calls, node)
        computation = self._computations.get(wiring.key)
        if computation is None:
            donate = tuple(i for i, v in enumerate(arrays) if node.reads[node.params.index(v)] in node.donates)
            mesh = next((op.mesh_devices for op in wiring.ops if op.mesh_devices), None)
            types = [avals[v] for v in arrays] + [_pack_aval(dtype, n) for dtype, n in wiring.packed]
            computation = Computation(wiring.key, node.name, wiring.function(), types, donate, mesh)
            if len(self._computations) > 5000:
                self._computations.clear()
            self._computations[wiring.key] = computation
        step = Step(node, NodeKind.COMPUTE, computation, None)
        fetch = dict(zip(node.params, node.reads, strict=True))
        step.reads = tuple(fetch[v] for v in arrays)
        step.packs = packs
        return step


def graph_of(window: Window, live: Sequence[int], places: Sequence[Any], default: SliceId) -> Graph:
    """A window as a graph for the passes."""
    calls = [Call(op, codes, first, at) for at, (op, codes, _, first) in enumerate(window.calls)]
    arguments = tuple(
        Argument(_argument_type(value), slice, spread, failed)
        for value, (slice, spread, failed) in zip(window.args, (place or _NOWHERE for place in places), strict=True)
    )
    return Graph(tuple(calls), arguments, frozenset(live), default)


def _argument_type(value: Any) -> Any:
    if isinstance(value, Buffer):
        return tensor_type(value.aval)
    try:
        return tensor_type(_jax.typeof(value))
    except TypeError:  # an object of a host call
        return _OBJECT


_OBJECT = tensor_type(None)
#: The place of what has none: no slice, not spread, not failed.
_NOWHERE: tuple[SliceId | None, bool, bool] = (None, False, False)


def _op(graph: Graph, call: int) -> Op:
    op = graph.calls[call].op
    assert isinstance(op, Op)
    return op


def _avals(program: Program, window: Window) -> dict[int, Any]:
    """The JAX type of every value of a program."""
    avals: dict[int, Any] = {}
    for i, arg in enumerate(window.args):
        if isinstance(arg, Buffer):
            avals[~i] = arg.aval
        else:
            try:
                avals[~i] = _jax.typeof(arg)
            except TypeError:
                continue  # an object of a host call
    for op, _, _, first in window.calls:
        avals.update(enumerate(op.out_avals, first))
    for copy, original in program.copies.items():
        avals[copy] = avals[original]
    return avals


def _host_function(op: Op) -> Callable[..., Sequence[Any]]:
    """Runs the operation at once, in plain Python and JAX."""

    def run(*values: Any) -> Sequence[Any]:
        if op.primitive is None:
            return op.params["fn"](*values)
        out = _jax.eval_primitive(op.primitive, values, op.params)
        return list(out) if op.multiple else [out]

    return run


# --- scalars ------------------------------------------------------------------------------------------


def _split_scalars(node: Node, window: Window) -> tuple[tuple[int, ...], tuple[tuple[Any, tuple[int, ...]], ...]]:
    """(arrays, packs): Python numbers travel as one vector a type; one by one they cost more than small kernels."""
    arrays: list[int] = []
    packs: dict[Any, list[int]] = {}
    for v in node.params:
        value = window.args[~v] if v < 0 else None
        if isinstance(value, (bool, int, float, complex)):
            dtype = np.dtype(getattr(value, "dtype", None) or _jax.typeof(value).dtype)
            packs.setdefault((dtype, True), []).append(v)
        elif isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biufc":
            packs.setdefault((_jax.typeof(value).dtype, False), []).append(v)
        else:
            arrays.append(v)
    return tuple(arrays), tuple((k, tuple(vs)) for k, vs in packs.items())


def _pack_aval(dtype: Any, n: int) -> Any:
    return jax.ShapeDtypeStruct((n,), dtype)


def pack(dtype: Any, values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The vector of scalars that a step takes."""
    return np.array(values, dtype=dtype[0])


# --- what a node computes -------------------------------------------------------------------------------


class _Wiring:
    """The operations of one node with their inputs numbered within the node, so that equal nodes are equal."""

    def __init__(
        self,
        arrays: tuple[int, ...],
        packs: tuple[tuple[Any, tuple[int, ...]], ...],
        calls: list[Call],
        node: Node,
    ):
        number: dict[int, int] = {}
        for v in arrays:
            number[v] = len(number)
        for _, vs in packs:
            for v in vs:
                number[v] = len(number)
        self.ops: list[Op] = []
        self._inputs: list[tuple[int, ...]] = []
        self._firsts: list[int] = []
        for call in calls:
            op = call.op
            assert isinstance(op, Op)
            self.ops.append(op)
            self._inputs.append(tuple(number[v] for v in call.inputs))
            self._firsts.append(len(number))
            for v in call.outputs:
                number[v] = len(number)
        self._outputs = tuple(number[v] for v in node.writes)
        self._n_arrays = len(arrays)
        self.packed = [(dtype, len(vs)) for (dtype, _), vs in packs]
        self._weak = [weak for (_, weak), _ in packs]
        donated = tuple(v in node.donates for v in node.reads)
        self.key = (
            tuple(op.id for op in self.ops),
            tuple(self._inputs),
            self._outputs,
            self._n_arrays,
            tuple(self.packed),
            tuple(self._weak),
            donated,
        )

    def function(self) -> Callable[..., list[Any]]:
        ops, inputs, firsts, outputs = self.ops, self._inputs, self._firsts, self._outputs
        n_arrays, packed, weak = self._n_arrays, self.packed, self._weak
        merged = len(ops) > 1

        def run(*values: Any) -> list[Any]:
            env: dict[int, Any] = dict(enumerate(values[:n_arrays]))
            for vector, (dtype, n), is_weak in zip(values[n_arrays:], packed, weak, strict=True):
                for i in range(n):
                    x = vector[i]
                    env[len(env)] = _jax.weak_cast(x, dtype) if is_weak else x
            for op, ins, first in zip(ops, inputs, firsts, strict=True):
                given = [env[k] for k in ins]
                alone = merged and op.kind is OpKind.COMPUTATION
                results = op.bind(_fence(given) if alone else given)
                env.update(enumerate(_fence(results) if alone else results, first))
            return [env[k] for k in outputs]

        return run


def _fence(values: list[Any]) -> list[Any]:
    """The same values, which the compiler may not fuse across.

    A computation of the user's gives the same bits in whatever launch it runs.  Nor is a long chain of small ones fused
    into one kernel that computes each of them many times: that made a launch of 200 six times slower.
    """
    plain = [i for i, v in enumerate(values) if not jax.dtypes.issubdtype(v.dtype, jax.dtypes.extended)]
    fenced = jax.lax.optimization_barrier([values[i] for i in plain])
    out = list(values)
    for i, v in zip(plain, fenced, strict=True):
        out[i] = v
    return out


def limits_of(config: Any) -> Limits:
    """The passes' limits from the session's settings."""
    return Limits(coalesce_us=config.coalesce_ms * 1e3)
