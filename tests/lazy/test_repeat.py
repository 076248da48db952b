"""Calls that were recorded before go straight to the record, and mean what ``jax.jit`` means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pwlab as pw
from pwlab.lazy.repeat import Repeatable


class Counted:
    """A jitted function that counts how often JAX was asked what to bind."""

    def __init__(self, f: Callable[..., Any], **options: Any):
        self._jitted = jax.jit(f, **options)
        self.asked = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        return self._jitted(*args, **kwargs)


def test_the_second_call_with_the_same_types_asks_jax_nothing(session: pw.Session) -> None:
    jitted = Counted(lambda x, y: (x + y, {"less": x - y}))
    f = Repeatable(jitted)
    with pw.lazy():
        x, y = jnp.ones(3) * 2, jnp.ones(3)
        for _ in range(5):
            x, less = f(x, y)
    assert jitted.asked == 1
    np.testing.assert_array_equal(pw.fetch(x), [7.0] * 3)
    np.testing.assert_array_equal(pw.fetch(less["less"]), [5.0] * 3)


def test_other_types_trees_and_settings_ask_again(session: pw.Session) -> None:
    jitted = Counted(lambda tree: jax.tree.map(lambda x: x @ x, tree))
    f = Repeatable(jitted)
    with pw.lazy():
        x = jnp.ones((4, 4)) * 1.0
        f([x])
        f([x, x])
        f({"a": x})
        f([x.astype(jnp.float16)])
        with jax.default_matmul_precision("float32"):
            f([x])
        with pw.on(session.slices.default):
            f([x])
        assert jitted.asked == 6
        f([x])
        f({"a": x})
    assert jitted.asked == 6


def test_the_slice_of_each_call_counts(session: pw.Session) -> None:
    one, other = (session.add_slice(2, island=i, name=f"s{i}") for i in (0, 1))
    f = Repeatable(jax.jit(lambda x: x + 1))
    with pw.lazy():
        x = jnp.zeros(2) * 1.0
        results = []
        for where in (one, other, one, other):
            with pw.on(where):
                results.append(f(x))
    assert [r.slice.name for r in results] == ["s0", "s1", "s0", "s1"]
    np.testing.assert_array_equal(pw.fetch(results), [[1.0, 1.0]] * 4)


def test_numbers_arrays_and_static_arguments_are_looked_up_each_time(session: pw.Session) -> None:
    jitted = Counted(lambda x, power, y: x**power + y, static_argnums=1)
    f = Repeatable(jitted)
    with pw.lazy():
        x = jnp.ones(2) * 3
        results = [f(x, 2, 1.0), f(x, 3, 1.0), f(x, 2, np.float32(5))]
    assert jitted.asked == 3
    np.testing.assert_array_equal(pw.fetch(results), [[10.0] * 2, [28.0] * 2, [14.0] * 2])


def test_a_value_that_the_function_closes_over_is_bound_each_time(session: pw.Session) -> None:
    with pw.lazy():
        z = jnp.ones(2) * 4
        jitted = Counted(lambda x: x * z)
        f = Repeatable(jitted)
        x = f(f(f(jnp.ones(2) * 1.0)))
    assert jitted.asked == 3
    np.testing.assert_array_equal(pw.fetch(x), [64.0] * 2)


def test_results_that_are_no_results_of_the_operation_are_not_remembered(session: pw.Session) -> None:
    jitted = Counted(lambda x: (x, 7, x + 1))
    f = Repeatable(jitted)
    with pw.lazy():
        x = jnp.ones(2) * 1.0
        for _ in range(3):
            same, seven, more = f(x)
    assert int(seven) == 7
    np.testing.assert_array_equal(pw.fetch([same, more]), [[1.0] * 2, [2.0] * 2])


def test_donated_arguments_are_gone_also_the_second_time(session: pw.Session) -> None:
    f = pw.jit(lambda x: x + 1, donate_argnums=0)
    with pw.lazy():
        a = jnp.zeros(2) * 1.0
        b = f(a)
        c = f(b)
        with pytest.raises(pw.errors.BufferReleased, match="donated to"):
            b + 1
    np.testing.assert_array_equal(pw.fetch(c), [2.0, 2.0])


def test_under_a_transformation_nothing_is_recorded_past_it(session: pw.Session) -> None:
    f = pw.jit(lambda x, w: jnp.sum(jnp.sin(x) * w))
    with pw.lazy():
        x, w = jnp.ones(3) * 2, jnp.ones(3) * 3
        for _ in range(2):
            f(x, w)
            gradient = jax.grad(f)(x, w)
            mapped = jax.vmap(lambda row: f(row, w))(jnp.stack([x, x]))
            inside = jax.jit(lambda y: y + f(x, w))(jnp.ones(()) * 1.0)  # x and w are this scope's, the trace is not
    np.testing.assert_allclose(pw.fetch(gradient), 3 * np.cos([2.0] * 3), rtol=1e-6)
    np.testing.assert_allclose(pw.fetch(mapped), [9 * np.sin(2.0)] * 2, rtol=1e-6)
    np.testing.assert_allclose(pw.fetch(inside), 1 + 9 * np.sin(2.0), rtol=1e-6)


def test_a_new_session_has_operations_of_its_own() -> None:
    f = pw.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
    try:
        for devices in (4, 2):
            pw.start(islands=1, devices_per_island=devices)
            with pw.lazy():
                x: Any = np.ones(devices, np.float32)
                for _ in range(3):
                    x = f(x)
            np.testing.assert_array_equal(pw.fetch(x), [devices**3.0] * devices)
            pw.shutdown()
    finally:
        pw.shutdown()


def test_the_line_of_each_call_is_kept(session: pw.Session) -> None:
    f = pw.jit(lambda x: x + 1)
    with pw.lazy():
        x = jnp.zeros(()) * 1.0
        a = f(x)
        b = f(x)
    assert b.source.line == a.source.line + 1


def test_a_loop_of_repeated_calls_is_cut_into_windows(session: pw.Session) -> None:
    f = pw.jit(lambda x: x + 1)
    with pw.lazy() as scope:
        x = jnp.zeros(()) * 1.0
        for _ in range(1000):
            x = f(x)
    assert float(x) == 1000
    assert scope.program is not None
    assert scope.program.nodes >= 4  # windows of 256 operations at most
    assert len(scope.program.plans) <= 4  # the first turns, full ones, the rest
