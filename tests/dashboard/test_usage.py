"""The page makes the same of time and memory as :class:`~pwlab.observe.Usage`, from the same facts."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import Any

import pytest
from observe.simulated import Simulated
from observe.test_window import thinned
from viz.runs import run as small_run

from pwlab.observe import Run
from pwlab.viz.dashboard import Encoder
from pwlab.viz.dashboard.snapshot import about
from pwlab.viz.shares import shares_picture

from .runs import JS, NODE, needs_node, run


def told(run: Run, size: int) -> dict[str, Any]:
    """What a page makes of facts that come in batches; it prints itself as JSON."""
    facts, encoder, messages = run.mended, Encoder(), []
    for first in range(0, len(facts), size):
        chunk = encoder.chunk(facts[first : first + size], first + 1)
        messages.append({"header": chunk.header, "data": base64.b64encode(chunk.data).decode()})
    given = {"messages": messages, "strings": encoder.strings.all, "origin": run.start, "now": run.stats.usage.now}
    given["about"] = about(run)
    done = subprocess.run(
        [NODE or "node", JS / "check" / "usage.mjs"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(run: Run) -> dict[str, Any]:
    """The same of ours."""
    view, origin = run.stats.usage.view(), run.start
    picture = shares_picture(view, run.model)
    return {
        "seconds": view.seconds,
        "step": view.step,
        "devices": [[device, [*spent.parts]] for device, spent in view.devices.items()],
        "islands": [[island, [*spent.parts]] for island, spent in view.islands.items()],
        "over": [[island, [[*row] for row in rows]] for island, rows in view.over.items()],
        "by_client": [[name, [*row]] for name, row in view.by_client.items()],
        "clients": [
            [
                r.name,
                r.open,
                r.share,
                r.priority,
                r.asked,
                r.got,
                [*r.spent.parts],
                r.launches,
                r.failed,
                r.waiting,
                r.held,
                r.bytes,
                r.max_bytes,
            ]
            for r in view.clients
        ],
        "memory": [[r.name, r.island, [*r.devices], r.bytes, r.peak, r.capacity, [*r.series]] for r in view.memory],
        "holders": [[r.node, r.name, r.client, r.values, r.bytes] for r in view.holders],
        "held": [[r.node, r.since - origin, r.account, r.bytes] for r in view.held],
        "bins": picture.bins,
        "bands": [[[r.name for r in band.rows], [*band.parts], band.asked] for band in picture.bands],
        "trends": [[trend.row.name, [*trend.parts], [*trend.asked]] for trend in picture.trends],
    }


def close(a: Any, b: Any, where: str = "") -> None:
    """Times in the page are whole microseconds, of which a short window has few; all else is the same."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            close(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), (where, a, b)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            close(x, y, f"{where}[{i}]")
    elif isinstance(a, float):
        assert b == pytest.approx(a, abs=1e-2 if where.startswith((".bands", ".trends")) else 1e-4), where
    else:
        assert a == b, where


@needs_node
@pytest.mark.parametrize("size", [7, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_short_of_memory(seed: int, size: int) -> None:
    run = Run(tuple(Simulated(seed).facts))
    close(plain(run), told(run, size))


@needs_node
def test_a_run_whose_oldest_detail_is_gone() -> None:
    for facts, keep in ((Simulated(1, programs=20).facts, 600), ([*run(600)], 2_000), ([*run(600, clients=12)], 2_000)):
        rest = thinned(facts, keep)
        assert rest.stats.usage.view().seconds < Run(tuple(facts)).stats.usage.view().seconds
        close(plain(rest), told(rest, 1000))


@needs_node
def test_a_run_that_goes_on() -> None:
    for facts in (small_run(), Simulated(3).facts[:150], run(400), run(600, clients=12)):
        going = Run(tuple(facts))
        close(plain(going), told(going, 20))
