"""Threads, asyncio tasks and Ctrl-C."""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import LONG, gate, line_of, settle, waits

import pwlab as pw
from pwlab.errors import ComputationFailed

# --- threads --------------------------------------------------------------------------------------------


def test_each_thread_records_its_own_scopes(session: pw.Session) -> None:
    together = threading.Barrier(4, timeout=LONG)

    def work(n: int) -> Any:
        together.wait()
        x = jnp.full(8, float(n)) + 0
        assert not isinstance(x, pw.LazyTensor)
        with pw.lazy(f"thread {n}"):
            together.wait()
            y = x
            for i in range(50):
                y = y * 1.0 + i
            together.wait()
        return y

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    for n, y in enumerate(results):
        assert isinstance(y, pw.LazyTensor)
        assert y.tolist() == [n + 1225.0] * 8


def test_another_thread_takes_a_tensor_that_the_main_one_still_records(session: pw.Session) -> None:
    with pw.lazy(), ThreadPoolExecutor(1) as pool:
        x = jnp.arange(4.0) * 2
        assert x.state == "recorded"
        assert pool.submit(lambda: np.asarray(x).tolist()).result(LONG) == [0, 2, 4, 6]
        y = x + 1
        assert pool.submit(lambda: (y * 2).tolist()).result(LONG) == [2, 6, 10, 14]

        def scoped() -> Any:
            with pw.lazy("other"):
                return z * 10

        z = y - 1
        other = pool.submit(scoped).result(LONG)
        last = other + z  # recorded here again
    assert last.tolist() == [0, 22, 44, 66]


def test_a_thread_inside_a_scope_does_not_record(session: pw.Session) -> None:
    with pw.lazy(), ThreadPoolExecutor(1) as pool:
        x = pool.submit(lambda: jnp.ones(2) + 1).result(LONG)
        assert not isinstance(x, pw.LazyTensor)
        assert isinstance(jnp.ones(2) + 1, pw.LazyTensor)


def test_tensors_are_dropped_by_another_thread_while_one_records(session: pw.Session) -> None:
    made: SimpleQueue[Any] = SimpleQueue()

    def drop() -> None:
        while made.get() is not None:
            pass

    dropper = threading.Thread(target=drop)
    dropper.start()
    with pw.lazy():
        x = jnp.zeros(4)
        for i in range(60):
            x = x + i
            made.put(x * 2)
    made.put(None)
    dropper.join(LONG)
    assert x.tolist() == [1770.0] * 4


