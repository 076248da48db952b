"""The scheduler by hand, as public functions; and what pw.why answers about nodes, and how it shows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import nodes, settle
from IPython.lib.pretty import pretty

import pwlab as pw
from pwlab.errors import SessionClosed, UnknownName
from pwlab.session import running

START = np.ones(4, np.float32)


@jax.jit
def allreduce_add(x: Any) -> Any:
    return jnp.cos(x) * 0.5 + 1


def chain(name: str, n: int = 2) -> Any:
    x: Any = START
    with pw.lazy(name):
        for _ in range(n):
            x = allreduce_add(x)
    return x


@pytest.fixture
def calm(session: pw.Session) -> pw.Session:
    session.configure("coalesce_ms", 0)
    chain("warm").result()
    settle(session)
    pw.pause()
    return session


def test_the_functions_are_the_methods_of_the_session(calm: pw.Session) -> None:
    y = chain("p")
    assert calm.steering.paused
    assert pw.step() == ("allreduce_add of p (client main)",)
    assert pw.cancel("p") == 1
    z = chain("q")
    assert pw.suspend("q") == "program q" and pw.resume() == "all" and not calm.steering.paused
    assert z.state == "queued" and pw.resume("q") == "program q"
    assert z.result().shape == (4,) and y.state == "cancelled"

    def last(lanes: Any) -> pw.Lane:
        return max(lanes, key=lambda lane: lane.order)

    pw.register_policy("last", last)
    calm.policy = "last"
    assert calm.steering.policies[-1] == "last"


@pytest.mark.parametrize(
    "call",
    [pw.pause, pw.step, pw.resume, lambda: pw.suspend("a"), lambda: pw.cancel("p"), lambda: pw.why("p"),
     lambda: pw.migrate("a"), lambda: pw.remove_slice("a"), lambda: pw.register_policy("mine", max)],
)  # fmt: skip
def test_without_a_session_there_is_nothing_to_steer(call: Any) -> None:
    pw.shutdown()
    with pytest.raises(SessionClosed, match=r"no session is running; pw\.start\(\) or `%pw start` starts one"):
        call()
    assert running() is None


def test_nothing_to_cancel_was_named(session: pw.Session) -> None:
    with pytest.raises(ValueError, match=r"name what to cancel: a program, .* or a client"):
        pw.cancel()


# --- why -------------------------------------------------------------------------------------------------


def test_why_of_a_node(calm: pw.Session) -> None:
    settle(calm)
    y = chain("p")
    calm.driver.look(lambda controller: None)  # what was submitted has been taken in
    first, second = [n.id for n in nodes(calm) if n.name == "allreduce_add"][-2:]
    assert pw.why("allreduce_add").reasons[0].node == second, "the newest that has not ended"
    assert pw.why(first).reasons[0].node == pw.why(str(first)).root.node == first
    pw.step(2)
    pw.wait(y)
    settle(calm)
    assert str(pw.why("allreduce_add")) == f"node {second} has ended"
    with pw.lazy("allreduce_add"):
        allreduce_add(START)
    assert pw.why("allreduce_add").reasons[0].node is None, "programs of that name come first"
    for what, says in (
        ("allreduce_ad", "no program or computation is called 'allreduce_ad'; did you mean 'allreduce_add'"),
        (999_999, r"no program or computation is called '999999'\. There are: "),
    ):
        with pytest.raises(UnknownName, match=says):
            pw.why(what)
    pw.resume()


def test_why_of_a_tensor_of_a_session_that_was_stopped(session: pw.Session) -> None:
    y = chain("p")
    pw.wait(y)
    pw.shutdown()
    says = r"f32\[4\] from .* belongs to a session that was stopped"
    with pytest.raises(SessionClosed, match=says):
        pw.why(y)
    assert running() is None
    pw.start(islands=1, devices_per_island=2)
    chain("q").result()
    with pytest.raises(SessionClosed, match=says):
        pw.why(y)


def test_why_as_the_value_of_a_cell(calm: pw.Session) -> None:
    chain("<b>p")
    why = pw.why("<b>p")
    assert repr(why).startswith("Why(2 reasons, the root: 'allreduce_add' of program ")
    assert repr(why).endswith("waits, because all launches are paused: step or resume)") and "\n" not in repr(why)
    assert pretty(why) == str(why) and len(str(why).splitlines()) == 2
    html = why._repr_html_()
    assert "&lt;b&gt;p" in html and "<b>" not in html and html.startswith("<pre")
    assert html == pw.viz.render_html(pw.viz.why_tree(why))
    pw.resume()
