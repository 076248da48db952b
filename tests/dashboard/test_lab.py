"""The dashboard in a real JupyterLab: live, after a reload, after the kernel is gone, by keyboard, in the dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .lab import ROOT, Lab, lab, missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(missing()), reason=f"!!! NOT TESTED: the dashboard in a browser, for there is no {missing()}"
    ),
    # Of Playwright's own pipes, closed when its loop is collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

START = """import time, jax, jax.numpy as jnp
import pwlab as pw
%load_ext pwlab
pw.start(islands=2, devices_per_island=4)
step = jax.jit(lambda x: jnp.tanh(x @ x) * 0.5)
def work(name="train"):
    with pw.session().programs.scope(name):
        y = step(step(jnp.ones((32, 32))))
    float(y.sum())"""

SHOW = """from pwlab.viz.dashboard import Dashboard
dashboard = Dashboard(pw.session(), explain=True)
dashboard.show()"""

#: Programs run on a thread while the cell's own sleeps.
SLEEP = """import threading
thread = threading.Thread(target=lambda: [(work(), time.sleep(0.05)) for _ in range(40)])
thread.start()
time.sleep(3)
thread.join()"""

COMPUTE = """end = time.time() + 4
while time.time() < end:
    work()
    sum(i * i for i in range(20_000))"""

FAIL = """def boom(v):
    raise ValueError("no data in <b>here</b>")
