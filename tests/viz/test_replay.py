"""Replay: every moment of a run again, paced by a clock that tests set themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.errors import UnknownName
from pwlab.events import Fact, Noted
from pwlab.observe import Run
from pwlab.viz import Replay, render

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


@pytest.mark.parametrize(("speed", "batch"), [(0.0, 0.1), (-1.0, 0.1), (1.0, 0.0)])
def test_speeds_that_are_none(speed: float, batch: float) -> None:
    with pytest.raises(ValueError, match=r"speed and batch are above 0, not"):
        Replay(notes(1.0)).play(speed, clock=Jumping(), batch=batch)


def test_the_model_at_a_moment() -> None:
    replay = Replay(Run(tuple(runs.run())))
    assert not replay.at(0.5).nodes and len(replay.at(1.0).nodes) == 15
    assert replay.at().nodes.keys() == replay.model.nodes.keys()
    assert replay.seconds == pytest.approx(1.0162, abs=0.001)


def test_all_static_views() -> None:
    replay = Replay(Run(tuple(runs.run())), "mine")
    assert "encoder_block" in replay.graph().text and "<svg" in replay.graph("train_step").svg
    assert replay.timeline("train_step", colour="client").text.startswith("train_step\n16.0 ms wall")
    assert "nothing has been recorded yet" in replay.graph(at=0.5).text
    assert "nothing has run yet" in replay.timeline(at=0.5).text
    assert "1 program" in render(replay.summary()) and "0 programs" in render(replay.summary(at=0.5))
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


def test_a_view_is_saved_in_the_form_its_name_asks_for(tmp_path: Path) -> None:
    view = Replay(Run(tuple(runs.run()))).timeline()
    assert view.save(tmp_path / "a.svg").read_text(encoding="utf-8") == view.svg
    assert view.save(tmp_path / "a.txt").read_text(encoding="utf-8") == view.text == str(view) == repr(view)
    assert view.html in view.save(tmp_path / "a.html").read_text(encoding="utf-8") and view._repr_html_() == view.html
    with pytest.raises(ValueError, match=r"'a\.png' names no form; end it with one of \.svg, \.html, \.txt"):
        view.save(tmp_path / "a.png")
