"""``%%pathways``: runs as an ordinary cell, records, and does what its flags say."""

from __future__ import annotations

import numpy as np
import pytest
from harness import gate, nodes, waits

import pwlab as pw
from pwlab.errors import ComputationFailed, ProgramCancelledError, SyncForbidden, WaitTimeout

from .conftest import Shell


def test_a_cell_records_and_shows_its_value(ip: Shell) -> None:
    ran = ip.ok("%%pathways\nx = jnp.arange(4.)\nfor i in range(3):\n    x = x * 2\n\nx + 1")
    assert isinstance(ran.value, pw.LazyTensor)
    assert "Out[1]: LazyTensor f32[4]" in ran.out
    assert str(ran.value.source) == "Cell In[1], line 6"
    assert str(ip["x"].source) == "Cell In[1], line 4"
    np.testing.assert_array_equal(pw.fetch(ip["x"]), [0, 8, 16, 24])
    assert ip["_"] is ran.value


def test_a_semicolon_shows_nothing(ip: Shell) -> None:
    assert ip.ok("%%pathways\njnp.ones(2);").out == ""
    assert ip.ok("%%pathways\ny = jnp.ones(2)").out == ""


def test_a_loop_is_cut_into_windows(ip: Shell, session: pw.Session) -> None:
    session.configure("window_nodes", 10)
    session.configure("coalesce_ms", 0)
    ip.ok("%%pathways -p long\nx = jnp.zeros(2)\nfor i in range(100):\n    x = jnp.sin(x)")
    session.programs.wait("long")
    assert len(session.programs.find("long").plans) <= 5 < len(nodes(session))


@pytest.mark.parametrize("text", ["%%time\n%%pathways\n{}", "%%pathways\n%%time\n{}", "%%pathways\n{}"])
def test_time_composes_and_lines_hold(ip: Shell, text: str) -> None:
    ran = ip.ok(text.format("z = jnp.ones(3) * 2\n\nz + 1"))
    first = text.count("\n") + 1
    assert str(ip["z"].source) == f"Cell In[1], line {first}"
    assert str(ip["_"].source) == f"Cell In[1], line {first + 2}"
    assert ("Wall time" in ran.out) == ("%%time" in text)


def test_capture_and_line_magics_inside(ip: Shell) -> None:
    ip.ok("%%capture got\n%%pathways\nprint('inside')\n%precision 3\nz = jnp.ones(3)\nz")
    assert isinstance(ip["z"], pw.LazyTensor)
    assert "inside" in ip["got"].stdout


def test_timeit_repeats_without_showing(ip: Shell) -> None:
    ran = ip.ok("%%timeit -n2 -r1\n%%pathways\njnp.ones(3)")
    assert "LazyTensor" not in ran.out and "2 loops" in ran.out


def test_comments_above(ip: Shell) -> None:
    ip.ok("# first this\n\n%%pathways\nz = jnp.ones(3)")
    assert str(ip["z"].source) == "Cell In[1], line 4"


def test_await(ip: Shell) -> None:
    ran = ip.ok("%%pathways\nimport asyncio\na = jnp.ones(2)\nawait asyncio.sleep(0)\nb = a + 1\nb")
    assert isinstance(ip["a"], pw.LazyTensor) and isinstance(ran.value, pw.LazyTensor)
    assert str(ran.value.source) == "Cell In[1], line 6" or str(ip["b"].source) == "Cell In[1], line 5"
    assert not isinstance(ip.ok("jnp.ones(2) * 2").value, pw.LazyTensor)
    assert "ZeroDivisionError" in ip.run("%%pathways\nc = jnp.ones(2)\nawait asyncio.sleep(0)\n1/0").out
    assert not isinstance(ip.ok("jnp.ones(2) * 2").value, pw.LazyTensor)
    assert isinstance(ip["c"], pw.LazyTensor)


def test_a_task_of_another_cell_does_not_record(ip: Shell) -> None:
    ip.ok(
        "%%pathways\nimport asyncio\nmade = []\n"
        "async def later():\n    await asyncio.sleep(0)\n    await asyncio.sleep(0)\n    made.append(jnp.ones(2) * 2)\n"
        "async def whole():\n"
        "    task = asyncio.get_running_loop().create_task(later())\n    return task\n"
    )
    ip.ok(
        "async def both():\n"
        "    task = asyncio.create_task(later())\n"
        "    await asyncio.sleep(0)\n"
        "    with pw.lazy():\n        x = jnp.ones(2)\n        await task\n        y = x + 1\n    return x, y"
    )
    x, y = ip.ok("await both()").value
    assert isinstance(x, pw.LazyTensor) and isinstance(y, pw.LazyTensor)
    assert not isinstance(ip["made"][0], pw.LazyTensor)