def test_programs_submitted_by_several_threads(session: pw.Session) -> None:
    f = pw.jit(lambda a: a @ a + 1)
    on_two = list(session.slices)

    def work(n: int) -> list[Any]:
        x = jnp.eye(4) * n
        return [pw.jit(lambda a: a + 1, devices=on_two[i % 2])(f(x)) for i in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for n, results in enumerate(pool.map(work, range(8))):
            for y in pw.fetch(results):
                np.testing.assert_array_equal(y, np.eye(4) * n * n + 2)


def test_waiting_threads_all_wake(session: pw.Session) -> None:
    with gate() as hold:
        with pw.lazy():
            x = hold(jnp.arange(2.0))
        with ThreadPoolExecutor(6) as pool:
            waiting = [pool.submit(lambda: float(x.sum())) for _ in range(6)]
            assert hold.reached.wait(LONG)
            hold.open()
            assert [w.result(LONG) for w in waiting] == [1.0] * 6


# --- asyncio ------------------------------------------------------------------------------------------


def test_scopes_of_two_tasks_interleave(session: pw.Session) -> None:
    async def train(n: int, turn: asyncio.Event, other: asyncio.Event) -> Any:
        x = jnp.full(2, float(n))
        with pw.lazy(f"task {n}"):
            for _ in range(5):
                x = x + n
                assert isinstance(x, pw.LazyTensor)
                other.set()
                await turn.wait()
                turn.clear()
            other.set()
        turn.set()
        return x

    async def plain() -> Any:
        values = []
        for _ in range(8):
            await asyncio.sleep(0)
            x = jnp.ones(2) + 1
            assert not isinstance(x, pw.LazyTensor)
            values.append(x)
        return values

    async def main() -> None:
        a, b = asyncio.Event(), asyncio.Event()
        x, y, eager = await asyncio.wait_for(asyncio.gather(train(1, a, b), train(10, b, a), plain()), LONG)
        assert (await x).tolist() == [6, 6]
        assert (await y).tolist() == [60, 60]
        assert len(eager) == 8

    asyncio.run(main())
    assert not isinstance(jnp.ones(1) + 1, pw.LazyTensor)


def test_await_lets_other_tasks_run(session: pw.Session) -> None:
    async def main() -> None:
        with gate() as hold:
            with pw.lazy():
                x = hold(jnp.arange(3.0))

            async def opens() -> str:
                hold.open()
                return "ran"

            value, ran = await asyncio.wait_for(asyncio.gather(_value(x), opens()), LONG)  # here
            assert value.tolist() == [0, 1, 2]
            assert not isinstance(value, pw.LazyTensor)
            assert ran == "ran"
            assert (await x).tolist() == [0, 1, 2]  # is there now

    asyncio.run(main())
    assert [w.reason for w in waits(session)] == ["await x"]


async def _value(x: Any) -> Any:
    return await x


def test_await_in_a_scope_dispatches_what_it_needs(session: pw.Session) -> None:
    async def main() -> Any:
        with pw.lazy():
            x = jnp.arange(3.0) + 1
            value = await x
            y = x * value
        return await y

    assert asyncio.run(main()).tolist() == [1, 4, 9]


def test_await_of_a_failure_raises(session: pw.Session) -> None:
    @pw.host
    def breaks() -> Any:
        raise OSError("no such file")

    async def main() -> Any:
        with pw.lazy():
            x = pw.host(_broken, out=jax.ShapeDtypeStruct((), jnp.float32))() + 1
        return await x

    with pytest.raises(ComputationFailed, match="no such file"):
        asyncio.run(main())


def _broken() -> Any:
    raise OSError("no such file")


def test_cancelling_a_task_that_awaits(session: pw.Session) -> None:
    async def main() -> None:
        with gate() as hold:
            with pw.lazy():
                x = hold(jnp.arange(3.0))
            task = asyncio.ensure_future(_value(x))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            hold.open()
            assert (await x).tolist() == [0, 1, 2]

    asyncio.run(main())


# --- Ctrl-C -----------------------------------------------------------------------------------------------


def interrupting(x: Any, go_on: threading.Event) -> Any:
    """``x`` through a host that presses Ctrl-C, then holds the value back."""

    def press(value: Any) -> Any:
        _thread.interrupt_main()
        assert go_on.wait(LONG)
        return np.asarray(value)

    return jax.pure_callback(press, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@pytest.mark.parametrize("inside", [False, True], ids=["plain cell", "scope"])
def test_ctrl_c_while_waiting_and_everything_works_afterwards(session: pw.Session, inside: bool) -> None:
    go_on = threading.Event()
    try:
        with pytest.raises(KeyboardInterrupt):
            with pw.lazy():
                x = interrupting(jnp.arange(3.0), go_on)
                y = x + 1
                if inside:
                    float(y[0])
            float(y[0])
    finally:
        go_on.set()
    assert y.tolist() == [1, 2, 3]
    with pw.lazy():
        z = y * 2
    assert z.tolist() == [2, 4, 6]
    settle(session)
    assert not isinstance(jnp.ones(1) + 1, pw.LazyTensor)


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_ctrl_c_while_recording_leaves_no_half_of_anything(session: pw.Session, at: int) -> None:
    """The signal comes at a chosen line of pwlab's own code."""
    import os
    import sys

    import pwlab

    root = os.path.dirname(pwlab.__file__)
    seen = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(root):
            return None
        if event == "line":
            seen += 1
            if seen == 40 + at * 5:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    x = jnp.arange(4.0)
    kept: list[Any] = []
    before = sys.gettrace()
    try:
        with pytest.raises(KeyboardInterrupt), pw.lazy():
            sys.settrace(trace)
            y = x
            for i in range(1000):
                y = y + i
                kept.append(y)
    finally:
        sys.settrace(before)
    for i, value in enumerate(kept):
        assert value.tolist() == [v + i * (i + 1) / 2 for v in range(4)]
    with pw.lazy():
        z = (kept[-1] if kept else x) * 2
    assert z.shape == (4,)
    pw.wait(z, LONG)
    assert not isinstance(jnp.ones(1) + 1, pw.LazyTensor)
    settle(session)


def test_an_interrupt_of_one_wait_disturbs_no_other_thread(session: pw.Session) -> None:
    go_on = threading.Event()
    with pw.lazy():
        x = interrupting(jnp.arange(3.0), go_on)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: np.asarray(x).tolist())
        with pytest.raises(KeyboardInterrupt):
            x.result()
        go_on.set()
        assert other.result(LONG) == [0, 1, 2]
    assert line_of("go_on", interrupting) > 0
