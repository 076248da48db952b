"""The dashboard: frames with very many launches, the layout, what it adds to a notebook, and what it costs a run.

Frames are measured in Chromium with Playwright; where either is missing a loud line says so and the rest is measured.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("NPROC", "16")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import jax
import jax.numpy as jnp
from dashboard.runs import run
from measure import Figure, report, seconds

import pwlab as pw
from pwlab.observe import FactRing
from pwlab.viz.dashboard import Dashboard, Feed, snapshot
from pwlab.viz.dashboard import widget as dashboard_widget

JS = Path(dashboard_widget.__file__).parents[1] / "js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        page = (
            '<!doctype html><script type="module">import * as frames from "/check/frames.js"; window.frames_ = frames'
        )
        style = f"<style>{dashboard_widget._STYLE}</style>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"{page}</script>{style}<body>".encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def frames() -> list[Figure]:
    """What the browser takes."""
    if importlib.util.find_spec("playwright") is None or CHROMIUM is None:
        print("!!! NOT MEASURED: frames, for there is no Playwright or no Chromium", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(JS)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("window.frames_")
        took = {name: float(page.evaluate(f"frames_.{name}()")) for name in ("layout", "graph", "timeline")}
        browser.close()
    server.shutdown()
    return [
        Figure("frame_ms", took["timeline"], 8, "ms", note="1,000,000 launches on 64 rows, median"),
        Figure("frame_graph_ms", took["graph"], 16, "ms", note="5,000 nodes, median"),
        Figure("layout_ms", took["layout"], 100, "ms", note="5,000 nodes"),
    ]


def sizes() -> list[Figure]:
    """What a dashboard adds to a notebook."""
    ring = FactRing()
    ring.extend(run(10_000))
    feed = Feed(ring, threaded=False)
    bundle = len((dashboard_widget._JS + dashboard_widget._STYLE).encode())
    saved = (bundle + len(snapshot(feed)) * 4 / 3) / 1e6
    feed.close()
    return [
        Figure("bundle_kb", bundle / 1000, 100, "kB"),
        Figure("notebook_mb", saved, 1.5, "MB", note="bundle and snapshot of 10,000 launches"),
    ]


def history() -> Figure:
    """Memory that a million facts take, beside the ring that has them anyway."""
    ring = FactRing(1_000_000)
    ring.extend(run(165_000))
    feed = Feed(ring, threaded=False)
    while feed.history.catch_up():
        pass
    held = sum(len(chunk.data) for chunk in feed.history.after(0, 1 << 40)) / 1e6
    per_million = held / feed.history.last * 1e6
    feed.close()
    return Figure("history_mb", per_million, 200, "MB", note="columns of 1,000,000 facts, without the ring")


def chained() -> Callable[[], None]:
    """128 small computations a program, as in the chained benchmark."""
    step = jax.jit(lambda x: x * 1.0001 + 0.5)
    x = jnp.ones((8, 8))

    def programs() -> None:
        for _ in range(60):
            with pw.lazy():
                y = x
                for _ in range(128):
                    y = step(y)
            float(y[0, 0])

    return programs


def costs() -> list[Figure]:
    """Throughput with a dashboard that pumps, and with one at which nobody looks, against none.

    What a batch costs once it is handed to the widget (JSON and the socket) is not in these figures.
    """
    session = pw.start(islands=1, devices_per_island=1)
    programs = chained()
    programs()
    figures: list[Figure] = []
    for name, limit, looked_at in (("observe_cost", 0.95, True), ("observe_idle", 0.98, False)):
        shares: list[float] = []
        for pair in range(9):
            took: dict[bool, float] = {}
            for watched in (True, False) if pair % 2 else (False, True):
                dashboard = _watching(session, looked_at) if watched else None
                took[watched] = seconds(programs)
                if dashboard is not None:
                    dashboard.close()
            shares.append(took[False] / took[True])
        spread = f"{min(shares):.2f} to {max(shares):.2f} over 9 pairs; batches end before the kernel's socket"
        figures.append(Figure(name, statistics.median(shares), limit, "", ">=", spread))
    pw.shutdown()
    return figures


def _watching(session: pw.Session, looked_at: bool) -> Dashboard:
    """A dashboard that has told its page all so far."""
    dashboard = Dashboard(session)
    caught_up = threading.Event()

    def send(content: dict[str, Any], buffers: list[bytes]) -> None:
        if not content["chunks"] or content["chunks"][-1]["to"] >= content["last"]:
            caught_up.set()

    dashboard.send_batch = send  # type: ignore[method-assign]
    dashboard._feed.snapshot(0)  # has it read what the run said before
    if looked_at:
        dashboard.presence.heard("page")
        dashboard._feed.nudge()
        caught_up.wait(30)
    return dashboard


if __name__ == "__main__":
    began = time.perf_counter()
    figures = [*sizes(), history(), *costs(), *frames()]
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    sys.exit(report(figures))
