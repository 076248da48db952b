"""Operations, interned: what the recorder puts down for each primitive that JAX binds.

Recording must cost little more than JAX itself, so everything that can be known of an
operation, its output types, its name, who defined it, what it costs, is worked out once and kept in
an :class:`Op`; the recorder finds it again by one dictionary lookup.
"""

from __future__ import annotations

import os
import sysconfig
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax

from ..errors import PlacementError
from ..ids import SliceId
from ..ir import OpKind, TensorType
from . import _jax
from .cost import estimate
from .keys import params_key

#: The key under which ``pw.on`` puts the slice into JAX's equation context.
SLICE_KEY = "pwlab_slice"

#: How many lookups by value are kept; the table is emptied when it is full, and fills again.
_KEEP = 20_000
_KEEP_RETRACED = 500

_LIBRARY_PATHS = tuple(
    {
        os.path.realpath(p) + os.sep
        for p in (
            sysconfig.get_path("purelib"),
            sysconfig.get_path("platlib"),
            sysconfig.get_path("stdlib"),
            os.path.dirname(os.path.dirname(jax.__file__)),
            os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        )
        if p
    }
)

#: Primitives that call back into Python.
_CALLBACKS = frozenset({"pure_callback", "io_callback", "debug_callback", "debug_print"})


class Op:
    """One operation with its parameters, types and context.  See :class:`pwlab.ir.Op`."""

    __slots__ = (
        "context",
        "cost_us",
        "donates",
        "id",
        "kind",
        "mesh_devices",
        "multiple",
        "name",
        "ordered",
        "out_avals",
        "params",
        "primitive",
        "results",
        "size",
        "slice",
        "spec",
        "spread",
        "x64",
    )

    def __init__(self, id: int, name: str, kind: OpKind, out_avals: Sequence[Any]):
        self.id = id
        self.name = name
        self.kind = kind
        self.out_avals = tuple(out_avals)
        self.results = tuple(tensor_type(a) for a in out_avals)
        self.multiple = True
        self.primitive: Any = None
        self.params: dict[str, Any] = {}
        self.context: Any = None
        self.x64 = False
        self.slice: SliceId | None = None
        self.spread = False
        self.ordered = False
        self.cost_us = 0.0
        self.size = 1
        self.donates: tuple[int, ...] = ()
        #: The physical devices that its own mesh names, if it names any.
        self.mesh_devices: tuple[Any, ...] | None = None
        #: For a transfer: the PartitionSpec that its result shall have on the slice.
        self.spec: Any = None

    def __repr__(self) -> str:
        return f"Op({self.id}, {self.name}, {self.kind})"

    def bind(self, args: Sequence[Any]) -> list[Any]:
        """Applies the operation to JAX values, traced or not, as it was recorded."""
        with _jax.reenter(self.context, self.x64):
            if self.primitive is _jax.jit_p:
                out = _jax.jit_p.bind(*args, **{**self.params, "donated_invars": (False,) * len(args)})
            else:
                out = self.primitive.bind(*args, **self.params)
        return list(out) if self.multiple else [out]


def tensor_type(aval: Any) -> TensorType:
    return TensorType(tuple(getattr(aval, "shape", ())), _jax.short_dtype(aval), _jax.dim_bytes(aval))


