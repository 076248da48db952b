"""The dashboard in a real JupyterLab: live, after a reload, after the kernel is gone, by keyboard, in the dark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from .cells import COMPUTE, CROWD, FAIL, NAMES, SHOW, SLEEP, START
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


@pytest.fixture(scope="module")
def it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


def busy(it: Lab) -> bool:
    status = "jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
    return it.page.evaluate(status) == "busy"


def pictures_alone(it: Lab) -> None:
    """The static picture is there, and no word of the widget that is not."""
    it.page.wait_for_selector("[class^=pwlab-static-] img")
    it.page.wait_for_selector("text=/Loading widget|model not found/", state="attached")
    it.page.wait_for_selector("text=/Loading widget|model not found/", state="hidden")


#: The colour scheme that a static picture is drawn for.
SCHEME = "getComputedStyle(document.querySelector('[class^=pwlab-static-] img')).colorScheme"

#: How many colours there are where the timeline writes the names of its rows; text has many shades.
SHADES = """() => {
    const canvas = document.querySelector(".pw-canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, 120, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}"""


def drawn(it: Lab, tab: str) -> str:
    """What a tab's canvas shows once it is drawn."""
    it.page.click(f"#t-{tab}")
    it.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return it.page.evaluate("document.querySelector('.pw-canvas').toDataURL()")


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
    it.open_without_kernel("live.ipynb")
    pictures_alone(it)
    it.shot("without_kernel")
    it.open("live.ipynb")
    it.page.wait_for_selector(".pw-dash")
    it.until(f"{counts} >= {before}")
    assert (it.page.get_attribute(".pw-lamp", "class") or "").strip() == "pw-lamp"
    assert (it.folder / "live.ipynb").stat().st_size < 1_500_000

    # Without the widget's state, and at first without trust: the pictures, and no word of what is missing.
    notebook = nbformat.read(it.folder / "live.ipynb", 4)
    del notebook.metadata["widgets"]
    nbformat.write(notebook, it.folder / "bare.ipynb")
    it.open("bare.ipynb")
    it.page.wait_for_selector("[class^=pwlab-static-] img")
    assert it.page.locator(".jp-OutputArea-child").count() == 1
    it.page.evaluate("void jupyterapp.commands.execute('notebook:trust')")
    it.page.click(".jp-Dialog .jp-mod-accept")
    pictures_alone(it)
    it.shot("without_state")

    # What they show is light or dark as the host is, whatever the reader's system prefers.
    for theme, scheme in (("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")):
        it.page.evaluate(f"jupyterapp.commands.execute('apputils:change-theme', {{theme: '{theme}'}})")
        it.until(f"{SCHEME} == '{scheme}'")


def test_a_page_of_nbconvert_shows_pictures_without_the_network(it: Lab) -> None:
    import nbconvert

    html, _ = nbconvert.HTMLExporter().from_filename(str(it.folder / "live.ipynb"))
    page = Path(it.folder / "live.html")
    page.write_text(html, encoding="utf-8")
    offline = it.page.context.browser.new_context(offline=True, color_scheme="dark").new_page()
    offline.goto(page.as_uri(), wait_until="domcontentloaded")
    offline.wait_for_selector("[class^=pwlab-static-] img")
    assert offline.evaluate(SCHEME) == "light", "the page is light, and its reader's system is dark"
    widths = offline.evaluate("[...document.querySelectorAll('[class^=pwlab-static-] img')].map(i => i.naturalWidth)")
    assert widths and all(width > 100 for width in widths)
    (ROOT / "build" / "dashboard").mkdir(parents=True, exist_ok=True)
    offline.screenshot(path=ROOT / "build" / "dashboard" / "nbconvert.png")


def test_sixteen_clients_some_with_names_that_try_to_do_harm(it: Lab) -> None:
    it.problems.clear()
    it.notebook("crowd.ipynb", START, "pw.dashboard()", CROWD)
    it.run_all()
    it.page.wait_for_selector(".pw-dash")
    it.idle()
    it.page.evaluate("document.querySelector('.pw-dash').scrollIntoView({block: 'center'})")
    it.until("parseInt(document.querySelector('.pw-status').textContent) == 64")
    it.page.wait_for_selector(".pw-lamp.pw-live")
    it.page.select_option(".pw-select[title^=what]", "client")
    it.page.wait_for_selector(".pw-foot >> text=and 2 more")
    drawn(it, "timeline")
    assert it.page.evaluate(SHADES) > 20, "the names of the rows are not written"
    it.shot("clients16_timeline")

    # What each asked for and got: 64 launches, by names that are text and nothing else.
    it.page.click("#t-clients")
    it.page.wait_for_selector(".pw-scroll tbody tr >> nth=15")
    rows = it.page.evaluate(
        "[...document.querySelectorAll('.pw-scroll tbody tr')].map(row => [...row.cells].map(c => c.innerText.trim()))"
    )
    assert len(rows) == 16 and all(row[5] == "4" for row in rows)
    keys = it.page.evaluate("[...document.querySelectorAll('.pw-scroll .pw-pick')].map(b => b.dataset.key)")
    assert {key[:200] for key in keys} == {f"client {name}"[:200] for name in NAMES}
    tips = it.page.evaluate("[...document.querySelectorAll('.pw-scroll tbody tr')].map(row => row.dataset.tip)")
    asked = dict(zip(keys, (tip.split("asked for share ")[1].split("\n")[0] for tip in tips), strict=True))
    assert [asked[f"client client {i}"] for i in range(11)] == list("12341234123")
    assert all(percent.endswith("%") for row in rows for percent in row[1:3])
    shown = [row[0] for row in rows]
    assert any(name.startswith("<script>window.pwned") for name in shown) and max(map(len, shown)) < 40

    # One that is chosen stands out in every tab.
    pictures: set[str] = set()
    for name in ("client 2", NAMES[11]):
        it.page.click("#t-clients")
        it.page.locator(".pw-scroll .pw-pick").nth(keys.index(f"client {name}")).click()
        assert it.page.text_content(".pw-details h4") == f"client {name}"
        it.page.wait_for_selector(".pw-scroll tr.pw-chosen")
        it.shot("clients16")
        it.page.click("#t-utilisation")
        it.page.wait_for_selector(f".pw-scroll .pw-chosen .pw-pick[data-key={json.dumps(f'client {name}')}]")
        assert it.page.locator(".pw-scroll .pw-chosen .pw-pick[data-key^=client]").count() == 1
        it.shot("clients16_utilisation")
        pictures |= {drawn(it, "graph"), drawn(it, "timeline")}
        it.shot("clients16_chosen")
    assert len(pictures) == 4

    # Each view alone.  A widget is shown as often as it is asked for.
    views = {"timeline": "Timeline", "graph": "Graph", "util": "Utilisation", "memory": "Memory", "clients": "Clients"}
    it.notebook("views.ipynb", START, CROWD, *(f"%pw {view}" for view in views))
    it.run_all()
    it.idle()
    for view, title in views.items():
        alone = it.page.locator(".pw-dash", has=it.page.locator(f".pw-head > b:text-is('{title}')"))
        alone.scroll_into_view_if_needed()
        assert alone.locator(".pw-tab").count() == 0
        assert alone.locator("canvas").first.is_visible() or alone.locator("table").first.is_visible()
        it.shot(f"alone_{view}")
    assert it.page.evaluate("document.querySelectorAll('.jp-OutputArea script, .jp-OutputArea [src=x]').length") == 0
    assert not it.page.evaluate("window.pwned") and it.problems == []


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