# --- flags -------------------------------------------------------------------------------------------


def test_block_waits_for_what_was_recorded(ip: Shell, session: pw.Session) -> None:
    ran = ip.ok("%%pathways --block\nx = jnp.ones(3) + 1\nx")
    assert ip["x"].state == "ready" and "[2., 2., 2.]" in ran.out
    [wait] = waits(session)
    assert wait.reason == "wait for In[1]" and str(wait.source) == "Cell In[1], line 1"


def test_block_with_timeout_says_how_far_it_is(ip: Shell) -> None:
    with gate() as held:
        ip["held"] = held
        ran = ip.run("%%pathways -b --timeout 0 -p slow\ny = held(jnp.ones(2))")
        assert isinstance(ran.error, WaitTimeout)
        assert "program 'slow' is still running after 0 s: " in str(ran.error)
        assert "It goes on; wait again with `%pw wait slow`" in str(ran.error)
        assert "----> 1" in ran.out and ran.out.count("Traceback") == 1
    assert pw.fetch(ip["y"]).tolist() == [1, 1]


def test_progress_is_shown_in_place_and_can_be_silenced(ip: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "%%pathways -b --progress-after 0 --timeout 0.5 -p slow\ny = held(jnp.ones(2))"
    monkeypatch.delenv("PWLAB_NONINTERACTIVE", raising=False)
    with gate() as held:
        ip["held"] = held
        assert "\rwaiting for slow · " in ip.run(text).out
        monkeypatch.setenv("PWLAB_NONINTERACTIVE", "1")
        assert "waiting" not in ip.run(text).out


def test_out_names_the_value(ip: Shell) -> None:
    ip.ok("%%pathways -o y\njnp.ones(2) * 3")
    assert isinstance(ip["y"], pw.LazyTensor) and pw.fetch(ip["y"]).tolist() == [3, 3]


def test_slice(ip: Shell) -> None:
    ip.ok("%%pathways --slice island1\ny = jnp.ones(2) * 3")
    assert ip["y"].slice.name == "island1"


def test_shard(ip: Shell) -> None:
    ip["data"] = np.arange(32, dtype=np.float32).reshape(8, 4)
    ip.ok("import jax\nx = jax.numpy.asarray(data)\nodd = jnp.ones((4, 3))")
    ip.ok("%%pathways --shard \"P('d', None)\"\ny = jnp.tanh(x)\nz = jnp.add(data, 1)")
    for name in "yz":
        assert [shard.data.shape for shard in ip[name].addressable_shards] == [(2, 4)] * 4
    np.testing.assert_allclose(pw.fetch(ip["y"]), np.tanh(ip["data"]), rtol=1e-6)
    ip.ok("seven = jnp.ones(7)\n")
    ip.ok("%%pathways --shard d\nw = seven + 1")
    assert len(ip["w"].addressable_shards) == 1


def test_shard_over_a_loop_moves_each_array_once(ip: Shell, session: pw.Session) -> None:
    session.configure("window_nodes", 4)
    ip.ok("x = jnp.ones((8, 2)) + 0\ny = x")
    ip.ok("%%pathways --shard d\nfor i in range(20):\n    y = jnp.sin(y) + x")
    pw.wait(ip["y"])
    assert sum(node.name == "shard" for node in nodes(session)) == 1


def test_dry_run(ip: Shell, session: pw.Session) -> None:
    ran = ip.ok("%%pathways --dry-run -p plan\nx = jnp.ones(2)\ny = jnp.sin(x) + 1")
    assert "program plan · " in ran.out and "sin" in ran.out and "Cell In[1], line 2" in ran.out
    assert nodes(session) == [] and "plan" not in session.programs.names()
    for text in ("y + 1", "%%pathways\n(y + 1).result()", "float(y[0])"):
        ran = ip.run(text)
        assert isinstance(ran.error, ProgramCancelledError), ran.text
        assert "only shown by --dry-run, which runs nothing; run its cell again without --dry-run" in str(ran.error)


def test_a_dry_run_has_no_values(ip: Shell, session: pw.Session) -> None:
    ran = ip.run("%%pathways --dry-run\nx = jnp.ones(2)\nif x[0] > 0:\n    pass")
    assert isinstance(ran.error, SyncForbidden)
    assert "a value is needed here, and a dry run computes none" in str(ran.error)
    assert nodes(session) == []
    ip.ok("%%pathways -b\njnp.ones(2) + 1")


# --- what goes wrong ---------------------------------------------------------------------------------


def test_a_syntax_error(ip: Shell, session: pw.Session) -> None:
    ran = ip.run("%%pathways\nx = 1\ndef f(:\n    pass")
    assert isinstance(ran.error, SyntaxError) and "Cell In[1], line 3" in ran.text
    ip.ok("%%pathways -b\nx = jnp.ones(2)")
    assert session.programs.names() == ["In[2]"]


def test_an_exception_half_way(ip: Shell) -> None:
    ran = ip.run("%%pathways\nx = jnp.ones(2) * 2\n1 / 0\nx = None")
    assert isinstance(ran.error, ZeroDivisionError)
    assert "Cell In[1], line 3" in ran.out and "----> 3 1 / 0" in ran.out
    assert "pwlab_magics" not in ran.out
    assert ip.ok("x + 1").value.tolist() == [3, 3]
    assert isinstance(ip.ok("%%pathways\nx + 1").value, pw.LazyTensor)


def test_a_traceback_into_a_function(ip: Shell) -> None:
    ip.ok("def f(x):\n    y = x\n    return y / 0")
    out = ip.run("%%pathways\nx = 1\nf(x)").out
    assert "Cell In[2], line 3" in out and "Cell In[1], line 3, in f" in out


def test_system_exit_and_interrupt_leave_the_scope(ip: Shell) -> None:
    for error in ("KeyboardInterrupt", "GeneratorExit"):
        ip.run(f"%%pathways\nx = jnp.ones(2)\nraise {error}")
        assert isinstance(ip["x"], pw.LazyTensor)
        assert not isinstance(ip.ok("jnp.ones(2)").value, pw.LazyTensor)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--blok", "unknown flag --blok (did you mean --block?)"),
        ("surplus", "unknown argument surplus"),
        ("-s iland0", "no slice is called 'iland0'; did you mean 'island0'?"),
        ("--shard f(x)", "'f(x)' is no partition spec; write one like d, None,d or P('d', None)"),
        ("--shard rows", "slice 'island0' has no mesh with axis 'rows'"),
        ("--timeout soon -b", "takes seconds, such as 2 or 0.5, not 'soon'"),
        ("--timeout 3", "--timeout is for --block; add -b"),
        ("--defer", "--defer gathers cells under a name; give one with -p NAME"),
        ("--defer -p a -b", "--defer and --block exclude each other"),
        ("--defer -p a --dry-run", "--defer and --dry-run exclude each other"),
        ("--dry-run -b", "--dry-run runs nothing"),
        ("-a -b", "not allowed with argument"),
        ("-o 2x", "-o takes the name of a variable, not '2x'"),
        ("-p", "expected one argument"),
        ("-p 'open", "no closing quotation"),
    ],
)
def test_misuse(ip: Shell, session: pw.Session, line: str, says: str) -> None:
    assert says in ip.misuse(f"%%pathways {line}\nran = True")
    assert "ran" not in ip.shell.user_ns and session.programs.names() == []
    ip.ok("%%pathways -b\njnp.ones(1)")


