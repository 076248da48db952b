"""What a cell reads and gives away: mutation, deletion, donation, release, copies, sessions that ended."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import LONG, gate, line_of, sizes

import pwlab as pw
from pwlab.errors import BufferReleased, ComputationFailed, SessionClosed

FILE = "test_arguments.py"


# --- what is read -------------------------------------------------------------------------------------


def test_a_numpy_array_may_be_written_after_it_was_recorded(session: pw.Session) -> None:
    a = np.ones(4, np.float32)
    with gate() as hold:
        with pw.lazy():
            x = hold(jnp.zeros(4)) + a
            a[:] = 7
            y = jnp.add(x, a)
            a[:] = 9
        a[:] = 11
        hold.open()
        assert x.tolist() == [1] * 4
        assert y.tolist() == [8] * 4


def test_a_numpy_array_given_to_a_jit_and_to_a_host_function_may_be_written(session: pw.Session) -> None:
    double = jax.jit(lambda v: v * 2)
    count = pw.host(lambda v: v.sum(), out=jax.ShapeDtypeStruct((), jnp.float32))
    a = np.ones(4, np.float32)
    with gate() as hold:
        with pw.lazy():
            z = hold(jnp.zeros(()))
            y, n = double(a) + z, count(a) + z
            a[:] = 7
        hold.open()
        assert y.tolist() == [2] * 4
        assert float(n) == 4


def test_an_array_deleted_before_it_was_used_is_told_with_both_places(session: pw.Session) -> None:
    x = jnp.arange(4.0) + 0

    def cell() -> Any:
        nonlocal y
        with pw.lazy():  # dispatched
            y = x * 2  # read here
            x.delete()

    y: Any = None
    with pytest.raises(BufferReleased) as caught:
        cell()
    read, dispatched = line_of("# read here", cell), line_of("# dispatched", cell)
    assert str(caught.value) == (
        f"`multiply` at {FILE}, line {read} reads an array, float32[4], that was deleted or donated before {FILE}, "
        f"line {dispatched}, where the cell is dispatched; keep a copy (`y = x.copy()`) before, or donate it in the "
        "same cell"
    )
    with pytest.raises(ComputationFailed, match=r"`multiply` at .* was deleted or donated"):
        y.result()
    with pw.lazy():
        z = jnp.ones(3) + 1
    assert z.tolist() == [2] * 3


def test_an_array_donated_before_it_was_used_is_told(session: pw.Session) -> None:
    x = jnp.arange(4.0) + 0
    eat = jax.jit(lambda a: a + 1, donate_argnums=0)
    with gate() as hold:
        with pw.lazy():
            h = hold(jnp.zeros(()))
            y = x * h
        assert hold.reached.wait(LONG)
        eat(x)  # in a plain cell, before the program came to it
        hold.open()
        with pytest.raises(ComputationFailed, match="deleted"):
            y.result()


# --- donation -----------------------------------------------------------------------------------------


def test_a_donated_tensor_used_again_names_both_places(session: pw.Session) -> None:
    update = jax.jit(lambda a: a + 1, donate_argnums=0)
    with pw.lazy():
        x = jnp.arange(4.0) * 1  # made
        y = update(x)  # given
        with pytest.raises(BufferReleased) as caught:
            x + 1
    here = test_a_donated_tensor_used_again_names_both_places
    made, given = line_of("# made", here), line_of("# given", here)
    assert str(caught.value) == (
        f"this tensor, f32[4] made at {FILE}, line {made}, was donated to <lambda> at {FILE}, line {given}; "
        "keep a copy (`y = x.copy()`) before, or compute it again"
    )
    assert x.state == "released"
    assert x.is_deleted()
    for use in (float, np.asarray, repr, lambda v: v.result(), lambda v: v + 1, pw.fetch):
        if use is repr:
            assert "released" in repr(x)
        else:
            with pytest.raises(BufferReleased):
                use(x)  # type: ignore[operator]
    assert y.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("outside", [False, True], ids=["same cell", "next cell"])
def test_donation_in_a_loop_is_right_and_frees(session: pw.Session, outside: bool) -> None:
    update = jax.jit(lambda a: a + 1, donate_argnums=0)
    with pw.lazy():
        x = jnp.zeros(1024)
        if not outside:
            for _ in range(20):
                x = update(x)
    if outside:
        for _ in range(20):
            with pw.lazy():
                x = update(x)
    assert x.tolist() == [20] * 1024
    assert sizes(session)["buffers"] == 1


def test_another_island_reads_before_a_later_computation_takes_its_argument_over(session: pw.Session) -> None:
    eat = jax.jit(lambda a: a * 0, donate_argnums=0)
    with pw.lazy():
        x = jnp.arange(4.0) + 0
    pw.wait(x)
    with gate() as hold:
        with pw.lazy(slice="island1"):
            blocked = jnp.sin(hold(jnp.zeros(4)))  # island 1 launches nothing more before it
        with pw.lazy(), pw.on("island1"):
            y = x + 1
        with pw.lazy():
            z = eat(x)
        assert "takes over a buffer that" in str(pw.why(z))
        hold.open()
        assert (y.tolist(), z.tolist(), blocked.tolist()) == ([1, 2, 3, 4], [0] * 4, [0] * 4)


def test_a_host_function_reads_before_a_later_computation_takes_its_argument_over(session: pw.Session) -> None:
    type_ = jax.ShapeDtypeStruct((4,), jnp.float32)
    with gate() as hold:
        block = pw.host(lambda: (hold.wait(), np.zeros(4, np.float32))[1], out=type_)
        double = pw.host(lambda v: v * 2, out=type_)
        eat = jax.jit(lambda a: a * 0, donate_argnums=0)
        with pw.lazy():
            x = jnp.arange(4.0) + 0
        pw.wait(x)
        with pw.lazy():
            blocked = [block() for _ in range(4)]  # all threads of the host pool
            y = double(x)
            z = eat(x)
        assert "takes over a buffer that" in str(pw.why(z))
        hold.open()
        assert (y.tolist(), z.tolist()) == ([0, 2, 4, 6], [0] * 4)
        assert pw.fetch(blocked)[0].tolist() == [0] * 4


def test_what_was_read_before_it_was_donated_is_right(session: pw.Session) -> None:
    eat = jax.jit(lambda a: a * 0, donate_argnums=0)
    with pw.lazy():
        x = jnp.arange(4.0) + 0
        y = x * 3
        z = eat(x)
    assert (y.tolist(), z.tolist()) == ([0, 3, 6, 9], [0] * 4)


def test_a_deep_reader_comes_before_the_computation_that_takes_its_argument_over(session: pw.Session) -> None:
    """Each is a launch of its own, as no loop of unknown length is merged; the reader is three levels down."""
    loop = jax.jit(lambda a: jax.lax.while_loop(lambda c: c.sum() < 0, lambda c: c + 1, a))
    add = jax.jit(lambda a, b: jax.lax.while_loop(lambda c: c.sum() < 0, lambda c: c + 1, a + b))
    eat = jax.jit(lambda a: jax.lax.while_loop(lambda c: c.sum() < 0, lambda c: c + 1, a * 0), donate_argnums=0)
    with pw.lazy():
        x = jnp.arange(4.0) + 0
    pw.wait(x)
    with pw.lazy():
        y = add(loop(loop(loop(jnp.ones(4)))), x)
        z = eat(x)
    assert (y.tolist(), z.tolist()) == ([1, 2, 3, 4], [0] * 4)


def test_a_concrete_array_donated_in_a_scope_is_right(session: pw.Session) -> None:
    x = jnp.arange(4.0) + 0
    eat = jax.jit(lambda a: a + 1, donate_argnums=0)
    with pw.lazy():
        y = eat(x)
    assert y.tolist() == [1, 2, 3, 4]


def test_a_plain_cell_that_donates_a_tensor_releases_it(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0
    y = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
    assert y.tolist() == [1, 2, 3, 4]
    with pytest.raises((BufferReleased, RuntimeError), match=r"donated|deleted|released"):
        np.asarray(x + 1)


# --- giving back -----------------------------------------------------------------------------------------


def test_a_released_tensor_used_again_names_both_places(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0  # made
        y = x + 1
    x.release()  # given
    here = test_a_released_tensor_used_again_names_both_places
    with pytest.raises(BufferReleased) as caught:
        x.result()
    assert str(caught.value) == (
        f"this tensor, f32[4] made at {FILE}, line {line_of('# made', here)}, was released at {FILE}, "
        f"line {line_of('# given', here)}; keep a copy (`y = x.copy()`) before, or compute it again"
    )
    with pw.lazy(), pytest.raises(BufferReleased):
        x * 2
    x.release()  # twice does no harm
    assert y.tolist() == [1, 2, 3, 4]


def test_release_in_the_scope_that_recorded_it(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0
        y = x + 1
        x.release()
        z = y + 1
    assert z.tolist() == [2, 3, 4, 5]


def test_memory_is_freed_when_nobody_holds_a_tensor(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.zeros(1000) + 1
        y = x * 2
    pw.wait([x, y])
    assert sizes(session)["buffers"] == 2
    array = weakref.ref(x.result())
    del x
    assert sizes(session)["buffers"] == 1
    gc.collect()
    assert array() is None
    y.release()
    assert sizes(session)["buffers"] == 0


def test_a_view_of_the_value_keeps_it(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0
    view, array = np.asarray(x), x.result()
    x.release()
    sizes(session)
    assert view.tolist() == array.tolist() == [0, 1, 2, 3]


# --- copies ------------------------------------------------------------------------------------------


def test_copies(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0
        shallow, deep = copy.copy(x), copy.deepcopy({"a": [x]})["a"][0]
        third = x.copy()
    assert isinstance(deep, pw.LazyTensor)
    x.release()
    with pytest.raises(BufferReleased):
        shallow.result()
    assert deep.tolist() == third.tolist() == [0, 1, 2, 3]
    outside = copy.deepcopy(deep)
    deep.release()
    assert np.asarray(outside).tolist() == [0, 1, 2, 3]


def test_pickles_are_arrays(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0
    again = pickle.loads(pickle.dumps({"x": x}))["x"]
    assert isinstance(again, jax.Array)
    assert not isinstance(again, pw.LazyTensor)
    assert again.tolist() == [0, 1, 2, 3]


def test_fetch_gives_numpy_and_keeps_the_rest(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(2.0) + 0
        key = jax.random.key(0)
    tree = pw.fetch({"x": x, "n": 3, "s": "text", "none": None, "a": jnp.ones(2), "k": key, "np": np.arange(2)})
    assert [type(tree[k]) for k in ("x", "n", "s", "a", "np")] == [np.ndarray, int, str, np.ndarray, np.ndarray]
    assert tree["none"] is None
    assert jax.dtypes.issubdtype(tree["k"].dtype, jax.dtypes.prng_key)
    assert pw.wait({"x": x})["x"] is x
    assert isinstance(jax.device_get(x), np.ndarray)


# --- sessions ---------------------------------------------------------------------------------------------


def test_a_tensor_left_over_from_a_stopped_session(session: pw.Session) -> None:
    with pw.lazy():
        done = jnp.arange(4.0) + 0
    done.result()
    with gate() as hold:
        with pw.lazy():
            pending = hold(jnp.zeros(2))
        assert hold.reached.wait(LONG)
        pw.shutdown()
        hold.open()
    assert done.tolist() == [0, 1, 2, 3]  # what was computed stays
    with pytest.raises(SessionClosed, match=r"the session was stopped before this value was computed"):
        pending.result()
    assert "failed" in repr(pending) or "stopped" in repr(pending)
    pw.start(islands=2, devices_per_island=4)
    assert (done + 1).tolist() == [1, 2, 3, 4]
    with pw.lazy():
        y = jnp.ones(2) * 2
        with pytest.raises(SessionClosed, match="belongs to a session that was stopped"):
            pending + 1
    assert y.tolist() == [2, 2]


def test_a_ready_tensor_of_a_stopped_session_in_a_scope_of_the_next(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 0
    x.result()
    pw.shutdown()
    pw.start(islands=2, devices_per_island=4)
    text = (
        rf"f32\[4\] from {FILE}, line \d+ belongs to a session that was stopped; compute it again in this one, or keep "
        r"values as NumPy arrays \(`pw.fetch\(x\)`\) before stopping"
    )
    with pw.lazy(), pytest.raises(SessionClosed, match=text):
        x + 1


def test_stopping_while_a_cell_records(session: pw.Session) -> None:
    with pytest.raises(SessionClosed, match="the session was stopped while this cell was recording"), pw.lazy():
        x = jnp.arange(4.0) + 0
        pw.shutdown()
    with pytest.raises((SessionClosed, ComputationFailed), match="stopped"):
        x.result()
    assert (jnp.ones(2) + 1).tolist() == [2, 2]  # this thread records no more


def test_an_exception_half_way_keeps_what_was_recorded(session: pw.Session) -> None:
    x = y = None
    with pytest.raises(ZeroDivisionError), pw.lazy():
        x = jnp.arange(4.0) + 1
        y = 1 / 0
    assert y is None
    assert isinstance(x, pw.LazyTensor)
    assert x.tolist() == [1, 2, 3, 4]
    with pw.lazy():
        z = x + 1
    assert z.tolist() == [2, 3, 4, 5]


def test_a_mistake_of_shapes_is_told_at_once_and_the_scope_goes_on(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.ones((2, 3))
        with pytest.raises(TypeError, match="incompatible shapes"):
            x + jnp.ones((4, 5))
        with pytest.raises(TypeError, match="contracting dimensions"):
            jnp.dot(x, x)
        y = x + 1
    assert y.sum() == 12


def test_scopes_nest(session: pw.Session) -> None:
    with pw.lazy("outer"):
        x = jnp.ones(2)
        with pw.lazy("inner"):
            y = x + 1
        z = y + x
    assert z.tolist() == [3, 3]
    assert isinstance(jnp.ones(1) + 1, jax.Array)
    assert not isinstance(jnp.ones(1) + 1, pw.LazyTensor)


def test_a_scope_in_a_jit_is_no_business_of_the_tracing(session: pw.Session) -> None:
    @jax.jit
    def f(a: Any) -> Any:
        return a * 2

    with pw.lazy():
        g = jax.jit(lambda a: f(a) + 1)
        y = g(jnp.ones(2))
    assert y.tolist() == [3, 3]
    assert f(np.ones(2, np.float32)).tolist() == [2, 2]


def test_use_in_a_plain_jit_gives_arrays(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(3.0) + 1
    f = jax.jit(lambda a: a * x.shape[0])
    assert f(x).tolist() == [3, 6, 9]
    assert jax.jit(lambda: x * 2)().tolist() == [2, 4, 6]  # closed over
    assert jax.grad(lambda a: (a * x).sum())(x).tolist() == [1, 2, 3]
    assert jax.vmap(lambda a, b: a * b)(x, x).tolist() == [1, 4, 9]
    assert jax.lax.scan(lambda c, a: (c + a, a), x[0], x)[0] == 7
    assert np.stack([x, x]).shape == (2, 3)
