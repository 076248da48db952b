"""Parts of a run: of one whose oldest detail is gone, what is counted is what would be counted if it were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import ControllerWorked, Fact, NodeEnded, NodeState, Noted, ProgramEnded, ProgramOpened, Waited
from pwlab.ids import DeviceId
from pwlab.observe import FactRing, Part, Run, RunStats, SpanKind, Totals, spans_of, stats_of, told, totals_of
from pwlab.observe.window import stats_since, until
from tests.viz import runs

from .simulated import Simulated


@cache
def simulated(seed: int) -> tuple[Fact, ...]:
    """A run of forty programs, with waits and the controller's work among its facts."""
    facts = Simulated(seed, programs=40).facts
    last = facts[-1].time
    facts += [Waited(0.31 * i, 0.2, "float(x)", None) for i in range(int(last / 0.31))]
    facts += [ControllerWorked(0.05 * i, 0.03, 0.01, 3, 1) for i in range(int(last / 0.05))]
    return tuple(sorted(facts, key=told))


def thinned(facts: Sequence[Fact], keep: int, recent: int = 64) -> Run:
    """What a ring keeps of these facts."""
    ring = FactRing(keep, recent)
    ring.extend(facts)
    batch = ring.after(0)
    assert batch.missed + len(batch.facts) == ring.last
    return Run(batch.facts, batch.missed, {}, batch.facts[-batch.whole].time)


def totals(run: Run) -> Totals:
    return totals_of(spans_of(run.model), [DeviceId(n) for n in range(8)], 0, run.whole_from)


def numbers(stats: RunStats) -> dict[str, object]:
    """What can be told of a part of a run."""
    view = stats.usage.view()
    return {
        "active": stats.active_seconds(),
        "usage": view.seconds,
        "busy": {device: total.busy.total for device, total in stats.devices.items()},
        "computing": {device: spent.parts[Part.COMPUTING] for device, spent in view.devices.items()},
        "moving": sum(total.moving for total in stats.devices.values()),
        "names": {name: (total.launches, total.device_seconds) for name, total in stats.names.items()},
        "transfers": sum(total.bytes for total in stats.transfers.values()),
        "waits": (stats.wait_count, stats.wait_seconds),
        "compiled": (stats.compilations, stats.compile_seconds),
    }


