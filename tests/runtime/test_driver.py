"""The driver: one thread, an inbox, and what happens when something is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from pwlab.errors import InternalError, SessionClosed
from pwlab.events import (
    BuffersReleased,
    ControllerWorked,
    Event,
    Instruction,
    IslandJoined,
    IslandSpec,
    Launch,
    NodeCompleted,
    NodeKind,
    NodesSubmitted,
    NodeState,
    Noted,
    Prepare,
    ProgramEnded,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId
from pwlab.observe import FactRing
from pwlab.runtime import Buffer, Driver, Failure, Task
from pwlab.runtime.buffers import Signal

ISLAND = IslandSpec(IslandId(0), "island0", (DeviceId(0),))


class FakeBackend:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.registered: list[Task] = []
        self.closed = False
        self.settled: Callable[[Task], None] = lambda task: None

    def islands(self) -> Sequence[IslandSpec]:
        return (ISLAND,)

    def start(self, post: Callable[[Event], None], settled: Callable[[Task], None]) -> None:
        self.settled = settled

    def register(self, tasks: Sequence[Task]) -> None:
        self.registered += tasks

    def execute(self, instruction: Instruction) -> None:
        self.instructions.append(instruction)

    def close(self) -> None:
        self.closed = True


class FakeController:
    """Notes events; answers with what ``answers`` says for their type."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.threads: set[str] = set()
        self.answers: dict[type, Callable[[Any], tuple[list[Any], list[Any]]]] = {}
        self.asking = 0

    def handle(self, event: Event) -> tuple[list[Any], list[Any]]:
        self.threads.add(threading.current_thread().name)
        self.events.append(event)
        return self.answers.get(type(event), lambda event: ([], []))(event)


class Bench:
    def __init__(self, chore: Callable[[], bool] | None = None) -> None:
        self.controller, self.backend, self.ring = FakeController(), FakeBackend(), FactRing(100)
        self.driver = Driver(self.controller, self.backend, self.ring)
        if chore:
            self.driver.when_calm(chore)
        self.driver.start()

    def settle(self) -> None:
        self.driver.look(lambda controller: None)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.driver.close()


def buffer(number: int, released: Callable[[BufferId], None] = lambda id: None) -> Buffer:
    return Buffer(BufferId(number), NodeId(number), SliceId(1), False, None, 8, None, released)


def task(number: int) -> Task:
    return Task(NodeId(number), NodeKind.HOST, "work", None, [], [buffer(number)], False, None)


def submission(number: int) -> NodesSubmitted:
    return NodesSubmitted(0.0, ProgramId(number), "p", ())


