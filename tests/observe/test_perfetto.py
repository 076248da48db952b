"""The trace: by our own rules, and as Perfetto's trace_processor reads it."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import (
    BuffersFreed,
    Fact,
    IslandKnown,
    IslandSpec,
    NodeAdded,
    NodeEnded,
    NodeMoved,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    Waited,
)
from pwlab.ids import BufferId, NodeId, Source
from pwlab.observe import Run, SpanKind, spans_of, trace_of, write_trace
from tests.viz import runs

from .trace_processor import trace_processor

Trace = dict[str, Any]
SLICE = {SpanKind.COMPUTE, SpanKind.TRANSFER, SpanKind.HOST}


def shuffled(times: list[tuple[float, float]]) -> Run:
    """The nodes of the usual run, ended at these times, however they overlap."""
    facts: list[Fact] = [fact for fact in runs.run() if not isinstance(fact, NodeMoved | NodeEnded | Waited)]
    for spec, (start, end) in zip(runs.NODES, times, strict=False):
        island, chips = runs.WHERE[spec.slice]
        facts.append(NodeEnded(end, spec.id, NodeState.DONE, start, end, island, chips))
    facts.append(Waited(1.0, 2.0, "float(x)", Source("Cell In[4]", 6, "float(loss)"), BufferId(9)))
    facts.append(Waited(1.5, 2.0, "print(x)", None))
    return Run(tuple(facts))


def slices(trace: Trace) -> list[Trace]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def check(trace: Trace) -> None:
    """The rules: sorted, nothing overlaps on a thread, every arrow in a slice at both ends, every thread named."""
    timed = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    assert [e["ts"] for e in timed] == sorted(e["ts"] for e in timed)
    rows: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in slices(trace):
        assert event["dur"] >= 0 and event["ts"] >= 0 and event["name"]
        low = round(event["ts"] * 1000)
        rows[event["pid"], event["tid"]].append((low, low + round(event["dur"] * 1000)))
    for spans in rows.values():
        for (_, until), (start, _) in itertools.pairwise(spans):
            assert until <= start
    named = Counter((e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name")
    assert set(rows) <= set(named) and set(named.values()) <= {1}
    assert len({tid for _, tid in named}) == len(named), "Perfetto knows a thread by its number alone"
    ends: defaultdict[int, list[Trace]] = defaultdict(list)
    for event in timed:
        if event["ph"] in "sf":
            ends[event["id"]].append(event)
            low = round(event["ts"] * 1000)
            assert any(a <= low <= b for a, b in rows[event["pid"], event["tid"]])
    for pair in ends.values():
        assert [e["ph"] for e in pair] == ["s", "f"]


def test_tracks_are_named_for_islands_and_devices() -> None:
    trace = trace_of(Run(tuple(runs.run())))
    names = {(e["name"], e["args"]["name"]) for e in trace["traceEvents"] if "name" in e.get("args", ())}
    assert ("process_name", "island0 (4 × cpu)") in names and ("process_name", "host") in names
    assert {("thread_name", f"device {n}") for n in range(8)} <= names
    assert {("thread_name", name) for name in ("programs", "controller", "waits", "compilation", "host")} <= names


def test_a_gang_is_a_slice_on_each_of_its_devices() -> None:
    run = Run(tuple(runs.run()))
    found = [e for e in slices(trace_of(run)) if e["name"] == "encoder_block" and e["cat"] == "compute"]
    assert len({e["tid"] for e in found}) == len(found) == 4
    assert [e["dur"] for e in found] == pytest.approx([1.2 * 6 * 1000] * 4)
    assert found[0]["args"] == {
        "program": "train_step",
        "client": "main",
        "cell": "Cell In[4]",
        "line": 3,
        "source": "encoder_block = ...",
        "node": 4,
        "gang": 4,
        "computations": 6,
    }


def test_the_controller_is_a_track_of_the_host() -> None:
    found = [e for e in slices(trace_of(Run(tuple(runs.run())))) if e["cat"] == "control"]
    assert [(e["ts"], e["dur"], e["name"]) for e in found] == [(1e6, 2000, "controller"), (1.004e6, 500, "controller")]
    assert found[0]["args"] == {"events": 16, "launches": 3, "busy": "1500.0 µs"}


def test_slices_that_overlap_go_to_a_track_of_their_own_with_their_true_times() -> None:
    run = shuffled([(1.0, 3.0), (1.0, 1.5), (2.0, 4.0)])
    trace = trace_of(run)
    check(trace)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert names.count("device 0") == names.count("device 0 (2)") == 1 and "device 0 (3)" not in names
    assert {(e["ts"], e["dur"]) for e in slices(trace) if e["name"] == "embed"} == {(2e6, 2e6)}


TIMES = st.tuples(st.floats(1.0, 2.0), st.floats(0.0, 1.0)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(TIMES, min_size=len(runs.NODES), max_size=len(runs.NODES)))
def test_no_times_break_the_rules(times: list[tuple[float, float]]) -> None:
    check(trace_of(shuffled(times)))


def test_an_empty_run_is_a_trace() -> None:
    check(trace_of(Run(())))


def test_arrows_lead_over_the_transfer_to_its_reader() -> None:
    trace = trace_of(Run(tuple(runs.run())))
    check(trace)
    where = {(e["pid"], e["tid"], e["ts"]): e["name"] for e in slices(trace)}
    arrive = [e for e in trace["traceEvents"] if e["ph"] == "f"]
    assert [where[e["pid"], e["tid"], e["ts"]] for e in arrive] == ["to b", "decoder_block", "to c", "attention"]


def test_the_counter_shows_what_an_island_holds() -> None:
    facts: list[Fact] = [
        IslandKnown(0.0, IslandSpec(runs.WHERE[runs.A][0], "island0", runs.devices(0))),
        ProgramOpened(0.0, runs.P, "p", "main", None),
        NodeAdded(0.0, runs.P, runs.node(1, "x", runs.A, kb=2)),
        NodeAdded(0.0, runs.P, runs.node(2, "y", runs.A, kb=3)),
        NodeEnded(1.0, NodeId(1), NodeState.DONE, 0.5, 1.0, runs.WHERE[runs.A][0], runs.devices(0)),
        NodeEnded(2.0, NodeId(2), NodeState.DONE, 1.0, 2.0, runs.WHERE[runs.A][0], runs.devices(0)),
        BuffersFreed(3.0, (BufferId(1), BufferId(99)), 2048),
        ProgramEnded(3.0, runs.P, NodeState.DONE),
    ]
    counted = [e for e in trace_of(Run(tuple(facts)))["traceEvents"] if e["ph"] == "C"]
    assert [(e["ts"], e["args"]["bytes"]) for e in counted] == [(1e6, 2048), (2e6, 5120), (3e6, 3072)]


def test_perfetto_reads_it(tmp_path: Path) -> None:
    """Perfetto has as many slices as the trace, drops none, and finds both ends of every arrow."""
    times = [(1.0 + 0.01 * i, 1.0 + 0.01 * i + 0.035) for i in range(len(runs.NODES))]
    run = shuffled(times)
    trace = trace_of(run)
    path = write_trace(tmp_path / "run.json", run)
    assert json.loads(path.read_text()) == trace
    ours = Counter((e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in slices(trace))
    expected = sum(max(1, len(s.devices)) if s.kind in SLICE else 1 for s in spans_of(run.model))
    with trace_processor(path) as reader:
        theirs = Counter((row.name, row.ts, row.dur) for row in reader.query("select name, ts, dur from slice"))
        assert theirs == ours and theirs.total() == expected
        assert not list(reader.query("select name from stats where severity = 'error' and value > 0"))
        assert not list(reader.query("select name from slice where depth > 0"))
        arrows = sum(event["ph"] == "s" for event in trace["traceEvents"])
        (found,) = reader.query("select count(*) as n from flow")
        assert found.n == arrows > 0
        processes = {row.name for row in reader.query("select name from process where name is not null")}
        assert processes == {"host", "island0 (4 × cpu)", "island1 (4 × cpu)"}
        (held,) = reader.query("select max(value) as most from counter")
        assert held.most == max(e["args"]["bytes"] for e in trace["traceEvents"] if e["ph"] == "C")
        tracks = {row.name for row in reader.query("select name from thread where name is not null")}
        assert "device 0 (2)" in tracks


@pytest.mark.parametrize(
    "name", ["🎉", "<script>alert(1)</script>", "x" * 10_000, 'a "quoted" \\ name', "zwei\nZeilen", ""]
)
def test_perfetto_reads_any_name(tmp_path: Path, name: str) -> None:
    facts: list[Fact] = [
        IslandKnown(0.0, IslandSpec(runs.WHERE[runs.A][0], "island0", runs.devices(0))),
        ProgramOpened(0.0, runs.P, "p", "main", None),
        NodeAdded(0.0, runs.P, runs.node(1, name, runs.A)),
        NodeEnded(1.0, NodeId(1), NodeState.DONE, 0.5, 1.0, runs.WHERE[runs.A][0], runs.devices(0)),
        ProgramEnded(1.0, runs.P, NodeState.DONE),
    ]
    with trace_processor(write_trace(tmp_path / "run.json", Run(tuple(facts)))) as reader:
        names = {row.name for row in reader.query("select name from slice where category = 'compute'")}
    assert names == {name.replace("\n", " ") or "(no name)"}


def test_half_a_character_does_not_stop_a_trace(tmp_path: Path) -> None:
    run = Run((ProgramOpened(0.0, runs.P, "half \ud83d", "main", None),))
    assert "half" in write_trace(tmp_path / "run.json", run).read_text(encoding="utf-8")


def test_perfetto_drops_what_overlaps_which_is_what_we_avoid(tmp_path: Path) -> None:
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": ts, "dur": 3, "name": "x"} for ts in (1, 2)]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"traceEvents": events}))
    with pytest.raises(AssertionError):
        check({"traceEvents": events})
    with trace_processor(path) as reader:
        (count,) = reader.query("select count(*) as n from slice")
        (dropped,) = reader.query("select value from stats where name = 'slice_drop_overlapping_complete_event'")
        assert (count.n, dropped.value) == (1, 1)
