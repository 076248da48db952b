"""Numbers that count everything once: overlaps, gangs, merged parts, waits."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import (
    Fact,
    Link,
    NodeAdded,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    Waited,
)
from pwlab.ids import DeviceId, IslandId, NodeId, ProgramId, SliceId, Source
from pwlab.observe import IntervalSet, stats_of, union_seconds

D0, D1 = DeviceId(0), DeviceId(1)
spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])))


@given(spans)
def test_union_is_what_counting_seconds_gives(spans: list[tuple[int, int]]) -> None:
    covered = {second for start, end in spans for second in range(start, end)}
    whole = IntervalSet(spans)
    assert whole.total == len(covered) == union_seconds(spans)
    held = list(whole)
    assert all(a[1] < b[0] for a, b in pairwise(held))
    assert whole.within(10, 30) == len(covered & set(range(10, 30)))


@given(spans)
def test_what_each_span_adds_gives_the_whole(spans: list[tuple[int, int]]) -> None:
    whole = IntervalSet()
    assert sum(whole.add(*span) for span in spans) == whole.total


@given(spans)
def test_settled_time_is_never_counted_again(spans: list[tuple[int, int]]) -> None:
    small = IntervalSet(keep=3)
    for span in sorted(spans):
        small.add(*span)
    assert small.total == union_seconds(spans)
    small.add(0, 0.5)
    assert small.total <= union_seconds([*spans, (0, 0.5)])


def launch(number: int, start: float, end: float, *devices: DeviceId, **more: object) -> list[Fact]:
    spec = NodeSpec(NodeId(number), more.pop("name", "f"), more.pop("kind", NodeKind.COMPUTE), SliceId(1),
                    **more)  # type: ignore[arg-type]  # fmt: skip
    return [
        NodeAdded(0.0, ProgramId(1), spec),
        NodeEnded(end, NodeId(number), NodeState.DONE, start, end, IslandId(0), devices),
    ]


OPENED = ProgramOpened(0.0, ProgramId(1), "p", "main", None)


def test_overlapping_launches_are_busy_once() -> None:
    stats = stats_of([OPENED, *launch(1, 0, 4, D0), *launch(2, 2, 6, D0), *launch(3, 8, 10, D0)])
    assert stats.devices[D0].busy.total == 8
    assert stats.devices[D0].launches == 3
    assert stats.names["f"].device_seconds == 8
    assert stats.busy_share(D0) == 0.8
    assert stats.busy_share(D0, (4, 8)) == 0.5
    assert stats.busy_share(D1) == 0.0


def test_a_gang_is_one_launch_and_busy_on_each_device() -> None:
    stats = stats_of([OPENED, *launch(1, 0, 4, D0, D1, parts=6)])
    assert stats.names["f"].launches == 1
    assert stats.names["f"].computations == 6
    assert stats.names["f"].device_seconds == stats.device_seconds == 8


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40), st.integers(1, 9), st.integers(0, 3))))
def test_names_and_devices_add_up_to_the_same(runs: list[tuple[int, int, int, int]]) -> None:
    facts: list[Fact] = [OPENED]
    for number, (name, start, length, device) in enumerate(runs):
        facts += launch(number, start, start + length, DeviceId(device), DeviceId(3), name=f"n{name}")
    stats = stats_of(facts)
    assert sum(n.device_seconds for n in stats.names.values()) == pytest.approx(stats.device_seconds)
    assert all(0 <= stats.busy_share(d) <= 1 for d in stats.devices)


def test_moving_is_not_busy_and_not_counted_under_computing() -> None:
    transfer = launch(2, 3, 7, D0, kind=NodeKind.TRANSFER, link=Link.DCN, bytes_in=100, name="to b")
    stats = stats_of([OPENED, *launch(1, 0, 4, D0), *transfer])
    device = stats.devices[D0]
    assert (device.busy.total, device.moving, device.launches) == (4, 3, 1)
    moved = stats.transfers[Link.DCN]
    assert (moved.count, moved.bytes, moved.seconds) == (1, 100, 4)
    assert "to b" not in stats.names


def test_host_nodes_take_no_device() -> None:
    stats = stats_of([OPENED, *launch(1, 0, 4, kind=NodeKind.HOST)])
    assert stats.names["f"].host_seconds == 4
    assert not stats.devices


def test_waits_are_counted_by_place_and_reason() -> None:
    here, there = Source("Cell In[1]", 2), Source("Cell In[1]", 3)
    stats = stats_of(
        [
            Waited(0.0, 0.5, "float(x)", here),
            Waited(1.0, 0.25, "float(x)", here),
            Waited(2.0, 1.0, "if x", here),
            Waited(3.0, 1.0, "float(x)", there),
        ]
    )
    assert (stats.wait_count, stats.wait_seconds) == (4, 2.75)
    assert stats.waits["float(x)", here].count == 2
    assert stats.waits["float(x)", here].seconds == 0.75


def test_compiling_counts_what_was_not_cached() -> None:
    facts = [NodeMoved(0.0, NodeId(n), NodeState.PREPARED, seconds=s) for n, s in ((1, 0.5), (2, 0.0))]
    stats = stats_of(facts)
    assert (stats.compilations, stats.compile_seconds) == (1, 0.5)


def test_active_time_is_the_union_of_the_programs_lives() -> None:
    def life(number: int, start: float, end: float) -> list[Fact]:
        return [
            ProgramOpened(start, ProgramId(number), "p", "main", None),
            ProgramEnded(end, ProgramId(number), NodeState.DONE),
        ]

    ended = [*life(1, 0, 4), *life(2, 2, 6), *life(3, 100, 101)]
    assert stats_of(ended).active_seconds() == 7
    still = stats_of([*ended, ProgramOpened(200.0, ProgramId(4), "p", "main", None), *launch(9, 200, 203)])
    assert still.active_seconds() == 10
    assert still.programs[ProgramId(4)].wall(still.now) == 3
    assert still.programs[ProgramId(1)].wall(still.now) == 4


def test_what_never_ran_is_failed_but_no_launch() -> None:
    spec = NodeSpec(NodeId(1), "f", NodeKind.COMPUTE, SliceId(1))
    stats = stats_of([NodeAdded(0.0, ProgramId(1), spec), NodeEnded(1.0, NodeId(1), NodeState.FAILED, error="x")])
    assert (stats.names["f"].launches, stats.names["f"].failed) == (0, 1)
    assert stats.ended == {NodeState.FAILED: 1}


def test_an_end_whose_beginning_was_lost_still_counts() -> None:
    stats = stats_of([NodeEnded(4.0, NodeId(1), NodeState.DONE, 0.0, 4.0, IslandId(0), (D0,))])
    assert stats.devices[D0].busy.total == 4
    assert stats.names["(not seen)"].launches == 1