class OpTable:
    """Finds or makes the :class:`Op` of a primitive.  One a session; used under the recorder's lock.

    Args:
      slice_of: the slice that a physical device stands for.
    """

    def __init__(self, slice_of: Callable[[Any], SliceId]) -> None:
        self._slice_of = slice_of
        self.by_value: dict[Hashable, Op] = {}
        self._retraced: deque[Hashable] = deque()
        self._by_structure: dict[Hashable, Op] = {}
        self._avals: dict[Any, Any] = {}
        self._next = 0

    def intern(self, aval: Any) -> Any:
        """The one object that stands for all types equal to ``aval``; so types compare by ``id``."""
        known = self._avals.get(aval)
        if known is None:
            known = self._avals[aval] = aval
        return known

    def make(
        self,
        by_value: Hashable | None,
        primitive: Any,
        avals: Sequence[Any],
        params: dict[str, Any],
        context: Hashable,
    ) -> Op:
        """The slow path: looked up by structure, else made.

        ``avals`` are the input types.  ``by_value`` is the key that missed, or None if it cannot be hashed.
        """
        out, effects = _jax.abstract_eval(primitive, avals, params)
        outs = list(out) if primitive.multiple_results else [out]
        key = (
            primitive,
            tuple((str(a), getattr(a, "weak_type", False), getattr(a, "sharding", None)) for a in avals),
            params_key(params),
            context,
        )
        op = self._by_structure.get(key)
        again = op is not None
        if op is None:
            op = self._new(primitive, avals, outs, effects, params)
            if len(self._by_structure) >= _KEEP:
                self._by_structure.clear()
            self._by_structure[key] = op
        if by_value is not None:
            self._remember(by_value, op, again)
        return op

    def _remember(self, by_value: Hashable, op: Op, again: bool) -> None:
        """Keeps a lookup by value.

        One whose structure was known already names a jaxpr traced anew, which may never be seen again: of those only
        the last few are kept, as each holds its jaxpr.
        """
        if len(self.by_value) >= _KEEP:
            self.by_value.clear()
            self._retraced.clear()
        if again:
            self._retraced.append(by_value)
            if len(self._retraced) > _KEEP_RETRACED:
                self.by_value.pop(self._retraced.popleft(), None)
        self.by_value[by_value] = op

    def special(
        self, key: Hashable, name: str, kind: OpKind, out_avals: Sequence[Any], fill: Callable[[Op], None]
    ) -> Op:
        """An operation that is no JAX primitive (host call, AOT-compiled function)."""
        op = self._by_structure.get(key)
        if op is None:
            op = Op(self._id(), name, kind, [self.intern(a) for a in out_avals])
            op.context, op.x64 = _jax.equation_context(), _jax.x64_enabled()
            op.slice = current_slice()
            fill(op)
            self._by_structure[key] = op
        return op

    def _id(self) -> int:
        self._next += 1
        return self._next

    def _new(
        self, primitive: Any, avals: Sequence[Any], outs: Sequence[Any], effects: Any, params: dict[str, Any]
    ) -> Op:
        kind, name = _classify(primitive, avals, outs, effects, params)
        op = Op(self._id(), name, kind, [self.intern(a) for a in outs])
        op.primitive = primitive
        op.params = params
        op.multiple = primitive.multiple_results
        op.context, op.x64 = _jax.equation_context(), _jax.x64_enabled()
        op.slice = current_slice()
        device = _jax.default_device()
        if op.slice is None and device is not None:
            op.slice = self._slice_of(device)
        touches_ref = any(map(_jax.is_ref_aval, (*avals, *outs)))  # freezing one has no other effect than its end
        op.ordered = bool(effects) and (touches_ref or not _only_unobservable(effects))
        op.cost_us, op.size = estimate(primitive.name, avals, outs, params)
        op.donates = tuple(i for i, d in enumerate(params.get("donated_invars", ())) if d)
        meshes = _meshes(params)
        in_force = _jax.concrete_mesh()
        if in_force is not None:
            meshes.append(in_force)
        for mesh in meshes:
            op.spread = True
            if isinstance(mesh, jax.sharding.Mesh):
                op.mesh_devices = tuple(mesh.devices.flat)
                homes = {self._slice_of(d) for d in op.mesh_devices}
                if len(homes) > 1:
                    ids = ", ".join(str(d.id) for d in op.mesh_devices)
                    raise PlacementError(
                        f"`{name}` has a mesh of devices {ids}, which are of several islands, and a computation runs "
                        "on one; use slice.mesh(...) with pw.on(slice), and let values move between slices"
                    )
                if op.slice is None:
                    [op.slice] = homes
        if primitive is transfer_p:
            op.slice, op.spec = SliceId(params["slice"]), params["spec"]
            op.spread = params["spec"] is not None
        return op


