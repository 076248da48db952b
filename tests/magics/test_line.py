"""``%pw``: each subcommand, in a terminal."""

from __future__ import annotations

import threading

import pytest
from harness import gate
from IPython.core.completer import provisionalcompleter

import pwlab as pw
from pwlab.errors import ComputationFailed, WaitTimeout
from pwlab.session import running

from .conftest import Shell


def test_start_and_stop(ip: Shell) -> None:
    start = "%pw start --islands 1 --devices 3 --hbm-bytes 1000000"
    assert "Session(1 island of emulated TPUs" in ip.ok(f"{start} sync=warn").out
    session = pw.session()
    assert session.machine.islands[0].hbm_bytes == 1000000
    assert session.config.sync == "warn" and [len(s) for s in session.slices] == [3]
    assert ip.ok(start).out and pw.session() is session
    assert "the session was stopped" in ip.ok("%pw stop").out
    assert running() is None and "no session is running; `%pw start` starts one" in ip.ok("%pw stop").out


def test_too_many_devices(ip: Shell) -> None:
    says = ip.misuse("%pw start --islands 9 --devices 10")
    assert "JAX already runs with" in says and "restart the kernel" in says


def test_looking_starts_nothing(ip: Shell) -> None:
    pw.shutdown()
    for command in ("status", "islands", "slices", "graph", "syncs", "wait"):
        assert "no session is running" in ip.ok(f"%pw {command}").out
    assert "window_nodes" in ip.ok("%pw config").out and "no programs" in ip.ok("%pw reset").out
    assert "no session is running" in ip.misuse("%pw result 1")
    assert running() is None


def test_use_after_stop(ip: Shell) -> None:
    ip.ok("%%pathways\nx = jnp.ones(2)")
    pw.wait(ip["x"])
    ip.ok("%pw stop")
    ip.ok("%%pathways\ny = jnp.ones(2)")
    assert "belongs to a session that was stopped" in str(ip.run("%%pathways\nx + y").error)
    assert isinstance(ip.ok("%%pathways\ny + 1").value, pw.LazyTensor)


def test_stop_inside_a_cell(ip: Shell) -> None:
    ran = ip.run("%%pathways\nx = jnp.ones(2)\npw.shutdown()")
    assert "the session was stopped while this cell was recording" in str(ran.error)
    ip.ok("%%pathways -b\nx = jnp.ones(2)")


def test_views(ip: Shell, session: pw.Session) -> None:
    ip.ok("%%pathways -b -p mine\nx = jnp.ones(2) + 1")
    out = ip.ok("%pw status").out
    assert "Session(2 islands of emulated TPUs" in out and "mine" in out and "✓ done" in out and "island1" in out
    pw.make_virtual_device_set().add_slice(tpu_devices=2, name="pair")
    assert "pair" in ip.ok("%pw slices").out and "pair" in ip.ok("%pw islands").out
    assert "Cell In[1]:1" in ip.ok("%pw syncs").out
    for text in ("%pw graph", "%pw graph mine", "%pw graph --all"):
        assert "done" in ip.ok(text).out
    assert "did you mean 'mine'?" in ip.misuse("%pw graph mines")


def test_config(ip: Shell, session: pw.Session) -> None:
    out = ip.ok("%pw config sync=error window-nodes=7").out
    assert session.config.sync == "error" and session.config.window_nodes == 7
    assert "error" in out and "7" in out and "max_ahead" not in out
    assert "sync is one of log, warn, error, not 'never'" in ip.misuse("%pw config sync=never")
    assert "no setting is called 'synk'; did you mean" in ip.misuse("%pw config synk=log")
    assert "a setting is written NAME=VALUE, not 'sync'" in ip.misuse("%pw config sync")
    assert "sync=error forbids to wait" in str(ip.run("%%pathways\nfloat(jnp.ones(2)[0])").error)


# --- programs ------------------------------------------------------------------------------------------


def test_several_cells_make_one_deferred_program(ip: Shell, session: pw.Session) -> None:
    assert "1 cell held back; `%pw run train` runs it" in ip.ok("%%pathways --defer -p train\na = jnp.ones(3)").out
    ran = ip.ok("%%pathways --defer -p train\nb = a + 1\nb")
    assert "2 cells held back; `%pw run train` runs them" in ran.out and ip["b"].state == "recorded"
    assert "held back: train" in ip.ok("%pw status").out
    assert "add" in ip.ok("%pw graph train").out
    assert "program 'train' is held back and has not run" in ip.misuse("%pw result train")
    assert "dispatch it with `%pw run train`" in ip.misuse("%pw wait train")
    ip.ok("%pw run train --block")
    assert ip["a"].state == ip["b"].state == "ready"
    assert ip.ok("%pw result train").value.tolist() == [2, 2, 2]
    assert len([r for r in session.programs if r.name == "train"]) == 1
    assert "program 'train' has been dispatched already" in ip.misuse("%pw run train")
    ip.ok("%%pathways --defer -p train\nc = b + 1")
    ip.ok("%pw run train")
    assert pw.fetch(ip["c"]).tolist() == [3, 3, 3]


