"""Steering, clients, migrating and asking why, in plain Python, through a real session."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import LONG, facts, gate, settle, sizes

import pwlab as pw
from pwlab.backends import compiler
from pwlab.clients import acting_as
from pwlab.control import Lane
from pwlab.errors import (
    ClientError,
    ComputationFailed,
    NotDispatched,
    PlacementError,
    PolicyError,
    ProgramCancelledError,
    PwlabError,
    PwlabWarning,
    SessionClosed,
    UnknownName,
)
from pwlab.events import NodeMoved, NodeState
from pwlab.runtime import driver

START = np.arange(4, dtype=np.float32)


@jax.jit
def step(x: Any) -> Any:
    return jnp.cos(x) * 0.5 + 1


def chain(name: str, n: int = 3, x: Any = START, slice: Any = None) -> Any:
    """Submits a program of ``n`` launches, each of which reads the one before."""
    with pw.lazy(name, slice):
        for _ in range(n):
            x = step(x)
    return x


def expected(n: int = 3) -> np.ndarray[Any, Any]:
    x: Any = START
    for _ in range(n):
        x = step(x)
    return np.asarray(x)


@pytest.fixture
def calm(session: pw.Session) -> Iterator[pw.Session]:
    """A session in which every computation is a launch of its own, is compiled already, and is paused."""
    session.configure("coalesce_ms", 0)
    for where in (None, "island0", "island1"):
        chain("warm", slice=where).result()
    settle(session)
    session.steering.pause()
    yield session
    if not session.closed:
        session.steering.resume()


def told(what: Any) -> str:
    return str(pw.why(what))


# --- by hand ---------------------------------------------------------------------------------------------


def test_pause_step_and_resume(calm: pw.Session) -> None:
    y = chain("p")
    assert calm.steering.paused and y.state == "queued"
    first, root = told("p").splitlines()
    assert first.endswith("'p' has 3 nodes that have not ended")
    assert root.endswith("waits, because all launches are paused: step or resume") and "test_steering.py, line" in root
    assert calm.steering.step() == ("step of p (client main)",)
    assert calm.clients()[0].queued == 2
    assert calm.steering.step(5) == ("step of p (client main)",) * 2
    np.testing.assert_array_equal(y.result(), expected())
    assert calm.steering.paused, "a step ends in the pause"
    z = chain("q", 5)  # three steps were left: they are made as soon as something can go
    settled = lambda: calm.driver.look(lambda c: c.clients()[0].launches) == 9 + 3 + 3  # noqa: E731
    assert calm.driver.signal.wait_for(settled, LONG)
    assert calm.clients()[0].queued == 2 and z.state != "ready"
    assert calm.steering.resume() == "all" and not calm.steering.paused
    np.testing.assert_array_equal(z.result(), expected(5))
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"a step is at least 1 launch, not {n}"):
            calm.steering.step(n)


def test_cancel(calm: pw.Session) -> None:
    y, z = chain("p"), chain("q")
    calm.steering.step()
    assert calm.steering.cancel("p") == 2
    with pytest.raises(ProgramCancelledError, match="cancelled"):
        y.result()
    assert calm.steering.cancel("p") == 0, "what has ended is left as it is"
    calm.steering.resume()
    np.testing.assert_array_equal(z.result(), expected())
    with pytest.raises(UnknownName, match="no program is called 'qq'; did you mean 'q'"):
        calm.steering.cancel("qq")
    with calm.programs.scope("later", defer=True):
        step(START)
    with pytest.raises(NotDispatched, match="program 'later' is held back: `%pw reset later` drops it"):
        calm.steering.cancel("later")


def test_cancelling_a_client_leaves_it_open_and_others_alone(calm: pw.Session) -> None:
    alice, bob = pw.Client("alice"), pw.Client("bob")
    with alice:
        y = chain("p")
    with bob:
        z = chain("p")
    assert calm.steering.cancel(client="alice") == 3
    with alice:
        again = chain("p")
    calm.steering.resume()
    with pytest.raises(ProgramCancelledError):
        y.result()
    for value in (z, again):
        np.testing.assert_array_equal(value.result(), expected())
    alice.cancel("enough")  # nothing of it runs
    with pytest.raises(UnknownName, match=r"no client is called 'alise'; did you mean 'alice'"):
        calm.steering.cancel(client="alise")


@pytest.mark.parametrize(
    ("name", "what"), [("alice", "client alice"), ("island1", "slice island1"), ("mine", "program mine")]
)
def test_suspend_and_resume(calm: pw.Session, name: str, what: str) -> None:
    alice, bob = pw.Client("alice"), pw.Client("bob")
    with alice:
        held = chain("mine", slice="island1")
    with bob:
        free = chain("his", slice="island0")
    assert calm.steering.suspend(name) == what
    calm.steering.resume()
    np.testing.assert_array_equal(free.result(), expected())
    settle_all_but(calm, 3)
    assert held.state == "queued" and "is suspended: resume it" in told(held)
    assert [u.suspended for u in calm.clients() if u.name == "alice"] == [name == "alice"]
    assert calm.steering.resume(name) == what
    np.testing.assert_array_equal(held.result(), expected())


def settle_all_but(session: pw.Session, left: int) -> None:
    assert session.driver.signal.wait_for(lambda: len(session.driver._alive) == left, LONG)


def test_what_cannot_be_suspended(calm: pw.Session) -> None:
    pw.Client("alice")
    for call in (calm.steering.suspend, calm.steering.resume):
        with pytest.raises(UnknownName, match="no client, slice or program is called 'alise'; did you mean 'alice'"):
            call("alise")
    calm.steering.resume()
    chain("p").result()
    settle(calm)
    with pytest.raises(UnknownName, match="has ended, or never was: there is nothing of it to hold"):
        calm.steering.suspend("p")


# --- policies ------------------------------------------------------------------------------------------------


def order_of(session: pw.Session, n: int) -> str:
    """Who the next launches belong to, by the first letters."""
    return "".join(name.split("client ")[1][0] for name in session.steering.step(n))


@pytest.fixture
def three(calm: pw.Session) -> list[Any]:
    """Values of three clients who have four launches queued each, in this order."""
    values: list[Any] = []
    for name, share, rank in (("alice", 1, 0), ("bob", 2, 5), ("carol", 1, 0)):
        with pw.Client(name, share, rank):
            values.append(chain(name, 4))
    return values


def test_the_policy_is_changed_live(calm: pw.Session, three: list[Any]) -> None:
    assert calm.policy == "fifo" and order_of(calm, 2) == "aa"
    calm.policy = "priority"
    assert calm.policy == "priority" and order_of(calm, 2) == "bb"
    calm.policy = "fifo"
    assert order_of(calm, 3) == "aab"
    calm.policy = "shortest"
    calm.steering.resume()
    for value in three:
        np.testing.assert_array_equal(value.result(), expected(4))
    with pytest.raises(UnknownName, match="no scheduling policy is called 'fiffo'; did you mean 'fifo'"):
        calm.policy = "fiffo"
    assert calm.policy == "shortest"


def test_shares_decide_who_goes_next(calm: pw.Session, three: list[Any]) -> None:
    calm.policy = "proportional"
    # A launch counts as soon as it is made, by what it is expected to take: two of bob's for one of the others'.
    order = order_of(calm, 8)
    assert sorted(order[:4]) == sorted(order[4:]) == ["a", "b", "b", "c"]


def test_a_policy_of_ones_own(calm: pw.Session, three: list[Any]) -> None:
    def fewest_launches(lanes: Sequence[Lane]) -> Lane:
        return min(lanes, key=lambda lane: (lane.launches, lane.order))

    calm.steering.register_policy("turns", fewest_launches)
    assert calm.steering.policies[-1] == "turns"
    calm.policy = "turns"
    assert order_of(calm, 6) == "abcabc"
    calm.steering.resume()
    for value in three:
        np.testing.assert_array_equal(value.result(), expected(4))
    assert calm.take_notes() == []
    for name, policy, says in (
        ("fifo", fewest_launches, "the policy 'fifo' is built in and stays as it is"),
        ("", fewest_launches, "the name of a policy is a text of one or more characters, not ''"),
        (7, fewest_launches, "the name of a policy is a text of one or more characters, not 7"),
        ("none", None, "the policy 'none' is a function from lanes to a lane, not None"),
    ):
        with pytest.raises(PolicyError, match=says):
            calm.steering.register_policy(name, policy)  # type: ignore[arg-type]


def _raises(lanes: Any) -> Any:
    raise KeyError("no idea")


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (_raises, "raised KeyError: 'no idea'"),
        (lambda lanes: None, "answered nothing, which is none of the lanes it was shown"),
        (lambda lanes: dataclasses.replace(lanes[0]), "answered a Lane, which is none of the lanes it was shown"),
    ],
)
def test_a_policy_that_misbehaves_is_removed_and_told_once(
    calm: pw.Session, three: list[Any], policy: Any, says: str
) -> None:
    calm.steering.register_policy("odd", policy)
    calm.policy = "odd"
    assert order_of(calm, 5) == "aaaab"
    assert calm.policy == "fifo" and "odd" not in calm.steering.policies
    calm.steering.resume()
    for value in three:
        np.testing.assert_array_equal(value.result(), expected(4))
    assert calm.take_notes() == [
        f"the scheduling policy 'odd' {says}; it was removed and fifo took over: mend it and register it again"
    ]
    assert calm.take_notes() == []


_MINE = "a scheduling policy decides by the lanes that it is shown, on the thread that schedules"


def _asks(lanes: Any) -> Any:
    return pw.session().policy


def _steers(lanes: Any) -> Any:
    pw.cancel(client="a")


def _waits(lanes: Any) -> Any:
    return _waits.__dict__["value"].result()


def _submits(lanes: Any) -> Any:
    with pw.lazy("from a policy"):
        jnp.ones(3) * 2
    return lanes[0]


@pytest.mark.parametrize("policy", [_asks, _steers, _waits, _submits])
def test_a_policy_that_turns_to_the_session_is_refused_and_hangs_nobody(
    calm: pw.Session, three: list[Any], policy: Any
) -> None:
    policy.__dict__["value"] = three[-1]
    calm.steering.register_policy("odd", policy)
    calm.policy = "odd"
    assert order_of(calm, 5) == "aaaab"
    calm.steering.resume()
    for value in three:
        np.testing.assert_array_equal(value.result(), expected(4))
    [note] = calm.take_notes()
    assert note.startswith(f"the scheduling policy 'odd' raised PolicyError: {_MINE}")


def test_a_policy_without_an_end_is_ended_while_somebody_waits(
    calm: pw.Session, three: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(lanes: Any) -> Any:
        while True:
            pass

    monkeypatch.setattr(driver, "STUCK_AFTER", 0.2)
    calm.steering.register_policy("endless", endless)
    calm.policy = "endless"
    calm.steering.resume()
    for value in three:
        np.testing.assert_array_equal(value.result(), expected(4))
    [note] = calm.take_notes()
    assert note.startswith("the scheduling policy 'endless' raised PolicyStuck: it had not decided after 0.2 s; it was")


def test_in_a_script_a_policy_that_was_removed_is_a_warning_told_once(calm: pw.Session, three: list[Any]) -> None:
    calm.steering.register_policy("odd", lambda lanes: None)  # type: ignore[arg-type, return-value]
    calm.policy = "odd"
    assert order_of(calm, 1) == "a"
    says = "the scheduling policy 'odd' answered nothing, which is none of the lanes it was shown; it was removed"
    with pytest.warns(PwlabWarning, match=says) as told:
        chain("next")
    assert len(told) == 1 and told[0].filename == __file__
    chain("once")  # warnings are errors here
    assert calm.take_notes() == []
    calm.steering.register_policy("odd", lambda lanes: None)  # type: ignore[arg-type, return-value]
    calm.policy = "odd"
    assert order_of(calm, 1) == "a"
    with pytest.warns(PwlabWarning, match=says):
        pw.shutdown()


# --- moving -----------------------------------------------------------------------------------------------


def devices_of(x: Any) -> set[int]:
    return {d.id for d in x.result().devices()}


def test_a_migrated_program_gives_the_same_values_elsewhere(calm: pw.Session) -> None:
    work = pw.make_virtual_device_set().add_slice(2, island=0, name="work")

    @jax.jit
    def mixed(x: Any) -> Any:
        return jnp.tanh(x @ x.T) @ x + jnp.sum(x)

    def run(name: str) -> tuple[Any, Any]:
        with pw.lazy(name, slice=work):
            x = early = pw.shard(np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8), jax.P("d"))
            for _ in range(6):
                x = mixed(x)
        return early, x

    calm.steering.resume()
    plain = np.asarray(run("undisturbed")[1].result())
    calm.steering.pause()
    before = work.devices
    early, late = run("moved")
    calm.steering.step(3)
    pw.wait(early)
    pw.migrate(work, "island1")
    calm.steering.resume()
    np.testing.assert_array_equal(late.result(), plain)
    assert set(before) < {0, 1, 2, 3} and set(work.devices) < {4, 5, 6, 7} and work.island_name == "island1"
    assert devices_of(late) == set(work.devices) == devices_of(early), "what was there before has moved too"
    assert len(late.addressable_shards) == 2
    np.testing.assert_array_equal(run("after")[1].result(), plain)


def test_it_moves_when_what_was_launched_has_ended(session: pw.Session) -> None:
    work = pw.make_virtual_device_set().add_slice(1, island=0, name="work")
    with gate() as held:
        with pw.lazy("p", slice=work):
            x = held(jnp.asarray(START))
            y = step(x)
        assert held.reached.wait(LONG)
        pw.migrate("work", 1)
        z = chain("q", slice=work)
        assert work.island_name == "island0" and "moves when" in told("q")
        with pytest.raises(PlacementError, match="work"):
            pw.migrate("work", 0)
    np.testing.assert_array_equal(y.result(), expected(1))
    np.testing.assert_array_equal(z.result(), expected())
    assert work.island_name == "island1" and devices_of(z) == set(work.devices) <= {4, 5, 6, 7}


def test_where_a_slice_cannot_move(session: pw.Session) -> None:
    pw.make_virtual_device_set().add_slice(2, island=0, name="work")
    for slice, island, error, says in (
        ("work", 0, PlacementError, "slice 'work' lies on devices .* of island0 already"),
        ("work", 7, UnknownName, "no island is called 7"),
        ("wrk", None, UnknownName, "no slice is called 'wrk'; did you mean 'work'"),
    ):
        with pytest.raises(error, match=says):
            pw.migrate(slice, island)


# --- why --------------------------------------------------------------------------------------------------


def test_why_it_is_compiled_or_has_no_input(session: pw.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    make = compiler.make
    with gate() as held:

        def slowly(*args: Any) -> Any:
            held.wait()
            return make(*args)

        monkeypatch.setattr(compiler, "make", slowly)

        @jax.jit
        def fresh(x: Any) -> Any:
            return x * 3 - 1

        with pw.lazy("first"):
            x = fresh(START)
        assert held.reached.wait(LONG)
        assert told(x).startswith("'fresh' of program ") and told(x).endswith("is being compiled")
        y = chain("second", 1, x)
        assert [line.split(") ")[-1].split(" of program")[0] for line in told(y).splitlines()] == [
            "waits for its input from 'fresh'",
            "is being compiled",
        ]
        assert "waits for its input from 'fresh' of program" in told("second")
    y.result()
    settle(session)
    assert told(y).endswith("a result of 'step', is there") and "has ended" in told("second")


def test_why_it_is_queued(session: pw.Session) -> None:
    session.configure("coalesce_ms", 0)
    chain("warm").result()
    session.configure("max_in_flight", 1)
    with gate() as held:
        slow = jax.jit(lambda v: held(v) * 2)  # on a device; the callback alone would be a host node
        with pw.lazy("slow"):
            x = slow(START)
        assert held.reached.wait(LONG)
        assert told(x).endswith("is running")
        y = chain("next", 1)
        first, *_, last = told(y).splitlines()
        assert "waits for a place: island0 has 1 launch in flight, as many as it may; the first is" in first
        assert last.endswith("is running")
        z = chain("last", 1)
        assert "is queued behind 'step' of program" in told(z).splitlines()[0]
    pw.wait([x, y, z])


def test_why_asks_about_tensors_and_programs(session: pw.Session) -> None:
    with pw.lazy("open"):
        x = step(START)
        assert "test_steering.py" in told(x) or "is there" in told(x)
    with pytest.raises(UnknownName, match="no program or computation is called 'opn'; did you mean 'open'"):
        pw.why("opn")
    x.release()
    with pytest.raises(PwlabError, match="released"):
        pw.why(x)


# --- memory -------------------------------------------------------------------------------------------------


@pytest.fixture
def tight() -> Iterator[pw.Session]:
    """One island of two devices with 10,000 bytes each."""
    pw.shutdown()
    session = pw.start(islands=1, devices_per_island=2, hbm_bytes=10_000, coalesce_ms=0)
    yield session
    if not session.closed:
        settle(session)
    pw.shutdown()


def block(name: str, n: int) -> Any:
    """Submits a program that makes ``n`` bytes."""
    with pw.lazy(name):
        return jnp.full((n // 4,), 7.0, jnp.float32)


def test_what_can_never_fit_fails_at_once_with_the_sums(tight: pw.Session) -> None:
    x = block("huge", 12_000)
    says = r"writes 11\.7 KB on (device|chip) 0, which may hold 9\.8 KB: it can never run there, short by 2\.0 KB"
    with pytest.raises(ComputationFailed, match=says):
        x.result()
    np.testing.assert_array_equal(block("fits", 8_000).result(), np.full(2_000, 7.0))


def test_what_does_not_fit_waits_and_others_go_on(tight: pw.Session) -> None:
    kept = block("kept", 6_000)
    pw.wait(kept)
    late = block("late", 6_000)
    for n in range(3):
        assert block(f"small {n}", 400).result().shape == (100,)
    first = told(late).splitlines()[0]
    assert "waits for memory: " in first and "is short by 2." in first and "of program" in first
    use = tight.steering.memory()
    assert use.devices[0].capacity == 10_000 and use.devices[0].bytes >= 6_000 > use.devices[1].bytes
    assert (use.holders[0].bytes, use.holders[0].program_name, use.holders[0].pinned) == (6_000, "kept", True)
    kept.release()
    np.testing.assert_array_equal(late.result(), np.full(1_500, 7.0))
    assert max(d.peak_bytes for d in tight.steering.memory().devices) <= 10_000


def test_a_client_has_a_limit_of_its_own(tight: pw.Session) -> None:
    with pw.Client("alice", max_bytes=1_000):
        x = block("hers", 2_000)
    with pytest.raises(ComputationFailed, match=r"client 'alice' may hold 1000 B \(max_bytes\): it can never run"):
        x.result()
    np.testing.assert_array_equal(block("others", 2_000).result(), np.full(500, 7.0))


# --- clients -------------------------------------------------------------------------------------------------


def test_bad_clients(session: pw.Session) -> None:
    for settings, says in (
        ({"share": float("nan")}, "client 'z' asks for share=nan: a share is a positive finite number"),
        ({"share": 0}, "client 'z' asks for share=0"),
        ({"share": -1.5}, "client 'z' asks for share=-1.5"),
        ({"share": float("inf")}, "client 'z' asks for share=inf"),
        ({"max_bytes": 0}, "client 'z' asks for max_bytes=0: allow at least 1 byte"),
        ({"max_in_flight": 0}, "client 'z' asks for max_in_flight=0: allow at least 1 launch"),
    ):
        with pytest.raises(ClientError, match=says):
            pw.Client("z", **settings)
    assert "z" not in [u.name for u in session.clients()]


def test_a_client_that_was_closed(session: pw.Session) -> None:
    alice = pw.Client("alice", share=2)
    assert repr(alice) == "Client('alice', share 2, 0 launches, 0 device-seconds)"
    alice.close()
    for call in (alice.close, alice.__enter__, alice.usage, alice.cancel):
        with pytest.raises(
            ClientError, match=r"client 'alice' was closed; open it again with pw\.Client\('alice', \.\.\.\)"
        ):
            call()
    assert repr(alice) == "Client('alice', closed)"
    with pw.Client("alice"):
        np.testing.assert_array_equal(chain("again").result(), expected())


def test_a_client_outlives_no_session(session: pw.Session) -> None:
    alice = pw.Client("alice")
    pw.shutdown()
    assert repr(alice) == "Client('alice', of a session that was stopped)"
    with pytest.raises(SessionClosed, match="client 'alice' belongs to a session that was stopped; open it again"):
        alice.__enter__()
    alice.close()


def test_closing_a_client_frees_what_it_owned(session: pw.Session) -> None:
    before = sizes(session)
    alice, bob = pw.Client("alice"), pw.Client("bob")
    with alice:
        hers = chain("hers")
    with bob:
        his = chain("his")
    pw.wait([hers, his])
    assert alice.usage().bytes > 0
    alice.close()
    assert [u.name for u in session.clients() if u.name in ("alice", "bob")] == ["bob"]
    assert all(holder.client != "alice" for holder in session.steering.memory().holders)
    for use in ("(hers + 1).tolist()", "hers.result()", "float(hers[0])"):
        with pytest.raises(PwlabError, match="was freed when its client was closed; compute it again"):
            eval(use, {"hers": hers})
    assert "is not known" in told(hers)
    with pytest.raises(ComputationFailed, match=r"a value that it reads, made at .*, was freed when its client was"):
        chain("on", 2, hers).result()
    np.testing.assert_array_equal(his.result(), expected())
    bob.close()
    del hers, his
    after = sizes(session)
    assert {k: after[k] for k in ("nodes", "buffers", "arrays", "tasks")} == {
        k: before[k] for k in ("nodes", "buffers", "arrays", "tasks")
    }


def test_closing_a_client_cancels_what_it_has_queued(calm: pw.Session) -> None:
    alice = pw.Client("alice")
    with alice:
        hers = chain("hers")
    his = chain("his", 3)
    alice.close()
    calm.steering.resume()
    with pytest.raises(PwlabError, match="client 'alice' was closed"):
        hers.result()
    np.testing.assert_array_equal(his.result(), expected())


def test_one_clients_failure_is_its_own(session: pw.Session) -> None:
    def broken(x: Any) -> Any:
        raise ValueError("no luck")

    with pw.Client("alice"), pw.lazy("bad"):
        bad = step(jax.pure_callback(broken, jax.ShapeDtypeStruct((4,), np.float32), START))
    with pw.Client("bob"):
        good = chain("good")
    np.testing.assert_array_equal(good.result(), expected())
    with pytest.raises(ComputationFailed, match="no luck"):
        bad.result()


def test_a_client_in_several_threads_at_once(session: pw.Session) -> None:
    alice, bob = pw.Client("alice"), pw.Client("bob")
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with bob, alice:
            inside.set()
            assert leave.wait(LONG)
            chain("theirs")

    thread = threading.Thread(target=other)
    with alice:
        thread.start()
        assert inside.wait(LONG)
    leave.set()  # this thread left, while the other is inside
    chain("mine")
    with acting_as("bob"), acting_as("alice"):
        chain("hers")
    thread.join()
    session.programs.wait(timeout=LONG)
    owners = {record.name: record.client for record in session.programs}
    assert owners == {"theirs": "alice", "mine": "main", "hers": "alice"}
    with pytest.raises(ClientError, match="no client is called 'alise'; did you mean 'alice'"), acting_as("alise"):
        pass


def test_accounts(calm: pw.Session) -> None:
    alice = pw.Client("alice", share=3, max_in_flight=1)
    with alice:
        y = chain("p")
    assert (alice.usage().queued, alice.usage().launches) == (3, 0)
    calm.steering.resume()
    y.result()
    settle(calm)
    usage = alice.usage()
    assert (usage.launches, usage.queued, usage.in_flight, usage.bytes) == (3, 0, 0, 16)
    assert usage.device_seconds > 0 and usage.peak_bytes >= 32 and usage.max_in_flight == 1
    launched = [f for f in facts(calm, NodeMoved) if f.state is NodeState.LAUNCHED]
    assert len(launched) == 9 + 3


# --- shapes ---------------------------------------------------------------------------------------------------


def test_slices_are_blocks_of_the_mesh() -> None:
    pw.shutdown()
    session = pw.start(islands=[{"shape": (2, 4), "chip": "cpu"}])
    try:
        devices = pw.make_virtual_device_set()
        square = devices.add_slice(shape=(2, 2), name="square")
        other = devices.add_slice(shape=(2, 2), name="other")
        row = devices.add_slice(4, shape=(1, 4), name="row")
        assert square.devices == (0, 1, 4, 5) and other.devices == (2, 3, 6, 7)
        assert row.devices in ((0, 1, 2, 3), (4, 5, 6, 7))
        with pw.lazy(slice=square):
            x = pw.shard(np.arange(16, dtype=np.float32).reshape(4, 4), jax.P("x", "y"))
            y = x * 2
        assert {d.id for d in y.result().devices()} == set(square.devices)
        assert {shard.data.shape for shard in y.addressable_shards} == {(2, 2)}
        for call, says in (
            (lambda: devices.add_slice(shape=(3, 3)), r"a block of shape \(2, 3\) would fit on island0"),
            (lambda: devices.add_slice(), "a slice needs tpu_devices=n or a shape"),
            (lambda: devices.add_slice(3, shape=(2, 2)), "3"),
            (lambda: devices.add_slice(2, chip="tpu"), "tpu"),
        ):
            with pytest.raises(PlacementError, match=says):
                call()
        settle(session)
    finally:
        pw.shutdown()


def test_a_host_node_is_a_step_too(calm: pw.Session) -> None:
    load = pw.host(lambda i: START + i, out=jax.ShapeDtypeStruct((4,), np.float32), name="load")
    with pw.lazy("p"):
        y = step(load(0))
    assert calm.steering.step() == ("load of p (client main)",)
    calm.steering.resume()
    np.testing.assert_array_equal(y.result(), expected(1))


def bytes_of(session: pw.Session) -> list[int]:
    return [device.bytes for device in session.steering.memory().devices]


def test_a_replicated_value_counts_whole_on_each_device_and_a_sharded_one_in_parts() -> None:
    pw.shutdown()
    session = pw.start(islands=1, devices_per_island=4, hbm_bytes=100_000)
    whole = pw.shard(np.ones((4, 256), np.float32), jax.P())
    pw.wait(whole)
    settle(session)
    assert bytes_of(session) == [4096] * 4
    parts = pw.shard(np.ones((4, 256), np.float32), jax.P("d"))
    pw.wait(parts)
    settle(session)
    assert bytes_of(session) == [4096 + 1024] * 4
    whole.release()
    del whole
    settle(session)
    assert bytes_of(session) == [1024] * 4
    summed = pw.jit(lambda x: jnp.sum(x, axis=0))(parts)  # XLA puts the sum on each
    pw.wait(summed)
    settle(session)
    each = 1024 if summed.result().is_fully_replicated else 256
    assert bytes_of(session) == [1024 + each] * 4
    pw.shutdown()


def test_scratch_that_can_never_fit_is_told_with_the_sums(tight: pw.Session) -> None:
    twice = pw.jit(lambda x: (x @ x.T) @ x)  # holds x @ x.T while it runs
    small = np.ones((16, 16), np.float32)
    np.testing.assert_array_equal(twice(small).result(), (small @ small.T) @ small)
    says = (
        r"writes 6\.2 KB and needs \d+\.?\d* KB of scratch while it runs on (device|chip) 0, which may hold "
        r"9\.8 KB: it can never run there, short by"
    )
    with pytest.raises(ComputationFailed, match=says):
        twice(np.ones((40, 40), np.float32)).result()
