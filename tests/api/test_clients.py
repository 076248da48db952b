"""Clients: each is held back by what is its own, a program belongs to one, and what is closed stays closed."""

from __future__ import annotations

import _thread
import sys
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import LONG, gate, settle

import pwlab as pw
from pwlab.errors import BufferReleased, ClientError, PwlabError, SessionClosed

START = np.arange(4, dtype=np.float32)


@jax.jit
def step(x: Any) -> Any:
    return jnp.cos(x) * 0.5 + 1


@pytest.fixture
def eager(session: pw.Session) -> pw.Session:
    """A session in which each turn of a loop is a window and a launch, and a cell may be 8 launches ahead."""
    for name, value in (("coalesce_ms", 0), ("window_nodes", 1), ("max_ahead", 8), ("progress_after", 0)):
        session.configure(name, value)
    with pw.lazy():
        x = step(START)
    pw.wait(x)
    return session


def flood() -> Any:
    """Records more than may be ahead."""
    x: Any = START
    with pw.lazy("flood"):
        for _ in range(50):
            x = step(x)
    return x


# --- run-ahead ------------------------------------------------------------------------------------------


def test_one_clients_flood_does_not_hold_another_back(eager: pw.Session) -> None:
    busy, other = pw.Client("busy"), pw.Client("other")
    pw.suspend("busy")
    made: list[Any] = []

    def work() -> None:
        with busy:
            made.append(flood())

    thread = threading.Thread(target=work)
    thread.start()
    owner = eager.frontend.owner("busy")
    assert eager.driver.signal.wait_for(lambda: owner.submitted - owner.ended > 8, LONG)
    with other:
        x = flood()
        np.testing.assert_array_equal(x.result(), flood().result())
    assert thread.is_alive() and owner.submitted - owner.ended < 50, "it is held back"
    pw.resume("busy")
    thread.join(LONG)
    np.testing.assert_array_equal(made[0].result(), x.result())
    assert owner.submitted == owner.ended and owner.submitted_bytes == owner.ended_bytes == 50 * 16


def test_a_closed_client_is_held_back_no_longer(eager: pw.Session) -> None:
    busy = pw.Client("busy")
    pw.suspend("busy")
    failed: list[Exception] = []

    def work() -> None:
        try:
            with busy:
                flood()
        except ClientError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    owner = eager.frontend.owner("busy")
    assert eager.driver.signal.wait_for(lambda: owner.submitted > 8, LONG)
    busy.close()
    thread.join(LONG)
    assert "client 'busy' was closed; open it again with pw.Client('busy', ...)" in str(failed[0])
    assert list(eager.frontend.owners) == ["main"] and "busy" not in [u.name for u in eager.clients()]


