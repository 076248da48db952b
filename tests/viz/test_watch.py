"""``top`` drawn again and again: when it ends, what stays; of a recording, at which pace."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from rich.console import Console

import pwlab as pw
from pwlab.events import Fact, NodeState, Waited
from pwlab.observe import Run, RunModel, RunStats
from pwlab.viz import Top, render, top
from pwlab.viz.format import width
from pwlab.viz.top_text import top_text
from pwlab.viz.watch import NOTEBOOK_SECONDS, PAUSE, Played, Watched, beside, print_once, watch, watch_in_notebook

from . import runs
from .test_top import OPENED, everything, ran, with_islands


class Still:
    """A source that shows one picture, so many times at most."""

    def __init__(self, picture: Top, times: int = 1000):
        self._picture = picture
        self._left = times

    @property
    def ended(self) -> bool:
        return self._left <= 0

    def picture(self) -> Top:
        self._left -= 1
        return self._picture


class Keys:
    """A keyboard on which these keys are struck, one a period; a function is called instead."""

    def __init__(self, *keys: str | Callable[[], str]):
        self._keys: Iterator[str | Callable[[], str]] = iter(keys)
        self.asked = 0

    def wait(self, seconds: float) -> str:
        self.asked += 1
        key = next(self._keys)
        return key if isinstance(key, str) else key()


def interrupt() -> str:
    raise KeyboardInterrupt


def screen() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, height=24, color_system=None)


def drawn(console: Console) -> list[str]:
    """The pictures, the last without what was drawn before it."""
    assert isinstance(console.file, io.StringIO)
    return [f"pwlab top{part}" for part in console.file.getvalue().split("pwlab top")[1:]]


@pytest.mark.parametrize("last", ["q", "Q", interrupt])
def test_it_ends_at_q_and_at_an_interrupt(last: str | Callable[[], str]) -> None:
    console, keys = screen(), Keys("", "x", last)
    watch(Still(everything()), console=console, keys=keys)
    pictures = drawn(console)
    assert keys.asked == 3 and "q ends it" in pictures[0]
    # The last one stays, the cursor below it is to be seen again, and it no longer tells how to end it.
    assert "q ends it" not in pictures[-1] and pictures[-1].rstrip("\r\n").endswith("\x1b[?25h")


def test_it_ends_after_so_many_seconds() -> None:
    times = iter([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    keys = Keys("", "", "", "")
    watch(Still(everything()), 2.0, screen(), keys, lambda: next(times))
    assert keys.asked == 3


def test_it_ends_with_what_is_watched() -> None:
    keys = Keys("", "", "", "")
    watch(Still(everything(), 3), console=screen(), keys=keys)
    assert keys.asked == 2


# --- in a notebook ---------------------------------------------------------------------------


class Output:
    """Stands for IPython's display: what one output showed, one after the other."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def __call__(self, data: dict[str, str], **_: object) -> Output:
        self.shown.append(data)
        return self

    update = __call__


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Output:
    found = Output()
    monkeypatch.setattr("IPython.display.display", found)
    return found