def test_islands_join_first_and_one_thread_handles_all(bench: Bench) -> None:
    threads = [threading.Thread(target=lambda: bench.driver.post(BuffersReleased(0.0, ()))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.settle()
    assert isinstance(bench.controller.events[0], IslandJoined)
    assert len(bench.controller.events) == 6
    assert bench.controller.threads == {"pwlab-driver"}


def test_facts_go_to_the_ring_and_instructions_to_the_backend(bench: Bench) -> None:
    order, note = Prepare(NodeId(1), ()), Noted(0.0, "something")
    bench.controller.answers[NodesSubmitted] = lambda event: ([order], [note])
    bench.driver.submit(submission(1), [task(1)])
    bench.settle()
    assert bench.backend.instructions == [order]
    assert [t.node for t in bench.backend.registered] == [1]
    assert bench.ring.after(0).facts == (note,)
    assert bench.driver.call(submission(2)) == [note]


def test_the_controllers_work_is_told_when_a_program_ends_or_all_is_calm(bench: Bench) -> None:
    ended = ProgramEnded(0.0, ProgramId(1), NodeState.DONE)
    launch = Launch(NodeId(1), IslandId(0), ())
    bench.controller.answers[NodesSubmitted] = lambda event: ([launch, launch], [ended])
    bench.driver.submit(submission(1), [])
    bench.settle()
    told, work = bench.ring.after(0).facts
    assert told == ended and isinstance(work, ControllerWorked)
    # The island joined, the nodes were submitted; the question was no event.
    assert (work.events, work.launches) == (2, 2) and 0 < work.busy <= work.seconds

    calm = threading.Event()
    bench.ring.observe(lambda fact: calm.set(), ControllerWorked)
    bench.driver.post(BuffersReleased(0.0, ()), BuffersReleased(0.0, ()))
    assert calm.wait(30)
    *_, work = bench.ring.after(0).facts
    assert isinstance(work, ControllerWorked) and (work.events, work.launches) == (2, 0)


def test_tasks_are_known_before_the_controller_hears_of_their_nodes(bench: Bench) -> None:
    known: list[int] = []
    bench.controller.answers[NodesSubmitted] = lambda event: (known.append(len(bench.backend.registered)), ([], []))[1]
    bench.driver.submit(submission(1), [task(1), task(2)])
    bench.settle()
    assert known == [2]


def test_releases_come_together_and_after_what_was_submitted_before(bench: Bench) -> None:
    hold, entered = threading.Event(), threading.Event()

    def wait(event: Any) -> Any:
        entered.set()
        hold.wait(30)
        return [], []

    bench.controller.answers[NodeCompleted] = wait
    bench.driver.post(NodeCompleted(0.0, NodeId(0), 0.0, 0.0))
    assert entered.wait(30)
    for n in range(3):
        bench.driver.released(BufferId(n))
    bench.driver.submit(submission(1), [])
    bench.driver.released(BufferId(7))
    hold.set()
    bench.settle()
    told = bench.controller.events[2:]
    assert [type(e) for e in told] == [BuffersReleased, NodesSubmitted, BuffersReleased]
    assert [e.buffers for e in told if isinstance(e, BuffersReleased)] == [(0, 1, 2), (7,)]


def test_a_question_sees_what_was_posted_before_it(bench: Bench) -> None:
    bench.driver.post(BuffersReleased(0.0, ()))
    assert bench.driver.look(lambda controller: len(controller.events)) == 2
    with pytest.raises(ZeroDivisionError):
        bench.driver.look(lambda controller: 1 / 0)
    assert bench.driver.crash is None


def test_a_call_hands_errors_to_the_caller_alone(bench: Bench) -> None:
    def refuse(event: Any) -> Any:
        raise LookupError("no such policy")

    bench.controller.answers[NodesSubmitted] = refuse
    with pytest.raises(LookupError, match="no such policy"):
        bench.driver.call(submission(1))
    assert bench.driver.crash is None


def test_a_fault_fails_what_is_under_way_and_is_told(bench: Bench) -> None:
    def fault(event: Any) -> Any:
        raise AssertionError("lost count")

    waiting = task(1)
    bench.driver.submit(submission(1), [waiting])
    bench.controller.answers[NodeCompleted] = fault
    bench.driver.post(NodeCompleted(0.0, NodeId(1), 0.0, 0.0))
    bench.settle()
    failure = waiting.outputs[0].failure
    assert failure is not None
    assert "lost count" in failure.error
    assert bench.driver.crash is not None
    with pytest.raises(InternalError, match="lost count"):
        bench.driver.submit(submission(2), [])
    [note] = bench.ring.after(0).facts
    assert isinstance(note, Noted)
    assert "AssertionError: lost count" in note.text


def test_closing_fails_the_rest_and_takes_nothing_more(bench: Bench) -> None:
    waiting, done = task(1), task(2)
    bench.driver.submit(submission(1), [waiting, done])
    bench.settle()
    done.outputs[0].settle()
    bench.backend.settled(done)
    bench.driver.close()
    bench.driver.close()
    assert bench.backend.closed
    failure = waiting.outputs[0].failure
    assert failure is not None
    assert failure.closed
    assert done.outputs[0].ready
    with pytest.raises(SessionClosed, match="the session was stopped"):
        bench.driver.submit(submission(2), [])
    bench.driver.released(BufferId(1))  # finalizers may come later still


def test_a_buffer_settles_once_and_tells(bench: Bench) -> None:
    seen: list[str] = []
    made = buffer(1)
    made.listeners = [lambda: seen.append("told")]
    assert not made.settled
    made.settle()
    made.settle()
    assert made.ready
    assert seen == ["told"]
    failed = buffer(2)
    failed.array = object()
    failed.settle(Failure("f", "broke"))
    assert failed.settled
    assert not failed.ready
    assert failed.array is None


def test_a_buffer_tells_of_its_release() -> None:
    seen: list[int] = []
    buffer(3, seen.append).release()
    assert seen == [3]


def test_a_signal_wakes_all_who_wait() -> None:
    signal, go = Signal(), threading.Event()
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(signal.wait_for(go.is_set, 30))) for _ in range(4)]
    for thread in threads:
        thread.start()
    go.set()
    signal.notify()
    for thread in threads:
        thread.join(30)
    assert results == [True] * 4


def test_a_signal_gives_up_after_its_timeout() -> None:
    assert not Signal().wait_for(lambda: False, timeout=0.0)
    assert Signal().wait_for(lambda: True, timeout=0.0)


def test_what_can_wait_is_done_while_no_event_comes() -> None:
    done, left = threading.Event(), [3]

    def chore() -> bool:
        left[0] -= 1
        if left[0] == 0:
            done.set()
        return left[0] > 0

    bench = Bench(chore)
    assert done.wait(10) and left == [0]
    bench.settle()
    bench.driver.close()


def test_what_can_wait_and_fails_is_ended_and_told_of() -> None:
    noted = threading.Event()

    def chore() -> bool:
        raise ValueError("no ink")

    bench = Bench(chore)
    bench.ring.observe(lambda fact: noted.set(), Noted)
    assert noted.wait(10)
    [note] = [fact for fact in bench.ring.after(0).facts if isinstance(fact, Noted)]
    assert note.text == "work in the background failed, and was ended: ValueError('no ink')"
    bench.settle()
    bench.driver.close()