def test_a_failure_is_raised_once_where_it_is_waited_for(ip: Shell) -> None:
    ip.ok("import jax, numpy as np\ndef boom(x):\n    raise ValueError('no luck')")
    ran = ip.run(
        "%%pathways -b\nx = jnp.ones(2)\ny = jax.pure_callback(boom, jax.ShapeDtypeStruct((2,), np.float32), x)"
    )
    assert isinstance(ran.error, ComputationFailed)
    assert "`pure_callback`, recorded at Cell In[2], line 3, failed" in str(ran.error)
    assert "ValueError: no luck" in str(ran.error)
    again = ip.run("y + 1")
    assert str(again.error) == "`pure_callback`, recorded at Cell In[2], line 3 failed: ValueError: no luck"
    assert ip.ok("pass").err == "" and ip.ok("x + 1").value.tolist() == [2, 2]


def test_a_failure_that_nobody_waits_for_is_told_once(ip: Shell, session: pw.Session) -> None:
    with gate() as held:
        ip["held"] = held
        ip.ok("import jax, numpy as np\ndef boom(x):\n    raise ValueError('no luck')")
        ip.ok("%%pathways -p bad\njax.debug.callback(boom, held(jnp.ones(2)))")
        assert ip.ok("1").err == ""
    record = session.programs.find("bad")
    assert session.driver.signal.wait_for(lambda: record.state is not None, 30)
    told = ip.ok("1").err
    assert told.count("pwlab: `debug_callback`, recorded at Cell In[2], line 2, failed:") == 1
    assert "ValueError: no luck" in told
    assert ip.ok("1").err == ""
    session.programs.wait("bad")  # it was told


