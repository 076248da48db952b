"""Programs by name: held back, run, waited for, asked for their value, printed, forgotten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import LONG, facts, gate, line_of, settle

import pwlab as pw
from pwlab.errors import ComputationFailed, NotDispatched, SessionClosed, UnknownName, WaitTimeout
from pwlab.events import NodeAdded, ProgramOpened, Waited


def test_a_deferred_program_gathers_cells_and_runs_when_it_is_told(session: pw.Session) -> None:
    programs = session.programs
    with programs.scope("train", defer=True):
        x = jnp.arange(4.0) + 1
    with programs.scope("train", defer=True):
        y = x * 2
        z = jax.jit(lambda a: a.sum())(y)
    assert [v.state for v in (x, y, z)] == ["recorded"] * 3
    assert not facts(session, NodeAdded)
    with pytest.raises(
        NotDispatched, match="program 'train' is held back and has not run; dispatch it with `%pw run train`"
    ):
        programs.wait("train")
    programs.run("train")
    programs.wait("train", LONG)
    assert (x.tolist(), z.tolist()) == ([1, 2, 3, 4], 20)
    assert [f.name for f in facts(session, ProgramOpened)] == ["train"]
    with pytest.raises(NotDispatched, match="program 'train' has been dispatched already"):
        programs.run("train")


def test_a_value_of_a_deferred_program_takes_what_it_needs_with_it(session: pw.Session) -> None:
    programs = session.programs
    with programs.scope("a", defer=True):
        x = jnp.arange(4.0) + 1
    with programs.scope("a", defer=True):
        y = x * 2
    with programs.scope("b", defer=True):
        other = jnp.ones(2) * 3
    assert y.tolist() == [2, 4, 6, 8]
    assert other.state == "recorded"
    programs.forget("b")
    with pytest.raises(pw.errors.PwlabError):
        other.result()


def test_waiting_and_results_by_name(session: pw.Session) -> None:
    with gate() as hold:
        with session.programs.scope("slow") as scope:
            x = hold(jnp.arange(2.0))
        assert scope.program is not None
        scope.program.result = {"x": x, "n": 3}
        assert hold.reached.wait(LONG)
        for ask in (session.programs.wait, session.programs.result):
            with pytest.raises(
                WaitTimeout, match=r"program 'slow' is still running after 0.01 s: .* computations are done"
            ):
                ask("slow", 0.01)
        hold.open()
        value = session.programs.result("slow", LONG)
    assert value["n"] == 3
    assert isinstance(value["x"], jax.Array)
    assert not isinstance(value["x"], pw.LazyTensor)
    session.programs.wait()
    assert "wait for slow" in [w.reason for w in facts(session, Waited)]


def test_unknown_and_empty_names(session: pw.Session) -> None:
    with pytest.raises(UnknownName, match=r"no program is called 'x'\. None has been recorded yet"):
        session.programs.find("x")
    with pw.lazy("train"):
        jnp.ones(2)
    with pytest.raises(UnknownName, match=r"no program is called 'trian'; did you mean 'train'\? There are: train"):
        session.programs.result("trian")
    with pytest.raises(UnknownName, match="program 'train' has no value"):
        session.programs.result("train")


def test_a_failed_program_by_name(session: pw.Session) -> None:
    def bad(value: Any) -> Any:
        raise ValueError("bad batch")

    with pw.lazy("broken"):
        y = jax.pure_callback(bad, jax.ShapeDtypeStruct((), jnp.float32), jnp.zeros(()))
    with pytest.raises(ComputationFailed, match=r"bad batch[\s\S]*What depends on it cannot be computed"):
        session.programs.wait("broken")
    session.programs.wait("broken")  # told once
    with pytest.raises(ComputationFailed, match="bad batch"):
        session.programs.result("broken")
    assert not session.programs.take_untold()
    assert y.state == "failed"


def test_failures_that_nobody_waits_for_are_told_once(session: pw.Session) -> None:
    def bad(value: Any) -> Any:
        raise ValueError("bad batch")

    with pw.lazy():
        y = jax.pure_callback(bad, jax.ShapeDtypeStruct((), jnp.float32), jnp.zeros(()))  # breaks
        z = jax.jit(lambda a: a + 1)(y)
    settle(session)
    [failure] = session.programs.take_untold()
    assert failure.error == "ValueError: bad batch"
    assert failure.source is not None
    assert failure.source.line == line_of("# breaks", test_failures_that_nobody_waits_for_are_told_once)
    assert not session.programs.take_untold()
    with pytest.raises(ComputationFailed, match=r"failed: ValueError: bad batch$"):
        z.result()


def test_dump_shows_slices_types_bytes_and_lines(session: pw.Session) -> None:
    @jax.jit
    def layer(x: Any) -> Any:
        return jax.lax.while_loop(lambda c: c.sum() < 0, lambda c: c + 1, x)

    with pw.lazy("net") as scope:
        with pw.on("island0"):
            x = layer(np.ones((4, 2), np.float32))  # first
        with pw.on("island1"):
            y = layer(x)  # second
    pw.wait(y)
    text = pw.dump("net")
    assert text == pw.dump(scope) == pw.dump()
    head, *lines = text.splitlines()
    assert head == "program net · 3 nodes · after assign"
    here = test_dump_shows_slices_types_bytes_and_lines
    first, second = (f"test_programs.py, line {line_of(mark, here)}" for mark in ("# first", "# second"))
    assert [" ".join(line.split()) for line in lines] == [
        f"%0 = layer(arg0) on island0 · f32[4,2] · 32 B · devices 0 · {first}",
        f"%2 = transfer(%0) island0 → island1 · f32[4,2] · 32 B · devices 4 · {second}",
        f"%1 = layer(%2) on island1 · f32[4,2] · 32 B · devices 4 · {second}",
    ]
    assert pw.dump("net", after="group").splitlines()[0] == "program net · 2 nodes · after group"
    with pytest.raises(UnknownName, match=r"no pass is called 'plce'; did you mean 'place'\?"):
        pw.dump("net", after="plce")
    with pytest.raises(UnknownName, match=r"no program is called 'nt'; did you mean 'net'\?"):
        pw.dump("nt")


def test_a_program_that_is_still_recorded_is_not_waited_for(session: pw.Session) -> None:
    says = "program 'open' is still being recorded; wait for it in the next cell"
    with pw.lazy("open"):
        jnp.ones(2)
        for ask in (session.programs.wait, session.programs.result):
            with pytest.raises(NotDispatched, match=says):
                ask("open")


def test_a_wait_ends_with_the_session(session: pw.Session) -> None:
    with gate() as hold:
        with pw.lazy("slow"):
            x = hold(jnp.arange(2.0))
        assert hold.reached.wait(LONG)
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(session.programs.wait, "slow")
            pw.shutdown()
            with pytest.raises(SessionClosed, match="the session was stopped while programs were running; start again"):
                waits.result(LONG)
    assert x.state == "failed"


def test_a_failure_that_is_no_longer_kept_is_still_told(session: pw.Session) -> None:
    def bad(value: Any) -> Any:
        raise ValueError("bad batch")

    with pw.lazy("broken"):
        jax.debug.callback(bad, jnp.zeros(()))
    settle(session)
    session.driver.failures.clear()  # as after a thousand more
    with pytest.raises(ComputationFailed, match=r"^program 'broken' failed: .*bad batch"):
        session.programs.result("broken")


def test_programs_whose_names_match(session: pw.Session) -> None:
    for name in ("train 1", "train 2", "test"):
        with pw.lazy(name):
            jnp.ones(2) * 2
    programs = session.programs
    assert [r.name for r in programs.matching("train*")] == ["train 1", "train 2"]
    assert [r.name for r in programs.matching("t*t")] == ["test"]
    assert [r.name for r in programs.matching("test")] == ["test"]
    with pytest.raises(UnknownName, match=r"no program is called 'trian\*'; did you mean 'train 2'\?"):
        programs.matching("trian*")
