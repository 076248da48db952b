"""What an old run keeps: all of it at first, then less and less detail, the outline last, and never silently."""

from __future__ import annotations

from collections import Counter

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
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    Noted,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId
from pwlab.observe import FactRing, Recorder, RunModel, model_of
from pwlab.observe.archive import Archive

ISLAND = IslandKnown(0.0, IslandSpec(IslandId(0), "island0", (DeviceId(0),)))
SLICE = SliceMapped(0.0, SliceId(1), "a", IslandId(0), (DeviceId(0),))


def node(number: int, fails: bool = False) -> list[Fact]:
    """A program of one node, from its opening to its end."""
    id, program, at = NodeId(number), ProgramId(number), float(number)
    error = "no memory" if fails else ""
    state = NodeState.FAILED if fails else NodeState.DONE
    return [
        ProgramOpened(at, program, "p", "main", None),
        NodeAdded(at, program, NodeSpec(id, "f", NodeKind.COMPUTE, SliceId(1))),
        NodeMoved(at, id, NodeState.PREPARED),
        NodeMoved(at, id, NodeState.QUEUED),
        NodeMoved(at, id, NodeState.LAUNCHED),
        NodeEnded(at, id, state, at, at + 0.5, error=error, cause=id if fails else None),
        BuffersFreed(at, (BufferId(number),), 4),
        ProgramEnded(at, program, state),
    ]


def filled(nodes: int, keep: int, fails: frozenset[int] = frozenset(), recent: int = 64) -> FactRing:
    ring = FactRing(keep, recent)
    ring.extend([ISLAND, SLICE])
    for number in range(1, nodes + 1):
        ring.extend(node(number, number in fails))
    return ring


def test_what_is_no_longer_new_is_kept_all_the_same() -> None:
    ring = filled(500, 10_000)
    sent = [ISLAND, SLICE, *(fact for number in range(1, 501) for fact in node(number))]
    batch = ring.after(0)
    assert list(batch.facts) == sent and batch.missed == 0
    assert list(ring.after(777).facts) == sent[777:]


def test_who_comes_late_unpacks_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = filled(500, 10_000)
    asked: list[tuple[int, int]] = []
    between = Archive.between

    def counted(self: Archive, low: int, high: int, most: int | None = None) -> tuple[list[tuple[int, Fact]], int]:
        asked.append((low, high))
        return between(self, low, high, most)

    monkeypatch.setattr(Archive, "between", counted)
    ring.after(0)
    assert asked == [(1, ring.last - ring.recent + 1)]


@given(st.integers(1, 300), st.integers(0, 900))
def test_a_reader_with_a_limit_gets_everything_once(limit: int, seen: int) -> None:
    ring = filled(100, 10_000)
    found: list[Fact] = []
    at = seen
    while (batch := ring.after(at, limit)).last > at:
        at = batch.last
        found += batch.facts
    assert found == list(ring.after(seen).facts)


def test_steps_of_nodes_go_first() -> None:
    model = model_of(filled(1_000, 7_000).after(0).facts)
    assert len(model.nodes) == 1_000 and all(view.seconds == 0.5 for view in model.nodes.values())
    assert NodeState.QUEUED not in model.nodes[NodeId(1)].times
    assert NodeState.LAUNCHED in model.nodes[NodeId(1)].times
    assert NodeState.QUEUED in model.nodes[NodeId(1_000)].times


def test_then_nodes_and_programs_last() -> None:
    ring = filled(2_000, 8_000)
    batch = ring.after(0)
    kinds = Counter(map(type, batch.facts))
    assert kinds[ProgramOpened] == kinds[ProgramEnded] == 2_000
    assert 500 <= kinds[NodeAdded] < 2_000
    assert batch.missed + len(batch.facts) == ring.last
    assert len(batch.facts) <= 8_000 + 64
    newest = [fact for number in range(1_700, 2_001) for fact in node(number)]
    assert [fact for fact in batch.facts if not isinstance(fact, Noted)][-len(newest) :] == newest


def test_a_failure_outlasts_the_nodes_around_it() -> None:
    model: RunModel = model_of(filled(2_000, 8_000, fails=frozenset({3, 900})).after(0).facts)
    assert model.nodes[NodeId(3)].error == model.nodes[NodeId(900)].error == "no memory"
    assert NodeId(4) not in model.nodes


def test_islands_and_slices_outlast_everything() -> None:
    ring = filled(20_000, 1_000)
    batch = ring.after(0)
    assert batch.facts[:2] == (ISLAND, SLICE) and batch.missed + len(batch.facts) == ring.last
    assert ProgramId(1) not in model_of(batch.facts).programs


@pytest.mark.parametrize(("nodes", "keep", "recent"), [(2_000, 8_000, 64), (5_000, 3_000, 64), (500, 300, 300)])
def test_a_reader_is_told_how_much_is_whole(nodes: int, keep: int, recent: int) -> None:
    ring = FactRing(keep, recent)
    sent = [ISLAND, SLICE, *(fact for number in range(1, nodes + 1) for fact in node(number))]
    ring.extend(sent)
    batch = ring.after(0)
    newest = [fact for fact in batch.facts[-batch.whole :] if not isinstance(fact, Noted)]
    assert newest == sent[-len(newest) :] and batch.whole >= keep // 2
    assert batch.missed + len(batch.facts) == ring.last


def test_of_what_is_all_there_all_is_whole() -> None:
    batch = filled(500, 10_000).after(777)
    assert batch.whole == len(batch.facts) > 0 and batch.missed == 0


def test_the_user_is_told_once() -> None:
    notes = [fact for fact in filled(3_000, 8_000).after(0).facts if isinstance(fact, Noted)]
    [note] = notes
    assert "more than 8,000 facts: of its oldest part the detail is no longer kept" in note.text
    assert "keep_facts" in note.text
    assert not any(isinstance(fact, Noted) for fact in filled(900, 8_000).after(0).facts)


def test_one_who_follows_sees_all_though_it_is_thinned() -> None:
    ring = FactRing(1_000, 64)
    recorder = Recorder(ring)
    for number in range(1, 2_001):
        ring.extend(node(number))
    with recorder.reading() as (model, stats):
        assert recorder.missed == 0
        assert stats.ended == {NodeState.DONE: 2_000}
        assert model.nodes[NodeId(1)].times.keys() >= {NodeState.PREPARED, NodeState.QUEUED}
    recorder.close()
