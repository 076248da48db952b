"""A real JupyterLab with a real browser, for the tests of the dashboard."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
_SETTINGS = {
    "@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
#: Milliseconds after which something will not happen any more.
LONG = 60_000


def missing() -> str:
    """What a browser test needs and is not there; empty where all is."""
    wanted = [name for name in ("playwright", "jupyterlab") if importlib.util.find_spec(name) is None]
    return ", ".join(wanted + ([] if CHROMIUM else ["Chromium"]))


class Lab:
    """JupyterLab in a browser's page.  Waits are Playwright's."""

    def __init__(self, page: Any, url: str, folder: Path):
        self.page = page
        self.url = url
        self.folder = folder
        #: What went wrong on the page, or asked the user something.
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._asked)

    def _asked(self, dialog: Any) -> None:
        if dialog.type != "beforeunload":  # which JupyterLab asks where a notebook is not saved
            self.problems.append(dialog.message)
        dialog.accept()

    def notebook(self, name: str, *cells: str) -> None:
        """Writes a notebook and opens it."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.folder / name)
        self.open(name)

    def open(self, name: str) -> None:
        self.page.goto(f"{self.url}/lab/tree/{name}?token=t&reset")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=LONG)
        self.until("jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'")

    def open_without_kernel(self, name: str) -> None:
        """Ends all kernels, and opens a notebook that starts none."""
        self.page.evaluate("jupyterapp.serviceManager.sessions.shutdownAll()")
        self.page.goto(f"{self.url}/lab?token=t&reset")
        self.until("jupyterapp.commands.hasCommand('docmanager:open')")
        preference = "{shouldStart: false, autoStartDefault: false, canStart: false}"
        options = f"{{path: {json.dumps(name)}, kernelPreference: {preference}}}"
        self.page.evaluate(f"jupyterapp.commands.execute('docmanager:open', {options})")

    def run_all(self) -> None:
        """Runs all cells, and does not wait."""
        self.page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")

    def execute(self, code: str) -> None:
        """Runs code in the kernel, outside of the notebook, and does not wait."""
        kernel = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        self.page.evaluate(f"void {kernel}.requestExecute({{code: {json.dumps(code)}}})")

    def finish(self, code: str) -> None:
        """Runs code in the kernel, outside of the notebook, and waits for its end."""
        kernel = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        self.page.evaluate(f"async () => {{ await {kernel}.requestExecute({{code: {json.dumps(code)}}}).done }}")

    def until(self, condition: str) -> None:
        self.page.wait_for_function(f"() => {{ try {{ return {condition} }} catch {{ return false }} }}", timeout=LONG)

    def idle(self) -> None:
        """Waits until all cells have run."""
        self.until(
            "(w => w.sessionContext.session.kernel.status == 'idle' && [...w.content.model.cells].every("
            "c => c.type != 'code' || c.executionCount))(jupyterapp.shell.currentWidget)"
        )

    def done(self) -> int:
        """Nodes that the dashboard says are done."""
        text = self.page.text_content(".pw-status") or "0"
        return int(text.split()[0].replace(",", ""))

    def save(self) -> None:
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")

    def shot(self, name: str) -> None:
        """A picture for people, under ``build/dashboard``."""
        folder = ROOT / "build" / "dashboard"
        folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=folder / f"{name}.png")


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """Starts JupyterLab and the browser, and ends both."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = folder / ".settings"
    for plugin, values in _SETTINGS.items():
        (settings / plugin).parent.mkdir(parents=True, exist_ok=True)
        (settings / f"{plugin}.jupyterlab-settings").write_text(json.dumps(values))
    env = dict(os.environ, JAX_PLATFORMS="cpu", NPROC="16", IPYTHONDIR=str(folder / ".ipython"))
    env |= {"JUPYTER_CONFIG_DIR": str(folder / ".config"), "JUPYTERLAB_WORKSPACES_DIR": str(folder / ".spaces")}
    env |= {"JUPYTERLAB_SETTINGS_DIR": str(settings)}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "magics")])
    env.pop("PWLAB_NONINTERACTIVE", None)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1"]
    command += ["--IdentityProvider.token=t", "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None"]
    command += [f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"]
    with open(folder / ".log", "w") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
            page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
            for _ in range(150):
                with suppress(OSError):
                    urllib.request.urlopen(f"{url}/api?token=t").close()
                    break
                page.wait_for_timeout(200)
            yield Lab(page, url, folder)
            browser.close()
    finally:
        server.terminate()
        server.wait(20)
