"""However facts come, one by one, in pieces or out of columns, they come to the same."""

from __future__ import annotations

import gc
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from viz.runs import run as small_run

from pwlab.events import Fact, NodeMoved, NodeState
from pwlab.ids import NodeId
from pwlab.observe import FactRing, IntervalSet, Recorder, RunModel, RunStats, Usage
from pwlab.observe.archive import Archive

from .facts import FACTS
from .simulated import Simulated

#: Nodes that a model keeps here, fewer than a run has.
KEEP = 20
#: Facts that a ring keeps as they are: most come out of columns.
RECENT = 64


@cache
def told(seed: int) -> tuple[Fact, ...]:
    """A run of three clients on two islands, short of memory; or the small one, with its waits."""
    return tuple(Simulated(seed, programs=12).facts if seed else small_run())


def numbers(stats: RunStats) -> dict[str, Any]:
    """All that can be read from it."""

    def spans(held: IntervalSet) -> tuple[Any, ...]:
        return list(held), held.total, held.kept_since

    devices = {
        id: (total.island, spans(total.busy), spans(total.occupied), total.launches, total.moving)
        for id, total in stats.devices.items()
    }
    rest = [stats.names, stats.programs, stats.waits, stats.transfers, stats.ended, stats.compilations]
    return {
        "devices": devices,
        "rest": rest,
        "seconds": (stats.compile_seconds, stats.active_seconds(), stats.wait_seconds, stats.device_seconds),
        "shares": [stats.busy_share(device) for device in devices],
        "now": stats.now,
        "usage": stats.usage.view(),
    }


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 8), st.lists(st.tuples(st.integers(1, 300), st.booleans()), max_size=8))
def test_a_recorder_comes_to_what_one_fact_after_the_other_does(seed: int, looks: list[tuple[int, bool]]) -> None:
    facts = told(seed)
    ring = FactRing(keep=10_000, recent=RECENT)
    recorder = Recorder(ring, KEEP, follow=False)
    model, stats = RunModel(KEEP), RunStats()
    at = 0
    for many, looked_at in (*looks, (len(facts), True)):
        ring.extend(facts[at : at + many])
        for fact in facts[at : at + many]:
            model.add(fact)
            stats.add(fact)
        at += many
        if looked_at:
            with recorder.reading() as (its_model, its_stats):
                assert its_model == model
                assert numbers(its_stats) == numbers(stats)
    assert recorder.missed == 0 and (model.forgotten > 0 or not seed)


def test_most_of_those_facts_came_out_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[Fact] = []
    between = Archive.between

    def counted(*args: Any) -> Any:
        pairs, upto = between(*args)
        unpacked.extend(fact for _, fact in pairs)
        return pairs, upto

    monkeypatch.setattr(Archive, "between", counted)
    ring = FactRing(keep=10_000, recent=RECENT)
    ring.extend(told(1))
    Recorder(ring)
    assert unpacked == list(told(1)[: len(unpacked)]) and len(told(1)) - len(unpacked) <= RECENT


@pytest.mark.parametrize("fold", [RunModel, RunStats, Usage])
def test_nothing_changes_nothing(fold: type[RunModel | RunStats | Usage]) -> None:
    folded = fold()
    folded.extend(())
    folded.add(NodeMoved(3.0, NodeId(1), NodeState.QUEUED))
    folded.extend(())
    assert folded.now == 3.0


def test_every_kind_of_fact_is_taken() -> None:
    assert set(FACTS) == RunModel.methods.keys() | RunStats.methods.keys() | Usage.methods.keys()


@pytest.mark.parametrize("collects", [True, False])
def test_whoever_looks_sets_off_no_collections_and_leaves_the_collector_as_it_was(collects: bool) -> None:
    ring = FactRing(keep=100_000, recent=RECENT)
    for _ in range(20):
        ring.extend(told(1))
    recorder = Recorder(ring, follow=False)
    begun: list[bool] = []

    def watch(phase: str, info: dict[str, int]) -> None:
        begun.append(gc.isenabled())

    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    gc.callbacks.append(watch)
    try:
        recorder.catch_up()
        assert gc.isenabled() is collects
    finally:
        gc.callbacks.remove(watch)
        (gc.enable if was else gc.disable)()
    assert recorder.seen > 5_000 and len(begun) <= 2 * collects, "at most the one that was put off, at the end"
