"""How programs are dispatched: per session, per program, and behind a value that the host had to see (§4.5)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import facts

import pwlab as pw
from pwlab.errors import UnknownName
from pwlab.events import Dispatch, DispatchChanged, NodeAdded, NodeMoved, NodeState, ProgramOpened

S = Dispatch.SEQUENTIAL


@jax.jit
def step(x: Any) -> Any:
    return jnp.cos(x) * 0.5 + 1


START = np.arange(4, dtype=np.float32)


def changes(session: pw.Session) -> list[tuple[str, Dispatch]]:
    """The programs whose dispatch changed, in order, by name."""
    session.driver.look(lambda controller: controller.validate())
    names = {fact.program: fact.name for fact in facts(session, ProgramOpened)}
    return [(names[fact.program], fact.dispatch) for fact in facts(session, DispatchChanged)]


def prepared(session: pw.Session, name: str) -> int:
    """How many nodes of a program were prepared so far."""
    session.driver.look(lambda controller: controller.validate())
    (program,) = [fact.program for fact in facts(session, ProgramOpened) if fact.name == name]
    mine = {fact.node.id for fact in facts(session, NodeAdded) if fact.program == program}
    return sum(f.state is NodeState.PREPARED and f.node in mine for f in facts(session, NodeMoved))


@pytest.fixture
def warm(session: pw.Session) -> pw.Session:
    """Every computation is a launch of its own, and compiled."""
    session.configure("coalesce_ms", 0)
    with pw.lazy("warm"):
        x = step(step(START))
    x.result()
    return session


def chain(x: Any = START, n: int = 4) -> Any:
    for _ in range(n):
        x = step(x)
    return x


def test_each_program_says_how_it_is_dispatched(warm: pw.Session) -> None:
    want = chain()
    warm.steering.pause()
    with pw.lazy("as usual"):
        a = chain()
    with pw.lazy("one by one", dispatch="sequential"):
        b = chain()

    @pw.program(name="called", dispatch="sequential")
    def called() -> Any:
        return chain()

    c = called()
    with warm.programs.scope("scope", dispatch="sequential"):
        d = chain()
    warm.configure("dispatch", "sequential")
    with pw.lazy("by the session"):
        e = chain()
    with pw.lazy("at once", dispatch="parallel"):
        f = chain()
    sequential = ["one by one", "called", "scope", "by the session"]
    assert changes(warm) == [(name, S) for name in sequential]
    assert [prepared(warm, name) for name in sequential] == [1] * 4
    assert [prepared(warm, name) for name in ("as usual", "at once")] == [4, 4]
    warm.steering.resume()
    for value in (a, b, c, d, e, f):
        np.testing.assert_array_equal(value.result(), want)


def test_what_stands_behind_an_implicit_wait_is_dispatched_sequentially(warm: pw.Session) -> None:
    with pw.lazy("split"):
        x = chain()
        if float(x[0]) > 0:  # the host must see it
            assert changes(warm) == []
            before = prepared(warm, "split")
            warm.steering.pause()
            y = chain(x)
    with pw.lazy("whole"):
        z = chain(x)
    assert changes(warm) == [("split", S)]
    assert prepared(warm, "split") == before + 1
    assert prepared(warm, "whole") == 4
    warm.steering.resume()
    np.testing.assert_array_equal(y.result(), z.result())


def test_a_dispatch_that_does_not_exist(session: pw.Session) -> None:
    for make in (
        lambda: pw.lazy(dispatch="paralel"),
        lambda: pw.program(dispatch="paralel"),
        lambda: session.programs.scope("p", dispatch="paralel"),
    ):
        with pytest.raises(UnknownName, match=r"no dispatch is called 'paralel'; did you mean 'parallel'\? There is:"):
            make()
