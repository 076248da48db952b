"""Still pictures and tables of utilisation, memory and clients, from the same numbers as the live tabs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import get_args

import pytest
from dashboard.runs import run as long_run
from observe.simulated import Simulated

from pwlab.events import (
    ClientKnown,
    Fact,
    NodeAdded,
    NodeEnded,
    NodeHeld,
    NodeMoved,
    NodeState,
    ProgramEnded,
    ProgramOpened,
)
from pwlab.ids import NodeId, ProgramId
from pwlab.observe import MemoryRow, Part, Run
from pwlab.viz import StaticView, usage_view
from pwlab.viz.palette import LIGHT, PART_MARKS
from pwlab.viz.shares import BANDS, IN_ORDER, Band, shares_picture, sliding
from pwlab.viz.tables import Figures, name_cell, render
from pwlab.viz.usage import SUBJECTS, Subject, grouped
from pwlab.viz.usage_page import Page

from . import runs
from .test_svg import NASTY

SUBJECT_NAMES: tuple[Subject, ...] = get_args(Subject)


def views(run: Run) -> dict[Subject, StaticView]:
    return {subject: usage_view(run.stats, run.model, subject) for subject in SUBJECTS}


def test_every_part_has_a_colour_and_all_but_the_first_and_last_a_mark() -> None:
    assert len(LIGHT.parts) == len(PART_MARKS) == len(Part) and tuple(SUBJECTS) == SUBJECT_NAMES
    assert [part for part, mark in zip(Part, PART_MARKS, strict=True) if not mark] == [Part.COMPUTING, Part.NOTHING]


@pytest.mark.parametrize("seed", range(3))
def test_pictures_are_well_formed_and_small_and_say_what_the_tables_say(seed: int) -> None:
    run = Run(tuple(Simulated(seed).facts))
    held = usage_view(run.stats, run.model, "clients")
    for view in views(run).values():
        ET.fromstring(view.svg)
        assert len(view.svg) < 200_000
        assert max(map(len, view.text.splitlines())) <= 110
    for row in run.stats.usage.view().clients:
        line = next(line for line in held.text.splitlines() if line.startswith(row.name))
        assert f"{row.got:.0%}" in line or "<1%" in line or ">99%" in line
        assert f"{row.launches:,}" in line


def test_what_launches_work_in_is_told_beside_the_holders() -> None:
    p, node = ProgramId(1), NodeId(1)
    facts = [
        *runs.run()[:5],
        ProgramOpened(1.0, p, "train", "alice", None),
        NodeAdded(1.0, p, runs.node(1, "f", runs.A)),
    ]
    launch = NodeMoved(1.0, node, NodeState.LAUNCHED, *runs.WHERE[runs.A], scratch=1 << 20)
    text = views(Run((*facts, launch)))["memory"].text
    assert "launches in flight work in 4.0 MB more" in text
    ended = NodeEnded(2.0, node, NodeState.DONE, 1.0, 2.0, *runs.WHERE[runs.A])
    assert "in flight work in" not in views(Run((*facts, launch, ended)))["memory"].text


def test_what_is_held_back_is_told_with_its_client_and_its_bytes() -> None:
    p, spec = ProgramId(1), runs.node(1, "big_step", runs.A)
    facts = runs.run()[:5]
    facts += [ClientKnown(0.5, "alice", 2.0, max_bytes=1 << 20), ProgramOpened(1.0, p, "train", "alice", None)]
    facts.append(NodeAdded(1.0, p, spec))
    facts += [NodeMoved(1.0, NodeId(1), s, *runs.WHERE[runs.A]) for s in (NodeState.PREPARED, NodeState.QUEUED)]
    run = Run((*facts, NodeHeld(2.0, NodeId(1), "device 0", 3 << 20), NodeAdded(5.0, p, runs.node(2, "f", runs.A))))
    shown = views(run)
    line = next(line for line in shown["memory"].text.splitlines() if line.startswith("big_step"))
    assert line.split() == ["big_step", "alice", "Cell", "In[4]:1", "device", "0", "3.0", "MB", "3.00", "s"]
    assert "1 launch held back" in shown["memory"].words
    assert "0 B of 1.0 MB" in shown["clients"].text
    assert "memory" in shown["utilisation"].text
    whole = run.stats.usage.view()
    assert whole.devices[runs.devices(0)[0]].parts[Part.MEMORY] == pytest.approx(3.0)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_harmless(name: str) -> None:
    p = ProgramId(1)
    facts = [*runs.run()[:5], ProgramOpened(1.0, p, name, name, None), NodeAdded(1.0, p, runs.node(1, name, runs.A))]
    for view in views(Run((*facts, NodeHeld(1.5, NodeId(1), name, 7)))).values():
        ET.fromstring(view.svg)
        assert "<script" not in view.html and "\x1b" not in view.text and len(view.text) < 8_000


@pytest.mark.parametrize("columns", [50, 60, 80, 100, 140])
def test_names_are_shortened_and_figures_never(columns: int) -> None:
    table = Figures("name", "=", ">share", ">waiting for input", ">memory")
    for k in range(3):
        table.add_row(name_cell(f"a rather long name, {k}", 40), "█" * 12, "100%", "1 h 02 min", "20.0 KB of 16.0 GB")
    lines = render(table, columns).splitlines()
    assert all(len(line) <= columns for line in lines)
    for line in lines[-3:]:
        assert line.endswith("20.0 KB of 16.0 GB") and line.split("  ")[0].startswith("a rather")
        assert "100%" in line and "1 h 02 min" in line
        assert ("█" * 12 in line) == ("█" in line) == (columns >= 80)
        assert ("…" in line) == (columns < 60)
    assert {"waiting", "input"} <= set(" ".join(lines[:-3]).split())


def test_nothing_yet() -> None:
    for view in views(Run(())).values():
        ET.fromstring(view.svg)
        assert view.text.strip()


def test_devices_that_hold_and_held_the_same_are_one_row() -> None:
    def row(number: int, series: tuple[int, ...]) -> MemoryRow:
        return MemoryRow(f"device {number}", runs.WHERE[runs.A][0], runs.devices(number), 5, 9, 10, series)

    rows = grouped([row(0, (9, 5)), row(1, (9, 5)), row(2, (5, 9)), row(3, (9, 5))])
    assert [(r.name, r.devices) for r in rows] == [
        ("devices 0–1", runs.devices(0, 1)),
        ("device 2", runs.devices(2)),
        ("device 3", runs.devices(3)),
    ]


def test_parts_in_a_window_that_slides() -> None:
    assert sliding([[1, 1, 0, 0], [1, 3, 0, 4]], 4) == ([[0.5, 0.25, 0, 0], [0.5, 0.75, 0, 1]], 1)
    assert sliding([], 480) == ([], 20)


def test_few_clients_stand_as_they_came_and_each_has_a_band() -> None:
    run = Run(tuple(Simulated(1).facts))
    view = run.stats.usage.view()
    names = [row.name for row in view.clients]
    picture = shares_picture(view, run.model)
    assert sorted(row.name for band in picture.bands for row in band.rows) == sorted(names)
    assert all(len(band.rows) == 1 for band in picture.bands)
    assert [trend.row.name for trend in picture.trends] == names


def test_of_many_clients_the_smaller_are_one_band_and_who_is_starved_comes_first() -> None:
    run = Run(tuple(long_run(600, 20, clients=12)))
    view = run.stats.usage.view()
    names = [row.name for row in view.clients]
    *own, others = shares_picture(view, run.model).bands

    def took(band: Band) -> list[float]:
        return [row.spent.parts[Part.COMPUTING] for row in band.rows]

    assert len(names) > IN_ORDER and len(own) == BANDS and all(len(band.rows) == 1 for band in own)
    assert sum(len(band.rows) for band in (*own, others)) == len(names)
    assert min(took(band)[0] for band in own) >= max(took(others))
    assert sum(band.asked for band in (*own, others)) == pytest.approx(1)
    for parts in zip(*(band.parts for band in (*own, others)), strict=True):
        assert sum(parts) == pytest.approx(1) or sum(parts) == 0
    some = {names[5]: 0.4, names[8]: 0.1, names[9]: 1.04}
    starved = replace(view, clients=tuple(replace(r, got=r.asked * some.get(r.name, 1.0)) for r in view.clients))
    told = [trend.row.name for trend in shares_picture(starved, run.model).trends]
    assert told == [names[8], names[5], *names[:5], *names[6:8], *names[9:]]


def contended(*programs: tuple[str, float, float, list[tuple[float, float]]]) -> Run:
    """Programs of clients: opened, ended, and when their launches ran; ``alice`` has three shares, others one."""
    facts: list[Fact] = [*runs.run()[:5], ClientKnown(0.5, "alice", 3.0)]
    for i, (client, opened, ended, ran) in enumerate(programs, 1):
        p = ProgramId(i)
        facts.append(ProgramOpened(opened, p, "train", client, None))
        for k, (start, end) in enumerate(ran):
            id = 100 * i + k
            facts.append(NodeAdded(opened, p, runs.node(id, "f", runs.A)))
            facts.append(NodeEnded(end, NodeId(id), NodeState.DONE, start, end, *runs.WHERE[runs.A]))
        facts.append(ProgramEnded(ended, p, NodeState.DONE))
    return Run(tuple(sorted(facts, key=lambda fact: fact.time)))


def test_what_a_client_asks_for_depends_on_who_wants_devices_then() -> None:
    run = contended(("alice", 1, 9, [(1, 7), (8, 9)]), ("bob", 3, 8, [(7, 8)]), ("alice", 12, 13, [(12, 13)]))
    picture = shares_picture(run.stats.usage.view(), run.model)
    alice, bob = picture.trends
    used, seconds = len(alice.parts), 9.0

    def at(second: float) -> tuple[tuple[float, float], tuple[float, float]]:
        bin = int(second / seconds * (used - 1)) + picture.bins
        return (alice.asked[bin], alice.parts[bin]), (bob.asked[bin], bob.parts[bin])

    near = pytest.approx
    assert at(1) == ((near(1), near(1)), (0, 0)), "alone, it asks for all"
    assert at(3) == ((near(0.75), near(1)), (near(0.25), 0)), "bob is there, and starved"
    assert at(6.3) == ((near(0.75), near(0)), (near(0.25), near(1)))
    assert at(8.2) == ((near(1), near(1)), (0, 0)), "bob is gone; the pause takes no bins"
    a, b = picture.bands
    assert (a.asked, b.asked) == (near(1 - 0.25 * 5 / 9, abs=0.02), near(0.25 * 5 / 9, abs=0.02))


def test_programs_that_were_forgotten_move_nothing() -> None:
    run = contended(*((("alice", "bob")[i % 2], 2 * i, 2 * i + 1, [(2 * i, 2 * i + 1)]) for i in range(1, 9)))
    whole = shares_picture(run.stats.usage.view(), run.model).trends
    for program in list(run.model.programs)[:4]:
        del run.model.programs[program]
    later = shares_picture(run.stats.usage.view(), run.model).trends
    half = len(whole[0].asked) // 2 + 2 * shares_picture(run.stats.usage.view(), run.model).bins
    for before, after in zip(whole, later, strict=True):
        assert after.parts == before.parts
        assert after.asked[half:] == pytest.approx(before.asked[half:])


def test_the_picture_of_clients_names_those_that_have_a_band_and_says_what_is_not_as_usual() -> None:
    run = Run(tuple(long_run(600, 20, clients=12)))
    picture = shares_picture(run.stats.usage.view(), run.model)
    svg = usage_view(run.stats, run.model, "clients").svg
    texts = [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]
    assert texts.count("asked") == 1 and "5 others" in texts
    first = texts.index("launches") + 1
    assert texts[first::6][:12] == [trend.row.name for trend in picture.trends]
    broken = Run(tuple(Simulated(0).facts))
    failed = [row.failed for row in broken.stats.usage.view().clients if row.failed]
    svg = usage_view(broken.stats, broken.model, "clients").svg
    assert failed and all(f">{count} failed" in svg for count in failed)


@pytest.mark.parametrize(("seconds", "ticks"), [(0.248, "0|50 ms|100 ms|150 ms|200 ms"), (3.22, "0|1 s|2 s|3 s")])
def test_times_below_a_chart_are_round(seconds: float, ticks: str) -> None:
    page = Page("p")
    page.axis(16, 900, seconds)
    assert "|".join(re.findall(">([^<]+)</text>", "".join(page.parts))) == ticks
