"""A failure is told where its value is needed, once in full, with what recorded it; the rest goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import facts, gate, line_of, settle, waits

import pwlab as pw
from pwlab import LazyTensor
from pwlab.errors import ComputationFailed
from pwlab.events import NodeAdded, NodeEnded, NodeKind, NodeState, ProgramEnded

FILE = "test_failures.py"
SHAPE = jax.ShapeDtypeStruct((3,), jnp.float32)


def bad(value: Any) -> Any:
    raise ValueError(f"bad batch {np.asarray(value).tolist()}")


def callback(x: Any) -> Any:
    return jax.pure_callback(bad, SHAPE, x)


def callback_in_a_jit(x: Any) -> Any:
    return jax.jit(lambda a: jax.pure_callback(bad, SHAPE, a) + 1)(x)


def io_callback(x: Any) -> Any:
    return jax.experimental.io_callback(bad, SHAPE, x, ordered=True)


def host_function(x: Any) -> Any:
    return pw.host(bad, out=SHAPE)(x)


WAYS: list[Callable[[Any], Any]] = [callback, callback_in_a_jit, io_callback, host_function]


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_a_failure_reaches_all_that_depends_on_it_and_nothing_else(
    session: pw.Session, way: Callable[..., Any]
) -> None:
    with pw.lazy():
        x = jnp.arange(3.0)

    def cell() -> tuple[Any, ...]:
        with pw.lazy():
            y = way(x)  # breaks
            z = jax.jit(lambda a: a * 2)(y)
            return y, z

    y, z = cell()
    with pw.lazy():
        late = z + 1
    with pw.lazy():
        fine = x + 1
    with pytest.raises(ComputationFailed, match=r"ValueError: bad batch \[0.0, 1.0, 2.0\]") as caught:
        z.result()
    error = caught.value
    text = str(error)
    assert f"recorded at {FILE}, line {line_of('# breaks', cell)}, failed:" in text
    assert "\n    y = way(x)  # breaks\n" in text
    assert text.endswith(
        "What depends on it cannot be computed; other programs go on. Mend the computation and run its cell again."
    )
    assert error.source is not None
    assert error.source.line == line_of("# breaks", cell)
    assert isinstance(error.__cause__, ValueError if way is host_function else type(None))
    for value in (y, z, late):  # later in one line
        with pytest.raises(ComputationFailed, match=r"failed: .*bad batch") as caught:
            value.result()
        assert "\n" not in str(caught.value)
        assert value.state == "failed"
        assert "bad batch" in repr(value)
    assert (x.tolist(), fine.tolist()) == ([0, 1, 2], [1, 2, 3])
    with pytest.raises(ComputationFailed, match="failed: "), pw.lazy():
        float(late[0] + 1)
    with pw.lazy():
        again = jnp.arange(3.0) * 2
    assert again.tolist() == [0, 2, 4]


def test_facts_of_a_failure_carry_the_cause(session: pw.Session) -> None:
    with pw.lazy("breaks"):
        y = jax.jit(lambda a: a * 2)(callback(jnp.arange(3.0)))
    with pw.lazy("works"):
        fine = jnp.ones(2) + 1
    with pytest.raises(ComputationFailed):
        y.result()
    fine.result()
    settle(session)
    ended = [f for f in facts(session, NodeEnded) if f.state is NodeState.FAILED]
    [cause] = {f.cause for f in ended}
    assert cause in {f.node for f in ended}
    assert all("bad batch" in f.error for f in ended)
    assert len(ended) == 2
    assert [f.state for f in facts(session, ProgramEnded)] in (
        [NodeState.FAILED, NodeState.DONE],
        [NodeState.DONE, NodeState.FAILED],
    )


def test_a_failed_value_is_a_wait_told_once(session: pw.Session) -> None:
    with gate() as hold:
        with pw.lazy():
            y = callback(hold(jnp.arange(3.0)))
        hold.open()
    for _ in range(3):
        with pytest.raises(ComputationFailed):
            y.result()
    assert len(waits(session)) <= 1


@pytest.mark.parametrize(
    ("returns", "found"),
    [
        (lambda: np.zeros(4, np.float32), r"float32\[4\]"),
        (lambda: np.zeros(3, np.int32), r"int32\[3\]"),
        (lambda: (np.zeros(3, np.float32),) * 2, r"float32\[3\], float32\[3\]"),
        (lambda: None, "nothing"),
    ],
    ids=["shape", "dtype", "tree", "none"],
)
def test_a_host_function_that_returns_something_else(session: pw.Session, returns: Any, found: str) -> None:
    load = pw.host(returns, out=SHAPE, name="load")
    with pw.lazy():
        x = load()
        y = x + 1
    text = (
        rf"TypeError: host function load returned {found} where its calls return float32\[3\]; it must return the same "
        "shapes for the same kinds of arguments"
    )
    with pytest.raises(ComputationFailed, match=text):
        y.result()


def test_a_host_function_that_breaks_while_it_is_learned_raises_at_once(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(3.0)
        with pytest.raises(ValueError, match="bad batch"):
            pw.host(bad)(x)
        y = x + 1
    assert y.tolist() == [1, 2, 3]


def test_a_computation_that_does_not_compile(session: pw.Session) -> None:
    """Nothing on a CPU lowers an infeed without a mesh; the failure is of this computation alone."""
    from jax.extend.core import Primitive

    broken = Primitive("no_lowering")
    broken.def_abstract_eval(lambda a: a)
    f = jax.jit(lambda a: broken.bind(a) + 1)
    with pw.lazy():
        x = jnp.arange(3.0) + 0
        pw.wait(x)
        y = f(x)
    with pw.lazy():
        z = x * 2
    with pytest.raises(ComputationFailed, match="no_lowering"):
        y.result()
    assert z.tolist() == [0, 2, 4]


def test_a_failed_effect_does_not_stop_the_next(session: pw.Session) -> None:
    seen: list[int] = []
    with pw.lazy():
        x = jnp.arange(3.0)
        jax.debug.callback(lambda v: seen.append(1), x)
        io_callback(x)
        jax.debug.callback(lambda v: seen.append(2), x, ordered=True)
    settle(session)
    assert seen == [1, 2]


def test_many_failures_leave_nothing_behind(session: pw.Session) -> None:
    for _ in range(5):
        with pw.lazy():
            y = host_function(jnp.arange(3.0)) + 1
        with pytest.raises(ComputationFailed):
            y.result()
    del y
    settle(session)
    tables = session.driver.look(lambda controller: controller.sizes())
    assert tables["nodes"] == tables["programs"] == tables["buffers"] == 0
    assert not session.backend._tasks


def test_a_failure_across_slices(session: pw.Session) -> None:
    with pw.lazy():
        with pw.on("island0"):
            y = callback(jnp.arange(3.0))
        with pw.on("island1"):
            z = jax.jit(lambda a: a + 1)(y)
            fine = jnp.ones(3) * 3
        with pw.on("island0"):
            w = z * 2
    with pytest.raises(ComputationFailed, match="bad batch"):
        w.result()
    assert fine.tolist() == [3, 3, 3]
    with pw.lazy(slice="island1"):
        again = fine + 1
    assert again.tolist() == [4, 4, 4]


def test_debug_print_appears_under_the_cell_that_wrote_it(
    session: pw.Session, capfd: pytest.CaptureFixture[str]
) -> None:
    with pw.lazy():
        for i in range(3):
            jax.debug.print("turn {i}: {x}", i=i, x=jnp.arange(2) + i, ordered=True)
    settle(session)
    jax.effects_barrier()
    assert capfd.readouterr().out == "turn 0: [0 1]\nturn 1: [1 2]\nturn 2: [2 3]\n"


def test_effects_keep_their_order_over_cells_and_programs(session: pw.Session) -> None:
    seen: list[int] = []

    def note(n: int) -> Callable[[Any], None]:
        return lambda _: seen.append(n)

    with gate() as hold:
        with pw.lazy():
            jax.debug.callback(note(0), hold(jnp.zeros(())), ordered=True)
            jax.debug.callback(note(1), jnp.zeros(()), ordered=True)
        with pw.lazy():
            jax.debug.callback(note(2), jnp.zeros(()), ordered=True)
        hold.open()
    settle(session)
    assert seen == [0, 1, 2]


def test_refs_keep_their_order_over_cells(session: pw.Session) -> None:
    add = jax.jit(lambda ref, x: ref.__setitem__(..., ref[...] * 2 + x))
    with pw.lazy():
        ref = jax.new_ref(jnp.zeros(2) + 1)
        add(ref, jnp.ones(2))
    for i in range(3):
        with pw.lazy():
            before = ref[...]
            add(ref, jnp.full(2, float(i)))
            ref[0] += 1
            after = ref[...]
        assert before is not after
    assert after.tolist() == [35, 28]


def test_a_host_function_runs_ahead_and_feeds_the_devices(session: pw.Session) -> None:
    ran: list[int] = []

    def load(i: int) -> np.ndarray:
        ran.append(i)
        return np.full(3, i, np.float32)

    batch = pw.host(load)
    step = jax.jit(lambda c, b: c + b)
    with pw.lazy():
        total = jnp.zeros(3)
        for i in range(8):
            total = step(total, batch(i))
    assert total.tolist() == [28] * 3
    assert sorted(ran) == list(range(8))


def test_every_call_of_a_host_function_is_a_node_the_first_too(session: pw.Session) -> None:
    calls: list[int] = []

    @pw.host
    def load(number: int) -> Any:
        calls.append(number)
        return np.full(3, number, np.float32)

    with pw.lazy():
        first = load(1)
        assert calls == [1]  # what it returns is learned
        second = load(2)
    assert [type(v) for v in (first, second)] == [LazyTensor, LazyTensor]
    assert (first.tolist(), second.tolist(), calls) == ([1] * 3, [2] * 3, [1, 2])
    nodes = [f.node for f in facts(session, NodeAdded)]
    assert [(n.name, n.kind) for n in nodes] == [("load", NodeKind.HOST)] * 2


def test_a_host_function_gets_numpy_and_other_things_as_they_are(session: pw.Session) -> None:
    got: list[Any] = []

    def look(*args: Any, **kwargs: Any) -> dict[str, Any]:
        got.append((args, kwargs))
        return {"n": np.int64(3), "x": [np.ones(2)]}

    f = pw.host(look)
    for _ in range(2):
        with pw.lazy():
            out = f(jnp.arange(2.0) * 1, "text", 3, None, key={"a": jnp.ones(2)})
            n = out["n"] + 1
        assert int(n) == 4
        assert pw.fetch(out)["x"][0].tolist() == [1, 1]
    for args, kwargs in got:
        assert isinstance(args[0], np.ndarray)
        assert args[1:] == ("text", 3, None)
        assert isinstance(kwargs["key"]["a"], np.ndarray)


def test_a_host_function_outside_a_scope_returns_at_once(session: pw.Session) -> None:
    with gate() as hold:
        f = pw.host(lambda: (hold.wait(), np.ones(2, np.float32))[1], out=jax.ShapeDtypeStruct((2,), jnp.float32))
        x = f()
        assert x.state != "ready"
        hold.open()
        assert x.tolist() == [1, 1]
