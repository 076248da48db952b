"""Still pictures and tables of utilisation, memory and clients, from the same numbers as the live tabs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import get_args

import pytest
from observe.simulated import Simulated

from pwlab.events import ClientKnown, NodeAdded, NodeHeld, NodeMoved, NodeState, ProgramOpened
from pwlab.ids import NodeId, ProgramId
from pwlab.observe import MemoryRow, Part, Run
from pwlab.viz import StaticView, usage_view
from pwlab.viz.palette import LIGHT, PART_MARKS
from pwlab.viz.tables import Figures, name_cell, render
from pwlab.viz.usage import SUBJECTS, Subject, grouped, sliding

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
