"""The ring: numbers without gaps, honest about what it lost, and deaf to broken observers."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import Fact, IslandKnown, IslandSpec, NodeMoved, NodeState, Noted, SliceMapped
from pwlab.ids import DeviceId, IslandId, NodeId, SliceId
from pwlab.observe import Batch, FactRing, Recorder
from pwlab.observe.recorder import LATE


def moved(number: int) -> NodeMoved:
    return NodeMoved(float(number), NodeId(number), NodeState.QUEUED)


ISLAND = IslandKnown(0.0, IslandSpec(IslandId(0), "island0", (DeviceId(0),)))
SLICE = SliceMapped(0.0, SliceId(1), "a", IslandId(0), (DeviceId(0),))


def test_after_gives_what_came_after() -> None:
    ring = FactRing(10)
    assert ring.last == 0 and ring.after(0).facts == ()
    ring.extend(moved(n) for n in (1, 2, 3))
    assert ring.last == 3
    assert ring.after(0).facts == (moved(1), moved(2), moved(3))
    assert ring.after(2).facts == (moved(3),)
    assert ring.after(3) == Batch((), 3, 0)
    assert ring.after(0, limit=2).last == 2


def test_a_full_ring_says_how_many_were_missed() -> None:
    ring = FactRing(4)
    ring.extend(moved(n) for n in range(1, 11))
    batch = ring.after(3)
    assert [f.time for f in batch.facts] == [7.0, 8.0, 9.0, 10.0]
    assert (batch.last, batch.missed) == (10, 3)


def test_islands_and_slices_outlive_the_ring() -> None:
    ring = FactRing(4)
    ring.extend([ISLAND, SLICE, *(moved(n) for n in range(3, 20))])
    batch = ring.after(0)
    assert batch.facts[:2] == (ISLAND, SLICE)
    assert len(batch.facts) == 6 and batch.missed == 19 - 6
    assert ring.after(1).facts[0] == SLICE
    assert ISLAND not in ring.after(1).facts
    assert ring.lasting() == (ISLAND, SLICE)


@given(st.integers(2, 9), st.lists(st.integers(0, 12), max_size=12))
def test_every_fact_is_seen_or_counted_as_missed(keep: int, bursts: list[int]) -> None:
    ring = FactRing(keep)
    sent = seen = got = missed = 0
    for burst in bursts:
        ring.extend(moved(sent + n) for n in range(burst))
        sent += burst
        batch = ring.after(seen)
        seen, got, missed = batch.last, got + len(batch.facts), missed + batch.missed
        assert seen == ring.last == sent
    assert got + missed == sent


def test_observers_hear_their_types_alone() -> None:
    ring = FactRing(10)
    heard: list[Fact] = []
    stop = ring.observe(heard.append, Noted)
    ring.extend([moved(1), Noted(2.0, "hello"), ISLAND])
    stop()
    ring.append(Noted(3.0, "unheard"))
    assert heard == [Noted(2.0, "hello")]


def test_an_observer_that_raises_is_removed_and_noted() -> None:
    ring = FactRing(10)
    calls: list[Fact] = []

    def broken(fact: Fact) -> None:
        calls.append(fact)
        raise KeyError("oh")

    ring.observe(broken, NodeMoved, Noted)
    heard: list[Fact] = []
    ring.observe(heard.append, NodeMoved)
    ring.append(moved(1))
    ring.append(moved(2))
    assert calls == [moved(1)]
    assert heard == [moved(1), moved(2)]
    (note,) = [f for f in ring.after(0).facts if isinstance(f, Noted)]
    assert "broken raised KeyError: 'oh'; it was removed" in note.text


def test_observing_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="name the types"):
        FactRing().observe(print)
    with pytest.raises(ValueError, match="at least 2"):
        FactRing(1)


def test_a_recorder_misses_nothing_though_nobody_looks() -> None:
    ring = FactRing(8)
    recorder = Recorder(ring)
    ring.extend([ISLAND, *(Noted(float(n), "x") for n in range(500))])
    with recorder.reading() as (model, stats):
        assert recorder.missed == 0
        assert len(model.notes) == 500
        assert stats.now == 499.0
    recorder.close()
    ring.extend(Noted(float(n), "x") for n in range(500))
    recorder.catch_up()
    assert recorder.missed == 492


def test_a_recorder_at_which_nobody_has_looked_is_kept_near_bit_by_bit() -> None:
    ring = FactRing(200_000)
    recorder = Recorder(ring, follow=False)
    ring.extend(Noted(float(n), "x") for n in range(40_000))
    assert recorder.seen == 0
    bits = 0
    while recorder.keep_near():
        bits += 1
    assert bits == (40_000 - LATE) // 1024 + 1 and ring.last - recorder.seen <= LATE
    with recorder.reading() as (_, stats):
        assert stats.now == 39_999.0 and recorder.missed == 0


def test_a_recorder_at_which_somebody_looks_keeps_nobody_waiting() -> None:
    ring = FactRing(200_000)
    recorder = Recorder(ring, follow=False)
    ring.extend(Noted(float(n), "x") for n in range(40_000))
    answers: list[bool] = []
    with recorder.reading():
        ring.extend(Noted(float(n), "x") for n in range(40_000))
        thread = threading.Thread(target=lambda: answers.append(recorder.keep_near()))
        thread.start()
        thread.join()
    assert answers == [False]


def test_many_threads_append_and_nothing_is_lost() -> None:
    ring = FactRing(4096)
    recorder = Recorder(ring)
    threads = [threading.Thread(target=lambda: ring.extend(Noted(0.0, "x") for _ in range(500))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.catch_up()
    assert ring.last == recorder.seen == len(ring.after(0).facts) == 2000
    assert recorder.missed == 0
