"""Replay: every moment of a run again, paced by a clock that tests set themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.errors import UnknownName
from pwlab.events import ControllerWorked, Fact, Noted, ProgramOpened, Waited
from pwlab.ids import NodeId
from pwlab.observe import Run, SpanKind
from pwlab.viz import Replay, render, timeline

from . import runs


class Jumping:
    """A clock that is where it is asked to wait for; ``slow`` is how long its reader takes."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slow = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def wait_until(self, time: float) -> None:
        self.waits.append(time)
        self.time = max(self.time, time)


def notes(*times: float) -> Run:
    return Run(tuple(Noted(time, f"at {time}") for time in times))


def test_it_plays_at_its_pace() -> None:
    clock = Jumping()
    played = list(Replay(notes(5.0, 6.0, 8.0)).play(speed=2.0, clock=clock))
    assert [(time, [f.time for f in facts]) for time, facts in played] == [(0.0, [5.0]), (1.0, [6.0]), (3.0, [8.0])]
    assert clock.waits == [100.0, 100.5, 101.5]


def test_facts_that_come_close_together_go_together() -> None:
    run = notes(*(i / 1000 for i in range(1000)))
    played = list(Replay(run).play(clock=Jumping(), batch=0.1))
    assert len(played) == 11 and sum(len(facts) for _, facts in played) == 1000


def test_a_late_reader_gets_what_it_missed_at_once() -> None:
    clock = Jumping()
    counts: list[int] = []
    for _, facts in Replay(notes(*map(float, range(10)))).play(clock=clock):
        counts.append(len(facts))
        clock.time += 4.0
    assert counts == [1, 4, 4, 1]


@given(st.lists(st.floats(0, 1e6), max_size=30), st.floats(1e-3, 1e3), st.floats(0.01, 10))
def test_every_fact_is_played_once_in_order(times: list[float], speed: float, batch: float) -> None:
    played = list(Replay(notes(*times)).play(speed, clock=Jumping(), batch=batch))
    assert [fact.time for _, facts in played for fact in facts] == sorted(times)
    moments = [time for time, _ in played]
    assert moments == sorted(moments)


@pytest.mark.parametrize(
    ("speed", "batch", "says"),
    [
        (0.0, 0.1, "speed is 0; it is above 0"),
        (-1.0, 0.1, "speed is -1; it is above 0"),
        (1.0, 0.0, "batch is 0; it is above 0"),
        ("x", 0.1, "speed is a number, such as 1 or 2.5, not 'x'"),
    ],
)
def test_speeds_that_are_none(speed: float, batch: float, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Replay(notes(1.0)).play(speed, clock=Jumping(), batch=batch)


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("x", "at is a number, such as 1 or 2.5, not 'x'"),
        (-5, r"at is -5; it is a moment of the run, from 0 to 0\.01\d+ seconds"),
        (float("nan"), "at is nan; it is a moment of the run"),
        (True, "at is a number, such as 1 or 2.5, not True"),
    ],
)
def test_moments_that_are_none(at: float, says: str) -> None:
    replay = Replay(Run(tuple(runs.run())))
    for view in (replay.at, lambda at: replay.graph(at=at), lambda at: replay.timeline(at=at), replay.summary):
        with pytest.raises(ValueError, match=says):
            view(at)


def test_the_model_at_a_moment() -> None:
    replay = Replay(Run(tuple(runs.run())))
    begun, later = replay.at(0.0), replay.at(0.001)
    assert len(begun.nodes) == 15 and not begun.nodes[NodeId(1)].state.ended
    assert begun.now == 1.0 and later.now == 1.001, "moments count from the first program"
    assert replay.at().nodes.keys() == replay.at(1e9).nodes.keys() == replay.model.nodes.keys()
    assert replay.at(1e9).now == replay.model.now
    assert replay.seconds == pytest.approx(0.0162, abs=0.001)


LASTING = Run(
    (
        ProgramOpened(10.0, runs.P, "p", "main", None),
        ControllerWorked(11.0, 4.0, 2.0, 7, 3),
        Waited(11.0, 8.0, "float(x)", None),
        Noted(20.0, "end"),
    )
)


