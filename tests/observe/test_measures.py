"""What two runs are compared by: the compiler's time apart, idle devices, memory at its highest, shares, and spread."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import (
    BuffersFreed,
    ClientKnown,
    Fact,
    IslandKnown,
    IslandSpec,
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
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId
from pwlab.observe import Run, Span, SpanKind, active_times, measures_of, union_seconds

KB = 1024


class Script:
    """Facts of an island of two devices, in order of time: programs that are open, and nodes that run in them."""

    def __init__(self) -> None:
        devices = (DeviceId(0), DeviceId(1))
        self.facts: list[Fact] = [
            IslandKnown(0.0, IslandSpec(IslandId(0), "island0", devices)),
            SliceMapped(0.0, SliceId(1), "s", IslandId(0), devices),
        ]

    def open(self, program: int, time: float, end: float, client: str = "main") -> None:
        self.facts += [
            ProgramOpened(time, ProgramId(program), f"p{program}", client, None),
            ProgramEnded(end, ProgramId(program), NodeState.DONE),
        ]

    def ran(
        self, program: int, node: int, start: float, end: float, *devices: int,
        compiled: float = 0.0, kb: int = 0, freed: float = math.inf, key: str = "",
    ) -> None:  # fmt: skip
        gang = tuple(DeviceId(device) for device in devices or (0,))
        outputs = (OutputSpec(BufferId(node), kb * KB, kb * KB),) if kb else ()
        spec = NodeSpec(NodeId(node), "f", NodeKind.COMPUTE, SliceId(1), outputs=outputs, key=key)
        place = IslandId(0), gang
        self.facts += [
            NodeAdded(start - compiled, ProgramId(program), spec),
            NodeMoved(start, spec.id, NodeState.PREPARED, seconds=compiled),
            NodeMoved(start, spec.id, NodeState.LAUNCHED, *place),
            NodeEnded(end, spec.id, NodeState.DONE, start, end, *place),
        ]
        if freed < math.inf:
            self.facts.append(BuffersFreed(freed, (BufferId(node),), kb * KB))

    @property
    def run(self) -> Run:
        return Run(tuple(sorted(self.facts, key=lambda fact: fact.time)))


def test_time_in_which_only_the_compiler_was_at_work_is_told_apart() -> None:
    script = Script()
    script.open(1, 0.0, 10.0)
    script.ran(1, 1, 4.0, 6.0, compiled=3.0)  # compiled from 1 to 4, while nothing runs
    script.ran(1, 2, 7.0, 9.0, compiled=2.0)  # compiled from 5 to 7; until 6 the first runs
    one = measures_of(script.run)
    assert (one.totals.wall, one.compiler, one.wall) == (10.0, 4.0, 6.0)
    # From 4 to 9, less the second in which the compiler alone was at work.
    assert one.span == 4.0 and one.idle == 0.0


def test_devices_that_never_compute_are_not_idle_and_pauses_do_not_count() -> None:
    script = Script()
    script.open(1, 0.0, 4.0)
    script.ran(1, 1, 1.0, 3.0)
    script.open(2, 100.0, 102.0)
    script.ran(2, 2, 100.0, 101.0)
    one = measures_of(script.run)
    # From 1 to 4, and from 100 to 101: three of four seconds computing, on the one device that ever did.
    assert one.span == 4.0 and one.idle == pytest.approx(0.25)
    script.ran(2, 3, 100.0, 101.0, 1)
    assert measures_of(script.run).idle == pytest.approx(0.5)


def test_some_programs_alone() -> None:
    script = Script()
    for program, start in ((1, 0.0), (2, 10.0)):
        script.open(program, start, start + 4.0, f"c{program}")
        script.ran(program, program, start + 1, start + 1 + program, compiled=0.5)
    one, two = (measures_of(script.run, [ProgramId(program)]) for program in (1, 2))
    assert (one.span, two.span) == (1.0, 2.0) and (one.totals.launches, two.totals.launches) == (1, 1)
    assert [(client.name, client.end) for client in two.clients] == [("c2", 4.0)]
    assert measures_of(script.run, []).span == 0.0


def test_memory_at_its_highest_counts_what_others_hold_and_only_the_time_of_the_programs() -> None:
    script = Script()
    script.open(1, 0.0, 3.0)
    script.ran(1, 1, 0.0, 1.0, kb=64)
    script.ran(1, 2, 1.0, 2.0, kb=100, freed=4.0)
    script.open(2, 10.0, 14.0)
    script.ran(2, 4, 12.0, 13.0, kb=8)  # launched as the next is freed: both count as one change
    script.ran(2, 3, 10.0, 11.0, kb=10, freed=12.0)
    run = script.run
    assert measures_of(run).peak == 164 * KB
    assert measures_of(run, [ProgramId(1)]).peak == 164 * KB
    assert measures_of(run, [ProgramId(2)]).peak == 74 * KB


def test_launches_that_were_held_back() -> None:
    script = Script()
    script.open(1, 0.0, 9.0)
    script.open(2, 0.0, 9.0)
    script.ran(1, 1, 5.0, 6.0)
    script.ran(2, 2, 6.0, 7.0)
    script.facts += [NodeHeld(t, NodeId(n), "device 0", 8) for t, n in ((5.0, 1), (5.5, 2), (5.7, 2))]
    assert measures_of(script.run).held == 2
    assert measures_of(script.run, [ProgramId(2)]).held == 1


def test_clients_and_what_their_shares_asked_for() -> None:
    script = Script()
    script.facts += [ClientKnown(0.0, "a", 1.0), ClientKnown(0.0, "b", 3.0)]
    script.open(1, 0.0, 2.0, "a")
    script.open(2, 0.0, 5.0, "b")
    for node, program, start in ((1, 1, 0.0), (2, 1, 1.0), (3, 2, 2.0), (4, 2, 3.0)):
        script.ran(program, node, start, start + 1, compiled=start)
    a, b = measures_of(script.run).clients
    # While a had work it was given all; of all four seconds, b got two, and its share of those in which a had work.
    assert (a.asked, a.got, a.device_seconds, a.end) == (0.25, 1.0, 2.0, 2.0)
    assert (b.asked, b.got, b.device_seconds, b.end) == (pytest.approx((0.75 * 2 + 2) / 4), 0.5, 2.0, 5.0)
    # Alone it would have had no rival.
    (alone,) = measures_of(script.run, [ProgramId(2)]).clients
    assert (alone.asked, alone.got) == (1.0, 1.0)


def test_the_spread_is_that_of_equal_launches_on_the_busiest_device() -> None:
    script = Script()
    script.open(1, 0.0, 100.0)
    assert measures_of(script.run).spread == 0.0
    for node, (start, end, device, key) in enumerate(
        [(0.0, 1.0, 0, "f"), (2.0, 5.0, 0, "f"), (6.0, 26.0, 0, "g"), (0.0, 9.0, 1, "h")], start=1
    ):
        script.ran(1, node, start, end, device, key=key)
    one = measures_of(script.run)
    # 1 and 3 seconds: a variance of 2 each; what runs once says nothing.
    assert one.spread == pytest.approx(2.0) and one.device_spread == pytest.approx(2.0)


def spans(kind: SpanKind) -> st.SearchStrategy[list[Span]]:
    times = st.tuples(st.integers(0, 60), st.integers(1, 20))
    return st.lists(times.map(lambda at: Span(kind, "x", float(at[0]), float(at[0] + at[1]))), max_size=8)


@given(spans(SpanKind.PROGRAM), spans(SpanKind.COMPILE), spans(SpanKind.COMPUTE))
def test_active_times_second_by_second(programs: list[Span], compiled: list[Span], ran: list[Span]) -> None:
    def on(held: list[Span], second: int) -> bool:
        return any(span.start <= second and second + 1 <= span.end for span in held)

    found = active_times([*ran, *compiled, *programs])
    assert found == sorted(found) and all(a[1] < b[0] for a, b in pairwise(found))
    wanted = sum(on(ran, s) or (on(programs, s) and not on(compiled, s)) for s in range(90))
    assert union_seconds(found) == wanted
