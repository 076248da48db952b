"""``%pw``: the scheduler by hand, clients, memory, and why something waits; and ``%%pathways --client``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness import LONG, gate, settle

import pwlab as pw
from pwlab.errors import ProgramCancelledError
from pwlab.session import running
from pwlab_magics.completion import complete

from .conftest import Shell
from .kernel import Kernel


@pytest.fixture
def calm(ip: Shell, session: pw.Session) -> Iterator[Shell]:
    """A paused shell in which ``step`` is compiled and each of its calls is a launch; clients alice and bob."""
    session.configure("coalesce_ms", 0)
    ip.ok("import jax, numpy as np\nx0 = np.ones(3, np.float32)\n@jax.jit\ndef step(x):\n    return jnp.cos(x) + 1")
    ip.ok("alice, bob = pw.Client('alice', share=3), pw.Client('bob', priority=2, max_in_flight=4)")
    ip.ok("%%pathways -b -p warm\ny = step(x0)\nfor _ in range(2):\n    y = step(y)")
    settle(session)
    ip.ok("%pw pause")
    yield ip
    if not session.closed:
        session.steering.resume()


LOOP = "%%pathways -c {} -p {}\ny = step(x0)\nfor _ in range(2):\n    y = step(y)"


def test_the_scheduler_by_hand(calm: Shell) -> None:
    calm.ok(LOOP.format("alice", "hers"))
    calm.ok("%%pathways --client bob -p his\nz = step(x0)")
    assert calm.ok("%pw step").out == "launched: step of hers (client alice)\n"
    out = calm.ok("%pw why hers").out
    assert out.startswith("program ") and "'hers' has" in out
    out = calm.ok("%pw why z").out
    assert "'step' of program" in out and "(Cell In[6], line 2)" in out and "all launches are paused" in out
    lines = calm.ok("%pw step 9").out.splitlines()
    assert lines[:3] == ["launched: step of hers (client alice)"] * 2 + ["launched: step of his (client bob)"]
    assert lines[3:] == ["6 more launches will follow as soon as something can go"]
    assert calm.ok("%pw resume").out == "launches go on\n"
    calm.ok("%pw wait")
    assert calm.ok("%pw why z").out.rstrip().endswith("is there")
    assert "has ended" in calm.ok("%pw why his").out


def test_clients(calm: Shell, session: pw.Session) -> None:
    calm.ok(LOOP.format("alice", "hers"))
    rows = {line.split()[0]: line for line in calm.ok("%pw clients").out.splitlines() if line.strip()}
    assert "3 queued" in rows["alice"] and "share 1" in rows["bob"] and "priority 2, at most 4 in" in rows["bob"]
    assert rows["policy"].startswith("policy fifo, which does not look at shares")
    assert calm.ok("%pw suspend alice").out.startswith("client alice is suspended: its buffers go to host memory, and")
    assert "suspended, 3 queued" in calm.ok("%pw clients").out
    assert calm.ok("%pw resume alice").out == "client alice goes on; but all launches are paused\n"
    calm.ok("%pw resume")
    calm.ok("%pw wait hers")
    settle(session)
    assert " 3 " in calm.ok("%pw clients").out and calm["alice"].usage().launches == 3


def test_policy(calm: Shell, session: pw.Session) -> None:
    assert calm.ok("%pw policy").out == "policy fifo; there are also proportional, priority, shortest\n"
    assert calm.ok("%pw policy proportional").out.startswith("policy proportional; there are also fifo")
    assert session.policy == "proportional"
    says = calm.misuse("%pw policy proportionl")
    assert "no scheduling policy is called 'proportionl'; did you mean 'proportional'?" in says


def test_a_policy_that_raises_is_told_once_under_the_cell(calm: Shell, session: pw.Session) -> None:
    calm.ok("def bad(lanes):\n    1 / 0\npw.session().steering.register_policy('bad', bad)\n%pw policy bad")
    calm.ok(LOOP.format("alice", "hers"))
    told = calm.ok("%pw step").err
    assert (
        told.count("pwlab: the scheduling policy 'bad' raised ZeroDivisionError: division by zero; it was removed") == 1
    )
    assert calm.ok("%pw step").err == "" and session.policy == "fifo"


def test_memory(calm: Shell) -> None:
    out = calm.ok("%pw memory").out
    assert "island0" in out and "no limit" in out and "warm" in out and "Cell In[3]:4" in out and "you" in out
    calm.ok("del y")
    calm.ok("%pw resume")
    calm.ok("%pw wait")


def test_cancel(calm: Shell) -> None:
    calm.ok(LOOP.format("alice", "hers"))
    assert calm.ok("%pw cancel hers").out == "program hers: 3 computations cancelled; what was launched ends\n"
    assert isinstance(calm.run("y.result()").error, ProgramCancelledError)
    calm.ok(LOOP.format("bob", "his"))
    assert "client bob: 3 computations cancelled" in calm.ok("%pw cancel --client bob").out
    assert "nothing to cancel, all of it was launched or has ended" in calm.ok("%pw cancel warm").out


def test_migrate(ip: Shell, session: pw.Session) -> None:
    ip.ok("work = pw.make_virtual_device_set().add_slice(2, island=0, name='work')")
    assert ip.ok("%pw migrate work island1").out == "slice work has 2 devices of island1 now\n"
    assert ip.ok("%pw migrate work 0").out == "slice work has 2 devices of island0 now\n"
    assert set(ip["work"].devices) <= {0, 1, 2, 3}
    with gate() as held:
        ip["held"] = held
        ip.ok("%%pathways -s work -p slow\ny = held(jnp.ones(2)) + 1")
        assert held.reached.wait(LONG)
        assert "slice work moves as soon as what was launched on it has ended" in ip.ok("%pw migrate work island1").out
    assert ip.ok("y.tolist()").value == [2, 2]
    settle(session)
    assert ip["work"].island_name == "island1"


def test_timeline(calm: Shell) -> None:
    calm.ok("%pw resume")
    calm.ok(LOOP.format("alice", "hers") + "\nfloat(y[0])")
    out = calm.ok("%pw timeline hers").out
    assert out.startswith("hers") and "island0" in out and "step" in out
    both = calm.ok("%pw timeline hers warm --colour client").out
    assert both.startswith("2 programs") and "alice" in both.splitlines()[-1] and "main" in both.splitlines()[-1]
    assert "warm" in calm.ok("%pw timeline").out or "programs" in calm.ok("%pw timeline").out


def test_a_cell_of_a_client(ip: Shell, session: pw.Session) -> None:
    ip.ok("alice = pw.Client('alice')")
    ip.ok("%%pathways -c alice\nx = jnp.ones(2)\nimport asyncio\nawait asyncio.sleep(0)\ny = x + 1")
    ip.run("%%pathways -c alice\nz = jnp.ones(2)\n1 / 0")
    ip.ok("%%pathways\nw = jnp.ones(2)")
    with pw.lazy("by hand"):
        ip["w"] + 1
    owners = {record.name: record.client for record in session.programs}
    assert owners == {"In[2]": "alice", "In[3]": "alice", "In[4]": "main", "by hand": "main"}
    says = ip.misuse("%%pathways -c alise\nran = True")
    assert "no client is called 'alise'; did you mean 'alice'?" in says and "make one with pw.Client" in says
    ip.ok("alice.close()")
    assert "no client is called 'alice'" in ip.misuse("%%pathways -c alice\nran = True")
    assert "ran" not in ip.shell.user_ns


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("step two", "invalid int value: 'two'"),
        ("step 0", "a step is at least 1 launch, not 0"),
        ("suspend", "the following arguments are required: NAME"),
        ("suspend alise", "no client, slice or program is called 'alise'; did you mean 'alice'?"),
        ("resume iland0", "did you mean 'island0'?"),
        ("cancel", "one of the arguments PROGRAM --client is required"),
        ("cancel mine --client alice", "not allowed with argument"),
        ("cancel mien", "no program is called 'mien'; did you mean 'mine'?"),
        ("cancel --client alise", "no client is called 'alise'"),
        ("why mien", "no program or computation is called 'mien'; did you mean 'mine'?"),
        ("policy ''", "the name of a policy is a text of one or more characters, not ''"),
        ("policy SHORTEST", "no scheduling policy is called 'SHORTEST'; did you mean 'shortest'?"),
        ("step 0.5", "invalid int value: '0.5'"),
        ("PAUSE", "(did you mean pause?)"),
        ("config max_in_flight=0", "max_in_flight is 0; it is at least 1"),
        ("migrate iland0", "no slice is called 'iland0'; did you mean 'island0'?"),
        ("migrate island0 iland1", "no island is called 'iland1'; did you mean 'island1'?"),
        ("timeline --colour clint", "(did you mean client?)"),
        ("timeline mien", "no program is called 'mien'; did you mean 'mine'?"),
        ("paus", "(did you mean pause?)"),
    ],
)
def test_misuse(ip: Shell, session: pw.Session, line: str, says: str) -> None:
    ip.ok("alice = pw.Client('alice')")
    ip.ok("%%pathways -b -p mine\njnp.ones(1)")
    assert says in ip.misuse(f"%pw {line}")
    assert not session.steering.paused


def test_a_name_with_blanks_is_told_as_it_is_typed(calm: Shell, session: pw.Session) -> None:
    calm.ok("over = pw.make_virtual_device_set().add_slice(2, name='über slice')")
    assert calm.ok("%pw suspend 'über slice'").out.endswith("launches nothing until `%pw resume 'über slice'`\n")
    assert calm.ok("%pw resume 'über slice'").out.startswith("slice über slice goes on")
    calm.ok("%%pathways --defer -p 'my cell'\nz = step(x0)")
    assert "it with `%pw run 'my cell'`" in calm.misuse("%pw wait 'my cell'")
    assert "`%pw reset 'my cell'` drops it" in calm.misuse("%pw cancel 'my cell'")
    assert "run it with %pw run 'my cell'" in calm.ok("%pw status").out
    calm.ok("%pw run 'my cell'")
    assert "wait again with `%pw wait 'my cell'`" in str(calm.run("%pw wait 'my cell' --timeout 0").error)


def test_why_of_a_computation_and_as_a_value(calm: Shell) -> None:
    calm.ok(LOOP.format("alice", "hers"))
    out = calm.ok("%pw why step").out
    assert "'step' of program" in out and "all launches are paused" in out
    assert str(calm.ok("pw.why('step')").value).endswith("all launches are paused: step or resume")
    assert {"step", "hers", "warm"} <= set(complete("%pw why ", {}) or ())


def test_a_client_is_not_entered_inside_a_cell_of_another(ip: Shell, session: pw.Session) -> None:
    ip.ok("alice = pw.Client('alice')\n%pw auto on")
    ran = ip.run("with alice:\n    x = jnp.ones(2)")
    assert isinstance(ran.error, pw.errors.ClientError)
    assert "`%%pathways -c alice` at the top of the cell" in str(ran.error)
    ip.ok("%%pathways -c alice\nwith alice:\n    x = jnp.ones(2)")
    assert session.programs.find("In[3]").client == "alice"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("-c ''", "no client is called ''"),
        ("-s ''", "no slice is called ''"),
        ("-p ''", "the name of a program is a text of one or more characters, not ''"),
        ("--shard ''", "'' is no partition spec"),
    ],
)
def test_a_name_that_is_empty(ip: Shell, session: pw.Session, flags: str, says: str) -> None:
    assert says in ip.misuse(f"%%pathways {flags}\nran = True")
    assert "ran" not in ip.shell.user_ns and session.programs.names() == []


def test_looking_starts_nothing(ip: Shell) -> None:
    pw.shutdown()
    for command in ("clients", "policy fifo", "memory", "pause", "step", "resume", "suspend a", "cancel p", "why p",
                    "migrate a", "timeline"):  # fmt: skip
        assert "no session is running" in ip.ok(f"%pw {command}").out
    assert running() is None


def test_help(ip: Shell) -> None:
    for command, says in (("step", "so many launches"), ("cancel", "--client NAME"), ("timeline", "--colour {")):
        assert says in ip.ok(f"%pw {command} -h").out
    out = ip.ok("%pw -h").out
    for command in ("clients", "policy", "memory", "pause", "step", "resume", "suspend", "cancel", "why", "migrate"):
        assert f"\n    {command} " in out


def test_in_a_notebook_there_are_pictures_and_text(kernel: Kernel) -> None:
    kernel.ok("%%pathways -b -p drawn\nx = jnp.ones(2) + 1")
    for command, says in (("why x", "is there"), ("why drawn", "has ended")):
        shown = kernel.ok(f"%pw {command}").data("display_data")
        assert says in shown["text/plain"] and says in shown["text/html"] and "<pre" in shown["text/html"]
    for command, says in (("clients", "main"), ("memory", "Cell In[")):
        picture = kernel.ok(f"%pw {command}").outputs[0]["data"]
        assert says in picture["text/plain"] and says in picture["text/html"]
    timeline = kernel.ok("%pw timeline drawn --colour client").data("display_data")
    assert timeline["text/plain"].startswith("drawn") and "svg" in timeline["text/html"]