class Interrupting:
    """Standard error that presses Ctrl-C when the message comes."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text
        if "pwlab: " in text:
            _thread.interrupt_main()

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        (lambda: pw.pause(), ("because all launches are paused", "`%pw resume`")),
        (lambda: pw.suspend("main"), ("because client 'main' is suspended: resume it", "`%pw resume NAME`")),
    ],
    ids=["paused", "suspended"],
)
@pytest.mark.parametrize("wait", ["recording", "value"])
def test_a_wait_that_only_a_person_can_end_says_so_and_is_interrupted(
    eager: pw.Session, monkeypatch: pytest.MonkeyPatch, stop: Any, says: tuple[str, str], wait: str
) -> None:
    stop()
    told = Interrupting()
    with pw.lazy():
        y = step(START)
    monkeypatch.setattr(sys, "stderr", told)
    with pytest.raises(KeyboardInterrupt):
        if wait == "recording":
            flood()
        else:
            y.result()
    monkeypatch.undo()
    what = "launches of client 'main' ahead, waits" if wait == "recording" else "pwlab: result() waits. "
    assert told.text.count("pwlab: ") == 1 and what in told.text
    assert says[0] in told.text and f"Interrupt this (Ctrl-C) and use {says[1]}" in told.text
    pw.resume()
    if eager.clients()[0].suspended:
        pw.resume("main")
    np.testing.assert_array_equal(y.result(), step(START))
    settle(eager)


# --- whose a program is ----------------------------------------------------------------------------------------


def test_a_client_is_entered_before_the_scope(session: pw.Session) -> None:
    alice, bob = pw.Client("alice"), pw.Client("bob")
    says = (
        r"client 'bob' is entered inside a pathways scope, whose program belongs to client 'alice' and to no other; "
        r"enter the client before the scope: `with client, pw.lazy\(\):`, or `%%pathways -c bob` at the top of the cell"
    )
    with alice, pw.lazy("hers"):
        with alice:  # it is hers
            x = step(START)
        with pytest.raises(ClientError, match=says), bob:
            pass
        y = step(x)
    with bob, pw.lazy("his"):
        z = step(START)
    pw.wait([y, z])
    assert {r.name: r.client for r in session.programs} == {"hers": "alice", "his": "bob"}


def test_what_is_held_back_gathers_cells_of_one_client(session: pw.Session) -> None:
    alice = pw.Client("alice")
    with alice, session.programs.scope("train", defer=True):
        x = step(START)
    says = "program 'train' is held back for client 'alice', and a program belongs to one client: enter it"
    with pytest.raises(ClientError, match=says):
        session.programs.scope("train", defer=True)
    with alice, session.programs.scope("train", defer=True):
        y = step(x)
    session.programs.run("train")
    np.testing.assert_array_equal(y.result(), step(step(START)))


# --- closed ----------------------------------------------------------------------------------------------------

CLOSED = r"client 'alice' was closed; open it again with pw\.Client\('alice', \.\.\.\)"


def test_a_closed_client_submits_nothing(session: pw.Session) -> None:
    alice = pw.Client("alice", share=3)
    with alice:
        alice.close()
        for call in (lambda: pw.lazy().__enter__(), lambda: pw.jit(lambda x: x + 1)(START)):
            with pytest.raises(ClientError, match=CLOSED):
                call()
    with pw.lazy():  # outside it is main's
        step(START)
    assert [u.name for u in session.clients()] == ["main"]


def test_a_client_that_another_thread_closes(session: pw.Session) -> None:
    alice = pw.Client("alice")
    with pytest.raises(ClientError, match=CLOSED), alice, pw.lazy():
        x = step(START)
        thread = threading.Thread(target=alice.close)
        thread.start()
        thread.join(LONG)
    with pytest.raises(PwlabError, match=CLOSED):
        x.result()
    assert "alice" not in [u.name for u in session.clients()]


def test_two_objects_of_one_name_are_one_client(session: pw.Session) -> None:
    first = pw.Client("alice", share=3)
    second = pw.Client("alice", share=2)
    assert first.usage().share == 2, "it has the newest settings"
    first.close()
    assert second.closed and repr(second) == "Client('alice', closed)"
    for call in (second.close, second.usage, second.__enter__):
        with pytest.raises(ClientError, match=CLOSED):
            call()
    again = pw.Client("alice")
    assert not again.closed and first.closed and again.usage().share == 1


def test_a_client_of_a_session_that_was_stopped_submits_nothing(session: pw.Session) -> None:
    with pw.Client("alice"):
        pw.shutdown()
        pw.start(islands=1, devices_per_island=2)
        with pytest.raises(SessionClosed, match="client 'alice' belongs to a session that was stopped; open it again"):
            pw.lazy().__enter__()


def test_main_is_open_again_after_it_was_closed(session: pw.Session) -> None:
    with pw.lazy():
        x = step(START)
    pw.wait(x)
    pw.Client("main").close()
    with pw.lazy():
        y = step(START)
    np.testing.assert_array_equal(y.result(), step(START))
    assert x.state == "released"


def test_what_a_closed_client_held_is_released(session: pw.Session) -> None:
    alice = pw.Client("alice")
    with alice:
        with pw.lazy():
            x = step(START)
        pw.wait(x)
        pw.pause()
        with pw.lazy():
            y = step(x)
    alice.close()
    pw.resume()
    settle(session)
    assert x.state == "released" and "released" in repr(x) and not x.is_ready()
    with pytest.raises(BufferReleased, match="was freed when its client was closed; compute it again"):
        x.result()
    with pytest.raises(PwlabError, match=r"^this value will never be computed: client 'alice' was closed$"):
        y.result()


def test_what_a_client_has_launched_ends_after_it_is_closed(session: pw.Session) -> None:
    alice = pw.Client("alice")
    with gate() as held:
        with alice, pw.lazy():
            x = held(jnp.asarray(START))
        assert held.reached.wait(LONG)
        owner = session.frontend.owner("alice")
        alice.close()
    settle(session)
    assert owner.submitted == owner.ended and x.state == "released"
