"""Two runs on one axis: the scale and the colours are common, the better side is marked, and chance is called noise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from pwlab.control.durations import TURN
from pwlab.errors import UnknownName
from pwlab.events import (
    ClientKnown,
    Dispatch,
    DispatchChanged,
    Fact,
    NodeAdded,
    NodeEnded,
    NodeMoved,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    SettingsKnown,
    Waited,
)
from pwlab.ids import NodeId, ProgramId
from pwlab.observe import ClientMeasure, Measures, Run, Totals
from pwlab.viz import Comparison, Side, compare_view, comparison
from pwlab.viz.compare import Figure, called, figures
from pwlab.viz.format import width

from . import runs
from .test_svg import NASTY, nasty
from .test_timeline import one_island, ran


def pair(scale: float = 2.0) -> tuple[Run, Run]:
    """The same two computations, in the second run ``scale`` times as long, an hour later on its clock."""
    made: list[Run] = []
    for times, later in ((1.0, 0.0), (scale, 3600.0)):
        facts: list[Fact] = [*one_island(2)[:2]]
        moved = [*one_island(2)[2:], *ran(1, "x", 0.0, times, 0), *ran(2, "y", times, 2 * times, 1)]
        for fact in moved:
            changes = {"time": fact.time + later}
            if isinstance(fact, NodeEnded):
                changes |= {"start": fact.start + later, "end": fact.end + later}
            facts.append(type(fact)(**{n: getattr(fact, n) for n in fact.__dataclass_fields__} | changes))
        facts.append(ProgramEnded(later + 2 * times, runs.P, NodeState.DONE))
        facts.append(Waited(later, times, "float(x)", None))
        made.append(Run(tuple(facts)))
    return made[0], made[1]


def measured(
    wall: float = 1.0, spread: float = 0.0, clients: tuple[ClientMeasure, ...] = (), peak: int = 0, held: int = 0,
    idle: float = 0.0, **totals: float,
) -> Measures:  # fmt: skip
    return Measures(Totals(wall=wall, **totals), wall, 0.0, wall, idle, peak, held, clients, spread, spread)  # type: ignore[arg-type]


def named(rows: Sequence[Figure]) -> dict[str, Figure]:
    return {row.name: row for row in rows}


def test_both_begin_at_0_on_one_axis() -> None:
    a, b = pair()
    both = comparison(Side("short", a), Side("long", b))
    assert both.a.axis is both.b.axis and both.a.axis.parts == ((0.0, 4.0),)
    assert (both.a.title, both.b.title) == ("short", "long")
    (one,) = [box for box in both.a.boxes if box.label == "x"]
    (other,) = [box for box in both.b.boxes if box.label == "x"]
    assert (one.start, other.start) == (0.0, 0.0) and other.end == pytest.approx(2 * one.end)
    assert one.colour == other.colour


def test_figures_stand_side_by_side_and_the_better_is_marked() -> None:
    a, b = pair()
    rows = named(comparison(Side("short", a), Side("long", b)).figures)
    wall = rows["wall without compiling"]
    assert (wall.values, wall.texts, wall.change, wall.better) == ((2.0, 4.0), ("2.00 s", "4.00 s"), "+100%", -1)
    assert rows["idle meanwhile (bubble)"].texts == ("50%", "50%") and not rows["launches"].change
    assert rows["you waited"].texts == ("1.00 s", "2.00 s")
    assert "failed" not in rows and "transfers" not in rows and "waiting for the compiler" not in rows


@pytest.mark.parametrize(
    ("a", "b", "spread", "change", "better"),
    [
        (1.0, 0.68, 0.0, "−32%", 1),
        (1.0, 1.0, 0.1, "", 0),
        (1.0, 1.004, 0.0, "", 0),
        (0.1, 2.0, 0.0, "×20", -1),
        (2.0, 1.0, 0.0, "−50%", 1),
        (1.0, 1.04, 0.0, "noise", 0),  # less than a twentieth
        (1.0, 1.2, 0.04, "+20%", -1),  # three standard deviations of both are 0.17
        (1.0, 1.2, 0.05, "noise", 0),  # and here 0.21
        (0.5 * TURN, 1.4 * TURN, 0.0, "noise", 0),  # less than a thread's turn
        (0.5 * TURN, 1.6 * TURN, 0.0, "+220%", -1),
    ],
)
def test_what_chance_explains_is_no_change(a: float, b: float, spread: float, change: str, better: int) -> None:
    wall = named(figures(measured(a, spread), measured(b, spread)))["wall without compiling"]
    assert (wall.change, wall.better) == (change, better)


def test_idle_shares_are_compared_in_points() -> None:
    rows = named(figures(measured(idle=0.27), measured(idle=0.59)))
    assert (rows["idle meanwhile (bubble)"].change, rows["idle meanwhile (bubble)"].better) == ("+32 points", -1)
    rows = named(figures(measured(idle=0.27, spread=0.2), measured(idle=0.59)))
    assert rows["idle meanwhile (bubble)"].change == "noise"


def test_what_comes_first_matters_most() -> None:
    rows = figures(measured(peak=1000, held=3, failed=1, launches=8), measured(peak=1200, launches=8))
    assert [row.name for row in rows] == [
        "failed", "wall without compiling", "first launch to last end", "most memory of a device",
        "held back for memory", "launches",
    ]  # fmt: skip
    memory = named(rows)["most memory of a device"]
    assert (memory.change, memory.better) == ("+20%", -1)
    # When values are freed is a matter of moments.
    assert named(figures(measured(peak=1000), measured(peak=1020)))["most memory of a device"].change == "noise"
    held = named(rows)["held back for memory"]
    assert (held.texts, held.change, held.better) == (("3 launches", "0 launches"), "−100%", 1)


def shared(policy: str, order: str) -> Run:
    """Two clients with shares of 1 and 3, each with four launches of a second, on one device in this order."""
    known = [ClientKnown(0.0, "a", 1.0), ClientKnown(0.0, "b", 3.0)]
    facts: list[Fact] = [*one_island(1)[:2], SettingsKnown(0.0, policy, Dispatch.PARALLEL, 16), *known]
    programs = {"a": ProgramId(1), "b": ProgramId(2)}
    facts += [ProgramOpened(1.0, program, f"job {client}", client, None) for client, program in programs.items()]
    facts += [NodeAdded(1.0, programs[client], runs.node(i + 1, "busy", runs.A)) for i, client in enumerate(order)]
    for i, client in enumerate(order):
        start, end = 1.0 + i, 2.0 + i
        place = runs.WHERE[runs.A][0], runs.devices(0)
        facts.append(NodeMoved(start, NodeId(i + 1), NodeState.LAUNCHED, *place))
        facts.append(NodeEnded(end, NodeId(i + 1), NodeState.DONE, start, end, *place))
        if client not in order[i + 1 :]:
            facts.append(ProgramEnded(end, programs[client], NodeState.DONE))
    return Run(tuple(facts))


def against_shares() -> Comparison:
    return comparison(Side("one", shared("fifo", "aaaabbbb")), Side("two", shared("proportional", "abbbabaa")))


def test_fifo_against_shares() -> None:
    both = against_shares()
    assert [str(settings) for settings in both.settings] == [
        "policy fifo, parallel dispatch", "policy proportional, parallel dispatch",
    ]  # fmt: skip
    assert both.a.colour == "client"
    fair = named(both.figures)["furthest from a share"]
    assert fair.texts == ("75%", "8%") and fair.better == 1
    ((_, a, _), (_, b, _)) = both.clients
    assert a is not None and (a.asked, a.got, a.device_seconds, a.end) == (0.25, 1.0, 4.0, 4.0)
    assert b is not None and (b.device_seconds, b.end) == (4.0, 8.0)
    lines = compare_view(both, 80).text.splitlines()
    assert lines[1:3] == [
        "policy                        fifo  proportional",
        "dispatch                  parallel      parallel",
    ]  # fmt: skip
    at = next(i for i, line in enumerate(lines) if line.startswith("client "))
    assert lines[at - 1].split() == ["asked", "got", "device", "time", "ended", "at"]
    assert lines[at].split() == ["client", *["one", "two"] * 4]
    assert lines[at + 1].split()[:5] == ["a", "25%", "44%", "100%", "50%"]
    assert max(map(width, lines)) <= 80
    svg = compare_view(both).svg
    for text in ("policy proportional, parallel dispatch", ">asked<", ">ended at<", ">✓ 8%<", ">−67 points<"):
        assert text in svg


def test_one_client_alone_has_no_rows() -> None:
    a, b = pair()
    both = comparison(Side("a", a), Side("b", b))
    assert both.clients == () and both.a.colour == "computation" and "asked" not in compare_view(both).text


def test_a_policy_that_changed_meanwhile_and_dispatch() -> None:
    run = shared("fifo", "ab")
    later = [SettingsKnown(time, name, Dispatch.PARALLEL, 16) for time, name in ((2.5, "priority"), (9.0, "shortest"))]
    facts = [*run.facts, *later, DispatchChanged(1.0, ProgramId(2), Dispatch.SEQUENTIAL)]
    run = Run(tuple(sorted(facts, key=lambda fact: fact.time)))
    both = comparison(Side("all", run), Side("a", run, (ProgramId(1),)))
    assert [(how.policy, how.dispatch) for how in both.settings] == [
        ("fifo then priority", "parallel and sequential"),
        ("fifo", "parallel"),
    ]
    assert str(comparison(Side("x", Run(())), Side("y", Run(()))).settings[0]) == ""


def test_the_time_of_the_compiler_alone_is_cut_where_both_wait_for_it() -> None:
    made: list[Run] = []
    for compiled in (50.0, 60.0):
        spec = runs.node(1, "f", runs.A)
        place = runs.WHERE[runs.A][0], runs.devices(0)
        facts: list[Fact] = [
            *one_island(1),
            NodeAdded(0.0, runs.P, spec),
            NodeMoved(compiled, spec.id, NodeState.PREPARED, seconds=compiled),
            NodeMoved(compiled, spec.id, NodeState.LAUNCHED, *place),
            NodeEnded(compiled + 4, spec.id, NodeState.DONE, compiled, compiled + 4, *place),
            ProgramEnded(compiled + 4, runs.P, NodeState.DONE),
        ]
        made.append(Run(tuple(facts)))
    both = comparison(Side("a", made[0]), Side("b", made[1]))
    assert [round(seconds) for _, _, seconds in both.a.axis.breaks()] == [50, 6]
    rows = named(both.figures)
    assert rows["wall without compiling"].values == (4.0, 4.0)
    assert (rows["waiting for the compiler"].values, rows["waiting for the compiler"].better) == ((50.0, 60.0), -1)


def test_devices_that_did_the_same_share_a_row_and_so_do_both_sides_fit_a_screen() -> None:
    run = Run(tuple(runs.run()))
    both = comparison(Side("a", run), Side("b", run))
    assert [row.label for row in both.a.rows if row.kind == "device"] == ["devices 0–3", "devices 4–5", "devices 6–7"]
    assert {row.kind for row in both.a.rows} == {"programs", "compilation", "host", "device"}
    view = compare_view(both)
    (tall,) = re.findall(r'class="pw-time" role="img" width="[\d.]+" height="([\d.]+)"', view.svg)
    assert float(tall) < 800
    assert "max-height" not in view.html


def test_the_forms() -> None:
    a, b = pair()
    view = compare_view(comparison(Side("FIFO", a), Side("shares", b)), 80)
    ElementTree.fromstring(view.svg)
    for text in ("FIFO against shares", ">FIFO<", ">shares<", "+100%"):
        assert text in view.svg
    lines = view.text.splitlines()
    assert lines[0].split() == ["FIFO", "shares"]
    assert lines[2] == "wall without compiling    ✓ 2.00 s    4.00 s  +100%"
    assert "✓ the better of the two" in lines and "noise" not in view.text
    assert max(map(width, lines)) <= 80
    strips = [line for line in lines if line.startswith("  device 0")]
    letters = [line.count("A") for line in strips]
    assert letters[1] == pytest.approx(2 * letters[0], abs=2)
    assert view.words.startswith("FIFO against shares, on one time axis: wall without compiling 2.00 s against 4.00 s;")
    assert named(view.figures)["wall without compiling"].values == (2.0, 4.0)


def test_what_noise_is_is_told_where_there_is_some() -> None:
    a, b = pair(1.04)
    text = compare_view(comparison(Side("a", a), Side("b", b)), 100).text
    assert "noise: less than 1.00 ms, as equal launches differ by, or than a twentieth" in text


def test_that_a_side_is_damaged_is_told_first() -> None:
    a, b = pair()
    both = comparison(Side("a", a), Side("b", replace(b, damage="line 3 is no fact")))
    view = compare_view(both)
    assert view.text.splitlines()[0] == "b: damaged: line 3 is no fact"
    assert "b: damaged: line 3 is no fact" in view.svg and "damaged" in view.words


def test_programs_are_chosen_by_name_and_by_pattern() -> None:
    names = ("job a", "job b", "In[4]", "job a")
    model = Run(tuple(ProgramOpened(0.0, ProgramId(i), name, "main", None) for i, name in enumerate(names))).model
    assert called("job a", model) == (3,), "the newest"
    assert called("job *", model) == (0, 1, 3) and called("job ?", model) == (0, 1, 3)
    assert called("In[4]", model) == (2,) and called("4", model) == (2,)
    with pytest.raises(UnknownName, match=r"no program of this run is called 'jobs \*'; did you mean 'job b'\?"):
        called("jobs *", model)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped(name: str) -> None:
    facts = [fact for fact in shared(name or "fifo", "ab").facts if not isinstance(fact, ProgramOpened)]
    facts += [ProgramOpened(1.0, ProgramId(i), name, f"{name}{i}", None) for i in (1, 2)]
    run = Run(tuple(sorted(facts, key=lambda fact: fact.time)), damage=name)
    view = compare_view(comparison(Side(name, run), Side(name, run)), 80)
    ElementTree.fromstring(view.svg)
    assert "<script" not in view.svg and "<script" not in view.html and "\x00" not in view.text
    assert "\x1b" not in view.text and len(view.svg) < 120_000
    assert nasty(name).programs and max(map(width, view.text.splitlines())) <= 80


def test_nothing_can_be_compared_with_nothing() -> None:
    view = compare_view(comparison(Side("a", Run(())), Side("b", Run(()))))
    ElementTree.fromstring(view.svg)
    assert "nothing has run yet" in view.text
