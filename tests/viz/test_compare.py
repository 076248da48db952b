"""Two runs on one axis: the scale, the colours and the totals are common."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pwlab.events import Fact, NodeEnded, NodeState, ProgramEnded, Waited
from pwlab.observe import RunModel, Totals, model_of
from pwlab.viz import Side, compare_view, comparison
from pwlab.viz.compare import figures
from pwlab.viz.format import width

from . import runs
from .test_svg import NASTY
from .test_timeline import nasty, one_island, ran


def pair(scale: float = 2.0) -> tuple[RunModel, RunModel]:
    """The same two computations, in the second run ``scale`` times as long, an hour later on its clock."""
    models: list[RunModel] = []
    for times, later in ((1.0, 0.0), (scale, 3600.0)):
        facts: list[Fact] = [*one_island(2)[:2], *ran(1, "x", 0.0, 0.0)[:0]]
        moved = [*one_island(2)[2:], *ran(1, "x", 0.0, times, 0), *ran(2, "y", times, 2 * times, 1)]
        for fact in moved:
            changes = {"time": fact.time + later}
            if isinstance(fact, NodeEnded):
                changes |= {"start": fact.start + later, "end": fact.end + later}
            facts.append(type(fact)(**{n: getattr(fact, n) for n in fact.__dataclass_fields__} | changes))
        facts.append(ProgramEnded(later + 2 * times, runs.P, NodeState.DONE))
        facts.append(Waited(later, times, "float(x)", None))
        models.append(model_of(facts))
    return models[0], models[1]


def test_both_begin_at_0_on_one_axis() -> None:
    a, b = pair()
    both = comparison(Side("short", a), Side("long", b))
    assert both.a.axis is both.b.axis and both.a.axis.parts == ((0.0, 4.0),)
    assert (both.a.title, both.b.title) == ("short", "long")
    (one,) = [box for box in both.a.boxes if box.label == "x"]
    (other,) = [box for box in both.b.boxes if box.label == "x"]
    assert (one.start, other.start) == (0.0, 0.0) and other.end == pytest.approx(2 * one.end)
    assert one.colour == other.colour


def test_totals_stand_side_by_side() -> None:
    a, b = pair()
    found = {row.name: row for row in comparison(Side("short", a), Side("long", b)).figures}
    assert (found["wall"].a, found["wall"].b, found["wall"].change, found["wall"].better) == (
        *("2.00 s", "4.00 s", "+100%"),
        -1,
    )
    assert found["computing"].change == "" and found["launches"].change == ""
    assert (found["waited"].a, found["waited"].b) == ("1.00 s", "2.00 s")
    assert "failed" not in found


@pytest.mark.parametrize(
    ("a", "b", "change", "better"),
    [
        (1.0, 0.68, "−32%", 1),
        (1.0, 1.0, "", 0),
        (1.0, 1.004, "", 0),
        (0.0, 1.0, "", 0),
        (0.1, 2.0, "×20", -1),
        (2.0, 1.0, "−50%", 1),
    ],
)
def test_changes(a: float, b: float, change: str, better: int) -> None:
    wall = figures(Totals(wall=a), Totals(wall=b))[0]
    assert (wall.change, wall.better) == (change, better)


def test_busy_shares_are_compared_in_points_and_failures_only_where_there_are_any() -> None:
    one = Totals(wall=1.0, devices=1, device_seconds=0.25)
    rows = {row.name: row for row in figures(one, Totals(wall=1.0, devices=1, device_seconds=0.75, failed=2))}
    assert (rows["computing"].change, rows["computing"].better) == ("+50 points", 1)
    assert (rows["failed"].a, rows["failed"].b) == ("0", "2")


def test_the_forms() -> None:
    a, b = pair()
    view = compare_view(comparison(Side("FIFO", a), Side("shares", b)), 80)
    ElementTree.fromstring(view.svg)
    for text in ("FIFO against shares", ">FIFO<", ">shares<", "+100%"):
        assert text in view.svg
    lines = view.text.splitlines()
    assert lines[0].split() == ["FIFO", "shares"]
    assert lines[1].split() == ["wall", "2.00", "s", "4.00", "s", "+100%"]
    assert max(map(width, lines)) <= 80
    strips = [line for line in lines if line.startswith("  device 0")]
    letters = [line.count("A") for line in strips]
    assert letters[1] == pytest.approx(2 * letters[0], abs=2)
    assert view.words.startswith("FIFO against shares, on one time axis: wall 2.00 s against 4.00 s;")


@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped(name: str) -> None:
    view = compare_view(comparison(Side(name, nasty(name)), Side(name, nasty(name))))
    ElementTree.fromstring(view.svg)
    assert "<script" not in view.svg and "<script" not in view.html and "\x00" not in view.text
    assert len(view.svg) < 90_000


def test_nothing_can_be_compared_with_nothing() -> None:
    view = compare_view(comparison(Side("a", RunModel()), Side("b", RunModel())))
    ElementTree.fromstring(view.svg)
    assert "nothing has run yet" in view.text
