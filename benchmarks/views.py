"""The dashboard: frames with very many launches, the layout, what it adds to a notebook, what it costs a run, and
how late it is.

Frames are measured in Chromium with Playwright; where either is missing a loud line says so and the rest is measured.
"""

from __future__ import annotations

import functools
import gc
import http.server
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("NPROC", "16")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import jax
import jax.numpy as jnp
from dashboard.runs import run
from kernels import kernel
from lag import lag
from measure import Figure, report, resident_mb

import pwlab as pw
from pwlab.events import Fact, IslandKnown, Noted, SliceMapped
from pwlab.observe import FactRing, Recorder
from pwlab.viz.dashboard import Feed, replayed, snapshot
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
        style = f"<style>{dashboard_widget.STYLE}</style>"
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
    bundle = len((dashboard_widget.JAVASCRIPT + dashboard_widget.STYLE).encode())
    replay = len((replayed.JAVASCRIPT + replayed.STYLE).encode())
    saved = (bundle + len(snapshot(feed)) * 4 / 3) / 1e6
    feed.close()
    return [
        Figure("bundle_kb", bundle / 1000, 100, "kB"),
        Figure("replay_bundle_kb", replay / 1000, 100, "kB"),
        Figure("notebook_mb", saved, 1.5, "MB", note="bundle and snapshot of 10,000 launches"),
    ]


def facts() -> Figure:
    """Resident memory of a million facts: in the ring, folded into the model and the numbers, encoded for pages."""
    code = "from views import hold; hold()"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    done.check_returncode()
    ring, whole, count = json.loads(done.stdout)
    note = f"of it {ring:.0f} MB in the ring; {count:,} facts of the chained program, in a process of its own"
    return Figure("facts_mb", whole, 200, "MB", note=note)


def hold(wanted: int = 1_000_000) -> None:
    """Prints the megabytes that the facts of the chained program take, repeated under new numbers up to a million."""
    session = pw.start(islands=1, devices_per_island=1)
    chained()()
    session.programs.wait()
    told = [fact for fact in session.ring.after(0).facts if not isinstance(fact, IslandKnown | SliceMapped | Noted)]
    pw.shutdown()
    before, ring = resident_mb(), FactRing(wanted)
    while ring.last < wanted:
        ring.extend(later(told, ring.last))
    gc.collect()
    alone = resident_mb() - before
    recorder, feed = Recorder(ring), Feed(ring, threaded=False)
    feed.snapshot(0)  # has it read all
    gc.collect()
    whole = resident_mb() - before
    assert recorder.seen == feed.history.read == ring.last
    print(json.dumps([alone, whole, ring.last]))


def later(facts: list[Fact], by: int) -> list[Fact]:
    """The same facts again with ids and times of their own, made anew as a controller makes them."""

    def moved(value: Any, name: str = "") -> Any:
        if isinstance(value, tuple) and name != "devices":
            return tuple(moved(each, name) for each in value)
        if is_dataclass(value):
            return type(value)(*(moved(getattr(value, field.name), field.name) for field in fields(value)))
        if name in _COUNTED and value is not None:
            return value + by
        return value

    return [moved(fact) for fact in facts]


#: Fields that differ from program to program.
_COUNTED = frozenset(
    ("time", "start", "end", "program", "node", "id", "buffer", "buffers", "inputs", "pinned", "cause")
)


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


_SETUP = """
from views import chained
import time
from measure import seconds
import pwlab as pw
programs = chained()
def rounds(n):
    for _ in range(n):
        programs()
"""

#: Each pair has a session of its own, so that the last has no longer history than the first.
_FRESH = """
session = pw.start(islands=1, devices_per_island=1)
rounds(1)
"""


def costs(pairs: int = 21) -> list[Figure]:
    """Throughput with a dashboard that pumps to a client of the kernel, and with one at which nobody looks.

    The client reads and answers as a page does, and draws nothing.  Rounds of some 0.3 s alternate with rounds
    without a dashboard, in one kernel; pairs begin with the one and the other in turn.
    """
    figures: list[Figure] = []
    with kernel() as client:
        client.run(_SETUP)

        def without() -> list[float]:
            """Wall and processor seconds."""
            code = "began = time.process_time(); print(seconds(lambda: rounds(3)), time.process_time() - began)"
            return [float(word) for word in client.run(code).split()]

        def beside(looked_at: bool) -> list[float]:
            client.run("dashboard = pw.dashboard(); dashboard.show()")
            client.look()
            if not looked_at:
                client.leave()
            took = without()
            client.run("dashboard.close()")
            return took

        for name, limit, looked_at in (("observe_cost", 0.95, True), ("observe_idle", 0.98, False)):
            shares: list[float] = []
            work: list[float] = []
            sent, told = client.batches, client.bytes
            for pair in range(pairs):
                client.run("pw.shutdown()")
                client.run(_FRESH)
                if pair % 2:
                    off, on = without(), beside(looked_at)
                else:
                    on, off = beside(looked_at), without()
                shares.append(off[0] / on[0])
                work.append(off[1] / on[1])
            low, _, high = statistics.quantiles(shares, n=4)
            note = (
                f"quartiles {low:.3f} to {high:.3f} of {pairs} pairs, by processor time {statistics.median(work):.3f}"
            )
            note += f"; {client.batches - sent} batches"
            note += f", {(client.bytes - told) / 1e6:.1f} MB"
            figures.append(Figure(name, statistics.median(shares), limit, "", ">=", note))
    return figures


if __name__ == "__main__":
    began = time.perf_counter()
    figures = [*sizes(), facts(), *costs(), *lag(), *frames()]
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    sys.exit(report(figures))