class Time:
    """A clock that waiting moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("seconds", "took"), [(None, NOTEBOOK_SECONDS), (2.0, 2.0)])
def test_in_a_notebook_it_never_blocks_for_ever(output: Output, seconds: float | None, took: float) -> None:
    time = Time()
    watch_in_notebook(Still(everything()), seconds, time.wait, time)
    assert time.now == took
    assert set(output.shown[0]) == {"text/plain", "text/html"}
    assert "interrupt the cell to end it" in output.shown[0]["text/plain"]
    assert "interrupt the cell" not in output.shown[-1]["text/plain"]


def test_in_a_notebook_it_ends_when_nothing_runs(output: Output) -> None:
    time = Time()
    watch_in_notebook(Still(top(RunModel(), RunStats(), 0.0)), None, time.wait, time)
    assert time.now == 0.0 and "nothing runs" in output.shown[-1]["text/plain"]


def test_in_a_notebook_an_interrupt_ends_it(output: Output) -> None:
    watch_in_notebook(Still(everything()), None, lambda _: interrupt(), Time())
    assert len(output.shown) == 2


def test_names_are_escaped_in_a_notebook(output: Output) -> None:
    facts = [*runs.run()[:5], pw.events.ProgramOpened(0.0, runs.P, "<script>", "main", None), *ran(1, 1.0)]
    watch_in_notebook(Still(Played(Run(tuple(facts))).last()), 0.0)
    assert "&lt;script&gt;" in output.shown[0]["text/html"] and "<script" not in output.shown[0]["text/html"]


# --- recordings ------------------------------------------------------------------------------


def recorded(*facts: object) -> Run:
    return Run(tuple(fact for fact in with_islands([OPENED, *facts]) if isinstance(fact, Fact)))


def test_a_recording_plays_at_its_pace() -> None:
    time = Time()
    played = Played(recorded(*ran(1, 1.0, 3.0), *ran(2, 3.0, 4.0)), 2.0, time)
    assert played.picture().counts == () and not played.ended
    time.now = 1.0  # two seconds of the run
    picture = played.picture()
    assert picture.count(NodeState.LAUNCHED) == 1 and picture.islands[0].computing == pytest.approx(0.5)
    time.now = 5.0
    assert played.picture().seconds == 4.0 and played.ended


def test_pauses_in_which_nothing_runs_are_cut() -> None:
    time = Time()
    played = Played(recorded(*ran(1, 0.0, 1.0), *ran(2, 1000.0, 1001.0)), 1.0, time)
    time.now = 1.5
    assert played.picture().seconds == pytest.approx(1000.0 - PAUSE)
    time.now += PAUSE
    assert played.picture().count(NodeState.LAUNCHED) == 1


def test_a_wait_is_no_news_before_it_is_over() -> None:
    time = Time()
    played = Played(recorded(Waited(1.0, 3.0, "float(x)", None), *ran(1, 2.0, 5.0)), 1.0, time)
    for at, news in ((2.5, []), (4.5, ["waited"])):
        time.now = at
        assert [one.kind for one in played.picture().news] == news


def test_a_damaged_recording_says_so_and_where_it_is_cut_off() -> None:
    time = Time()
    played = Played(replace(recorded(*ran(1, 0.0, 1.0), *ran(2, 1.0)), damage="run.jsonl ends after line 9"), 1.0, time)
    time.now = 0.5
    before, after = (render(top_text(picture, 80, 24), 80) for picture in (played.picture(), played.last()))
    for text in (before, after):
        assert text.splitlines()[2] == "damaged: run.jsonl ends after line 9"
    assert "▶ 1 running" in before and "cut off" not in before
    assert "┆ 1 cut off" in after and "running" not in after


def test_a_recording_whose_oldest_detail_is_gone_says_so() -> None:
    held = replace(recorded(*ran(1, 0.0, 1.0), *ran(2, 1.0, 3.0)), missing=5, gap=1.0)
    told = "the oldest detail is gone: the last 2.00 s are whole, and shares are of those"
    assert Played(held).last().doubts == told


def test_the_end_of_a_recording() -> None:
    played = Played(Run(tuple(runs.run())))
    assert played.last() == everything() and played.ended


def test_a_speed_is_above_0() -> None:
    with pytest.raises(ValueError, match="the speed of a replay is -1; it is above 0"):
        Played(recorded(), -1.0)


# --- sessions --------------------------------------------------------------------------------


def test_a_session_is_watched(session: pw.Session) -> None:
    import jax.numpy as jnp

    source = Watched(session)
    with pw.lazy():
        x = jnp.ones(8) + 1
    pw.wait(x)
    session.steering.pause()
    source.wait()
    picture = source.picture()
    assert picture.glance.paused and picture.glance.policy == "fifo"
    assert [island.name for island in picture.islands] == ["island0", "island1"]
    assert any(device.bytes for device in picture.islands[0].devices)
    session.steering.resume()
    pw.shutdown()
    assert source.ended and source.picture().islands


@contextmanager
def beside_it() -> Iterator[io.StringIO]:
    """What is written beside the block, where nothing can be drawn."""
    out = io.StringIO()
    with beside(Console(file=out, width=80, height=40)):
        yield out


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWLAB_NONINTERACTIVE", "1")


@pytest.mark.usefixtures("batch")
def test_beside_a_script(session: pw.Session) -> None:
    with beside_it() as out:
        pass
    text = out.getvalue()
    assert text.startswith("pwlab top") and "island1" in text and text.endswith("\n")
    pw.shutdown()
    with beside_it() as out:
        pass
    assert out.getvalue() == "no session has been started\n"


@pytest.mark.usefixtures("batch")
def test_of_a_session_that_a_script_stops_the_last_moment_is_shown() -> None:
    import jax.numpy as jnp

    pw.shutdown()
    with beside_it() as out:
        pw.start(islands=1, devices_per_island=2)
        with pw.lazy("before the end"):
            x = jnp.ones(8) + 1
        pw.wait(x)
        pw.shutdown()
    assert "island0" in out.getvalue() and "pw.wait" in out.getvalue()
    with beside_it() as out:
        for islands in (1, 2):
            pw.start(islands=islands, devices_per_island=2)
        pw.shutdown()
    assert "island1" in out.getvalue(), "the session that was started last"


@pytest.mark.parametrize("wide", [50, 60, 120])
def test_what_is_printed_once_is_as_wide_as_the_terminal(
    wide: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(wide))
    print_once(everything())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(width, lines)) <= wide and lines[0].startswith("pwlab top")
    assert lines[-1].startswith("▒ waited 4.00 ms at Cell In[4]:6")
