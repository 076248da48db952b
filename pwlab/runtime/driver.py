"""The driver: the one thread that calls the controller.

    inbox ─▶ Controller.handle ─▶ instructions ─▶ backend
                    └─▶ facts ─▶ ring

Everybody else only puts events into the inbox, from any thread, and goes on.  A fault in
the controller is a bug of ours; it must neither hang the user nor pass unseen, so the driver
then fails everything that is still under way and says so.
"""

from __future__ import annotations

import ctypes
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from ..errors import InternalError, PolicyError, SessionClosed
from ..events import (
    BuffersReleased,
    Event,
    Fact,
    Instruction,
    IslandJoined,
    NodesSubmitted,
    Noted,
    WaitBegan,
    Waited,
)
from ..ids import BufferId, NodeId, Source
from .buffers import Failure, Gone, Signal
from .clock import now
from .protocol import Backend, Task
from .worklog import WorkLog

R = TypeVar("R")


class Handles(Protocol):
    """What the driver needs of a controller."""

    def handle(self, event: Event) -> tuple[Sequence[Instruction], Sequence[Fact]]: ...

    @property
    def asking(self) -> int:
        """A number for the question that a policy of the user's is answering at this moment; 0 if none is."""
        ...


class Keeps(Protocol):
    """What the driver needs of a fact ring."""

    def extend(self, facts: Iterable[Fact]) -> None: ...


class _Stop:
    pass


class PolicyStuck(BaseException):
    """Is raised in a scheduling policy that does not come to an end."""

    def __str__(self) -> str:
        return f"it had not decided after {STUCK_AFTER:g} s"


#: Seconds that a policy may take for one decision while somebody waits.
STUCK_AFTER = 10.0

#: Seconds without an event after which the thread does what can wait.
CALM = 0.2