def close(found: object, wanted: object) -> bool:
    """Equal but for the order in which numbers were added up."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[key], wanted[key]) for key in found)
    return found == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep", [700, 1_200])
def test_what_is_counted_of_a_thinned_run_is_what_would_be_counted_of_the_whole(seed: int, keep: int) -> None:
    facts = simulated(seed)
    run = thinned(facts, keep)
    whole = run.whole_from
    assert run.missing > 0 and whole is not None and run.begin < whole < run.end
    wanted = stats_since(facts, whole)
    assert close(numbers(run.stats), numbers(wanted))
    assert wanted.active_seconds() < stats_of(facts).active_seconds()
    counted = totals(run)
    assert counted.wall == pytest.approx(wanted.active_seconds())
    assert counted.device_seconds == pytest.approx(wanted.device_seconds)
    assert (counted.waits, counted.wait_seconds) == (wanted.wait_count, pytest.approx(wanted.wait_seconds))
    assert (counted.compilations, counted.compile_seconds) == pytest.approx(
        (wanted.compilations, wanted.compile_seconds)
    )
    ended = [n for n in run.model.nodes.values() if n.end is not None and n.end > whole]
    assert (
        counted.launches + counted.transfers
        == len(ended)
        == sum(total.launches for total in wanted.names.values())
        + sum(total.count for total in wanted.transfers.values())
        + sum(n.state is NodeState.FAILED and n.spec.link is not None for n in ended)
    )


@pytest.mark.parametrize("seed", range(4))
def test_where_the_outline_is_gone_too_what_ran_is_counted_all_the_same(seed: int) -> None:
    facts = simulated(seed)
    run = thinned(facts, 300, 300)
    assert run.whole_from is not None
    found, wanted = numbers(run.stats), numbers(stats_since(facts, run.whole_from))
    for what in ("busy", "moving", "transfers", "waits", "compiled"):
        assert close(found[what], wanted[what]), what
    # A program that was opened before and told nothing since is not known.
    assert 0 < run.stats.active_seconds() <= stats_since(facts, run.whole_from).active_seconds() + 1e-9


def test_whole_is_what_came_after_the_last_gap_and_after_the_last_end_of_what_is_not_known() -> None:
    run = thinned(simulated(1), 700)
    assert run.gap is not None and run.whole_from is not None and run.whole_from >= run.gap
    known = set(run.model.nodes)
    unknown = [f.time for f in run.facts if isinstance(f, NodeEnded) and f.node not in known]
    assert all(time <= run.whole_from for time in unknown)
    assert Run(simulated(1)).whole_from is None and Run(()).whole_from is None


def test_a_run_of_which_all_is_there_is_counted_from_its_beginning() -> None:
    facts = simulated(2)
    assert close(numbers(stats_since(facts, -1.0)), numbers(stats_of(facts)))
    assert stats_of(facts).since is None and stats_since(facts, -1.0).since == -1.0


def test_nothing_is_counted_after_the_end_and_what_failed_has_failed() -> None:
    facts = simulated(0)
    stats = stats_since(facts, facts[-1].time + 1)
    assert stats.active_seconds() == stats.device_seconds == stats.wait_seconds == 0.0
    assert stats.ended == {NodeState.FAILED: stats_of(facts).ended[NodeState.FAILED]}
    assert not any(total.launches for total in stats.names.values())


def test_values_that_were_held_when_the_part_begins_are_held() -> None:
    facts = simulated(3)
    held = {row.name: row.bytes for row in stats_of(facts).usage.view().memory}
    assert any(held.values())
    assert {row.name: row.bytes for row in stats_since(facts, 5.0).usage.view().memory} == held


# --- programs whose beginning is gone ----------------------------------------------------------------


def test_a_program_whose_opening_is_gone_was_open() -> None:
    facts = [f for f in runs.run() if not isinstance(f, ProgramOpened)]
    run = Run((*facts, ProgramEnded(2.0, runs.P, NodeState.DONE)), 1, {}, 1.0)
    (program,) = run.model.programs.values()
    assert (program.name, program.opened, program.ended, program.partial) == ("(not seen)", 1.0, 2.0, False)
    assert run.stats.active_seconds() == totals(run).wall == 1.0
    assert not Run(tuple(facts)).model.programs, "where nothing is missing nothing is made up"


def test_programs_that_began_before_know_some_of_their_nodes_at_most() -> None:
    run = thinned(simulated(0), 700)
    assert run.whole_from is not None
    assert {p.partial for p in run.model.programs.values() if p.opened < run.whole_from} == {True}
    assert {p.partial for p in run.model.programs.values() if p.opened >= run.whole_from} == {False}


def test_of_what_ended_before_nothing_is_left_to_count() -> None:
    run = thinned(simulated(0), 700)
    first = next(iter(run.model.programs))
    gone = totals_of(spans_of(run.model, [first]), [], 0, run.whole_from)
    assert gone == Totals(gone=True) and not totals(run).gone
    nothing = replace(run, gap=run.end + 1)
    assert totals(nothing).gone and nothing.doubts.endswith("gone, and of the rest nothing is whole")


def test_a_long_run_forgets_no_program() -> None:
    facts: list[Fact] = []
    for number in range(12_000):
        facts += [ProgramOpened(number, number, "p", "main", None), ProgramEnded(number + 0.5, number, NodeState.DONE)]  # type: ignore[arg-type]
    run = Run(tuple(facts))
    assert len(run.model.programs) == 12_000 and totals(run).wall == 6_000.0 == run.stats.active_seconds()


# --- moments ------------------------------------------------------------------------------------------

OPENED = ProgramOpened(10.0, runs.P, "p", "main", None)
LASTING = (OPENED, ControllerWorked(11.0, 4.0, 2.0, 7, 3), Waited(11.0, 8.0, "float(x)", None), Noted(20.0, "end"))


def test_what_lasts_is_cut_at_the_moment_and_open() -> None:
    run = Run(LASTING)
    shown = {span.kind: span for span in spans_of(run.at(2.0))}
    wait, work, program = (shown[kind] for kind in (SpanKind.WAIT, SpanKind.CONTROL, SpanKind.PROGRAM))
    assert [(s.start, s.end, s.open) for s in (wait, work, program)] == [
        *((11.0, 12.0, True), (11.0, 12.0, True), (10.0, 12.0, True))
    ]
    assert (work.busy, work.events, work.launches) == (0.5, 0, 0), "how much it had done by then nobody knows"
    whole = {span.kind: span for span in spans_of(run.model)}
    assert [(whole[kind].end, whole[kind].open) for kind in (SpanKind.WAIT, SpanKind.CONTROL)] == [
        *((19.0, False), (15.0, False))
    ]


@given(st.floats(0, 12))
def test_numbers_at_a_moment_know_nothing_of_the_future(at: float) -> None:
    run = Run(LASTING)
    cut = tuple(until(run.facts, run.begin + at))
    assert all(told(fact) <= run.begin + at for fact in cut)
    waited = min(8.0, max(0.0, at - 1.0))
    assert run.stats_at(at).wait_seconds == pytest.approx(waited)
    assert totals_of(spans_of(run.at(at)), []).wait_seconds == pytest.approx(waited)
    assert run.at(at).now == min(run.begin + at, run.end)


def test_a_wait_is_the_latest_that_happened_until_something_later_does() -> None:
    model = Run(LASTING[:3]).model
    assert model.now == 19.0 and not any(span.open for span in spans_of(model) if span.kind is SpanKind.WAIT)
