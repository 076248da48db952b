"""``top``: the picture of the moment, drawn anew a few times a second, of a session or of a recording.

In a terminal it stands in its place until it is ended by ``q`` or Ctrl-C, and its last picture stays.  In a notebook
it is one output that is updated.  Where nothing can be updated, as in a pipe, one picture is printed.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from .. import checks
from ..config import noninteractive
from ..errors import SessionClosed
from ..observe import Run, RunModel, RunStats, told
from ..runtime.clock import now
from ..session import Session, following
from .tables import render, render_html
from .terminal import columns
from .top import Glance, Top, top
from .top_text import top_text

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rich.console import Console
    from rich.text import Text

#: Seconds between pictures.
PERIOD = 0.25
#: In a notebook a cell that shows ``top`` ends after so many seconds at the latest, unless told otherwise.
NOTEBOOK_SECONDS = 60.0
#: Columns and rows of a picture where no terminal says how many it has.
COLUMNS, ROWS = 100, 40
#: Pauses of a recording in which nothing runs are cut to so many seconds.
PAUSE = 1.0


class Source(Protocol):
    """What can be watched."""

    @property
    def ended(self) -> bool:
        """Whether nothing new will come."""
        ...

    def picture(self) -> Top:
        """The present moment."""
        ...


class Watched:
    """A session that runs.  Looking waits for nothing: what only the controller knows is that of the last time."""

    def __init__(self, session: Session):
        self.session = session
        self._glance = Glance()
        self._asked: Future[Glance] | None = None

    @property
    def ended(self) -> bool:
        return self.session.closed

    def picture(self) -> Top:
        self._ask()
        with self.session.programs.recorder.reading() as (model, stats):
            return top(model, stats, max(now(), model.now), self._glance)

    def wait(self, seconds: float = 1.0) -> None:
        """Waits until the controller has answered, but no longer than that."""
        self._ask()
        if self._asked is not None:
            with contextlib.suppress(TimeoutError):
                self._glance = self._asked.result(seconds)

    def _ask(self) -> None:
        if self._asked is not None and self._asked.done():
            self._glance, self._asked = self._asked.result(), None
        if self._asked is None and not self.ended:
            with contextlib.suppress(SessionClosed):
                self._asked = self.session.driver.ask(_glance)


def _glance(controller: Any) -> Glance:
    """Asked on the controller's thread."""
    suspended = frozenset(client.name for client in controller.clients() if client.suspended)
    return Glance(controller.policy, controller.paused, suspended)


class Played:
    """A recording, as it came, from its first program on.

    Raises:
      ValueError: the speed is no number above 0.
    """

    def __init__(self, run: Run, speed: float = 1.0, clock: Callable[[], float] = now):
        self._speed, self._clock = checks.above_0("the speed of a replay", speed), clock
        # In the order in which a session would have told them: what lasts, when it was over.
        self._facts, self._next = sorted(run.facts, key=told), 0
        self._model, self._stats = RunModel(damage=run.damage), RunStats()
        self._at, self._end = run.begin, run.end
        self._doubts = run.doubts
        self._looked = clock()

    @property
    def ended(self) -> bool:
        return self._next == len(self._facts)

    def picture(self) -> Top:
        looked = self._clock()
        self._at += (looked - self._looked) * self._speed
        self._looked = looked
        self._fold()
        if self.ended:
            self._at = min(self._at, self._end)
        elif not self._model.alive:
            self._at = max(self._at, told(self._facts[self._next]) - PAUSE)
        return self._top()

    def last(self) -> Top:
        """The moment of the end."""
        self._at = self._end
        self._fold()
        return self._top()

    def _top(self) -> Top:
        cut = self.ended and bool(self._model.damage)
        return replace(top(self._model, self._stats, self._at), doubts=self._doubts, cut=cut)

    def _fold(self) -> None:
        while not self.ended and told(self._facts[self._next]) <= self._at:
            self._model.add(self._facts[self._next])
            self._stats.add(self._facts[self._next])
            self._next += 1


class Keys(Protocol):
    """Waits for a key."""

    def wait(self, seconds: float) -> str:
        """The key that was struck, or nothing after so many seconds."""
        ...


class _Sleep:
    """Where there is no keyboard."""

    def wait(self, seconds: float) -> str:
        time.sleep(seconds)
        return ""