evil = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1> 'q' 🙂" + "x" * 10_000
with pw.session().programs.scope(evil):
    z = step(jax.pure_callback(boom, jax.ShapeDtypeStruct((32, 32), "float32"), step(jnp.ones((32, 32)))))"""


@pytest.fixture(scope="module")
def it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


def busy(it: Lab) -> bool:
    status = "jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
    return it.page.evaluate(status) == "busy"


def test_live_keyboard_failure_dark_reload_and_reopened(it: Lab) -> None:
    it.notebook("live.ipynb", START, SHOW, "work()")
    it.run_all()
    it.page.wait_for_selector(".pw-dash")
    it.idle()
    it.until("parseInt(document.querySelector('.pw-status').textContent) > 0")

    # Live while a cell sleeps, and while one computes.
    for code in (SLEEP, COMPUTE):
        before = it.done()
        it.execute(code)
        counts = "parseInt(document.querySelector('.pw-status').textContent.replace(/,/g, ''))"
        it.until(f"{counts} > {before + 3}")
        assert busy(it), "the counts moved only when the cell had ended"
        it.until("jupyterapp.shell.currentWidget.sessionContext.session.kernel.status == 'idle'")
    it.page.evaluate("document.querySelector('.pw-dash').scrollIntoView({block: 'center'})")
    it.shot("timeline")

    # The keyboard is the dashboard's while it has the focus; the notebook's cells stay as they are.
    cells = it.page.evaluate("jupyterapp.shell.currentWidget.content.model.cells.length")
    box = it.page.query_selector(".pw-canvas").bounding_box()
    it.page.mouse.click(box["x"] + 400, box["y"] + 10)
    for key in ("w", "a", "d", "s", "f", ".", ".", ","):
        it.page.keyboard.press(key)
    assert it.page.is_visible(".pw-details h4")
    it.page.keyboard.press("Escape")
    assert not it.page.is_visible(".pw-details")

    # Looking back stops following; End goes back to the present.
    it.page.keyboard.press("f")
    it.page.wait_for_selector(".pw-back", state="hidden")
    for key in "wwwwwwww":
        it.page.keyboard.press(key)
    it.page.keyboard.press("Home")
    it.page.wait_for_selector(".pw-back", state="visible")
    it.page.keyboard.press("End")
    it.page.wait_for_selector(".pw-back", state="hidden")
    it.page.keyboard.press("f")
    it.page.keyboard.press("?")
    assert it.page.is_visible(".pw-help")
    it.page.keyboard.press("Escape")
    it.page.mouse.move(box["x"] + 300, box["y"] + 200)
    it.page.mouse.down()
    it.page.mouse.move(box["x"] + 700, box["y"] + 200, steps=3)
    it.page.mouse.up()
    assert "chosen" in (it.page.text_content(".pw-details h4") or "")
    it.page.keyboard.press("Escape")
    assert it.page.evaluate("jupyterapp.shell.currentWidget.content.model.cells.length") == cells

    # A failed node shows its error; names from outside do no harm.
    it.execute(FAIL)
    it.page.click(".pw-bad")
    assert "no data in <b>here</b>" in (it.page.text_content(".pw-error") or "")
    it.page.click("#t-graph")
    it.shot("failed")
    for tab in ("utilisation", "memory", "clients"):
        it.page.click(f"#t-{tab}")
        it.page.wait_for_selector(".pw-scroll .pw-h")
        it.shot(tab)
    assert not it.page.evaluate("window.pwned")
    it.page.click("#t-timeline")

    # The host's dark theme.
    it.page.evaluate("jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    it.page.wait_for_selector(".pw-dash.pw-dark")
    it.page.wait_for_selector("#jupyterlab-splash", state="detached")
    it.shot("dark")
    it.page.evaluate("jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    it.page.wait_for_selector(".pw-dash:not(.pw-dark)")

    # The page is loaded again: the whole run is there, and what comes after it.
    before = it.done()
    it.save()
    it.page.reload()
    counts = "parseInt(document.querySelector('.pw-status').textContent.replace(/,/g, ''))"
    it.until(f"{counts} >= {before}")
    assert not it.page.is_visible("[class^=pwlab-static-]")
    it.execute("work()")
    it.until(f"{counts} > {before}")

    # Without its kernel the notebook shows the picture; with a new one, the run as it was saved.
    it.until("jupyterapp.shell.currentWidget.sessionContext.session.kernel.status == 'idle'")
    it.finish("dashboard.settle()")  # by itself it would be a few seconds later
    it.save()
    it.page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    it.page.goto(f"{it.url}/lab?token=t&reset")
    it.until("jupyterapp.commands.hasCommand('docmanager:open')")
    preference = "{shouldStart: false, autoStartDefault: false, canStart: false}"
    it.page.evaluate(
        f"jupyterapp.commands.execute('docmanager:open', {{path: 'live.ipynb', kernelPreference: {preference}}})"
    )
    it.page.wait_for_selector("[class^=pwlab-static-] img")
    it.shot("without_kernel")
    it.open("live.ipynb")
    it.page.wait_for_selector(".pw-dash")
    it.until(f"{counts} >= {before}")
    assert (it.page.get_attribute(".pw-lamp", "class") or "").strip() == "pw-lamp"
    assert (it.folder / "live.ipynb").stat().st_size < 1_500_000


def test_a_page_of_nbconvert_shows_pictures_without_the_network(it: Lab) -> None:
    import nbconvert

    html, _ = nbconvert.HTMLExporter().from_filename(str(it.folder / "live.ipynb"))
    page = Path(it.folder / "live.html")
    page.write_text(html, encoding="utf-8")
    offline = it.page.context.browser.new_context(offline=True).new_page()
    offline.goto(page.as_uri(), wait_until="domcontentloaded")
    offline.wait_for_selector("[class^=pwlab-static-] img")
    widths = offline.evaluate("[...document.querySelectorAll('[class^=pwlab-static-] img')].map(i => i.naturalWidth)")
    assert widths and all(width > 100 for width in widths)
    (ROOT / "build" / "dashboard").mkdir(parents=True, exist_ok=True)
    offline.screenshot(path=ROOT / "build" / "dashboard" / "nbconvert.png")


def play(page: Any) -> None:
    """Plays a replay to its end by keyboard, and looks at its beginning."""
    page.wait_for_selector(".pw-player")
    page.focus(".pw-canvas")
    page.keyboard.press("Home")
    page.locator(".pw-status", has_text=re.compile(r"^0 nodes done")).wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert (page.text_content(".pw-clock") or "").startswith("0 ms / ")
    for _ in range(12):
        page.keyboard.press(">")
    assert page.input_value(".pw-player select") == "100"
    page.keyboard.press(" ")
    page.wait_for_selector(".pw-play[title^=play]")
    at, whole = (page.text_content(".pw-clock") or "").split(" / ")
    assert at == whole
    assert int((page.text_content(".pw-status") or "0").split()[0]) > 0


def test_a_replay_plays_without_a_kernel_and_a_report_without_a_server(it: Lab) -> None:
    show = "work()\npw.save('run.jsonl')\npw.report('run.html')\npw.shutdown()"
    it.notebook("replay.ipynb", START, show, "pw.replay('run.jsonl')")
    it.run_all()
    it.page.wait_for_selector(".pw-player")
    it.idle()
    it.page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
    play(it.page)
    it.shot("replay")
    report = it.page.context.browser.new_context(offline=True, color_scheme="dark").new_page()
    problems: list[str] = []
    report.on("console", lambda message: problems.append(message.text))
    report.on("pageerror", lambda error: problems.append(str(error)))
    report.goto((it.folder / "run.html").as_uri())
    play(report)
    assert not report.is_visible("details.still svg") and problems == []
    report.screenshot(path=ROOT / "build" / "dashboard" / "report.png")