def current_slice() -> SliceId | None:
    """The slice that ``pw.on`` put into the equation context."""
    value = _jax.xla_metadata_value(SLICE_KEY)
    return None if value is None else SliceId(int(value))


def _classify(
    primitive: Any, avals: Sequence[Any], outs: Sequence[Any], effects: Any, params: dict[str, Any]
) -> tuple[OpKind, str]:
    if primitive is transfer_p:
        return OpKind.TRANSFER, "shard" if params["spec"] is not None else "transfer"
    if primitive.name in _CALLBACKS:
        return OpKind.HOST, primitive.name
    if any(map(_jax.is_ref_aval, (*avals, *outs))):
        return OpKind.HOST, params.get("name", primitive.name) or primitive.name
    if primitive is _jax.jit_p:
        if _is_users(params["jaxpr"]):
            return OpKind.COMPUTATION, params["name"]
        return OpKind.PRIMITIVE, params["name"].lstrip("_")
    if effects and not _only_unobservable(effects):
        return OpKind.COMPUTATION, primitive.name
    return OpKind.PRIMITIVE, primitive.name


def _is_users(jaxpr: Any) -> bool:
    """Whether the jitted function was written by the user, not by JAX or an installed library."""
    path = _jax.defined_at(jaxpr)
    return bool(path) and not os.path.realpath(path).startswith(_LIBRARY_PATHS)


def _only_unobservable(effects: Any) -> bool:
    """Effects that only matter to JAX's own bookkeeping of references made and dropped inside."""
    return all(type(e).__name__ in ("InternalMutableArrayEffect", "NamedAxisEffect") for e in effects)


def _meshes(params: dict[str, Any]) -> list[Any]:
    """Meshes that an operation names, in its shardings or deeper in its jaxprs."""
    found: list[Any] = []

    def visit(value: Any) -> None:
        if _jax.is_jaxpr(value):
            for eqn in _jax.closed(value)[0].eqns:
                for inner in eqn.params.values():
                    visit(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                visit(inner)
        elif isinstance(value, jax.sharding.NamedSharding):
            visit(value.mesh)
        elif isinstance(value, (jax.sharding.Mesh, jax.sharding.AbstractMesh)) and not value.empty:
            found.append(value)

    for value in params.values():
        visit(value)
    return found


# --- moving between slices ---------------------------------------------------------------------

transfer_p = _jax.Primitive("pwlab_transfer")


def _transfer_impl(x: Any, **_: Any) -> Any:
    raise ValueError(
        "pw.shard moves a value to a slice of a session, so it works inside a pathways cell or `with pw.lazy():`"
    )


transfer_p.def_impl(_transfer_impl)
transfer_p.def_abstract_eval(lambda aval, **_: aval)


def _install_transfer_rules() -> None:
    """Transfers are linear: their derivative moves the tangent, their transpose the cotangent."""
    from jax.interpreters import ad, batching, mlir

    def transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
        return [ct]

    def batch(args: Any, dims: Any, *, slice: int, spec: Any) -> Any:
        (x,), (d,) = args, dims
        if spec is not None and d is not None:
            parts = list(spec) + [None] * (x.ndim - 1 - len(spec))
            parts.insert(d, None)
            spec = jax.sharding.PartitionSpec(*parts)
        return transfer_p.bind(x, slice=slice, spec=spec), d

    ad.deflinear2(transfer_p, transpose)
    batching.primitive_batchers[transfer_p] = batch
    # Inside a computation the data is where the computation runs already.
    mlir.register_lowering(transfer_p, lambda ctx, x, **_: [x])


_install_transfer_rules()

__all__ = ["Op", "OpTable", "current_slice", "tensor_type", "transfer_p"]