def test_a_value_that_is_needed_runs_what_it_depends_on(ip: Shell) -> None:
    ip.ok("%%pathways --defer -p p\na = jnp.ones(3)")
    ip.ok("%%pathways --defer -p p\nb = a + 1")
    ip.ok("%%pathways --defer -p p\nc = b + 1")
    assert ip.ok("b.tolist()").value == [2, 2, 2]
    assert ip["c"].state == "recorded"
    ip.ok("%pw run p -b")
    assert ip["c"].state == "ready"


def test_a_held_back_cell_that_fails_half_way(ip: Shell) -> None:
    ip.run("%%pathways --defer -p p\na = jnp.ones(3)\n1/0")
    ip.ok("%%pathways --defer -p p\nb = a + 1")
    ip.ok("%pw run p -b")
    assert pw.fetch(ip["b"]).tolist() == [2, 2, 2]


def test_result(ip: Shell) -> None:
    with gate() as held:
        ip["held"] = held
        ip.ok("%%pathways -p slow\nheld(jnp.ones(2))")
        ran = ip.run("%pw result slow --timeout 0")
        assert isinstance(ran.error, WaitTimeout) and "still running after 0 s" in str(ran.error)
    assert ip.ok("%pw result slow").value.tolist() == [1, 1]
    ip.ok("%%pathways\n{'a': jnp.ones(2), 'n': 3}")
    value = ip.ok(f"%pw result {ip.shell.execution_count - 1}").value
    assert value["a"].tolist() == [1, 1] and value["n"] == 3
    assert "no program is called 'slov'; did you mean 'slow'?" in ip.misuse("%pw result slov")
    ip.ok("%%pathways -p silent\nx = jnp.ones(2)")
    assert "program 'silent' has no value: its cell does not end with an expression" in ip.misuse("%pw result silent")


def test_result_of_a_failed_program(ip: Shell) -> None:
    ip.ok("import jax, numpy as np\ndef boom(x):\n    raise ValueError('no luck')")
    call = "jax.pure_callback(boom, jax.ShapeDtypeStruct((2,), np.float32), jnp.ones(2))"
    ip.ok(f"%%pathways -p bad\n{call} + 1")
    ran = ip.run("%pw result bad")
    assert isinstance(ran.error, ComputationFailed) and "recorded at Cell In[2], line 2" in str(ran.error)
    ip.ok(f"%%pathways -p worse\nx = {call}")
    assert "ValueError: no luck" in str(ip.run("%pw result worse").error)


def test_wait(ip: Shell, session: pw.Session) -> None:
    with gate() as held:
        ip["held"] = held
        ip.ok("%%pathways -p slow\ny = held(jnp.ones(2))")
        assert "still running after 0 s" in str(ip.run("%pw wait slow --timeout 0").error)
        assert "still running after 0 s" in str(ip.run("%pw wait --timeout 0").error)
    ip.ok("%pw wait")
    assert ip["y"].state == "ready"
    ip.ok("%pw wait slow")
    assert "takes seconds" in ip.misuse("%pw wait --timeout x")


def test_reset(ip: Shell, session: pw.Session) -> None:
    ip.ok("%%pathways -b -p done\nx = jnp.ones(2)\nx")
    ip.ok("%%pathways --defer -p held\ny = x + 1")
    assert "forgotten: held" in ip.ok("%pw reset held").out
    assert "dropped by `%pw reset` before it ran; run its cells again" in str(ip.run("y + 1").error)
    assert "forgotten: done" in ip.ok("%pw reset").out
    assert session.programs.names() == [] and pw.session() is session
    assert ip.ok("x + 1").value.tolist() == [2, 2]
    assert "no program is called 'done'. None has been recorded yet" in ip.misuse("%pw reset done")


# --- misuse and help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "%pw: the following arguments are required: COMMAND"),
        ("sttus", "no command is called 'sttus' (did you mean status?); there are start, stop"),
        ("graph --al", "unknown flag --al (did you mean --all?). See %pw graph -h"),
        ("stop now", "unknown argument now"),
        ("start --islands two", "invalid int value: 'two'"),
        ("run", "the following arguments are required: NAME"),
        ("start --backend raj", "no backend is called 'raj'"),
    ],
)
def test_misuse(ip: Shell, line: str, says: str) -> None:
    assert says in ip.misuse(f"%pw {line}")


