"""Helpers of the tests: gates that hold a computation back, and looks into a session."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import pwlab as pw
from pwlab.events import Fact, NodeAdded, Waited

F = TypeVar("F", bound=Fact)

#: Seconds after which a test that waits for something gives up.
LONG = 30.0


class Gate:
    """Holds a computation back until the test opens it, so that no test depends on time.

    ``gate(x)`` records a host callback that gives ``x`` back once the gate is open.
    """

    def __init__(self) -> None:
        self._open = threading.Event()
        #: Set when the callback has begun.
        self.reached = threading.Event()

    def open(self) -> None:
        self._open.set()

    def wait(self) -> None:
        """Waits until the gate is open; for host functions."""
        self.reached.set()
        assert self._open.wait(LONG), "the test never opened the gate"

    def __call__(self, x: Any) -> Any:
        def hold(value: Any) -> Any:
            self.wait()
            return np.asarray(value)

        return jax.pure_callback(hold, jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), x)


@contextmanager
def gate() -> Iterator[Gate]:
    """A gate that is open at the end, whatever happens."""
    made = Gate()
    try:
        yield made
    finally:
        made.open()


def settle(session: pw.Session) -> None:
    """Waits until nothing is under way, then checks every invariant of the controller."""
    driver = session.driver
    driver.look(lambda controller: None)  # what was submitted has been taken in
    assert driver.signal.wait_for(lambda: not driver._alive, LONG), f"{driver._alive} never ended"
    assert driver.crash is None, driver.crash
    driver.look(lambda controller: controller.validate())


def sizes(session: pw.Session) -> dict[str, int]:
    """How much the controller and the backend remember, once everything is settled and garbage is gone."""
    settle(session)
    gc.collect()
    settle(session)
    backend = session.backend
    tables = session.driver.look(lambda controller: controller.sizes())
    return {**tables, "tasks": len(backend._tasks), "arrays": len(backend._buffers)}


def facts(session: pw.Session, kind: type[F], since: int = 0) -> list[F]:
    """The facts of one kind, in order."""
    return [fact for fact in session.ring.after(since).facts if isinstance(fact, kind)]


def waits(session: pw.Session, since: int = 0) -> list[Waited]:
    return facts(session, Waited, since)


def nodes(session: pw.Session, since: int = 0) -> list[Any]:
    """What was submitted, in order."""
    return [fact.node for fact in facts(session, NodeAdded, since)]


def line_of(text: str, function: Any) -> int:
    """The line of a function's file in which ``text`` stands."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def equal(left: Any, right: Any, exact: bool = False) -> None:
    """Asserts that two trees hold the same values, types and weak types; to rounding unless ``exact``."""
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        if isinstance(a, (str, np.dtype)):
            assert a == b
            continue
        if isinstance(a, jax.Array) and jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
            assert a.dtype == b.dtype
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.shape(a) == np.shape(b)
        if isinstance(a, jax.Array) and isinstance(b, jax.Array):
            assert a.weak_type == b.weak_type
        compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
        close = {"rtol": 1e-12} if np.asarray(a).dtype == np.float64 else {"rtol": 2e-5, "atol": 1e-5}
        compare(np.asarray(a), np.asarray(b), **({} if exact else close))
