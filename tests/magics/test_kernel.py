"""In a real kernel: which cell an output belongs to, Ctrl-C, and what a notebook gets to see."""

from __future__ import annotations

import base64

import nbformat
import pytest
from nbclient import NotebookClient

from .kernel import Kernel


def test_outputs_of_the_background_stand_under_the_cell_that_wrote_them(kernel: Kernel) -> None:
    kernel.ok("gate.clear()")
    first = kernel.run("%%pathways -p first\ny = held(jnp.arange(3.))\njax.debug.print('first {}', y)")
    assert first.text == "" and not first.errors
    second = kernel.run("%%pathways\nprint('mine')\njax.debug.print('second {}', y)\ngate.set()")
    kernel.ok("%pw wait")
    kernel.until(lambda: "first" in first.text and "second" in second.text)
    assert first.text == "first [0. 1. 2.]\n"
    assert second.text == "mine\nsecond [0. 1. 2.]\n"


def test_interrupt_while_waiting(kernel: Kernel) -> None:
    kernel.ok("gate.clear()")
    cell = kernel.start("%%pathways\ny = held(jnp.arange(3.))\nprint('now', flush=True)\nfloat(y[0])")
    kernel.until(lambda: "now" in cell.text)
    kernel.interrupt()
    kernel.until(lambda: cell.idle)
    assert [error["ename"] for error in cell.errors] == ["KeyboardInterrupt"]
    assert kernel.ok("gate.set()\ny.tolist()").data()["text/plain"] == "[0.0, 1.0, 2.0]"


def test_interrupt_of_a_blocking_cell(kernel: Kernel) -> None:
    kernel.ok("gate.clear()")
    cell = kernel.start("%%pathways -b --progress-after 0\ny = held(jnp.arange(3.))")
    kernel.until(lambda: any(out["kind"] == "update_display_data" for out in cell.outputs))
    kernel.interrupt()
    kernel.until(lambda: cell.idle)
    assert [error["ename"] for error in cell.errors] == ["KeyboardInterrupt"]
    shown = [out["data"]["text/plain"] for out in cell.outputs if "data" in out]
    assert shown[0].startswith("waiting for In[") and shown[-1] == ""
    assert kernel.ok("gate.set()\n%pw wait\ny.state").data()["text/plain"] == "'ready'"


def test_interrupt_while_recording(kernel: Kernel) -> None:
    # JAX's own callback on garbage collections loses an interrupt that comes while it runs; not what is tested here.
    kernel.ok("import gc; gc.disable()")
    cell = kernel.start("%%pathways\nx = jnp.zeros(2)\nprint('now', flush=True)\nwhile True:\n    x = x + 1")
    kernel.until(lambda: "now" in cell.text)
    kernel.interrupt()
    kernel.until(lambda: cell.idle)
    kernel.ok("gc.enable()")
    assert [error["ename"] for error in cell.errors] == ["KeyboardInterrupt"]
    assert kernel.ok("type(jnp.ones(2) * 2).__name__").data()["text/plain"] == "'ArrayImpl'"
    assert kernel.ok("bool(x[0] >= 0)").data()["text/plain"] == "True"
    kernel.ok("%%pathways -b\nx = x + 1")


def test_a_cell_with_await(kernel: Kernel) -> None:
    cell = kernel.ok("%%pathways\nimport asyncio\na = jnp.ones(2)\nawait asyncio.sleep(0)\nb = a + 1\nb")
    assert cell.data()["text/plain"].startswith("LazyTensor f32[2]")
    assert kernel.ok("str(b.source).split('], ')[1]").data()["text/plain"] == "'line 5'"
    cell = kernel.run("%%pathways\nawait asyncio.sleep(0)\n1 / 0")
    assert [error["ename"] for error in cell.errors] == ["ZeroDivisionError"]
    assert "line 3" in "".join(cell.errors[0]["traceback"])
    assert kernel.ok("type(jnp.ones(2) * 2).__name__").data()["text/plain"] == "'ArrayImpl'"


def test_a_task_that_outlives_its_cell_runs_plain_jax(kernel: Kernel) -> None:
    kernel.ok(
        "%%pathways\nstep = asyncio.Event()\n"
        "async def later():\n    await step.wait()\n    return type(jnp.ones(2) * 2).__name__\n"
        "task = asyncio.create_task(later())"
    )
    assert kernel.ok("%%pathways\nz = jnp.ones(2)\nstep.set()\nawait task").data()["text/plain"] == "'ArrayImpl'"


