"""Terminal forms: the graph as lines, the tables, and that nothing in them is counted twice."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings

from pwlab.events import NodeAdded, Noted, SliceRefused
from pwlab.ids import SliceId
from pwlab.observe import RunModel, model_of, stats_of
from pwlab.units import bytes_text
from pwlab.viz import (
    TEXT_LIMIT,
    graph_text,
    islands_table,
    picture,
    programs_table,
    render,
    summary,
    waits_table,
)
from pwlab.viz.format import one_line, percent, ranges_text, seconds_text, width
from pwlab.viz.summary import bar

from . import runs
from .test_graph import models
from .test_svg import NASTY, nasty


def chain(count: int) -> RunModel:
    model = RunModel()
    for i in range(1, count + 1):
        model.add(NodeAdded(0.0, runs.P, runs.node(i, f"f{i}", runs.A, (i - 1,))))
    return model


def test_the_graph_in_lines() -> None:
    lines = graph_text(picture(model_of(runs.run()), runs.P)).splitlines()
    assert lines[:2] == [
        "train_step",
        "○ 2 waiting · ◔ 1 prepared · ◑ 1 queued · ▶ 1 running · ✓ 7 done · ✗ 2 failed · ⊘ 1 cancelled",
    ]
    art = [line[:13].rstrip() for line in lines[2:10]]
    assert art == ["✓", "│ ✓", "├─┤", "│ ✓", "│ ├─╮", "│ │ ✓", "│ │ ├─╮", "│ │ │ ✓"]
    assert any("╰ XlaRuntimeError: RESOURCE_EXHAUSTED" in line for line in lines)
    assert any("encoder_block ×6" in line for line in lines)
    assert max(map(width, lines)) <= 100


def test_a_chain_stays_at_the_left() -> None:
    lines = graph_text(picture(chain(50))).splitlines()
    assert len(lines) == 51
    assert all(line.startswith("○ ") for line in lines[1:])


def test_a_large_graph_is_grouped_or_cut() -> None:
    assert len(graph_text(picture(chain(500), limit=TEXT_LIMIT)).splitlines()) == 3
    lines = graph_text(picture(chain(500)), most=20).splitlines()
    assert lines[-1] == "… and 480 more"


@settings(deadline=None)
@given(models())
def test_every_node_has_its_line(model: RunModel) -> None:
    drawn = picture(model)
    lines = graph_text(drawn).splitlines()
    assert sum(" on " in line for line in lines) == len(drawn.nodes)
    assert max(map(width, lines)) <= 100 + 4


def test_islands_show_who_has_which_device() -> None:
    model = model_of(runs.run())
    model.add(SliceRefused(1.0, SliceId(9), "huge", "64 devices were asked for"))
    text = render(islands_table(model))
    rows = [line.split() for line in text.splitlines()]
    assert ["island0", "cpu", "4", "a", "0–3", "■", "■", "■", "■"] in rows
    assert ["island1", "cpu", "4", "b", "4–5", "■", "■", "·", "·"] in rows
    assert ["c", "6–7", "·", "·", "■", "■"] in rows
    assert "refused: 64 devices were asked for" in text


def test_programs_and_waits() -> None:
    facts = runs.run()
    text = render(programs_table(model_of(facts)))
    assert "train_step" in text and "running" in text and "7 of 15" in text
    rows = [line.split() for line in render(waits_table(facts)).splitlines()]
    assert ["Cell", "In[4]:6", "float(loss)", "float(x)", "4.0"] in rows
    assert ["2", "waits;", "5.00", "ms", "in", "all"] in rows


def test_the_summary_counts_everything_once() -> None:
    facts = runs.run()
    text = render(summary(model_of(facts), stats_of(facts)))
    assert all(width(line) <= 100 for line in text.splitlines())
    bars = str.maketrans("", "", "█▒·")
    rows = {tuple(line.translate(bars).split()) for line in text.splitlines()}
    # Launches of 1.2, 1.2 and 7.2 ms on each device of slice a, in 16.0 ms; the host node is none.
    assert ("0", "60%", "9.60", "ms", "–", "3") in rows
    assert ("4", "30%", "4.80", "ms", "200", "µs", "1") in rows
    assert ("encoder_block", "60%", "28.8", "ms", "1", "6") in rows
    assert ("DCN", "1", "256", "KB", "200", "µs") in rows
    assert ("Cell", "In[4]:6", "float(x)", "1", "4.00", "ms") in rows
    assert "1 program · 6 launches · 16.0 ms active · 4 computations compiled in 200 ms" in text
    assert "2 nodes failed: attention (Cell In[4]:5)" in text


def test_the_summary_of_nothing_and_of_many_devices() -> None:
    assert "What ran where" in render(summary(RunModel(), stats_of([])))
    model = nasty("x")
    (island,) = model.islands.values()
    big = island.__class__(island.id, "pod", runs.devices(*range(2048)))
    model.islands[island.id] = big
    text = render(summary(model, stats_of([])))
    assert "the 8 most and the 8 least busy of 2,048" in text
    assert "(128 each)" in render(islands_table(model))


@pytest.mark.parametrize("name", NASTY)
def test_names_are_no_markup(name: str) -> None:
    model = nasty(name)
    model.add(Noted(0.0, name))
    text = "".join(render(part) for part in (summary(model, stats_of([])), islands_table(model), programs_table(model)))
    assert "\x1b" not in text and "\x00" not in text and "\u202e" not in text
    if name.startswith("[bold"):
        assert "[bold red]markup[/]" in text
    assert graph_text(picture(model))


@pytest.mark.parametrize(
    ("busy", "moving", "full", "moved"),
    [(0.0, 0.0, 0, 0), (0.5, 0.0, 15, 0), (1.0, 0.5, 30, 0), (0.001, 0.001, 1, 1), (0.9, 0.1, 27, 3)],
)
def test_bars(busy: float, moving: float, full: int, moved: int) -> None:
    text = bar(busy, moving).plain
    assert (text.count("█"), text.count("▒"), len(text)) == (full, moved, 30)


def test_numbers_read_well() -> None:
    assert [bytes_text(n) for n in (0, 1023, 4096, 256 << 10, 5 << 30)] == [
        "0 B",
        "1023 B",
        "4.0 KB",
        "256 KB",
        "5.0 GB",
    ]
    assert [seconds_text(s) for s in (0, 8.5e-4, 0.0012, 0.25, 3.4, 125, 7300)] == [
        "0 ms",
        "850 µs",
        "1.20 ms",
        "250 ms",
        "3.40 s",
        "2 min 05 s",
        "2 h 01 min",
    ]
    assert ranges_text((0, 1, 2, 3, 8)) == "0–3, 8"
    assert [percent(s) for s in (0, 0.001, 0.025, 0.5, 0.999, 1)] == ["0%", "<1%", "3%", "50%", ">99%", "100%"]
    assert one_line("🎉" * 50, 10) == "🎉🎉🎉🎉…"
    assert one_line("a\n b\tc") == "a b c"


def test_importing_the_views_does_not_import_rich() -> None:
    code = (
        "import sys, pwlab; before = set(sys.modules); import pwlab.viz\n"
        "assert not {'rich', 'numpy', 'jax'} & (set(sys.modules) - before)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=runs.ROOT)
