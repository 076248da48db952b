"""What pwlab assumes of JAX's private parts.  Each of these fails with the JAX release that changes one."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pwlab.lazy import _jax


class Probe(_jax.Trace):  # type: ignore[misc]
    """Notes each primitive, and evaluates it."""

    def __init__(self) -> None:
        super().__init__()
        self.requires_low = True
        self.seen: list[tuple[Any, dict[str, Any]]] = []

    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        self.seen.append((primitive, params))
        return _jax.eval_primitive(primitive, args, params)

    def stage_value(self, val: Any) -> Any:
        return val


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.mark.parametrize(
    "name",
    [name for name, value in vars(_jax).items() if not name.startswith("__") and not inspect.ismodule(value)],
)
def test_every_name_is_there(name: str) -> None:
    assert getattr(_jax, name) is not None


def test_a_trace_gets_each_primitive_that_jax_binds(probe: Probe) -> None:
    with _jax.set_current_trace(probe):
        assert _jax.current_trace() is probe
        jax.lax.sin(np.float32(1))
        jax.jit(lambda a: a * 2)(jnp.ones(3))
    assert _jax.current_trace() is _jax.eval_trace
    names = [p.name for p, _ in probe.seen]
    assert "sin" in names
    assert names[-1] == "jit"


def test_a_trace_can_be_installed_for_the_thread(probe: Probe) -> None:
    before = _jax.current_trace()
    _jax.install_trace(probe)
    try:
        jax.lax.cos(np.float32(1))
    finally:
        _jax.install_trace(before)
    assert [p.name for p, _ in probe.seen] == ["cos"]


def test_a_jit_is_bound_with_its_jaxpr_name_and_donation(probe: Probe) -> None:
    def mine(a: Any) -> Any:
        return a * 2

    with _jax.set_current_trace(probe):
        jax.jit(mine, donate_argnums=0)(jnp.ones(3))
    primitive, params = probe.seen[-1]
    assert primitive is _jax.jit_p
    assert params["name"] == "mine"
    assert params["donated_invars"] == (True,)
    assert _jax.is_jaxpr(params["jaxpr"])
    assert _jax.defined_at(params["jaxpr"]) == __file__


def test_a_jit_of_jax_is_defined_in_jax(probe: Probe) -> None:
    with _jax.set_current_trace(probe):
        jnp.where(jnp.ones(3) > 0, 1, 2)
        jnp.clip(jnp.ones(3), 0, 1)
    places = {_jax.defined_at(p["jaxpr"]) for primitive, p in probe.seen if primitive is _jax.jit_p}
    assert places
    assert all("jax" in place and place != __file__ for place in places)


def test_a_slice_with_constant_bounds_is_bound_with_them(probe: Probe) -> None:
    x = jnp.arange(8.0)
    with _jax.set_current_trace(probe):
        x[2:4]
    params = next(params for primitive, params in probe.seen if primitive is _jax.slice_p)
    assert set(params) == {"start_indices", "limit_indices", "strides"}
    assert (params["start_indices"], params["limit_indices"], params["strides"]) == ((2,), (4,), None)
    [piece] = [_jax.eval_primitive(_jax.dynamic_slice_p, [x, np.int32(2)], {"slice_sizes": (2,)})]
    assert piece.tolist() == [2, 3]


def test_custom_rules_come_as_functions_to_call() -> None:
    calls: list[str] = []

    class Custom(Probe):
        def process_custom_jvp_call(
            self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: Any
        ) -> Any:
            calls.append("jvp")
            with _jax.set_current_trace(_jax.eval_trace):
                return fun.call_wrapped(*tracers)

        def process_custom_vjp_call(
            self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **_: Any
        ) -> Any:
            calls.append("vjp")
            with _jax.set_current_trace(_jax.eval_trace):
                return fun.call_wrapped(*tracers)

    @jax.custom_jvp
    def f(x: Any) -> Any:
        return x * 2

    f.defjvp(lambda p, t: (f(*p), t[0]))

    @jax.custom_vjp
    def g(x: Any) -> Any:
        return x * 3

    g.defvjp(lambda x: (g(x), None), lambda _, ct: (ct,))
    with _jax.set_current_trace(Custom()):
        assert (float(f(1.0)), float(g(1.0))) == (2, 3)
    assert calls == ["jvp", "vjp"]


def test_the_eval_trace_asks_a_tracer_to_lower_itself(probe: Probe) -> None:
    class Asked(_jax.Tracer):  # type: ignore[misc]
        __slots__ = ()

        def __init__(self) -> None:
            self._trace = probe
            self.aval = _jax.typeof(jnp.ones(3))

        def full_lower(self) -> Any:
            return jnp.arange(3.0)

    assert (Asked() + 1).tolist() == [1, 2, 3]
    assert _jax.full_lower(Asked()).tolist() == [0, 1, 2]
    assert isinstance(Asked(), jax.Array)
    assert _jax.typeof(Asked()).shape == (3,)


def test_concreteness_is_asked_from_the_functions_we_know() -> None:
    from jax._src import core

    asked: list[Any] = []

    class Asked(_jax.Tracer):  # type: ignore[misc]
        __slots__ = ()

        def __init__(self, value: Any) -> None:
            self._trace = _jax.eval_trace
            self.aval = _jax.typeof(value)

        def to_concrete_value(self) -> Any:
            import sys

            frame = sys._getframe(1)
            asking = frame.f_back and frame.f_back.f_back
            asked.append((frame.f_code, asking and asking.f_code))
            raise LookupError

    with pytest.raises(LookupError):
        core.concrete_or_error(int, Asked(jnp.asarray(3)))
    assert asked.pop()[0] is _jax.CONCRETE_OR_ERROR_CODE
    with pytest.raises(LookupError):
        jnp.ones(3)[Asked(jnp.ones(3, bool))]
    assert asked.pop()[1] in _jax.INDEX_CODES
    with pytest.raises(LookupError):
        jnp.ones(3)[: Asked(jnp.asarray(2))]
    assert asked.pop()[1] in _jax.INDEX_CODES


def test_the_context_tells_settings_apart() -> None:
    plain = _jax.trace_context()
    assert hash(plain) == hash(_jax.trace_context())
    with jax.enable_x64(True):
        assert _jax.trace_context() != plain
        assert _jax.x64_enabled()
    with jax.default_matmul_precision("highest"):
        assert _jax.trace_context() != plain
    from jax.experimental.xla_metadata import set_xla_metadata

    with set_xla_metadata(some_key=3):
        assert _jax.trace_context() != plain
        assert int(_jax.xla_metadata_value("some_key")) == 3
        assert _jax.xla_metadata_value("another") is None
    assert _jax.xla_metadata_value("some_key") is None


def test_the_equation_context_can_be_entered_again() -> None:
    from jax.experimental.xla_metadata import set_xla_metadata

    with set_xla_metadata(some_key=3):
        context = _jax.equation_context()
    with _jax.reenter(context, False):
        assert int(_jax.xla_metadata_value("some_key")) == 3
    with _jax.reenter(context, True):
        assert _jax.x64_enabled()
    assert not _jax.x64_enabled()


def test_the_backward_pass_runs_in_the_context_of_its_primal(probe: Probe) -> None:
    from jax.experimental.xla_metadata import set_xla_metadata

    seen: list[tuple[str, Any]] = []

    class Where(Probe):
        def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
            seen.append((primitive.name, _jax.xla_metadata_value("some_key")))
            return super().process_primitive(primitive, args, params)

    def loss(x: Any) -> Any:
        with set_xla_metadata(some_key=3):
            y = jnp.sin(x)
        return y * 2

    with _jax.set_current_trace(Where()):
        jax.grad(loss)(jnp.float32(1))
    assert [value is not None and int(value) for _, value in seen].count(3) >= 2  # forward and backward
    assert seen[-1][1] is not None  # the cotangent of the sine comes last


def test_meshes_in_force() -> None:
    assert _jax.concrete_mesh() is None
    mesh = jax.make_mesh((2,), ("d",), devices=jax.devices()[:2], axis_types=(jax.sharding.AxisType.Auto,))
    with jax.set_mesh(mesh):
        assert _jax.concrete_mesh() == mesh
        assert _jax.context_mesh(_jax.equation_context()) is not None
    assert _jax.context_mesh(_jax.equation_context()) is None


def test_types() -> None:
    ref = jax.new_ref(jnp.ones((2, 3)))
    aval = _jax.typeof(ref)
    assert _jax.is_ref_aval(aval)
    assert not _jax.is_array_aval(aval)
    assert (_jax.dim_bytes(aval), _jax.short_dtype(aval)) == (24, "Ref{f32}")
    key = _jax.typeof(jax.random.key(0))
    assert (_jax.dim_bytes(key), _jax.short_dtype(key)) == (8, "key<fry>")
    plain = _jax.typeof(jnp.ones((4, 2), jnp.bfloat16))
    assert _jax.is_array_aval(plain)
    assert (_jax.dim_bytes(plain), _jax.short_dtype(plain)) == (16, "bf16")
    weak = _jax.weak_cast(jnp.float32(2), np.dtype("float32"))
    assert weak.weak_type
    assert _jax.abstract_eval(jax.lax.sin_p, [plain], {"accuracy": None})[0].shape == (4, 2)


def test_jaxprs_are_open_or_closed() -> None:
    closed = jax.make_jaxpr(lambda x: x * 2.0 + np.arange(3.0, dtype=np.float32))(jnp.ones(3))
    assert _jax.is_jaxpr(closed)
    inner, consts = _jax.closed(closed)
    assert _jax.is_jaxpr(inner)
    assert all(hasattr(inner, name) for name in ("eqns", "invars", "outvars", "constvars"))
    assert any(_jax.is_literal(v) for eqn in inner.eqns for v in eqn.invars)
    assert isinstance(list(consts), list)


def test_small_host_arrays_may_come_as_typed_arrays() -> None:
    assert _jax.TypedNdArray.__name__ == "TypedNdArray"


def test_device_put_and_device_get_go_through_what_is_hooked() -> None:
    assert "_batched_device_put_impl" in inspect.getsource(jax.device_put)
    assert "_device_get" in inspect.getsource(jax.device_get)