def test_rich_outputs(kernel: Kernel) -> None:
    kernel.ok("%%pathways -b -p mine\nx = jnp.ones(2) + 1")
    status = kernel.ok("%pw status").data("display_data")
    assert "mine" in status["text/plain"] and "<pre" in status["text/html"] and "mine" in status["text/html"]
    graph = kernel.ok("%pw graph mine").data("display_data")
    assert "mine" in graph["text/plain"]
    _, _, encoded = graph["text/html"].partition("data:image/svg+xml;base64,")
    assert base64.b64decode(encoded.partition('"')[0]).startswith(b"<svg")


def test_a_silent_request_is_left_alone(kernel: Kernel) -> None:
    kernel.ok("%pw auto on")
    kernel._client.execute("quiet = jnp.ones(2)", silent=True)
    kernel.ok("%pw auto off")
    assert kernel.ok("type(quiet).__name__").data()["text/plain"] == "'ArrayImpl'"


def test_a_notebook_is_executed(kernel: Kernel) -> None:
    new = nbformat.v4.new_code_cell
    book = nbformat.v4.new_notebook(
        cells=[
            new("%load_ext pwlab\nimport jax.numpy as jnp"),
            new("%%pathways -b\nx = jnp.ones(2)\nx + 1"),
            new("%pw graph"),
        ]
    )
    manager = type(kernel._manager)()
    manager._kernel_spec = kernel._manager._kernel_spec
    NotebookClient(book, km=manager, timeout=120).execute(env=kernel.env, cleanup_kc=True)
    assert "started Session(2 islands of emulated TPUs" in book.cells[1].outputs[0]["text"]
    assert book.cells[1].outputs[1]["data"]["text/plain"].endswith("[2., 2.]")
    assert "svg" in book.cells[2].outputs[0]["data"]["text/html"]


_VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize("command", ["dash timeline", "timeline", "graph", "util", "memory", "clients"])
def test_a_view_is_a_widget_and_a_picture(kernel: Kernel, command: str) -> None:
    kernel.ok("%%pathways -b -p mine\nx = jnp.ones(2) + 1")
    picture, widget = (out["data"] for out in kernel.ok(f"%pw {command}").outputs if out["kind"] == "display_data")
    assert set(picture) == {"text/html", "text/plain"} and picture["text/plain"]
    assert "data:image/svg+xml" in picture["text/html"]
    assert set(widget) == {_VIEW}


def test_a_view_that_is_shown_again_is_the_same_widget(kernel: Kernel) -> None:
    def ids(command: str) -> list[str]:
        return [out["data"][_VIEW]["model_id"] for out in kernel.ok(command).outputs if _VIEW in out.get("data", {})]

    assert ids("%pw util") == ids("%pw util") != ids("%pw memory")


def test_a_batch_run_shows_pictures_and_no_live_view(kernel: Kernel) -> None:
    kernel.ok("%%pathways -b -p mine\nx = jnp.ones(2) + 1")
    kernel.ok("import os; os.environ['PWLAB_NONINTERACTIVE'] = '1'")
    shown = [kernel.ok(f"%pw {command}") for command in ("timeline", "graph", "util", "memory", "clients")]
    kernel.ok("del os.environ['PWLAB_NONINTERACTIVE']")
    for cell in shown:
        (out,) = (out for out in cell.outputs if out["kind"] == "display_data")
        assert set(out["data"]) == {"text/html", "text/plain"} and out["data"]["text/plain"]
        assert "data:image/svg+xml" in out["data"]["text/html"]
    assert all("<pre" in cell.data("display_data")["text/html"] for cell in shown[2:])


def test_top_in_a_notebook_ends_when_nothing_runs(kernel: Kernel) -> None:
    kernel.ok("gate.clear()")
    kernel.ok("%%pathways -p slow\ny = held(jnp.arange(3.))")
    cell = kernel.start("%pw top")
    kernel.until(lambda: any(out["kind"] == "update_display_data" for out in cell.outputs))
    shown = cell.outputs[0]["data"]
    assert "programs  slow " in shown["text/plain"] and "<pre" in shown["text/html"]
    kernel.interrupt()
    kernel.until(lambda: cell.idle)
    assert not cell.errors and "interrupt the cell" not in cell.outputs[-1]["data"]["text/plain"]
    kernel.ok("gate.set()\n%pw wait")
    assert "nothing runs" in kernel.ok("%pw top").data("display_data")["text/plain"]