class _Terminal:
    """The keyboard of a terminal that gives each key at once, by :func:`keyboard`."""

    def wait(self, seconds: float) -> str:
        import os
        import select

        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""


@contextmanager
def keyboard() -> Iterator[Keys]:
    """The keys of this terminal, unbuffered and without echo; Ctrl-C still interrupts."""
    try:
        import termios
        import tty
    except ImportError:  # not POSIX
        yield _Sleep()
        return
    if not sys.stdin.isatty():
        yield _Sleep()
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield _Terminal()
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def can_draw() -> bool:
    """Whether standard output is a terminal on which a picture can be drawn in its place."""
    return sys.stdout.isatty() and not noninteractive()


def watch(
    source: Source,
    seconds: float | None = None,
    console: Console | None = None,
    keys: Keys | None = None,
    clock: Callable[[], float] = now,
) -> None:
    """Draws in a terminal until ``q``, Ctrl-C or the end of what is watched; the last picture stays.

    Args:
      seconds: or until so many have passed.
    """
    from rich.console import Console
    from rich.live import Live

    screen = console or Console(highlight=False)
    until = clock() + seconds if seconds is not None else float("inf")
    with contextlib.ExitStack() as stack:
        struck = keys or stack.enter_context(keyboard())
        live = stack.enter_context(Live(console=screen, auto_refresh=False, vertical_overflow="crop"))
        picture = source.picture()
        try:
            while not source.ended and clock() < until:
                live.update(_fitting(picture, screen, "q ends it"), refresh=True)
                if struck.wait(PERIOD) in ("q", "Q"):
                    break
                picture = source.picture()
        except KeyboardInterrupt:
            pass
        live.update(_fitting(picture, screen), refresh=True)


def watch_in_notebook(
    source: Source,
    seconds: float | None = None,
    wait: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = now,
) -> None:
    """Updates one output for so many seconds; if not given until nothing runs, but at most a minute."""
    from IPython.display import display

    began = clock()
    limit = NOTEBOOK_SECONDS if seconds is None else seconds
    picture = source.picture()
    handle: Any = display(_bundle(picture, "interrupt the cell to end it"), raw=True, display_id=True)
    try:
        while not source.ended and clock() - began < limit and (picture.counts or seconds is not None):
            wait(PERIOD)
            picture = source.picture()
            handle.update(_bundle(picture, "interrupt the cell to end it"), raw=True)
    except KeyboardInterrupt:
        pass
    handle.update(_bundle(picture), raw=True)


@contextmanager
def beside(console: Console | None = None) -> Iterator[None]:
    """While the block runs, draws on standard error what its session does; the last picture stays.

    What the block prints stands above.  Where standard error is no terminal, the picture is written at the end.  Of a
    session that the block stops, it is that of the moment when it stopped.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    screen = console or Console(stderr=True, highlight=False)
    held: Watched | None = None
    shown: Top | None = None

    def draw() -> Text:
        if held is not None and not held.ended:
            look(held)
        return Text("no session has been started", "bright_black") if shown is None else _fitting(shown, screen)

    def look(source: Watched) -> None:
        nonlocal shown
        shown = source.picture()

    def begin(session: Session) -> None:
        nonlocal held
        held = Watched(session)
        session.at_close(partial(look, held))

    with (
        following(begin),
        Live(
            console=screen,
            get_renderable=draw,
            refresh_per_second=1 / PERIOD,
            auto_refresh=not noninteractive(),
            redirect_stdout=sys.stdout.isatty(),
            vertical_overflow="crop",
        ),
    ):
        yield
        if held is not None:
            held.wait()
    if not screen.is_terminal:
        screen.line()


def print_once(picture: Top) -> None:
    """The picture as plain text, as wide as the terminal."""
    wide = columns(COLUMNS)
    print(render(top_text(picture, wide, ROWS), wide))


def _fitting(picture: Top, console: Console, note: str = "") -> Text:
    # The line below the picture is the cursor's.
    return top_text(picture, console.width, max(4, console.height - 1), note)


def _bundle(picture: Top, note: str = "") -> dict[str, str]:
    text = top_text(picture, COLUMNS, ROWS, note)
    return {"text/plain": render(text, COLUMNS), "text/html": render_html(text, COLUMNS)}
