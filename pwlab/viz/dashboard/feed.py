"""The pump: one thread a session that sends what happened to the pages that look.

Threads that run programs write facts into the ring and know nothing of views.
The pump reads the ring eleven times a second while somebody looks, encodes what is
new once, and sends each dashboard what it has not had, as a custom message with
binary buffers.  While nobody looks it sleeps; the ring wakes it before it turns
over, so nothing is lost meanwhile.

Whose thread does what: the pump alone reads and sends.  The kernel's main
thread hears pages, and settles: when a run has ended, the static picture and
the snapshot in the widget's state are made there, because traits and outputs
belong to it.  Where threads cannot send (Colab) the main thread also pumps,
after each cell and while it waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ...events import ProgramEnded, ProgramOpened
from ...observe import FactRing
from ...runtime.clock import now as clock
from .encode import Chunk
from .history import PIECE, History
from .kernel import Cells, in_colab
from .presence import Presence

#: Seconds between batches while somebody looks, and between glances while nobody does.
PERIOD, GLANCE = 0.09, 1.0

#: Seconds between signs of life while a program runs and nothing happens.
BEAT = 1.0

#: Settling may take this share of the main thread's time.
SHARE = 0.05


class Source(Protocol):
    """What can be looked at: a session, or a run that is replayed."""

    ring: FactRing


class Viewer(Protocol):
    """A dashboard, as the pump sees it."""

    presence: Presence

    def send_batch(self, content: dict[str, Any], buffers: list[bytes]) -> None: ...

    def settle(self) -> None: ...


class _Seat:
    """How far one viewer has come."""

    def __init__(self, viewer: Viewer):
        self.viewer = viewer
        self.facts = 0
        self.strings = 0
        #: From when the time to the next batch counts; a page that came gets one at once.
        self.sent = float("-inf")


class Feed:
    """Feeds the dashboards of one session.

    Args:
      ring: where the facts are.
      history: of the same ring, as far as a feed that was closed has read it.
      threaded: whether to start the pump; tests call :meth:`tick` themselves.
    """

    def __init__(self, ring: FactRing, history: History | None = None, threaded: bool = True):
        self.history = history or History(ring)
        self._ring = ring
        self._seats: list[_Seat] = []
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        #: Programs that run; changed by whoever appends facts.
        self._open: set[int] = set()
        self._unsettled = False
        self._settled_at = self._settle_cost = 0.0
        self._asked = self._due = False
        self._sent_at = 0.0
        self.cells = Cells(self._after_cell)
        self._stops = [
            ring.observe(self._opened, ProgramOpened),
            ring.observe(self._ended, ProgramEnded),
            ring.each_half_turn(self._wake.set),
        ]
        for fact in ring.after(0).facts:
            if isinstance(fact, ProgramOpened):
                self._open.add(fact.program)
            elif isinstance(fact, ProgramEnded):
                self._open.discard(fact.program)
        self._thread: threading.Thread | None = None
        if threaded:
            self._thread = threading.Thread(target=self._run, name="pwlab-dashboard", daemon=True)
            self._thread.start()

    # --- viewers, on the main thread ---------------------------------------------------------

    def add(self, viewer: Viewer) -> None:
        with self._lock:
            self._seats.append(_Seat(viewer))
            # Its pictures show a run that has ended; what the widget keeps of that may take longer.
            self._unsettled = self._unsettled or self.behind

    def remove(self, viewer: Viewer) -> None:
        """Forgets a viewer; without viewers the pump ends."""
        with self._lock:
            self._seats = [seat for seat in self._seats if seat.viewer is not viewer]
            empty = not self._seats
        if empty:
            self.close()

    def ready(self, viewer: Viewer, seen: int, strings: int) -> None:
        """A page has the facts up to ``seen`` and so many strings, and wants the rest."""
        with self._lock:
            for seat in self._seats:
                if seat.viewer is viewer:
                    # Another page may be further; it skips what it has.
                    seat.facts = min(seen, self.history.last)
                    seat.strings = min(strings, len(self.history.strings))
                    seat.sent = float("-inf")
        self.nudge()

    def nudge(self) -> None:
        """Has the pump look at once, for somebody came."""
        self._wake.set()
        if self._closed:
            self.tick(clock())

    @property
    def running(self) -> bool:
        """Whether a program runs."""
        return bool(self._open)

    @property
    def behind(self) -> bool:
        """Whether so much is to be read that the user would wait for it; the pump reads it, piece by piece."""
        return self._ring.last - self.history.read > PIECE

    def snapshot(self, most: int) -> tuple[list[Chunk], int]:
        """The newest chunks, about ``most`` bytes of them, and how many facts are left out."""
        with self._lock:
            while self.history.catch_up():
                pass
            chunks = self.history.after(0, 1 << 40)
            size = sum(len(chunk.data) for chunk in chunks)
            if size <= most:
                return chunks, self.history.lost
            left_out = self.history.lost
            while size > most and len(chunks) > 1:
                gone = chunks.pop(0)
                size -= len(gone.data)
                left_out += 0 if gone.header.get("whole") else gone.last - gone.first + 1
            return [self.history.lasting(chunks[0].first - 1), *chunks], left_out

    def close(self) -> None:
        """Sends what is left and ends the thread.  A page that comes later is still answered."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5.0)
        for stop in self._stops:
            stop()
        self.cells.close()
        self._open.clear()
        self.tick(clock())

    # --- the pump -------------------------------------------------------------------------------

    def _run(self) -> None:
        busy, due = True, clock()
        while not self._closed:
            if clock() >= due:
                due = _next(due, clock())
            self._wake.wait(max(0.0, due - clock()) if busy else GLANCE)
            self._wake.clear()
            busy = self._turn(clock())

    def _turn(self, now: float) -> bool:
        """One turn on the pump's own thread; in Colab the main thread takes it, once it is free."""
        if not in_colab():
            return self.tick(now)
        self._due = self._due or self.cells.soon(self.pulse)
        return bool(self._open)

    def tick(self, now: float) -> bool:
        """One turn of the pump; whether anybody looks."""
        with self._lock:
            idle = self.cells.idle(now)
            looking = [seat for seat in self._seats if seat.viewer.presence.anyone(now, idle)]
            if looking or self._ring.last - self.history.read >= self._ring.recent // 4:
                self.history.catch_up()
            for seat in looking:
                self._send(seat, now)
        self._ask_to_settle(now)
        return bool(looking)

    def _send(self, seat: _Seat, now: float) -> None:
        history = self.history
        waited = now - seat.sent
        if waited < (0.9 * PERIOD if seat.facts < history.last else BEAT if self._open else float("inf")):
            return
        chunks = history.after(seat.facts) if seat.facts < history.last else []
        strings = history.strings[seat.strings :]
        content: dict[str, Any] = {
            "kind": "facts",
            "chunks": [chunk.header for chunk in chunks],
            "strings": strings,
            "strings_from": seat.strings,
            "now": now,
            "origin": history.origin or now,
            "last": history.last,
            "lost": history.lost,
            "running": bool(self._open),
            "closed": self._closed,
        }
        seat.viewer.send_batch(content, [chunk.data for chunk in chunks])
        seat.viewer.presence.sent(now)
        seat.facts = chunks[-1].last if chunks else seat.facts
        seat.strings += len(strings)
        seat.sent, self._sent_at = _next(seat.sent, now), now

    # --- settling, on the main thread -------------------------------------------------------------

    def _opened(self, fact: Any) -> None:
        self._open.add(fact.program)
        self._unsettled = True

    def _ended(self, fact: Any) -> None:
        self._open.discard(fact.program)
        self._unsettled = True

    def _ask_to_settle(self, now: float) -> None:
        """When all programs have ended, has the main thread settle once it is free."""
        if self._unsettled and not self._open and not self._asked and self._may_settle(now):
            self._asked = self.cells.soon(self._settle)

    def _may_settle(self, now: float) -> bool:
        return not self.behind and now - self._settled_at >= max(GLANCE, self._settle_cost / SHARE)

    def _settle(self) -> None:
        self._asked = False
        began = clock()
        self._unsettled = False
        for seat in list(self._seats):
            seat.viewer.settle()
        self._settled_at = clock()
        self._settle_cost = self._settled_at - began

    def pulse(self) -> None:
        """One turn of the pump on the main thread, while that waits or has nothing to do."""
        if threading.current_thread() is threading.main_thread():
            self._due = False
            self.tick(clock())

    def _after_cell(self) -> None:
        now = clock()
        if in_colab():
            for seat in list(self._seats):
                seat.sent = float("-inf")  # it is not known when the main thread sends again
            self.tick(now)
        elif now - self._sent_at >= PERIOD:
            self.tick(now)
        # The kernel may be gone a moment later, as in nbconvert; so this is also done while programs run.
        if self._unsettled and self._may_settle(now):
            self._settle()


def _next(due: float, now: float) -> float:
    """One period after ``due``, so that what comes late, as where a cell computes, does not make the next late too."""
    return max(due + PERIOD, now - PERIOD / 2)


_feeds: WeakKeyDictionary[Any, Feed] = WeakKeyDictionary()


def feed_of(source: Source) -> Feed:
    """The feed of a session; one for all its dashboards, made for the first."""
    feed = _feeds.get(source)
    if feed is None or feed._closed:
        feed = _feeds[source] = Feed(source.ring, feed.history if feed else None)
        at_close: Callable[[Callable[[], None]], None] | None = getattr(source, "at_close", None)
        if at_close is not None:
            at_close(feed.close)
        signal = getattr(getattr(source, "driver", None), "signal", None)
        if signal is not None and in_colab():
            signal.pulse = feed.pulse
    return feed