def test_help(ip: Shell) -> None:
    out = ip.ok("%pw -h").out
    assert out.startswith("usage: %pw [-h] COMMAND") and "syncs" in out
    assert "--timeout S" in ip.ok("%pw result -h").out
    assert "every cell from now on is a pathways cell" in (ip.shell.find_line_magic("pw").__doc__ or "")


# --- loading -------------------------------------------------------------------------------------------------


def test_loading_twice_and_taking_back(bare: Shell) -> None:
    shell = bare.shell
    hooks = lambda: (  # noqa: E731
        len(shell.input_transformers_cleanup),
        len(shell.ast_transformers),
        len(shell.Completer.custom_matchers),
        len(shell.events.callbacks["post_run_cell"]),
        len(shell.events.callbacks["pre_run_cell"]),
        sorted(shell.magics_manager.magics["line"]),
        sorted(shell.magics_manager.magics["cell"]),
    )
    before = hooks()
    bare.ok("%load_ext pwlab")
    loaded = hooks()
    assert "already loaded" in bare.ok("%load_ext pwlab").out
    pw.load_ipython_extension(shell)
    assert hooks() == loaded
    bare.ok("import jax.numpy as jnp")
    assert isinstance(bare.ok("%%pathways\njnp.ones(2)").value, pw.LazyTensor)
    bare.ok("%unload_ext pwlab")
    assert hooks() == before and running() is None
    assert not [t.name for t in threading.enumerate() if t.name.startswith("pwlab-") and "host" not in t.name]
    pw.unload_ipython_extension(shell)
    assert "not found" in bare.run("%pw status").err


def test_reload_after_reset(ip: Shell) -> None:
    ip.ok("%%pathways -b\nx = jnp.ones(2)")
    ip.ok("%reset -f")
    ip.ok("%reload_ext pwlab")
    assert running() is None
    ip.ok("import jax.numpy as jnp")
    ip.ok("%%pathways -b\nx = jnp.ones(2)")
    assert ip["x"].state == "ready"
    assert len(ip.shell.ast_transformers) == 1


# --- completion --------------------------------------------------------------------------------------------------


def _completions(ip: Shell, text: str) -> set[str]:
    with provisionalcompleter():
        return {found.text for found in ip.shell.Completer.completions(text, len(text))}


@pytest.mark.parametrize(
    ("text", "among"),
    [
        ("%pw st", {"start", "stop", "status", "step"}),
        ("%pw dash m", {"memory"}),
        ("%pw dash c", {"clients"}),
        ("%pw timeline m", {"mine"}),
        ("%pw timeline --colour ", {"computation", "client"}),
        ("%pw policy p", {"proportional", "priority"}),
        ("%pw suspend ", {"alice", "main", "island0", "island1", "mine", "held"}),
        ("%pw resume a", {"alice"}),
        ("%pw cancel --client ", {"alice", "main"}),
        ("%pw migrate isl", {"island0", "island1"}),
        ("%pw migrate island0 ", {"island0", "island1"}),
        ("%pw why ten", {"tensor"}),
        ("%pw why mi", {"mine"}),
        ("%%pathways -c al", {"alice"}),
        ("%%pathways --client ", {"alice", "main"}),
        ("pw sl", {"slices"}),
        ("%pw graph --", {"--all", "--help"}),
        ("%pw graph mi", {"mine"}),
        ("%pw result ", {"mine", "held"}),
        ("%pw run ", {"held"}),
        ("%pw config sy", {"sync="}),
        ("%pw auto o", {"on", "off"}),
        ("%%pathways --de", {"--defer"}),
        ("%%pathways -s isl", {"island0", "island1"}),
        ("%%pathways -b --slice ", {"island0", "island1"}),
        ("%%pathways -p h", {"held"}),
        ("%pathways --shard ", {"d", "None,d"}),
    ],
)
def test_completion(ip: Shell, text: str, among: set[str]) -> None:
    ip.ok("%%pathways -b -p mine\ntensor = jnp.ones(2)\nalice = pw.Client('alice')")
    ip.ok("%%pathways --defer -p held\njnp.ones(2)")
    assert _completions(ip, text) == among


def test_completion_leaves_other_lines_alone(ip: Shell) -> None:
    ip["quite_long_name"] = 1
    for text in ("quite_l", "%%pathways\nquite_l", "%%pathways -b\nx = quite_l"):
        assert "quite_long_name" in _completions(ip, text)
