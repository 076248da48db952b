"""The same structure is planned and compiled once; what differs in what matters is not confused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pwlab as pw
from pwlab.events import NodeAdded
from pwlab.lazy.keys import ById, params_key, structure


def counts(session: pw.Session) -> tuple[int, int]:
    return session.frontend.planner.made, session.backend.compilations


BASE = jnp.arange(256.0)


@jax.jit
def scaled(x: Any, k: Any) -> Any:
    return x * k


def step(x: Any, rate: Any) -> Any:
    grads = jax.grad(lambda w: (jnp.tanh(w) ** 2).sum())(x)
    return x - rate * grads


#: name → a cell; called with 0, 1, 2 it must have one structure.
SAME: dict[str, Callable[[int], Any]] = {
    "again": lambda i: jnp.sin(BASE) + 1,
    "python float": lambda i: step(BASE, 0.1 / (i + 1)),
    "python int": lambda i: BASE * (i + 2),
    "python bool": lambda i: BASE * (i > 0),
    "python complex": lambda i: BASE * complex(i, 1),
    "numpy scalar": lambda i: BASE * np.float32(i),
    "other array": lambda i: jnp.full(256, float(i)) + BASE,
    "numpy array": lambda i: BASE + np.full(256, i, np.float32),
    "slice": lambda i: BASE[i * 64 : (i + 1) * 64] * 2,
    "slice of rows": lambda i: BASE.reshape(16, 16)[i * 4 : (i + 1) * 4, :],
    "index": lambda i: BASE[i] + 1,
    "at": lambda i: BASE.at[i].set(i * 1.5),
    "jit with scalar": lambda i: scaled(BASE, 0.5 * i),
    "new lambda": lambda i: jax.jit(lambda a: jnp.cos(a) * 2)(BASE),
    "new closure over a tensor": lambda i: (lambda y: jax.jit(lambda a: a + y)(BASE))(BASE * i),
    "grad of new lambda": lambda i: jax.grad(lambda a: (a**3).sum() * 0.5)(BASE),
    "scan": lambda i: jax.lax.scan(lambda c, x: (c + x, c), 0.0, BASE)[0] + i,
    "vmap": lambda i: jax.vmap(lambda r: r @ r)(BASE.reshape(16, 16)) * i,
    "custom_jvp": lambda i: jax.nn.relu(BASE - i),
    "key": lambda i: jax.random.normal(jax.random.key(i), (3,)),
    "fold_in": lambda i: jax.random.key_data(jax.random.fold_in(jax.random.key(0), i)),
    "cond of new lambdas": lambda i: jax.lax.cond(BASE.sum() > i, lambda: BASE, lambda: -BASE),
    "einsum": lambda i: jnp.einsum("i,i->", BASE, BASE * i),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_equal_structures_are_planned_and_compiled_once(session: pw.Session, name: str) -> None:
    def cell(i: int) -> Any:
        with pw.lazy():
            y = SAME[name](i)
        return jax.block_until_ready(y)

    jax.tree.map(np.testing.assert_allclose, pw.fetch(cell(0)), expected(name, 0))
    first = counts(session)
    for i in (1, 2, 1):
        got = pw.fetch(cell(i))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), got, expected(name, i))
    assert counts(session) == first


def expected(name: str, i: int) -> Any:
    return jax.tree.map(np.asarray, SAME[name](i))


TABLES = [jnp.zeros(256), jnp.ones(256)]

#: name → a cell; called with 0 and 1 it has two structures.
DIFFERENT: dict[str, Callable[[int], Any]] = {
    "operation": lambda i: [jnp.sin, jnp.cos][i](BASE),
    "one more": lambda i: jnp.sin(BASE) + 1 if i else jnp.sin(BASE),
    "shape": lambda i: BASE[: 64 + i] * 1,
    "dtype": lambda i: jnp.arange(4).astype([jnp.float32, jnp.int32][i]) * 2,
    "scalar's type": lambda i: jnp.arange(4) * [2, 2.5][i],
    "weak type": lambda i: jnp.asarray([np.float32(2), 2.0][i]) * jnp.arange(3).astype(jnp.bfloat16),
    "parameter": lambda i: BASE.reshape(16, 16).sum(axis=i),
    "python constant in a jit": lambda i: jax.jit(lambda a: a * (i + 2.5))(BASE),
    "numpy constant in a jit": lambda i: jax.jit(lambda a: a + np.full(256, i, np.float32))(BASE),
    "array constant in a jit": lambda i: jax.jit(lambda a: a + TABLES[i])(BASE),
    "small numpy constant in a jit": lambda i: jax.jit(lambda a: a[:2] + np.array([i, 1], np.float32))(BASE),
    "callback": lambda i: jax.pure_callback(
        lambda a: np.asarray(a) + i, jax.ShapeDtypeStruct((256,), np.float32), BASE
    ),
    "callback in a jit": lambda i: jax.jit(
        lambda a: jax.pure_callback(lambda v: np.asarray(v) + i, jax.ShapeDtypeStruct((256,), np.float32), a)
    )(BASE),
    "precision": lambda i: jnp.dot(BASE, BASE, precision=["default", "highest"][i]),
    "wiring": lambda i: jnp.sin(BASE) - (jnp.sin(BASE), BASE)[i],
    "live": lambda i: [jnp.sin(BASE), jnp.cos(BASE)][: i + 1],
    "static argument": lambda i: jax.jit(lambda a, n: a * n, static_argnums=1)(BASE, i + 2),
    "key type": lambda i: jax.random.key_data(jax.random.key(0, impl=["threefry2x32", "rbg"][i])),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_not_taken_for_the_same(session: pw.Session, name: str) -> None:
    for i in (0, 1, 0):
        with pw.lazy():
            y = DIFFERENT[name](i)
        want = DIFFERENT[name](i)
        if name != "static argument":
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), pw.fetch(y), want)
        assert jax.tree.map(jnp.result_type, y) == jax.tree.map(jnp.result_type, want)
    assert session.frontend.planner.made >= 2


def test_mode_and_slice_make_structures_of_their_own(session: pw.Session) -> None:
    def cell(where: str, wide: bool) -> Any:
        with pw.lazy(slice=where), jax.enable_x64(wide):
            return jnp.arange(3) * 2.5 + 1

    made = []
    for where, wide in (
        ("island0", False),
        ("island1", False),
        ("island0", True),
        ("island1", True),
        ("island0", False),
        ("island1", True),
    ):
        y = cell(where, wide)
        assert y.result().dtype == (np.float64 if wide else np.float32)
        assert y.slice.name == where
        made.append(session.frontend.planner.made)
    assert made == [1, 2, 3, 4, 4, 4]


def test_sixty_four_bits_stay_exact(session: pw.Session) -> None:
    with pw.lazy(), jax.enable_x64(True):
        third = jnp.asarray(1.0) / 3 + 1e-12
        big = jnp.asarray(2**40) + 1
    assert float(third) == 1 / 3 + 1e-12
    assert int(big) == 2**40 + 1


def test_the_context_of_an_operation_counts(session: pw.Session) -> None:
    x = jnp.arange(16.0).reshape(4, 4)
    with pw.lazy():
        y = x @ x
        with jax.default_matmul_precision("highest"):
            z = x @ x
    assert y.tolist() == z.tolist()
    ops = {op.id for plan, _, _ in session.frontend.programs[next(reversed(session.frontend.programs))].windows
           for call in plan.program.graph.calls for op in [call.op]}  # fmt: skip
    assert len(ops) >= 2


# --- fingerprints -----------------------------------------------------------------------------------------


def jaxpr_of(f: Callable[..., Any], *args: Any) -> Any:
    return jax.make_jaxpr(f)(*args)


def test_a_function_traced_again_has_the_same_key() -> None:
    def trace() -> Any:
        return jaxpr_of(lambda x: jnp.tanh(x @ x.T).sum() * 2.5, jnp.ones((3, 4)))

    assert structure(trace()) == structure(trace())
    assert hash(structure(trace())) == hash(structure(trace()))


#: pairs of functions of one array whose keys must differ
UNLIKE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "constant": (lambda x: x * 2.0, lambda x: x * 3.0),
    "type of constant": (lambda x: x * 2, lambda x: x * 2.0 + 0),
    "operation": (jnp.sin, jnp.cos),
    "wiring": (lambda x: x - x * 2, lambda x: x * 2 - x),
    "results": (lambda x: (x, x * 2), lambda x: (x * 2, x)),
    "array constant": (lambda x: x + np.arange(3.0, dtype=np.float32), lambda x: x + np.ones(3, np.float32)),
    "inner": (lambda x: jax.jit(jnp.sin)(x), lambda x: jax.jit(jnp.cos)(x)),
    "branch": (
        lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
        lambda x: jax.lax.cond(x[0] > 0, jnp.cos, jnp.sin, x),
    ),
    "callback": (
        lambda x: jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct((3,), np.float32), x),
        lambda x: jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct((3,), np.float32), x),
    ),
    "minus zero": (lambda x: x * 0.0, lambda x: x * -0.0),
    "nan and inf": (lambda x: x * jnp.inf, lambda x: x * jnp.nan),
    "length": (
        lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c + 1, x),
        lambda x: jax.lax.fori_loop(0, 4, lambda i, c: c + 1, x),
    ),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_keys_differ_where_functions_do(name: str) -> None:
    left, right = (jaxpr_of(f, jnp.ones(3)) for f in UNLIKE[name])
    assert structure(left) != structure(right)


def test_derivative_rules_and_descriptions_do_not_count() -> None:
    def traced() -> Any:
        @jax.custom_jvp
        def f(x: Any) -> Any:
            return jnp.sin(x)

        f.defjvp(lambda p, t: (f(*p), t[0]))
        return jaxpr_of(f, 1.0)

    assert structure(traced()) == structure(traced())
    assert params_key({"jvp": 1, "debug_info": 2, "n": 3}) == params_key({"jvp": 4, "debug_info": 5, "n": 3})


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        ([1, 2], [1, 2], True),
        ([1, 2], (1, 2), False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(3.0), False),
        (np.zeros(100), np.zeros(100), False),
        (len, len, True),
        (lambda: 0, lambda: 0, False),
        (jnp.float32, jnp.float32, True),
        (np.dtype("f4"), np.dtype("f4"), True),
    ],
    ids=str,
)
def test_keys_of_parameters(left: Any, right: Any, same: bool) -> None:
    assert (structure(left) == structure(right)) is same


def test_identity_keeps_what_it_names() -> None:
    value = np.zeros(3)
    key = ById(value)
    assert key.value is value
    assert key == ById(value) != ById(value.copy())
    assert key != value


# --- random programs ------------------------------------------------------------------------------------

UNARY = [jnp.sin, jnp.tanh, jnp.negative, lambda a: a.T, lambda a: a.sum(0, keepdims=True) + a, lambda a: a[::-1]]
BINARY = [jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, jnp.matmul, jnp.where]
CALLED = [jax.jit(lambda a, b: jnp.tanh(a) @ b), jax.jit(lambda a, b: (a + b) / 2)]

Steps = list[tuple[int, int, int, int]]


def run_program(steps: Steps, x: Any, slices: list[Any] | None = None) -> list[Any]:
    """Applies each step (operation, left, right, slice) to a growing pool; the results are at most 1 in size."""
    pool = [x, x * 0.5]
    for op, left, right, where in steps:
        a, b = pool[left % len(pool)], pool[right % len(pool)]
        if slices is None:
            pool.append(apply(op, a, b))
        else:
            with pw.on(slices[where % len(slices)]):
                pool.append(apply(op, a, b))
    return pool[-3:]


def apply(op: int, a: Any, b: Any) -> Any:
    functions: list[Any] = [*UNARY, *BINARY, *CALLED]
    op %= len(functions)
    if op < len(UNARY):
        return UNARY[op](a)
    f = functions[op]
    y = f(a > 0, a, b) if f is jnp.where else f(a, b)
    return y / 4 if f is jnp.matmul else y


STEPS = st.lists(st.tuples(*[st.integers(0, 20)] * 4), min_size=1, max_size=12)
QUICKLY = settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICKLY
@given(steps=STEPS)
def test_a_random_program_equals_its_jit_bit_for_bit(session: pw.Session, steps: Steps) -> None:
    x = jnp.linspace(-1, 1, 16).reshape(4, 4)
    with pw.lazy():
        found = run_program(steps, x)
    eager = run_program(steps, x)
    # All numbers are powers of two: as constants of the jit they round as they do as arguments of the record.
    whole = jax.jit(lambda x: run_program(steps, x))(x)
    for a, b, c in zip(pw.fetch(found), whole, eager, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(a, b)


@QUICKLY
@given(steps=STEPS, cut=st.integers(0, 12))
def test_a_random_program_over_cells_and_slices_equals_eager(session: pw.Session, steps: Steps, cut: int) -> None:
    x = jnp.linspace(-1, 1, 16).reshape(4, 4)
    slices = list(session.slices)
    with pw.lazy():
        pool = run_program(steps[:cut], x, slices)
    with pw.lazy("next", slice=slices[-1]):
        found = run_program(steps[cut:], pool[-1], slices)
    eager = run_program(steps[cut:], run_program(steps[:cut], x)[-1])
    for a, b in zip(pw.fetch(found), eager, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_a_group_equals_its_jit_bit_for_bit(session: pw.Session) -> None:
    def chain(x: Any, w: Any, k: Any) -> Any:
        for _ in range(5):
            x = jnp.tanh(x @ w) * k + jnp.exp(-x * x)
        return jax.nn.log_softmax(x), x.sum()

    x, w = jax.random.normal(jax.random.key(0), (8, 8)), jax.random.normal(jax.random.key(1), (8, 8))
    with pw.lazy():
        found = chain(x, w, 0.3)
    for a, b in zip(pw.fetch(found), jax.jit(chain)(x, w, 0.3), strict=True):
        assert a.tobytes() == np.asarray(b).tobytes()


def test_the_shape_of_a_value_is_written_once_a_plan(session: pw.Session) -> None:
    before = session.ring.last
    for _ in range(3):
        with pw.lazy("shapes"):
            x = scaled(BASE, 2.0)
        pw.wait(x)
    added = [f.node for f in session.ring.after(before).facts if isinstance(f, NodeAdded)]
    shapes = [output.shape for node in added for output in node.outputs]
    assert shapes == ["f32[256]"] * 3 and len({id(shape) for shape in shapes}) == 1
