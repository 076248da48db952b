"""What time and memory went into: told from facts alone, it is what the controller counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.control import Kind
from pwlab.events import (
    BuffersFreed,
    ClientGone,
    ClientKnown,
    Fact,
    IslandKnown,
    IslandSpec,
    Link,
    NodeAdded,
    NodeEnded,
    NodeHeld,
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    OutputSpec,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source
from pwlab.observe import Part, Usage, stats_of
from pwlab.observe.bins import COUNT, FIRST_WIDTH, Amounts, BinClock, Level

from .simulated import HBM, SHARES, Simulated

D = tuple(DeviceId(i) for i in range(4))


def folded(facts: list[Fact]) -> Usage:
    usage = Usage()
    for fact in facts:
        usage.add(fact)
    return usage


# --- against the controller -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_memory_is_what_the_controller_counts_after_every_event(seed: int) -> None:
    usage, seen, short = Usage(), 0, 0

    def check(run: Simulated) -> None:
        nonlocal seen, short
        for fact in run.facts[seen:]:
            usage.add(fact)
        seen = len(run.facts)
        view = usage.view()
        told = {device: row for row in view.memory for device in row.devices}
        for use in run.controller.memory().devices:
            assert (told[use.device].bytes, told[use.device].capacity) == (use.bytes, use.capacity)
        clients = {row.name: row for row in view.clients}
        for client in run.controller.clients():
            row = clients.get(client.name)
            assert (row.bytes if row else 0) == client.bytes
            assert (row.launches if row else 0) <= client.launches
            assert (row.waiting if row else 0) == client.queued
        short += len(view.held)
        for row in view.held:
            first = run.controller.why(row.node).reasons[0].kind
            assert first in (Kind.MEMORY, Kind.RESERVED, Kind.BUSY, Kind.BEHIND, Kind.MOVING, Kind.SUSPENDED), (
                "it lacks memory, or did when tried last"
            )

    run = Simulated(seed, check=check)
    assert run.controller.memory().devices[0].capacity == HBM
    assert all(row.peak <= HBM for row in usage.view().memory), "a peak inside a moment is none"
    assert short or not any(isinstance(fact, NodeHeld) for fact in run.facts)


def test_some_of_those_runs_are_short_of_memory() -> None:
    assert any(isinstance(fact, NodeHeld) for seed in range(30) for fact in Simulated(seed).facts)


@pytest.mark.parametrize("seed", range(10))
def test_time_adds_up(seed: int) -> None:
    facts = Simulated(seed).facts
    stats = stats_of(facts)
    view = stats.usage.view()
    assert view.seconds == pytest.approx(stats.active_seconds())
    for device, spent in view.devices.items():
        assert spent.whole == pytest.approx(max(view.seconds, sum(spent.parts[:-1])))
        if device in stats.devices:
            assert spent.parts[Part.COMPUTING] == pytest.approx(stats.devices[device].busy.total)
    everything = [sum(spent.parts[part] for spent in view.devices.values()) for part in Part]
    by_client = [sum(row.spent.parts[part] for row in view.clients) for part in range(len(Part) - 1)]
    assert by_client == pytest.approx(everything[:-1])
    binned = [sum(sum(rows[part]) for rows in view.over.values()) for part in range(len(Part) - 1)]
    assert binned == pytest.approx(everything[:-1])
    assert sum(map(sum, view.by_client.values())) == pytest.approx(everything[Part.COMPUTING])


@pytest.mark.parametrize("seed", range(10))
def test_who_asked_for_what_and_got_it(seed: int) -> None:
    """As counted launch by launch over all that have work at its end."""
    facts = Simulated(seed).facts
    work: Counter[str] = Counter()
    contested: Counter[str] = Counter()
    entitled: Counter[str] = Counter()
    got: Counter[str] = Counter()
    owner = {f.program: f.client for f in facts if isinstance(f, ProgramOpened)}
    nodes = {f.node.id: (f.node, owner[f.program]) for f in facts if isinstance(f, NodeAdded)}
    for fact in facts:
        if isinstance(fact, NodeAdded):
            work[owner[fact.program]] += 1
        elif isinstance(fact, NodeEnded):
            spec, client = nodes[fact.node]
            if fact.end > fact.start and spec.kind is NodeKind.COMPUTE:
                taken = (fact.end - fact.start) * len(fact.devices)
                got[client] += taken
                present = [name for name, n in work.items() if n]
                for name in present:
                    contested[name] += taken
                    entitled[name] += taken * SHARES[name] / sum(SHARES[other] for other in present)
            work[client] -= 1
    view = stats_of(facts).usage.view()
    assert {row.name for row in view.clients if row.launches} == set(got)
    for row in view.clients:
        if contested[row.name]:
            assert row.asked == pytest.approx(entitled[row.name] / contested[row.name])
            assert row.got == pytest.approx(got[row.name] / contested[row.name])


def test_a_client_that_is_opened_again_begins_anew() -> None:
    facts = [*begun(), ClientKnown(0.0, "main", 3.0), node(1), moved(1.0, 1, NodeState.LAUNCHED, D[0])]
    usage = folded([*facts, ended(1, 1.0, 2.0, D[0]), ClientGone(3.0, "main")])
    [row] = usage.view().clients
    assert (row.open, row.share, row.launches, row.asked, row.got) == (False, 3.0, 1, 1.0, 1.0)
    usage.add(ClientKnown(4.0, "main", 5.0, priority=2))
    [row] = usage.view().clients
    assert (row.open, row.share, row.priority, row.launches, row.asked, row.got) == (True, 5.0, 2, 0, 0.0, 0.0)


# --- by hand ----------------------------------------------------------------------------------------


def node(number: int, *reads: int, slice: int = 1, **more: object) -> NodeAdded:
    spec = NodeSpec(NodeId(number), f"f{number}", more.pop("kind", NodeKind.COMPUTE), SliceId(slice),
                    tuple(BufferId(i) for i in reads), (OutputSpec(BufferId(number), 100),),
                    source=Source("Cell In[1]", number), **more)  # type: ignore[arg-type]  # fmt: skip
    return NodeAdded(float(more.get("at", 0.0)), ProgramId(1), spec)  # type: ignore[arg-type]


def begun() -> list[Fact]:
    return [
        IslandKnown(0.0, IslandSpec(IslandId(0), "left", D[:2], hbm_bytes=250)),
        IslandKnown(0.0, IslandSpec(IslandId(1), "right", D[2:])),
        SliceMapped(0.0, SliceId(1), "a", IslandId(0), D[:2]),
        SliceMapped(0.0, SliceId(2), "b", IslandId(1), D[2:]),
        ProgramOpened(0.0, ProgramId(1), "p", "main", None),
    ]


def moved(time: float, number: int, state: NodeState, *devices: DeviceId) -> NodeMoved:
    return NodeMoved(time, NodeId(number), state, IslandId(0 if devices[0] < 2 else 1), devices)


def ended(number: int, start: float, end: float, *devices: DeviceId) -> NodeEnded:
    return NodeEnded(end, NodeId(number), NodeState.DONE, start, end, IslandId(0 if devices[0] < 2 else 1), devices)


def gap() -> list[Fact]:
    """Device 0 waits for each thing in turn: 1 s each, 2 s for memory; then computes for 3 s."""
    late = node(3, 2)
    return [
        *begun(),
        node(1, slice=2),
        moved(0.0, 1, NodeState.LAUNCHED, D[2]),
        node(2, 1, kind=NodeKind.TRANSFER, link=Link.DCN),
        NodeAdded(1.0, late.program, late.node),
        moved(2.0, 3, NodeState.PREPARED, D[0]),
        ended(1, 0.0, 3.0, D[2]),
        moved(3.0, 2, NodeState.LAUNCHED, D[0]),
        ended(2, 3.0, 4.0, D[0]),
        NodeHeld(5.0, NodeId(3), "device 0", 50),
        moved(7.0, 3, NodeState.LAUNCHED, D[0]),
        ended(3, 8.0, 11.0, D[0]),
        ProgramEnded(12.0, ProgramId(1), NodeState.DONE),
    ]


def test_a_gap_is_taken_apart_by_what_the_next_launch_waited_for() -> None:
    parts = folded(gap()).view().devices[D[0]].parts
    assert dict(zip(Part, parts, strict=True)) == {
        Part.COMPUTING: 3,
        Part.PREPARING: 1,
        Part.INPUT: 1,
        Part.TRANSFER: 1,
        Part.MEMORY: 2,
        Part.DISPATCH: 2,
        Part.NOTHING: 2,
    }


@pytest.mark.parametrize(
    ("now", "part"), [(1.5, Part.PREPARING), (2.5, Part.INPUT), (3.5, Part.TRANSFER), (6.0, Part.MEMORY)]
)
def test_what_is_under_way_counts_until_now(now: float, part: Part) -> None:
    facts = [fact for fact in gap() if fact.time <= now]
    earlier, later = folded(facts).view(now), folded(facts).view(now + 0.25)
    grown = [b - a for a, b in zip(earlier.devices[D[0]].parts, later.devices[D[0]].parts, strict=True)]
    assert grown == pytest.approx([0.25 * (p is part) for p in Part])
    assert folded(facts).view(now) == earlier, "to look changes nothing"


def test_pauses_between_programs_are_nobodys() -> None:
    pause = [ProgramOpened(1000.0, ProgramId(2), "q", "main", None), ProgramEnded(1001.0, ProgramId(2), NodeState.DONE)]
    view = folded([*gap(), *pause]).view()
    assert view.seconds == 13 and view.devices[D[0]].whole == 13


def test_what_waits_for_memory_and_what_holds_it() -> None:
    facts = [
        *begun(),
        ClientKnown(0.0, "main", 2.0, max_bytes=10_000),
        node(1, spread=True),
        node(2),
        node(3),
        moved(1.0, 1, NodeState.LAUNCHED, *D[:2]),
        moved(1.0, 2, NodeState.LAUNCHED, D[0]),
        NodeHeld(2.0, NodeId(3), "device 0", 40),
        NodeHeld(3.0, NodeId(3), "device 0", 20),
    ]
    usage = folded(facts)
    view = usage.view()
    (row,) = view.held
    assert (row.name, row.client, row.since, row.account, row.bytes) == ("f3", "main", 2.0, "device 0", 20)
    assert [(r.name, r.bytes, r.peak, r.capacity) for r in view.memory[:3]] == [
        ("device 0", 150, 150, 250),
        ("device 1", 50, 50, 250),
        ("device 2", 0, 0, None),
    ]
    assert [(r.name, r.values, r.bytes) for r in view.holders] == [("f1", 1, 100), ("f2", 1, 100)]
    (client,) = view.clients
    assert (client.waiting, client.held, client.bytes, client.max_bytes) == (1, 1, 200, 10_000)
    usage.add(BuffersFreed(4.0, (BufferId(1),), 100))
    usage.add(moved(4.0, 3, NodeState.LAUNCHED, D[0]))
    view = usage.view()
    assert not view.held and view.clients[0].held == 0
    assert [(r.bytes, r.peak) for r in view.memory[:2]] == [(200, 200), (0, 50)]


def test_a_slice_that_moves_takes_what_lies_on_it_along() -> None:
    facts = [*begun(), node(1, spread=True), moved(1.0, 1, NodeState.LAUNCHED, *D[:2]), ended(1, 1.0, 2.0, *D[:2])]
    view = folded([*facts, SliceMapped(3.0, SliceId(1), "a", IslandId(1), D[2:])]).view()
    assert [row.bytes for row in view.memory] == [0, 0, 50, 50]


def test_nothing_grows_with_the_run() -> None:
    def long(steps: int) -> Iterator[Fact]:
        yield from begun()
        for i in range(1, steps):
            yield node(i, *((i - 1,) if i > 1 else ()))
            yield moved(float(i), i, NodeState.LAUNCHED, D[0])
            yield ended(i, float(i), i + 0.5, D[0])
            if i > 1:
                yield BuffersFreed(i + 0.5, (BufferId(i - 1),), 100)

    usage = folded(list(long(3000)))
    lives = usage._lives
    assert not lives.open and len(lives.writers) == 1 and not any(life.sources for life in lives.writers.values())
    view = usage.view()
    assert view.step == 8.0 and len(view.by_client["main"]) <= COUNT
    assert sum(view.by_client["main"]) == pytest.approx(2999 * 0.5)


# --- bins -------------------------------------------------------------------------------------------


spans = st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 50)).map(lambda p: (p[0], p[0] + p[1])), max_size=30)


@given(spans)
def test_bins_keep_the_sum_however_wide_they_become(spans: list[tuple[float, float]]) -> None:
    clock = BinClock()
    amounts = Amounts(clock)
    for start, end in spans:
        amounts.add("k", start, end, 2.0)
    assert sum(amounts.of.get("k", ())) == pytest.approx(2 * sum(end - start for start, end in spans))
    assert math.log2(clock.width / FIRST_WIDTH).is_integer()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 3), st.integers(-5, 9)), max_size=40))
def test_a_level_shows_the_most_of_each_bin(changes: list[tuple[float, int]]) -> None:
    clock = BinClock()
    level, now, time, moments = Level(clock), 0, 0.0, [(0.0, 0)]
    for wait, by in changes:
        time, now = time + wait, now + by
        level.change(time, time, by)
        if moments[-1][0] == time:
            moments.pop()
        moments.append((time, now))
    used = clock.used(time)
    for bin, most in enumerate(level.series(used)):
        low, high = bin * clock.width, (bin + 1) * clock.width
        before = [value for at, value in moments if at < low][-1:] or [0]
        inside = [value for at, value in moments if low <= at < high or (bin == used - 1 and at >= low)]
        assert most == max([*before, *inside])


def test_a_moment_that_stands_earlier_counts_where_it_stands() -> None:
    level = Level(BinClock())
    for moment, (bin, by) in enumerate([(1.5, 5), (2.5, 1), (1.75, 3)]):
        level.change(float(moment), bin * FIRST_WIDTH, by)
    assert level.series(3) == (0, 9, 9) and level.peak == 9
    level.change(3.0, 3.5 * FIRST_WIDTH, -2)
    assert level.series(4) == (0, 9, 9, 7) and level.peak == 9
