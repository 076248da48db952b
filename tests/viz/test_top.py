"""What runs at a moment, as data and as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pwlab.events import (
    ClientKnown,
    Dispatch,
    NodeAdded,
    NodeEnded,
    NodeMoved,
    NodeState,
    Noted,
    ProgramOpened,
    SettingsKnown,
    WaitBegan,
)
from pwlab.ids import NodeId, ProgramId, Source
from pwlab.observe import RunModel, RunStats, model_of, stats_of
from pwlab.viz.format import width
from pwlab.viz.top import Glance, Top, TopClient, TopNews, top
from pwlab.viz.top_text import top_line, top_text

from . import runs
from .test_svg import NASTY, nasty


def fold(facts: list[object]) -> tuple[RunModel, RunStats]:
    return model_of(facts), stats_of(facts)  # type: ignore[arg-type]


def everything(after: float = 0.0) -> Top:
    """The picture of the run that has everything, so many seconds after its newest fact."""
    model, stats = fold(list(runs.run()))
    return top(model, stats, model.now + after)


def with_islands(facts: list[object]) -> list[object]:
    """Facts of a machine with two islands of four devices."""
    return [*runs.run()[:5], *facts]


def ran(number: int, start: float, end: float | None = None) -> list[object]:
    """A computation on the four devices of island 0 that is launched, and may end."""
    place = runs.WHERE[runs.A]
    id = NodeId(number)
    facts: list[object] = [
        NodeAdded(start, runs.P, runs.node(number, "f", runs.A)),
        NodeMoved(start, id, NodeState.QUEUED, *place),
        NodeMoved(start, id, NodeState.LAUNCHED, *place),
    ]
    return facts if end is None else [*facts, NodeEnded(end, id, NodeState.DONE, start, end, *place)]


OPENED = ProgramOpened(0.0, runs.P, "p", "main", None)


def test_what_runs_and_what_waits() -> None:
    picture = everything()
    assert picture.counts == (
        (NodeState.WAITING, 2),
        (NodeState.PREPARED, 1),
        (NodeState.QUEUED, 1),
        (NodeState.LAUNCHED, 1),
    )
    first, second = picture.islands
    assert (first.name, first.in_flight, first.queued) == ("island0", 0, 1)
    assert (second.name, second.in_flight, second.queued) == ("island1", 1, 0)
    assert [device.runs for device in second.devices] == ["loss", "loss", "", ""]
    assert [device.bytes for device in second.devices] == [385 << 9, 385 << 9, 64 << 10, 64 << 10]
    [program] = picture.programs
    assert (program.name, program.done, program.nodes) == ("train_step", 7, 15)


def test_the_newest_news_come_first() -> None:
    news = everything(1.0).news
    assert [one.kind for one in news] == ["failed", "waited", "waited"]
    assert news[0].text.startswith("attention: XlaRuntimeError") and str(news[0].source) == "Cell In[4], line 5"
    assert news[1].text == "print(x)" and news[1].seconds == 0.001
    assert [one.ago for one in news] == sorted(one.ago for one in news)


def test_what_goes_on_waiting_comes_first() -> None:
    source = Source("Cell In[7]", 2, "float(z)")
    picture = top(*fold([*runs.run(), WaitBegan(1.5, "float(z)", source)]), 4.0)
    assert picture.news[0] == TopNews(0.0, "waiting", "float(z)", source, 2.5)
    assert "▒ waiting 2.50 s at Cell In[7]:2: float(z)" in top_text(picture, 100).plain


@pytest.mark.parametrize(
    ("facts", "now", "share"),
    [
        (ran(1, 0.0, 1.0), 2.0, 0.5),
        (ran(1, 0.0, 1.0), 4.0, 0.0),  # the last three seconds alone
        (ran(1, 1.0), 2.0, 0.5),  # it has not ended
        (ran(1, 0.0, 1.0) + ran(2, 0.5), 2.0, 1.0),  # what overlaps counts once
        (ran(1, 0.0, 10.0), 10.0, 1.0),
        ([], 2.0, 0.0),
    ],
)
def test_utilisation_of_the_last_seconds(facts: list[object], now: float, share: float) -> None:
    picture = top(*fold(with_islands([OPENED, *facts])), now)
    assert [device.computing for device in picture.islands[0].devices] == [pytest.approx(share)] * 4
    assert picture.islands[1].computing == 0.0 and picture.computing == pytest.approx(share / 2)


def test_where_not_all_of_the_window_is_kept_the_rest_of_it_counts() -> None:
    launches = [fact for i in range(3000) for fact in ran(i + 1, i * 1e-3, i * 1e-3 + 5e-4)]
    picture = top(*fold(with_islands([OPENED, *launches])), 3.0)
    assert picture.islands[0].computing == pytest.approx(0.5, abs=0.01)


def test_clients() -> None:
    facts: list[object] = [
        ClientKnown(0.0, "alice", 3.0, 0, None, None),
        ClientKnown(0.0, "bob", 1.0, 0, None, None),
        ProgramOpened(0.0, runs.P, "p", "alice", None),
        ProgramOpened(0.0, ProgramId(2), "q", "bob", None),
        *ran(1, 0.0, 1.0),
        *ran(2, 1.0),
        NodeAdded(1.0, ProgramId(2), runs.node(3, "g", runs.A)),
    ]
    picture = top(*fold(with_islands(facts)), 2.0, Glance("fifo", True, frozenset({"bob"})))
    alice, bob = picture.clients
    assert (alice.name, alice.asked, alice.got, alice.in_flight, alice.waiting) == ("alice", 1.0, 1.0, 1, 0)
    assert (bob.name, bob.asked, bob.got, bob.waiting, bob.suspended) == ("bob", 0.25, 0.0, 1, True)
    text = top_text(picture, 80, 30).plain
    assert "PAUSED" in text and "policy fifo" in text and "suspended" in text
    assert "alice   ██████████ 100%  ██████████ 100%  1 in flight, 0 waiting" in text
    assert top_line(picture, 200).endswith("alice, bob suspended") and top_line(picture).startswith("PAUSED")


def test_where_room_is_short_the_line_keeps_what_is() -> None:
    paused = replace(everything(), glance=Glance("fifo", True))
    assert "PAUSED: %pw step, %pw resume │" in top_line(paused, 200)
    for columns, bars in ((90, 2), (72, 0)):
        line = top_line(paused, columns)
        assert line.startswith("PAUSED │ ") and "island0" in line and "island1" in line
        assert line.count("·") + line.count("█") == 6 * bars and width(line) <= columns
    assert "…" in top_line(paused, 40)


@pytest.mark.parametrize("columns", range(20, 120))
def test_what_is_shortened_twice_is_marked_once(columns: int) -> None:
    client = TopClient("x" * 100, 1.0, 1.0, 1, 0, 0, False)
    assert "……" not in top_line(replace(everything(), clients=(client, client)), columns)


def test_the_policy_of_a_recording_is_that_of_the_moment() -> None:
    facts: list[object] = [
        SettingsKnown(0.0, "fifo", Dispatch.PARALLEL, 16),
        SettingsKnown(1.0, "shortest", Dispatch.PARALLEL, 16),
    ]
    assert top(*fold(facts[:1]), 1.0).glance.policy == "fifo"
    assert "policy shortest" in top_text(top(*fold(facts), 1.0), 80, 30).plain
    assert "policy own" in top_text(top(*fold(facts), 1.0, Glance("own")), 80, 30).plain


def test_the_screen() -> None:
    lines = top_text(everything(), 100, 40, "q ends it").plain.splitlines()
    assert lines[0] == "pwlab top  16.0 ms  ○ 2 waiting  ◔ 1 prepared  ◑ 1 queued  ▶ 1 running"
    assert lines[1].endswith("of the last 16.0 ms  q ends it")
    assert lines[2] == "programs  train_step 7 of 15"
    assert "island1  4 × cpu  1 in flight, 0 queued" in lines
    assert any(line.startswith("  device 4  ") and line.endswith("192 KB  loss") for line in lines)
    assert any(line.startswith("✗ failed at Cell In[4]:5, ") for line in lines)


def test_an_empty_run() -> None:
    picture = top(RunModel(), RunStats(), 5.0)
    assert top_text(picture).plain == "pwlab top  0 ms  nothing runs\ncomputing 0% of the last 0 ms"
    assert top_line(picture) == "▶ 0 running ◑ 0 queued"


@pytest.mark.parametrize("rows", [6, 12, 24, 50])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_it_fits(columns: int, rows: int) -> None:
    lines = top_text(everything(), columns, rows, "q ends it").plain.splitlines()
    assert len(lines) <= rows and max(map(width, lines)) <= columns
    assert width(top_line(everything(), columns)) <= columns


def test_of_many_devices_the_busiest_are_shown() -> None:
    picture = everything()
    first = picture.islands[0]
    idle = tuple(replace(first.devices[0], device=i, computing=i / 100) for i in range(64))
    text = top_text(replace(picture, islands=(replace(first, devices=idle),)), 80, 16).plain
    assert "device 63 " in text and "device  0 " not in text and "and 57 other devices" in text


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_harmlessly(name: str) -> None:
    model = nasty(name)
    model.notes.append(Noted(1.0, name))
    picture = top(model, RunStats(), model.now)
    for text in (top_text(picture, 80, 30).plain, top_line(picture, 80)):
        assert all(width(line) <= 80 and line.isprintable() for line in text.splitlines())
