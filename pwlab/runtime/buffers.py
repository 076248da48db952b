"""Logical buffers, as the user's process holds them.

A :class:`Buffer` is one logical array, whatever its shards (Pathways §4.2).  It exists from the moment that the
node writing it is submitted; its ``array`` is there once that node was launched, which on an
asynchronous device is long before it is ``ready``.

Waiting uses one :class:`Signal` for all buffers of a session: waits are few, and a condition a buffer would cost
more than most computations.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..ids import BufferId, NodeId, SliceId, Source
from .clock import now
from .interrupts import without_interrupts


@dataclass(slots=True)
class Failure:
    """Why a buffer will never be written.

    Attributes:
      node: name of the computation that failed first.
      error: one line that says what happened.
      cancelled: it was cancelled rather than failed.
      closed: the session was stopped.
      told: whether the user has seen the whole story.
    """

    node: str
    error: str
    source: Source | None = None
    exception: BaseException | None = None
    cancelled: bool = False
    closed: bool = False
    told: bool = False


class Signal:
    """Tells waiting threads that what they wait for may have come; costs nothing while nobody waits.

    Who notifies looks whom it concerns: it asks each waiting thread's predicate, and wakes those alone for which it
    holds.  To wake all of sixteen clients' threads for the result of one took more time than the results.

    Args:
      check: called on the thread that waits, before it does and every moment; what it raises ends the wait.
    """

    __slots__ = ("_check", "_waiting", "pulse")

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self._check = check
        #: What waiting threads wait for, and the lock at which each stands.  Replaced, never changed.
        self._waiting: tuple[tuple[Callable[[], bool], threading.Lock], ...] = ()
        #: Called every moment on the thread that waits; views that only the main thread can serve use it (Colab).
        self.pulse: Callable[[], None] | None = None

    def notify(self) -> None:
        for predicate, gate in self._waiting:
            if gate.locked() and predicate():
                with suppress(RuntimeError):  # another thread was faster
                    gate.release()

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None, slice: float = 0.1) -> bool:
        """Waits until ``predicate()`` holds; False if ``timeout`` seconds passed.

        Wakes every ``slice`` seconds at the latest, so that a lost notification costs a
        moment and never a hang, and Ctrl-C is seen.

        Args:
          predicate: quick, and never raises; other threads call it, too.
        """
        if predicate():
            return True
        deadline = None if timeout is None else now() + timeout
        gate = threading.Lock()
        gate.acquire()
        waiter = (predicate, gate)
        try:
            with _changing:
                self._waiting = (*self._waiting, waiter)
            while not predicate():
                self._check()
                left = slice if deadline is None else min(slice, deadline - now())
                if left <= 0:
                    return False
                gate.acquire(timeout=left)
                if self.pulse is not None:
                    self.pulse()
            return True
        finally:
            with without_interrupts(), _changing:
                self._waiting = tuple(other for other in self._waiting if other is not waiter)


#: Held for a moment, to change who waits.
_changing = threading.Lock()


class Gone(weakref.ref[Any]):
    """Tells that the holder of a buffer is gone, by putting itself into a queue.

    The callback is the queue's own ``put``, which runs no Python: what Python does in a ``__del__`` costs every tensor,
    and a Ctrl-C that came just then would be printed and lost.
    """

    __slots__ = ("buffer",)

    buffer: BufferId


class Parked:
    """What stands for an array while it lies in host memory; the backend that brought it there knows how."""

    __slots__ = ()

    def copied(self) -> Any:
        """A copy on the array's devices; it belongs to the caller."""
        raise NotImplementedError


class Buffer:
    """One logical buffer of a session."""

    __slots__ = (
        "array",
        "aval",
        "failure",
        "id",
        "listeners",
        "nbytes",
        "node",
        "ready",
        "releases",
        "sharding",
        "slice",
        "source",
        "spread",
        "state",
        "watch",
    )

    def __init__(
        self,
        id: BufferId,
        node: NodeId,
        slice: SliceId,
        spread: bool,
        aval: Any,
        nbytes: int,
        source: Source | None,
        releases: Any,
    ):
        self.id = id
        self.node = node
        self.slice = slice
        self.spread = spread
        #: The JAX type, opaque here.
        self.aval = aval
        self.nbytes = nbytes
        self.source = source
        #: Where the end of the last holder is reported: the driver's inbox.
        self.releases = releases
        self.watch: Gone | None = None
        #: The array, once launched; a future until ``ready``.  :class:`Parked` while it lies in host memory.
        self.array: Any = None
        #: Its sharding, known once the node that writes it is prepared.
        self.sharding: Any = None
        self.ready = False
        self.failure: Failure | None = None
        #: ``waiting``, ``queued``, ``running``; ``ready`` and ``failed`` follow from the fields above.
        self.state = "waiting"
        #: Called once, from the thread that completes the buffer.
        self.listeners: list[Any] | None = None

    def held_by(self, holder: object) -> None:
        """The user holds it as long as ``holder`` lives."""
        self.watch = Gone(holder, self.releases)
        self.watch.buffer = self.id

    def release(self) -> None:
        """The user holds it no longer."""
        self.releases(self.id)

    @property
    def value(self) -> Any:
        """The array, on its devices; the caller's own copy of it while it lies in host memory."""
        array = self.array
        return array.copied() if isinstance(array, Parked) else array

    @property
    def settled(self) -> bool:
        """Whether it is ready or never will be."""
        return self.ready or self.failure is not None

    def settle(self, failure: Failure | None = None) -> None:
        """Marks it as ready, or as failed."""
        if failure is not None:
            self.failure = failure
            self.array = None
        else:
            self.ready = True
        listeners, self.listeners = self.listeners, None
        for listener in listeners or ():
            listener()
