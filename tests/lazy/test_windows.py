"""Windows: a long cell runs while it records, cut where a loop turns, so that few structures are compiled."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from harness import sizes, waits

import pwlab as pw
from pwlab.lazy.scope import Scope

TURNS = 600


@jax.jit
def double_and_halve(x: Any) -> Any:
    return x * 2 / 2 + 1


def in_the_cell() -> tuple[Any, Scope]:
    x = jnp.zeros(4)
    with pw.lazy() as scope:
        for _ in range(TURNS):
            x = double_and_halve(x)
            x = x * 1.0
    return x, scope


def on_one_line() -> tuple[Any, Scope]:
    x = jnp.zeros(4)
    with pw.lazy() as scope:
        for _ in range(TURNS): x = double_and_halve(x)  # fmt: skip # noqa: E701
    return x, scope


def in_a_while_loop() -> tuple[Any, Scope]:
    x, i = jnp.zeros(4), 0
    with pw.lazy() as scope:
        while i < TURNS:
            i += 1
            x = x + 1
            x = double_and_halve(x) - 1
    return x, scope


def called() -> tuple[Any, Scope]:
    def train(x: Any) -> Any:
        for _ in range(TURNS):
            x = double_and_halve(x) * 1.0
        return x

    with pw.lazy() as scope:
        x = train(jnp.zeros(4))
    return x, scope


def called_in_each_turn() -> tuple[Any, Scope]:
    def step(x: Any) -> Any:
        y = double_and_halve(x)
        return y * 1.0

    x = jnp.zeros(4)
    with pw.lazy() as scope:
        for _ in range(TURNS):
            x = step(x)
    return x, scope


def in_a_comprehension() -> tuple[Any, Scope]:
    x = jnp.zeros(4)

    def step(_: int) -> Any:
        nonlocal x
        x = double_and_halve(x) * 1.0
        return None

    with pw.lazy() as scope:
        [step(i) for i in range(TURNS)]
    return x, scope


def in_two_nested_loops() -> tuple[Any, Scope]:
    x = jnp.zeros(4)
    with pw.lazy() as scope:
        for _ in range(TURNS // 20):
            x = x * 1.0
            for _ in range(20):
                x = double_and_halve(x) * 1.0
    return x, scope


def in_a_generator() -> tuple[Any, Scope]:
    def values(x: Any) -> Any:
        for _ in range(TURNS):
            x = double_and_halve(x) * 1.0
            yield x

    with pw.lazy() as scope:
        for x in values(jnp.zeros(4)):  # noqa: B007
            pass
    return x, scope


def in_a_library_function() -> tuple[Any, Scope]:
    import functools

    with pw.lazy() as scope:
        x = functools.reduce(lambda x, _: double_and_halve(x) * 1.0, range(TURNS), jnp.zeros(4))
    return x, scope


LOOPS = [
    in_the_cell,
    on_one_line,
    in_a_while_loop,
    called,
    called_in_each_turn,
    in_a_comprehension,
    in_two_nested_loops,
    in_a_generator,
    in_a_library_function,
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_has_few_structures_and_is_run_again_without_new_ones(
    session: pw.Session, loop: Callable[[], tuple[Any, Scope]]
) -> None:
    x, scope = loop()
    assert scope.program is not None
    assert x.tolist() == [TURNS] * 4
    first = len(scope.program.plans)
    assert first <= 8  # how a loop is cut depends on how fast it turns
    if loop not in (in_a_library_function, in_a_generator):
        assert scope.program.nodes > 1, "it was not cut at all"
    for _ in range(2):  # the size of its windows is found, and kept
        x, scope = loop()
        assert x.tolist() == [TURNS] * 4
    made, compiled = session.frontend.planner.made, session.backend.compilations
    x, scope = loop()
    assert x.tolist() == [TURNS] * 4
    assert (session.frontend.planner.made, session.backend.compilations) == (made, compiled)
    assert not waits(session)[4:]  # of the four tolist() alone


def test_an_equinox_loop_has_at_most_three_structures(session: pw.Session) -> None:
    features = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    x, y = jnp.asarray(features), jnp.asarray((features.sum(1) > 0).astype(np.int32))
    optimiser = optax.adam(1e-2)

    def loss_of(model: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y).mean()

    def train(steps: int) -> tuple[Any, Scope]:
        model = eqx.nn.MLP(8, 2, 16, 1, key=jax.random.key(0))
        state = optimiser.init(eqx.filter(model, eqx.is_array))
        with pw.lazy() as scope:
            for _ in range(steps):
                loss, grads = eqx.filter_value_and_grad(loss_of)(model)
                updates, state = optimiser.update(grads, state, eqx.filter(model, eqx.is_array))
                model = eqx.apply_updates(model, updates)
        return loss, scope

    session.configure("window_ms", 1e6)  # by count alone, however slow the machine is
    loss, scope = train(60)
    assert scope.program is not None
    assert not waits(session)
    assert len(scope.program.plans) <= 3
    assert float(loss) < 0.5
    compiled = session.backend.compilations
    again, _ = train(60)
    assert float(again) == float(loss)
    assert session.backend.compilations - compiled <= 2


def test_a_wait_in_the_loop_cuts_there(session: pw.Session) -> None:
    seen = []
    with pw.lazy() as scope:
        x = jnp.zeros(())
        for _ in range(20):
            x = double_and_halve(x)
            seen.append(float(x))
    assert seen == [*range(1, 21)]
    assert scope.program is not None
    assert len(scope.program.plans) <= 3
    assert len(waits(session)) <= 20


def test_without_windows_a_scope_is_one(session: pw.Session) -> None:
    with Scope(session.frontend, "deferred", windows=False) as scope:
        x = jnp.zeros(4)
        for _ in range(TURNS):
            x = double_and_halve(x)
        assert x.state == "recorded"
    assert scope.program is not None
    assert len(scope.program.plans) == 1
    assert x.tolist() == [TURNS] * 4


def test_a_long_cell_starts_before_it_ends(session: pw.Session) -> None:
    session.configure("window_nodes", 16)
    with pw.lazy():
        x = jnp.zeros(4)
        states = []
        for _ in range(64):
            x = double_and_halve(x)
            states.append(x)
        assert states[0].state != "recorded"
        assert states[-1].state == "recorded"
    assert x.tolist() == [64] * 4


def test_recording_pauses_when_it_is_too_far_ahead(session: pw.Session) -> None:
    session.configure("window_nodes", 8)
    session.configure("max_ahead", 2)
    ahead = []
    client = session.frontend
    with pw.lazy():
        x = jnp.zeros(4)
        for _ in range(200):
            x = double_and_halve(x)
            ahead.append(client._submitted - session.driver.ended)
    assert x.tolist() == [200] * 4
    assert max(ahead) <= 4


def test_many_windows_and_cells_leave_nothing_behind(session: pw.Session) -> None:
    session.configure("window_nodes", 8)

    def cell(x: Any) -> Any:
        with pw.lazy():
            for _ in range(64):
                x = double_and_halve(x) * 1.0
        return x

    x = cell(jnp.zeros(4))
    x.result()
    before = sizes(session)
    tables = len(session.frontend.table.by_value)
    for _ in range(10):
        x = cell(x)
    x.result()
    after = sizes(session)
    assert after == before
    assert len(session.frontend.table.by_value) == tables
    assert len(session.frontend.programs) <= 64
    del x
    assert {k: v for k, v in sizes(session).items() if k not in ("islands", "slices", "clients")} == dict.fromkeys(
        ("programs", "nodes", "buffers", "tasks", "arrays"), 0
    )


def test_what_nobody_holds_is_never_computed(session: pw.Session) -> None:
    ran = []

    def seen(a: Any) -> Any:
        ran.append(1)
        return np.asarray(a)

    with pw.lazy():
        x = jnp.arange(4.0)
        jnp.linalg.inv(jnp.eye(50) * x.sum())
        y = x + 1
        for i in range(3):
            jax.debug.callback(seen, x * i)
    assert y.tolist() == [1, 2, 3, 4]
    jax.effects_barrier()
    pw.shutdown()
    from pwlab.events import NodeAdded

    parts = [f.node.name for f in session.ring.after(0).facts if isinstance(f, NodeAdded)]
    assert not any("lu" in name or "inv" in name for name in parts)


def test_numbers_keep_their_places_in_a_window_cut_by_time(session: pw.Session) -> None:
    session.configure("window_ms", 0)
    session.configure("window_nodes", 1)
    with pw.lazy():
        x = jnp.zeros(())
        rows = []
        for i, step in zip(itertools.count(), (0.5, 2, 1.5, 4), strict=False):
            x = x + step * i
            rows.append(x)
    assert [float(r) for r in rows] == [0, 2, 5, 17]
