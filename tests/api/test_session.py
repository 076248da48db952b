"""Sessions: start, stop, settings, and what is told when something is not as asked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from harness import LONG, gate

import pwlab as pw
from pwlab.backends.devices import _grouped
from pwlab.config import Config
from pwlab.errors import InternalError, SessionClosed, StartError, UnknownName
from pwlab.lazy.ops import transfer_p
from pwlab.lazy.scope import Scope, on
from pwlab.session import running


def test_starting_again_with_the_same_shape_keeps_the_session(session: pw.Session) -> None:
    assert pw.start(islands=2, devices_per_island=4) is session
    assert pw.start() is session
    assert pw.session() is session
    assert pw.start(sync="error") is session
    assert session.config.sync == "error"


def test_another_shape_stops_the_one_before(session: pw.Session) -> None:
    other = pw.start(islands=4, devices_per_island=2)
    assert session.closed
    assert repr(session) == "Session(stopped)"
    assert pw.session() is other
    assert repr(other) == ("Session(4 islands of emulated TPUs (island0: 2, island1: 2, island2: 2, island3: 2))")
    with pw.lazy(slice="island3"):
        x = jnp.ones(2) + 1
    assert x.tolist() == [2, 2]
    assert sorted(d.id for d in x.devices()) == [6]


def test_stopping_and_starting_again(session: pw.Session) -> None:
    for _ in range(3):
        pw.shutdown()
        pw.shutdown()
        assert running() is None
        assert not [t.name for t in threading.enumerate() if t.name.startswith("pwlab-")]
        pw.start(islands=1, devices_per_island=2)
        with pw.lazy():
            x = jnp.arange(3.0) + 1
        assert x.tolist() == [1, 2, 3]


def test_stopping_fails_what_has_not_run(session: pw.Session) -> None:
    with gate() as hold:
        with pw.lazy():
            x = hold(jnp.ones(2))
            y = x + 1
        assert hold.reached.wait(LONG)
        pw.shutdown()
        hold.open()
    for value in (x, y):
        with pytest.raises(SessionClosed, match="the session was stopped before this value was computed"):
            value.result()


def test_a_closed_session_takes_nothing(session: pw.Session) -> None:
    pw.shutdown()
    with pytest.raises(SessionClosed, match=r"the session was stopped"), Scope(session.frontend, "late"):
        jnp.ones(2) + 1


def test_without_a_session_the_defaults_start_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    pw.shutdown()
    try:
        with pw.lazy():
            x = jnp.ones(2) + 1
        assert x.tolist() == [2, 2]
        assert capsys.readouterr().out == (
            "pwlab: started Session(2 islands of emulated TPUs (island0: 4, island1: 4)); use pw.start(...) or %pw "
            "start to choose\n"
        )
    finally:
        pw.shutdown()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"islands": 0}, StartError, "islands is 0; it is at least 1"),
        ({"devices_per_island": -1}, StartError, "devices_per_island is -1; it is at least 1"),
        ({"backend": "locl"}, StartError, r"no backend is called 'locl'; did you mean 'local'\? There is: local"),
        ({"backend": "zzzzz"}, StartError, r"no backend is called 'zzzzz'\. There is: local"),
        ({"snc": "log"}, UnknownName, r"no setting is called 'snc'; did you mean 'sync'\? Settings: sync"),
        ({"zzzzz": 1}, UnknownName, r"no setting is called 'zzzzz'\. Settings: sync"),
        ({"sync": "loud"}, ValueError, "sync is one of log, warn, error, not 'loud'"),
        ({"window_ms": "fast"}, ValueError, r"window_ms takes a number \(float\), not 'fast'"),
        ({"max_ahead": -5}, ValueError, "max_ahead is -5; it is at least 0"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_starts_leave_the_session_alone(session: pw.Session, arguments: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        pw.start(**arguments)
    assert pw.session() is session
    with pw.lazy():
        x = jnp.ones(2) + 1
    assert x.tolist() == [2, 2]


def test_too_many_devices_for_a_jax_that_runs(session: pw.Session) -> None:
    text = (
        r"16 devices were asked for, JAX already runs with 8; start pwlab before the first JAX call, or restart the "
        r"kernel \(or ask for 8 in all, such as pw.start\(islands=1, devices_per_island=8\)\)"
    )
    with pytest.raises(StartError, match=text):
        pw.start(islands=4, devices_per_island=4)
    assert pw.session() is session


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "import jax; jax.numpy.ones(1)\nimport pwlab as pw\n"
            "try: pw.start()\nexcept pw.errors.StartError as e: print(e)",
            "8 devices were asked for, JAX already runs with 1; start pwlab before the first JAX call, or restart the "
            "kernel (or ask for 1 in all, such as pw.start(islands=1, devices_per_island=1))",
        ),
        (
            "import jax.numpy as jnp, pwlab as pw\nwith pw.lazy(): x = jnp.arange(3) * 2\nprint(x, pw.session())",
            "[0 2 4] Session(2 islands of emulated TPUs (island0: 4, island1: 4))",
        ),
        (  # left running at the end of the process, in the middle of work
            "import jax, numpy as np, jax.numpy as jnp, pwlab as pw\npw.start(1, 2)\n"
            "with pw.lazy():\n  x = jnp.ones((500, 500))\n  for _ in range(50): x = jnp.tanh(x @ x)\nprint('end')",
            "end",
        ),
    ],
    ids=["too few", "defaults", "left running"],
)
def test_in_a_process_of_its_own(code: str, expected: str) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("NPROC", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES")}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == expected
    assert "Traceback" not in run.stderr


def test_settings_change_while_it_runs(session: pw.Session) -> None:
    for name, value, now in (
        ("sync", "warn", "warn"),
        ("window_nodes", "64", 64),
        ("window_ms", 2, 2.0),
        ("dispatch", "sequential", "sequential"),
        ("max_in_flight", "2", 2),
        ("coalesce_ms", "0", 0.0),
    ):
        session.configure(name, value)
        assert getattr(session.config, name) == now
    with pw.lazy():
        x = jnp.arange(4.0)
        for _ in range(20):
            x = jax.jit(lambda a: a + 1)(x)
    assert x.tolist() == [20, 21, 22, 23]


@pytest.mark.parametrize("dispatch", ["parallel", "sequential"])
@pytest.mark.parametrize("coalesce", [0.0, 2.0])
@pytest.mark.parametrize("in_flight", [1, 16])
def test_numbers_do_not_depend_on_settings(session: pw.Session, dispatch: str, coalesce: float, in_flight: int) -> None:
    session.configure("dispatch", dispatch)
    session.configure("coalesce_ms", coalesce)
    session.configure("max_in_flight", in_flight)
    step = jax.jit(lambda a, b: jnp.tanh(a @ b) + a)
    x = y = jnp.eye(4) / 3
    with pw.lazy():
        for i in range(12):
            with pw.on(f"island{i % 2}"):
                x = step(x, y)
    expected = jnp.eye(4) / 3
    for _ in range(12):
        expected = step(expected, y)
    assert jnp.allclose(x.result(), expected, rtol=1e-5)


def test_several_islands_share_a_device() -> None:
    """As on Colab's one chip: the islands are logical."""
    machine = _grouped(jax.devices()[:1], 2, 2)
    assert machine.shared
    session = pw.Session(machine, Config())
    try:
        left, right = session.slices
        with Scope(session.frontend, "shared"):
            x = jnp.arange(4.0)
            with on(right):
                y = x * 2
                spec = jax.sharding.PartitionSpec("d")
                z = jax.jit(lambda a: a + 1)(transfer_p.bind(y, slice=int(right.id), spec=spec))
        assert (y.tolist(), z.tolist()) == ([0, 2, 4, 6], [1, 3, 5, 7])
        assert [v.slice for v in (x, y, z)] == [left, right, right]
    finally:
        session.close()


def test_a_fault_of_the_controller_is_told_and_hangs_nobody(session: pw.Session) -> None:
    def fault(event: Any) -> Any:
        raise AssertionError("the order is lost")

    controller = session.driver._controller
    handle, controller.handle = controller.handle, fault  # type: ignore[method-assign]
    try:
        with pw.lazy():
            x = jnp.ones(2) + 1
        with pytest.raises((InternalError, pw.errors.ComputationFailed), match="the order is lost"):
            x.result()
        with pytest.raises(InternalError, match="please report it"), pw.lazy():
            jnp.ones(2) + 1
    finally:
        controller.handle = handle  # type: ignore[method-assign]
    pw.shutdown()
    pw.start(islands=2, devices_per_island=4)
    with pw.lazy():
        y = jnp.ones(2) + 1
    assert y.tolist() == [2, 2]


def test_public_names_resolve() -> None:
    for name in pw.__all__:
        assert getattr(pw, name) is not None
        assert getattr(pw, name).__doc__ or name == "Policy"  # the name of a type, which has no text of its own
