"""A recorded run, looked at again: every view, at any moment, without a device.

    run = pw.replay("run.jsonl")
    run                             # in a notebook: the dashboard, with a scrubber and paced playback
    run.show("graph")               # one view of it
    run.timeline()                  # a still picture, as it was at the end
    run.graph(at=0.5)               # as it was half a second in
    for time, facts in run.play(speed=10, clock=clock):
        ...                         # as it came, ten times as fast

Nothing here sleeps: :meth:`Replay.play` paces itself by a clock that is handed in, so that a test can jump.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from .. import checks
from ..errors import UnknownName, unknown
from ..events import Fact
from ..ids import ProgramId
from ..observe import Run, RunModel, RunStats, told
from .graph import Grouping, picture
from .summary import summary
from .tables import render
from .text import TEXT_LIMIT
from .timeline import Colour, timeline
from .usage import Subject
from .view import StaticView, Tab, checked, graph_view, timeline_view, usage_view

if TYPE_CHECKING:
    from rich.console import Group

    from .dashboard.replayed import ReplayWidget


class Clock(Protocol):
    """What paces a replay: it tells the time in seconds, and waits until a time."""

    def now(self) -> float: ...

    def wait_until(self, time: float) -> None: ...


class Replay:
    """A run as its views show it.

    Attributes:
      run: its facts.
      name: as it shows in views.
    """

    def __init__(self, run: Run, name: str = "run"):
        self.run = run
        self.name = name
        self._widgets: list[ReplayWidget] = []

    @property
    def seconds(self) -> float:
        """From the first program or wait to the end: where the scrubber ends."""
        return self.run.seconds

    @property
    def model(self) -> RunModel:
        """The model at the end."""
        return self.run.model

    @property
    def stats(self) -> RunStats:
        """The numbers at the end."""
        return self.run.stats

    def at(self, time: float | None = None) -> RunModel:
        """The model at a moment, in seconds of the scrubber; at the end if not given, or if it is beyond.

        Raises:
          ValueError: it is no number, or below 0.
        """
        return self.model if time is None else self.run.at(self._checked(time))

    def show(self, tab: Tab | None = None, *, explain: bool = False, height: int = 560) -> None:
        """Displays the dashboard of the run, which plays in the browser alone; outside a notebook, prints the end.

        Where no JavaScript runs a notebook shows the end too, as pictures: of one view, that view's.

        Args:
          tab: one view alone: ``timeline``, ``graph``, ``utilisation``, ``memory`` or ``clients``.
          explain: add what the words mean, for learners.
          height: pixels.

        Raises:
          UnknownName: no such tab; the nearest is suggested.
        """
        checked(tab)
        still = self if tab is None else self._still(tab)
        from .dashboard import kernel, replayed  # imports anywidget, which a still picture need not

        if kernel.shell() is None:
            print(still)
            return
        widget = replayed.replay_widget(self.run, tab, explain=explain, height=height)
        self._widgets.append(widget)
        replayed.show_replay(widget, still._repr_html_(), str(still))

    def _ipython_display_(self) -> None:
        self.show()

    def close(self) -> None:
        """Frees what was displayed; its still pictures stay."""
        while self._widgets:
            self._widgets.pop().close()

    def graph(self, program: str | None = None, at: float | None = None, by: Grouping | None = None) -> StaticView:
        """The dataflow graph, of one program or of all; ``by`` groups its nodes by cell, slice or client."""
        model = self.at(at)
        chosen = self._programs(program, model)
        return graph_view(picture(model, chosen, by=by), picture(model, chosen, by=by, limit=TEXT_LIMIT))

    def timeline(
        self, program: str | None = None, at: float | None = None, colour: Colour = "computation"
    ) -> StaticView:
        """The schedule, of one program or of all."""
        model = self.at(at)
        return timeline_view(timeline(model, self._programs(program, model), colour=colour))

    def utilisation(self, at: float | None = None) -> StaticView:
        """What the devices spent the time on: shares of each, and over time, in seconds."""
        return self._usage("utilisation", at)

    def memory(self, at: float | None = None) -> StaticView:
        """Bytes on each device over time, what is held, and what waits for memory."""
        return self._usage("memory", at)

    def clients(self, at: float | None = None) -> StaticView:
        """What each client asked for and got of the device time, 0 to 1."""
        return self._usage("clients", at)

    def summary(self, at: float | None = None) -> Group:
        """What ran where, and how busy each device was; for rich to print."""
        return summary(*self._moment(at))

    def play(self, speed: float = 1.0, *, clock: Clock, batch: float = 0.1) -> Iterator[tuple[float, tuple[Fact, ...]]]:
        """The facts as they came: (seconds from the start, the facts since the last time), ten times a second.

        Times without facts are passed over in silence, at their pace.  A reader that is late gets what it missed in
        one batch.

        Args:
          speed: 10 plays ten times as fast.
          batch: seconds of the clock between two batches.

        Raises:
          ValueError: the speed or the batch is no number above 0.
        """
        speed, batch = checks.above_0("speed", speed), checks.above_0("batch", batch)
        return self._play(speed, clock, batch)

    def _play(self, speed: float, clock: Clock, batch: float) -> Iterator[tuple[float, tuple[Fact, ...]]]:
        # What lasts is told when it is over; what the session began with, at once.
        facts = sorted(self.run.facts, key=told)
        moments = [max(0.0, told(fact) - self.run.begin) for fact in facts]
        began, done = clock.now(), 0
        while done < len(facts):
            due = began + moments[done] / speed
            # At the next full batch, so that facts which come close together go together.
            clock.wait_until(max(due, clock.now() + batch) if done else due)
            played = (clock.now() - began) * speed
            # Rounding must not leave the very fact for which we waited.
            until = max(played, moments[done])
            first = done
            while done < len(facts) and moments[done] <= until:
                done += 1
            yield until, tuple(facts[first:done])

    def _moment(self, at: float | None) -> tuple[RunModel, RunStats]:
        if at is None:
            return self.model, self.stats
        moment = self._checked(at)
        return self.run.at(moment), self.run.stats_at(moment)

    def _checked(self, at: float) -> float:
        moment = checks.real("at", at)
        if not moment >= 0:
            raise ValueError(f"at is {at}; it is a moment of the run, from 0 to {self.seconds:.6g} seconds")
        return moment

    def _usage(self, subject: Subject, at: float | None) -> StaticView:
        model, stats = self._moment(at)
        return usage_view(stats, model, subject)

    def _still(self, tab: Tab) -> StaticView:
        """One view as it was at the end."""
        return self.graph() if tab == "graph" else self.timeline() if tab == "timeline" else self._usage(tab, None)

    def _programs(self, name: str | None, model: RunModel) -> list[ProgramId] | None:
        return None if name is None else [newest_called(name, model)]

    def _repr_html_(self) -> str:
        return self.timeline().html + self.graph().html

    def __str__(self) -> str:
        return f"{render(self.summary())}\n\n{self.timeline().text}"

    def __repr__(self) -> str:
        return f"Replay({self.name!r}, {self.run!r})"


def newest_called(name: str, model: RunModel) -> ProgramId:
    """The newest program of that name; ``"4"`` and ``"Cell In[4]"`` mean ``"In[4]"``, as everywhere.

    Raises:
      UnknownName: none has it; the nearest name is suggested.
    """
    checks.text("the name of a program", name)
    wanted = {name, f"In[{name}]", name.removeprefix("Cell ")}
    for program in reversed(model.programs.values()):
        if program.name in wanted:
            return program.id
    known = dict.fromkeys(program.name for program in reversed(model.programs.values()))
    older = "; its oldest detail is gone" if model.whole_from is not None else ""
    raise UnknownName(unknown("program of this run", name, known) + older)