class Driver:
    """Runs a controller and a backend.

    Args:
      controller: decides; called from this driver's thread alone.
      backend: does.
      ring: takes the facts.
    """

    def __init__(self, controller: Handles, backend: Backend, ring: Keeps):
        self._controller = controller
        self._backend = backend
        self._ring = ring
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._alive: set[Task] = set()
        self._ending = threading.Lock()
        self._chore: Callable[[], bool] | None = None
        self._work = WorkLog()
        self.signal = Signal(self._look_after)
        #: The policy's question that was seen last, and when it was seen first.
        self._question = 0, 0.0
        #: Nodes that have ended, of all that were ever submitted.
        self.ended = 0
        #: The newest failures, each with the node that it began with; what depends on them is not listed.
        self.failures: deque[tuple[NodeId, Failure]] = deque(maxlen=1000)
        self.crash: str | None = None
        self.closed = False
        self._thread = threading.Thread(target=self._run, name="pwlab-driver", daemon=True)

    def start(self) -> None:
        self._backend.start(self.post, self._settled)
        for island in self._backend.islands():
            self.post(IslandJoined(now(), island))
        self._thread.start()

    # --- from any thread --------------------------------------------------------------

    def post(self, *events: Event) -> None:
        """Puts events into the inbox; several at once wake the thread once."""
        self._inbox.put(list(events))

    def submit(self, event: NodesSubmitted, tasks: Sequence[Task]) -> None:
        """Submits nodes together with what is needed to run them."""
        if self.crash is not None:
            raise InternalError(self.crash)
        self._check()
        self._inbox.put((event, tasks))

    def call(self, event: Event, timeout: float = 30.0) -> Sequence[Fact]:
        """Handles an event and waits for the facts that follow at once from it."""
        return self._ask(event, timeout)

    def look(self, question: Callable[[Any], R], timeout: float = 30.0) -> R:
        """Asks something of the controller on the thread that owns it; only to look, for status and tests."""
        return self._ask(question, timeout)

    def ask(self, question: Callable[[Any], R]) -> Future[R]:
        """As :meth:`look`, but waits for nothing; where the session is stopped meanwhile, no answer comes."""
        return self._put(question)

    def _ask(self, item: Any, timeout: float) -> Any:
        answer = self._put(item)
        answer.add_done_callback(lambda _: self.signal.notify())
        self.signal.wait_for(answer.done, timeout)
        return answer.result(0)

    def _check(self) -> None:
        if self.closed:
            raise SessionClosed("the session was stopped; start a new one with pw.start() or %pw start")
        self._look_after()

    def _look_after(self) -> None:
        """What a thread does before it waits, and every moment while it does: a policy is not to hang it."""
        if threading.current_thread() is self._thread:
            raise PolicyError(
                "a scheduling policy decides by the lanes that it is shown, on the thread that schedules: it can "
                "neither wait for a value nor ask or change the session"
            )
        asking = self._controller.asking
        if asking != self._question[0]:
            self._question = asking, now()
        elif asking and now() - self._question[1] > STUCK_AFTER:
            thread = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(PolicyStuck))

    def _put(self, item: Any) -> Future[Any]:
        self._check()
        answer: Future[Any] = Future()
        self._inbox.put((item, answer))
        return answer

    @property
    def released(self) -> Callable[[Any], None]:
        """Takes ids of buffers, or :class:`~pwlab.runtime.buffers.Gone`, that the user holds no longer.

        It is the inbox's own ``put``: through the same inbox as submissions, so the controller hears first of a
        node that reads the buffer, which was submitted before.
        """
        return self._inbox.put

    def facts(self, *facts: Fact) -> None:
        """Records facts that the client knows, such as its waits."""
        self._ring.extend(facts)

    @contextmanager
    def waiting(self, reason: str, source: Source | None, buffer: BufferId | None = None) -> Generator[None]:
        """Records that this thread waits in the block: when that begins, and when it is over."""
        began = now()
        try:
            self.facts(WaitBegan(began, reason, source, buffer))
            yield
        finally:
            self.facts(Waited(began, now() - began, reason, source, buffer))

    def when_calm(self, chore: Callable[[], bool]) -> None:
        """Has the thread call ``chore()``, which is short, while no event comes and until it says that it is done.

        To be called before :meth:`start`.
        """
        self._chore = chore

    def close(self, timeout: float = 10.0) -> None:
        """Stops the thread and the backend; what has not ended fails with :class:`SessionClosed`."""
        if self.closed:
            return
        self.closed = True
        self._inbox.put(_Stop())
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout)
        self._backend.close()
        self._fail_all(Failure("", "the session was stopped before it ran", closed=True, told=True))

    # --- the thread ----------------------------------------------------------------------

    def _run(self) -> None:
        released: list[BufferId] = []
        while True:
            item = self._next()
            self._work.begin(now())
            try:
                while isinstance(item, (int, Gone)):  # releases come in crowds; they are one event
                    released.append(item.buffer if isinstance(item, Gone) else BufferId(item))
                    item = self._inbox.get_nowait()
            except Empty:
                item = None
            try:
                if released:
                    gone, released = tuple(released), []
                    self._handle(BuffersReleased(now(), gone))
                if isinstance(item, _Stop):
                    break
                if item is not None:
                    self._take(item)
            except BaseException as error:
                self._crashed(item, error)
            self._ring.extend(self._work.end(now()))
        self._ring.extend(self._work.close())

    def _next(self) -> Any:
        """The next item of the inbox."""
        wait = CALM
        while self._work.open or self._chore is not None:
            try:
                return self._inbox.get(timeout=wait)
            except Empty:
                wait = 0.0
                self._ring.extend(self._work.close())
                if not self._do_chore():
                    break
        return self._inbox.get()

    def _do_chore(self) -> bool:
        """Does a piece of what can wait; whether there is more."""
        try:
            return self._chore is not None and self._chore()
        except Exception as error:
            self._chore = None
            self._ring.extend([Noted(now(), f"work in the background failed, and was ended: {error!r}")])
            return False

    def _take(self, item: Any) -> None:
        if isinstance(item, list):
            for posted in item:
                self._handle(posted)
            return
        event, more = item
        if isinstance(more, Future):
            try:
                more.set_result(event(self._controller) if callable(event) else self._handle(event))
            except BaseException as error:
                more.set_exception(error)
        else:
            self._alive.update(more)
            self._backend.register(more)
            self._handle(event)

    def _handle(self, event: Event) -> Sequence[Fact]:
        """Handles an event, and what follows from it at once; gives the facts of the event itself."""
        events: list[Event] = [event]
        first: Sequence[Fact] | None = None
        for event in events:
            instructions, facts = self._controller.handle(event)
            self._work.handled(instructions, facts)
            if facts:
                self._ring.extend(facts)
            if first is None:
                first = facts
            for instruction in instructions:
                answer = self._backend.execute(instruction)
                if answer is not None:
                    events.append(answer)
        return first or ()

    def _settled(self, task: Task) -> None:
        """Called by the backend, from its threads, when a task's outputs are ready or failed."""
        if task.failure is not None:
            self.failures.append((task.node, task.failure))
        self._end(task)
        self.signal.notify()

    def _end(self, task: Task) -> None:
        with self._ending:  # tasks settle on several threads
            if task in self._alive:
                self._alive.discard(task)
                self.ended += 1
                if task.owner is not None:
                    task.owner.ended += 1
                    task.owner.ended_bytes += task.nbytes

    def _crashed(self, item: Any, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error)).strip()
        self.crash = f"the controller failed at {type(item).__name__}: {error}"
        self._ring.extend([Noted(now(), f"{self.crash}\n{text}")])
        self._fail_all(Failure("", self.crash, exception=error))

    def _fail_all(self, failure: Failure) -> None:
        for task in list(self._alive):
            for buffer in task.outputs:
                if not buffer.settled:
                    buffer.settle(failure)
            self._end(task)
        self.signal.notify()
