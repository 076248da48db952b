"""From a launch's end in the controller to its pixel, in a real JupyterLab, while a Python loop has the main thread."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Figure

LAUNCHES = 40

_START = """
import random, time
import jax, jax.numpy as jnp
import pwlab as pw
from pwlab.events import NodeEnded, NodeState
from pwlab.runtime.clock import now
session = pw.start(islands=1, devices_per_island=1)
step = jax.jit(lambda x: x * 1.0001 + 0.5)
def launch():
    with pw.lazy():
        y = step(jnp.ones((8, 8)))
    return y
def busy(seconds):
    until, n = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        n += 1
held = [launch()]
pw.dashboard()
"""

# Times between launches are no multiple of the pump's, so all phases occur.
_LOOP = f"""
chance = random.Random(1)
for _ in range({LAUNCHES}):
    held.append(launch())
    busy(0.15 + 0.2 * chance.random())
busy(1.0)
epoch = time.time() - now()
ends = [f.time + epoch for f in session.ring.after(0).facts if isinstance(f, NodeEnded) and f.state is NodeState.DONE]
print("ends", ends)
"""

# The count above the views is written in the frame that draws them; the next frame begins when that one is done.
_WATCH = """() => {
  window.seen_ = [];
  const status = document.querySelector(".pw-status");
  new MutationObserver(() => {
    const done = parseInt(status.textContent.replaceAll(",", ""));
    requestAnimationFrame(() => window.seen_.push([done, performance.timeOrigin + performance.now()]));
  }).observe(status, {childList: true, subtree: true, characterData: true});
}"""

_PRINTED = """() => [...jupyterapp.shell.currentWidget.content.model.cells].at(-1).outputs.toJSON()
  .map(o => o.text ?? "").join("")"""


def lag() -> list[Figure]:
    """The median over 40 launches."""
    from dashboard.lab import lab, missing

    lacks = missing()
    if lacks:
        print(f"!!! NOT MEASURED: lag_ms, for there is no {lacks}", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder, lab(Path(folder)) as browser:
        browser.notebook("lag.ipynb", _START, _LOOP)
        page: Any = browser.page
        page.evaluate("jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
        browser.until("document.querySelector('.pw-status').textContent.includes('1 node done')")
        page.evaluate(_WATCH)
        page.evaluate("void jupyterapp.commands.execute('notebook:run-all-below')")
        browser.idle()
        seen: list[list[float]] = page.evaluate("window.seen_")
        printed = page.evaluate(_PRINTED)
    ends: list[float] = json.loads(printed.partition("ends ")[2])[1:]  # the first launch came before the dashboard
    lags = [(min(at for done, at in seen if done >= number) - end * 1e3) for number, end in enumerate(ends, start=2)]
    spread = f"{min(lags):.0f} to {max(lags):.0f} over {len(lags)} launches, in JupyterLab"
    return [Figure("lag_ms", statistics.median(lags), 250, "ms", note=spread)]
