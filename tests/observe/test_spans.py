"""Spans, their lanes and their totals; the table of nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import ControllerWorked, ProgramOpened, WaitBegan
from pwlab.ids import BufferId, NodeId, ProgramId
from pwlab.observe import NODE_COLUMNS, Run, SpanKind, Totals, gaps, lanes, node_columns, spans_of, stats_of, totals_of
from tests.viz import runs

TIMES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda t: (t[0], t[0] + t[1]))).map(sorted)


@given(TIMES)
def test_lanes_hold_nothing_that_overlaps_and_are_as_few_as_can_be(times: list[tuple[int, int]]) -> None:
    found = lanes(times)
    for i, (start, end) in enumerate(times):
        for j, (other, until) in enumerate(times[:i]):
            assert found[i] != found[j] or until <= start or (other, until) == (start, end) == (start, start)
    at_once = [sum(a <= t < b for a, b in times if b > a) for t, _ in times]
    if all(b > a for a, b in times):
        assert max(found, default=-1) + 1 == max(at_once, default=0)


def test_every_node_that_ran_has_a_span_and_compiling_has_its_own() -> None:
    spans = spans_of(Run(tuple(runs.run())).model)
    kinds = {kind: [s.name for s in spans if s.kind is kind] for kind in SpanKind}
    assert kinds[SpanKind.COMPUTE] == [
        *("init_params", "embed", "encoder_block", "decoder_block", "attention", "loss")
    ] and kinds[SpanKind.HOST] == ["load_batch"]
    assert kinds[SpanKind.TRANSFER] == ["to b", "to c"]
    assert sorted(kinds[SpanKind.COMPILE]) == ["decoder_block", "embed", "encoder_block", "init_params"]
    assert kinds[SpanKind.WAIT] == ["float(x)", "print(x)"] and kinds[SpanKind.PROGRAM] == ["train_step"]
    assert [s.start for s in spans] == sorted(s.start for s in spans)
    assert {s.name for s in spans if s.open} == {"train_step", "loss"}
    assert all(s.client == "main" for s in spans if s.kind is not SpanKind.CONTROL)


def test_the_controllers_work_belongs_to_the_programs_during_which_it_began() -> None:
    facts = [*runs.run(), ControllerWorked(0.5, 0.1, 0.1, 1), ProgramOpened(30.0, ProgramId(2), "q", "main", None)]
    model = Run((*facts, ControllerWorked(31.0, 0.2, 0.1, 5, 1))).model
    work = {key: [s for s in spans_of(model, key) if s.kind is SpanKind.CONTROL] for key in (None, (runs.P,), (2,))}
    assert [[s.start for s in found] for found in work.values()] == [
        [0.5, 1.0, 1.004, 31.0],
        [1.0, 1.004, 31.0],
        [31.0],
    ]
    (span,) = work[2,]
    assert (span.seconds, span.busy, span.events, span.launches) == (pytest.approx(0.2), 0.1, 5, 1)
    assert totals_of(work[None], ()).control_seconds == pytest.approx(0.1 + 0.002 + 0.1)


def test_a_wait_that_goes_on_is_open() -> None:
    model = Run((*runs.run(), WaitBegan(1.1, "float(x)", None, BufferId(9)))).model
    (span,) = [s for s in spans_of(model) if s.kind is SpanKind.WAIT and s.open]
    assert (span.name, span.start, span.end, span.program) == ("float(x)", 1.1, model.now, runs.P)


def test_gaps_are_the_times_in_which_nothing_was_going_on() -> None:
    spans = spans_of(Run(tuple(runs.run())).model)
    assert gaps(spans) == [] and gaps([]) == []
    assert gaps([s for s in spans if s.kind is SpanKind.WAIT]) == [pytest.approx((1.006, 1.012))]


def test_totals_agree_with_the_statistics_of_the_run() -> None:
    run = Run(tuple(runs.run()))
    devices = [d for island in run.model.islands.values() for d in island.devices]
    totals, stats = totals_of(spans_of(run.model), devices, run.model.failed()), stats_of(run.facts)
    assert totals.wall == pytest.approx(stats.active_seconds(), abs=0.01)
    assert totals.device_seconds == pytest.approx(stats.device_seconds, abs=1e-3)
    assert totals.moving_seconds == pytest.approx(sum(d.moving for d in stats.devices.values()), abs=1e-9)
    assert (totals.transfers, totals.bytes_moved) == (2, sum(t.bytes for t in stats.transfers.values()))
    assert (totals.waits, totals.wait_seconds) == (stats.wait_count, pytest.approx(stats.wait_seconds))
    assert (totals.compilations, totals.compile_seconds) == (stats.compilations, pytest.approx(stats.compile_seconds))
    assert totals.names[0] == ("encoder_block", pytest.approx(4 * 6 * 0.0012), 1)
    assert totals.failed == 1 and totals.devices == 8


def test_totals_of_nothing() -> None:
    assert totals_of([], []) == Totals() and Totals().busy == 0.0


def test_the_table_has_a_row_a_node() -> None:
    run = Run(tuple(runs.run()))
    columns = node_columns(run)
    assert list(columns) == list(NODE_COLUMNS) and {len(column) for column in columns.values()} == {len(runs.NODES)}
    row = {name: column[3] for name, column in columns.items()}
    assert row["node"] == NodeId(4) and row["name"] == "encoder_block" and row["kind"] == "compute"
    assert (row["program"], row["client"], row["slice"], row["island"]) == ("train_step", "main", "a", "island0")
    assert row["devices"] == [0, 1, 2, 3] and row["parts"] == 6 and row["bytes"] == 256 * 1024
    assert (row["cell"], row["line"], row["state"], row["error"], row["link"]) == ("Cell In[4]", 3, "done", None, None)
    times = [row[name] for name in ("submitted", "prepared", "queued", "launched", "start", "end")]
    assert times == sorted(times)  # type: ignore[type-var]
    waiting = {name: column[-2] for name, column in columns.items()}
    assert waiting["name"] == "update" and waiting["start"] is waiting["end"] is waiting["launched"] is None
    moved = {name: column[4] for name, column in columns.items()}
    assert (moved["kind"], moved["link"], moved["bytes"]) == ("transfer", "DCN", 256 * 1024)