def test_a_moment_shows_nothing_of_the_future() -> None:
    replay = Replay(LASTING)
    view, later = replay.timeline(at=2.0).text, replay.timeline(at=9.5).text
    assert view.splitlines()[1].endswith("0 launches · 1 wait, 1.00 s · controller busy 25%")
    assert "2.0 s" in view.splitlines()[2] and "3.0 s" not in view, "nor does the axis"
    assert "1 wait, 8.00 s" in later and "controller busy 21%" in later
    assert "1.00 s" in render(replay.summary(at=2.0)) and "8.00 s" in render(replay.summary())
    (wait,) = [box for box in timeline(replay.at(2.0)).boxes if box.kind is SpanKind.WAIT]
    assert wait.open and "1.00 s so far, from 1.00 s" in wait.about
    (work,) = [box for box in timeline(replay.at(2.0)).boxes if box.kind is SpanKind.CONTROL]
    assert work.open and work.label == "at work" and work.about.endswith("\nat work 500 ms of it")
    (over,) = [box for box in timeline(replay.model).boxes if box.kind is SpanKind.CONTROL]
    assert not over.open and over.about.endswith("\ntook 7 events, gave 3 launches; at work 2.00 s of it")


def test_what_lasts_is_played_when_it_is_over() -> None:
    played = [(time, type(fact).__name__) for time, facts in Replay(LASTING).play(clock=Jumping()) for fact in facts]
    assert played == [(0.0, "ProgramOpened"), (5.0, "ControllerWorked"), (9.0, "Waited"), (10.0, "Noted")]


def test_what_the_session_began_with_is_played_at_once() -> None:
    clock = Jumping()
    played = list(Replay(Run(tuple(runs.run()))).play(clock=clock))
    assert played[0][0] == 0.0 and len(played[0][1]) > len(runs.NODES) and clock.waits[0] == 100.0


def test_all_static_views() -> None:
    replay = Replay(Run(tuple(runs.run())), "mine")
    assert "encoder_block" in replay.graph().text and "<svg" in replay.graph("train_step").svg
    assert replay.timeline("train_step", colour="client").text.startswith("train_step\n16.0 ms wall")
    assert "5 done" in replay.graph(at=0.0145).text.replace("✓ ", "") and "7 done" in replay.graph().text
    assert "1 program · 6 launches" in render(replay.summary()) and "0 launches" in render(replay.summary(at=0.001))
    assert "What the devices spent" in replay.utilisation().text and "Bytes on each device" in replay.memory().svg
    assert "client" in replay.clients().text and "0 ms active" in replay.clients(at=0.0).text
    assert replay._repr_html_().count("<img") == 2
    assert "What ran where" in str(replay) and "Timeline" not in repr(replay)
    assert repr(replay).startswith("Replay('mine', Run(")


def test_a_name_means_the_newest_program_and_the_nearest_is_suggested() -> None:
    replay = Replay(Run(tuple(runs.run())))
    with pytest.raises(UnknownName, match=r"no program of this run is called 'train'; did you mean 'train_step'\?"):
        replay.timeline("train")
    nobody: tuple[Fact, ...] = ()
    with pytest.raises(UnknownName, match=r"called 'x'\. There is none"):
        Replay(Run(nobody)).graph("x")
    with pytest.raises(ValueError, match="the name of a program is a text of one or more characters, not 4"):
        replay.graph(4)  # type: ignore[arg-type]


def test_of_many_programs_the_newest_are_listed_and_how_many_there_are_beside() -> None:
    names = ["x" * 10_000, "line\nbreak\x1b[31mred", *(f"p{i}" for i in range(30))]
    run = Run(tuple(ProgramOpened(i, i, name, "main", None) for i, name in enumerate(names)))  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match=r"There are: p29, p28, .*, p18 and 20 more$") as caught:
        Replay(run).graph("zzz")
    assert len(str(caught.value)) < 200
    with pytest.raises(UnknownName) as caught:
        Replay(run).graph("line break")
    assert str(caught.value).isprintable()


def test_a_view_is_saved_in_the_form_its_name_asks_for(tmp_path: Path) -> None:
    view = Replay(Run(tuple(runs.run()))).timeline()
    assert view.save(tmp_path / "a.svg").read_text(encoding="utf-8") == view.svg
    assert view.save(tmp_path / "a.txt").read_text(encoding="utf-8") == view.text == str(view) == repr(view)
    assert view.html in view.save(tmp_path / "a.html").read_text(encoding="utf-8") and view._repr_html_() == view.html
    with pytest.raises(ValueError, match=r"'a\.png' names no form; end it with one of \.svg, \.html, \.txt"):
        view.save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"path is the name of a file, such as 'run\.jsonl', not 3"):
        view.save(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere for a\.svg; make it first"):
        view.save(tmp_path / "nowhere" / "a.svg")
