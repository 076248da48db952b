"""The page makes the same of time and memory as :class:`~pwlab.observe.Usage`, from the same facts."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import Any

import pytest
from observe.simulated import Simulated
from viz.runs import run as small_run

from pwlab.events import Fact
from pwlab.observe import UsageView, stats_of
from pwlab.viz.dashboard import Encoder

from .runs import JS, NODE, needs_node, run


def told(facts: list[Fact], size: int, now: float) -> dict[str, Any]:
    """What a page makes of facts that come in batches; it prints itself as JSON."""
    encoder, messages = Encoder(), []
    for first in range(0, len(facts), size):
        chunk = encoder.chunk(facts[first : first + size], first + 1)
        messages.append({"header": chunk.header, "data": base64.b64encode(chunk.data).decode()})
    given = {"messages": messages, "strings": encoder.strings.all, "origin": facts[0].time, "now": now}
    done = subprocess.run(
        [NODE or "node", JS / "check" / "usage.mjs"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(view: UsageView, origin: float) -> dict[str, Any]:
    """The same of ours."""
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
    }


def close(a: Any, b: Any, where: str = "") -> None:
    """Times in the page are whole microseconds; all else is the same."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            close(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), (where, a, b)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            close(x, y, f"{where}[{i}]")
    elif isinstance(a, float):
        assert b == pytest.approx(a, abs=1e-4), where
    else:
        assert a == b, where


@needs_node
@pytest.mark.parametrize("size", [7, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_short_of_memory(seed: int, size: int) -> None:
    facts = Simulated(seed).facts
    view = stats_of(facts).usage.view()
    close(plain(view, facts[0].time), told(facts, size, stats_of(facts).now))


@needs_node
def test_a_run_that_goes_on() -> None:
    for facts in (small_run(), Simulated(3).facts[:150], list(run(400))):
        stats = stats_of(facts)
        close(plain(stats.usage.view(), facts[0].time), told(facts, 20, stats.usage.now))
