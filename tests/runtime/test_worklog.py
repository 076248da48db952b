"""Turns of the controller's thread, joined to stretches."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import ControllerWorked, Launch, NodeState, ProgramEnded
from pwlab.ids import IslandId, NodeId, ProgramId
from pwlab.runtime.worklog import LONGEST, NEAR, WorkLog

LAUNCH = Launch(NodeId(1), IslandId(0), ())
ENDED = ProgramEnded(0.0, ProgramId(1), NodeState.DONE)


def turn(log: WorkLog, start: float, end: float, *, launches: int = 0, ended: bool = False) -> list[ControllerWorked]:
    log.begin(start)
    log.handled([LAUNCH] * launches, [ENDED] if ended else [])
    return log.end(end)


def test_what_follows_closely_is_one_stretch() -> None:
    log = WorkLog()
    assert turn(log, 1.0, 1.001, launches=2) == []
    assert turn(log, 1.0015, 1.002, launches=1) == [] and log.open
    (told,) = turn(log, 1.5, 1.6)
    assert (told.time, told.events, told.launches) == (1.0, 2, 3)
    assert (round(told.seconds, 9), round(told.busy, 9)) == (0.002, 0.0015)
    assert [work.time for work in log.close()] == [1.5] and not log.open and log.close() == []


def test_the_end_of_a_program_ends_a_stretch() -> None:
    log = WorkLog()
    turn(log, 1.0, 1.001)
    (told,) = turn(log, 1.001, 1.002, ended=True)
    assert (told.events, log.open) == (2, False)
    assert turn(log, 1.003, 1.004) == []


def test_a_turn_without_an_event_is_no_work() -> None:
    log = WorkLog()
    log.begin(1.0)
    assert log.end(2.0) == [] and not log.open


GAPS = st.lists(st.tuples(st.floats(0, 3e-3), st.floats(1e-6, 5e-3), st.integers(0, 3), st.booleans()), max_size=60)


@given(GAPS)
def test_stretches_tell_all_work_once_and_in_order(turns: list[tuple[float, float, int, bool]]) -> None:
    log, told, now, busy = WorkLog(), list[ControllerWorked](), 100.0, 0.0
    for gap, took, launches, ended in turns:
        told += turn(log, now + gap, now + gap + took, launches=launches, ended=ended)
        now += gap + took
        busy += took
    told += log.close()
    assert sum(work.events for work in told) == len(turns)
    assert sum(work.launches for work in told) == sum(launches for _, _, launches, _ in turns)
    assert abs(sum(work.busy for work in told) - busy) < 1e-6
    for work in told:
        assert work.busy <= work.seconds + 1e-9 and work.seconds <= LONGEST + NEAR + 5e-3 + 1e-9
    for one, other in itertools.pairwise(told):
        assert one.time + one.seconds <= other.time + 1e-9