def test_one_percent_sign_does_the_same(ip: Shell) -> None:
    assert isinstance(ip.ok("%pathways -s island1\nx = jnp.ones(2)\nx").value, pw.LazyTensor)
    ran = ip.ok("%pathways -h\njnp.ones(2)")
    assert "usage: " in ran.out and not isinstance(ran.value, pw.LazyTensor)


# --- code and help ---------------------------------------------------------------------------------------


def test_from_code(ip: Shell) -> None:
    value = ip.shell.run_cell_magic("pathways", "-s island1", "x = jnp.ones(2)\nx + 1")
    assert isinstance(value, pw.LazyTensor) and value.slice.name == "island1"
    assert ip["x"].source.line == 2  # the line of the magic counts
    with pytest.raises(ZeroDivisionError):
        ip.shell.run_cell_magic("pathways", "", "y = jnp.ones(2)\n1 / 0")
    assert isinstance(ip["y"], pw.LazyTensor)
    assert not isinstance(ip.ok("jnp.ones(2)").value, pw.LazyTensor)


def test_help(ip: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    ran = ip.ok("%%pathways -h\nran = True")
    assert ran.out.startswith("usage: %%pathways [-h]") and "--progress-after S" in ran.out
    assert "ran" not in ip.shell.user_ns
    doc = ip.shell.find_cell_magic("pathways").__doc__
    assert doc and "with pw.session().programs.scope" in doc
    assert ip.shell.run_cell_magic("pathways", "-h", "ran = True") is None
    assert "usage: " in capsys.readouterr().out and "ran" not in ip.shell.user_ns


def test_the_terminal_asks_for_more_lines(ip: Shell) -> None:
    check = ip.shell.input_transformer_manager.check_complete
    assert check("%%pathways")[0] == "incomplete"
    assert check("%%pathways\nx = 1\n\n")[0] == "complete"


# --- every cell --------------------------------------------------------------------------------------------


def test_auto(ip: Shell, session: pw.Session) -> None:
    assert "every cell is a pathways cell" in ip.ok("%pw auto on").out
    ran = ip.ok("x = jnp.ones(2)\nx + 1")
    assert isinstance(ran.value, pw.LazyTensor) and str(ran.value.source) == "Cell In[2], line 2"
    assert isinstance(ip.ok("%%time\ny = x * 2\ny").value, pw.LazyTensor)
    assert str(ip["y"].source) == "Cell In[3], line 2"
    ip.ok("import os\nimport sys")
    ip.ok("%pw status")
    assert "every cell" in ip.ok("%pw auto").out
    ip.ok("%%pathways -s island1 -p mine\nz = jnp.ones(3)")
    assert ip["z"].slice.name == "island1"
    assert session.programs.names() == ["mine", "In[3]", "In[2]"]
    silent = ip.shell.run_cell("w = jnp.ones(2)", silent=True)
    assert silent.success and not isinstance(ip["w"], pw.LazyTensor)
    assert "cells run as usual" in ip.ok("%pw auto off").out
    assert not isinstance(ip.ok("x + 1").value, pw.LazyTensor)
    assert "did you mean on" in ip.misuse("%pw auto onn")


def test_auto_with_a_nested_magic_is_one_program(ip: Shell, session: pw.Session) -> None:
    ip.ok("%pw auto on")
    ip.ok("x = jnp.ones(2)\n%timeit -n2 -r1 x + 1\ny = x + 1")
    assert session.programs.names() == ["In[2]"] and isinstance(ip["y"], pw.LazyTensor)
