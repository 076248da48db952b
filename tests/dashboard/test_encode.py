"""Facts become columns, and the page's JavaScript makes the same run of them as the Python model."""

from __future__ import annotations

import base64
import json
import subprocess
import zlib

import numpy as np
import pytest
from viz.runs import run as small_run

from pwlab.events import Fact, Noted, WaitBegan, Waited
from pwlab.ids import BufferId
from pwlab.observe import FactRing, model_of
from pwlab.viz.dashboard import Encoder, Feed, snapshot
from pwlab.viz.dashboard.encode import LONGEST

from .runs import JS, NODE, needs_node, run


def column(chunk, table: str, name: str) -> np.ndarray:
    kind, at = chunk.header["tables"][table]["cols"][name]
    return np.frombuffer(chunk.data, kind[0] + kind[1], chunk.header["tables"][table]["rows"], at)


def test_columns_hold_numbers_and_texts() -> None:
    encoder = Encoder()
    facts = list(run(50))
    chunk = encoder.chunk(facts, 7)
    assert (chunk.first, chunk.last) == (7, 6 + len(facts))
    assert list(column(chunk, "adds", "id")) == list(range(1, 51))
    names = [encoder.strings.all[i] for i in column(chunk, "adds", "name")]
    assert names == [f"layer{k % 9}" for k in range(50)]
    added = chunk.header["base"] + column(chunk, "adds", "time") * 1e-6
    assert np.allclose(added, [f.time for f in facts if type(f).__name__ == "NodeAdded"], atol=1e-6)


def test_times_that_are_far_apart_take_more_room_and_stay_right() -> None:
    chunk = Encoder().chunk([Noted(0.0, "a"), Noted(1e6, "b")], 1)
    assert column(chunk, "notes", "time").dtype == np.float64
    assert column(chunk, "notes", "time")[1] == 1e12


def test_texts_of_any_kind() -> None:
    encoder = Encoder()
    long, half = "é" * 10_000, "a\ud800b"
    a, b, again = encoder.strings(long), encoder.strings(half), encoder.strings(long)
    assert a == again and len(encoder.strings.all[a]) == LONGEST
    json.dumps(encoder.strings.all, ensure_ascii=False).encode()
    assert b != a


def told(facts: list[Fact], batches: list[int]) -> dict:
    """What a page makes of facts that come in batches of these sizes; it prints itself as JSON."""
    encoder = Encoder()
    messages, first = [], 1
    for size in batches:
        chunk = encoder.chunk(facts[first - 1 : first - 1 + size], first)
        messages.append({"header": chunk.header, "data": base64.b64encode(chunk.data).decode()})
        first += size
    given = json.dumps({"messages": messages, "strings": encoder.strings.all, "origin": facts[0].time})
    done = subprocess.run(
        [NODE or "node", JS / "check" / "told.mjs"], input=given, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_a_wait_is_known_from_its_begin_on() -> None:
    begun = [WaitBegan(1.0, "float(x)", None), WaitBegan(2.0 + 1e-7, "float(y)", None, BufferId(3))]
    over = [Waited(2.0 + 1e-7, 0.5, "float(y)", None, BufferId(3)), Waited(0.5, 2.0, "old", None)]
    for batches in ([4], [1, 1, 1, 1], [2, 2]):
        page = told([*begun, *over], batches)
        assert page["waits"] == [["float(x)", "", None], ["float(y)", "", 0.5], ["old", "", 2.0]]
        assert (page["waited"], page["begun"]) == ([1, 2], [0])
    model = model_of([*begun, *over])
    assert list(model.waiting.values()) == [begun[0]] and list(model.waits) == over


@needs_node
def test_the_page_knows_what_the_model_knows() -> None:
    facts = small_run()
    model = model_of(facts)
    page = told(facts, [10, 7, len(facts) - 17])
    assert page["works"] == [[1.0, 0.002, 0.0015, 16, 3], [pytest.approx(1.004), 0.0005, 0.0005, 4, 4]]
    assert [n["name"] for n in page["nodes"]] == [n.spec.name for n in model.nodes.values()]
    assert [n["state"] for n in page["nodes"]] == [n.state.value for n in model.nodes.values()]
    for ours, theirs in zip(model.nodes.values(), page["nodes"], strict=True):
        assert theirs["devices"] == list(ours.devices)
        assert theirs["error"] == ours.error
        assert theirs["sources"] == [i for i in ours.spec.inputs if i in model.producer]
        if ours.end is not None and ours.start is not None:
            assert abs(theirs["seconds"] - (ours.end - ours.start)) < 2e-6
    assert page["waits"] == [[w.reason, w.source.cell if w.source else "", w.seconds] for w in model.waits]
    assert page["islands"] == [i.name for i in model.islands.values()]


@needs_node
def test_facts_that_come_twice_count_once() -> None:
    facts = list(run(60))
    encoder = Encoder()
    whole = encoder.chunk(facts, 1)
    parts = [encoder.chunk(facts[:100], 1), encoder.chunk(facts[50:200], 51), whole]
    messages = [{"header": c.header, "data": base64.b64encode(c.data).decode()} for c in parts]
    given = json.dumps({"messages": messages, "strings": encoder.strings.all, "origin": 0.0})
    done = subprocess.run(
        [NODE or "node", JS / "check" / "told.mjs"], input=given, capture_output=True, text=True, timeout=60
    )
    page = json.loads(done.stdout)
    assert len(page["nodes"]) == 60
    assert page["counts"] == [0, 0, 0, 0, 60, 0, 0]


def test_a_snapshot_of_ten_thousand_launches_fits_into_a_notebook() -> None:
    ring = FactRing()
    for fact in run(10_000):
        ring.append(fact)
    feed = Feed(ring, threaded=False)
    packed = snapshot(feed)
    assert len(packed) * 4 / 3 < 1_200_000
    flat = zlib.decompress(packed)
    size = int.from_bytes(flat[:4], "little")
    head = json.loads(flat[4 : 4 + size])
    assert head["last"] == feed.history.last and head["lost"] == 0
    assert len(flat) == 4 + size + sum(chunk["bytes"] for chunk in head["chunks"])
    feed.close()


def test_a_snapshot_of_a_long_run_keeps_the_newest_and_says_what_it_left_out() -> None:
    ring = FactRing()
    for fact in run(10_000):
        ring.append(fact)
    feed = Feed(ring, threaded=False)
    chunks, left_out = feed.snapshot(500_000)
    assert sum(len(chunk.data) for chunk in chunks) < 1_000_000
    assert chunks[0].header["whole"] and chunks[0].last + 1 == chunks[1].first
    assert left_out == chunks[0].last
    feed.close()
