"""The timeline as data, and its two forms: nothing lost, nothing unescaped, nothing told by colour alone."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.errors import UnknownName
from pwlab.events import (
    ControllerWorked,
    Fact,
    IslandKnown,
    IslandSpec,
    Link,
    NodeAdded,
    NodeEnded,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
    Waited,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, Source
from pwlab.observe import RunModel, SpanKind, model_of
from pwlab.viz import describe_timeline, image, timeline, timeline_svg, timeline_text
from pwlab.viz.condense import condensed
from pwlab.viz.format import width
from pwlab.viz.timeline import MOST_ARROWS, Box
from pwlab.viz.timeline_svg import LEFT, _pixels

from . import runs
from .test_svg import NASTY

SVG = "{http://www.w3.org/2000/svg}"


def one_island(devices: int) -> list[Fact]:
    spec = IslandSpec(IslandId(0), "pod", tuple(map(DeviceId, range(devices))), "tpu")
    return [
        IslandKnown(0.0, spec),
        SliceMapped(0.0, runs.A, "a", IslandId(0), spec.devices),
        ProgramOpened(0.0, runs.P, "p", "main", None),
    ]


def ran(number: int, name: str, start: float, end: float, *devices: int) -> list[Fact]:
    spec = runs.node(number, name, runs.A)
    return [
        NodeAdded(0.0, runs.P, spec),
        NodeEnded(end, spec.id, NodeState.DONE, start, end, IslandId(0), runs.devices(*devices)),
    ]


def labels(boxes: list[Box] | tuple[Box, ...]) -> list[str]:
    return [box.label for box in boxes]


def test_rows_are_devices_within_their_islands() -> None:
    drawn = timeline(model_of(runs.run()))
    assert [(b.name, b.about, b.rows) for b in drawn.bands] == [
        ("host", "clients, controller, compilation and waits", 4),
        ("island0", "4 × cpu", 5),
        ("island1", "4 × cpu", 4),
    ]
    assert [row.label for row in drawn.rows][:9] == [
        *("client main", "controller", "compiling", "waits", "host", "device 0", "device 1", "device 2", "device 3")
    ]
    assert [row.share for row in drawn.rows if row.kind == "device"] == [
        *(pytest.approx(0.6, abs=0.01),) * 4,
        *(pytest.approx(0.3, abs=0.01),) * 2,
        *(pytest.approx(0.006, abs=0.002),) * 2,
    ]


def test_a_gang_is_one_box_over_its_rows() -> None:
    drawn = timeline(model_of(runs.run()))
    (box,) = [b for b in drawn.boxes if b.kind is SpanKind.COMPUTE and b.label.startswith("encoder")]
    assert (box.label, box.rows, drawn.rows[box.row].label) == ("encoder_block ×6", 4, "device 0")
    assert "6 computations in one launch" in box.about and "Cell In[4], line 3" in box.about


def test_devices_that_are_no_neighbours_have_a_box_each() -> None:
    drawn = timeline(model_of([*one_island(4), *ran(1, "x", 1.0, 2.0, 0, 1, 3)]))
    boxes = [(drawn.rows[b.row].label, b.rows) for b in drawn.boxes if b.kind is SpanKind.COMPUTE]
    assert boxes == [("device 0", 2), ("device 3", 1)]


def test_what_overlaps_has_lanes_and_true_times() -> None:
    drawn = timeline(model_of([*one_island(1), *ran(1, "x", 1.0, 3.0, 0), *ran(2, "y", 2.0, 4.0, 0)]))
    (row,) = [row for row in drawn.rows if row.kind == "device"]
    boxes = [b for b in drawn.boxes if b.kind is SpanKind.COMPUTE]
    assert row.lanes == 2 and [(b.lane, b.start, b.end) for b in boxes] == [(0, 1.0, 3.0), (1, 2.0, 4.0)]


def test_a_transfer_is_an_arrow_from_who_wrote_it() -> None:
    drawn = timeline(model_of(runs.run()))
    assert [(drawn.rows[a.source].label, drawn.rows[a.target].label, a.link) for a in drawn.arrows] == [
        ("device 0", "device 4", Link.DCN),
        ("device 4", "device 6", Link.ICI),
    ]
    assert drawn.arrows[0].about == "256 KB over DCN, 200 µs"


def test_waits_tell_their_cell() -> None:
    drawn = timeline(model_of(runs.run()))
    waits = [b for b in drawn.boxes if b.kind is SpanKind.WAIT]
    assert labels(waits) == ["float(x) at Cell In[4]:6", "print(x) at Cell In[5]:2"]
    assert "float(loss)" in waits[0].about


def test_what_still_runs_is_open_until_now() -> None:
    model = model_of(runs.run())
    drawn = timeline(model)
    (box,) = [b for b in drawn.boxes if b.label == "loss"]
    assert box.open and "so far" in box.about
    (program,) = [b for b in drawn.boxes if b.kind is SpanKind.PROGRAM]
    assert program.open and box.end == program.end == pytest.approx(program.start + model.now - 1.0)
    assert 'class="paper open"' in timeline_svg(drawn)


def test_one_program_alone() -> None:
    facts = [*runs.run(), ProgramOpened(9.0, ProgramId(2), "other", "bob", None)]
    facts += [NodeAdded(9.0, ProgramId(2), runs.node(50, "alone", runs.A))]
    facts += [NodeEnded(9.5, NodeId(50), NodeState.DONE, 9.1, 9.5, IslandId(0), runs.devices(0))]
    facts += [Waited(9.2, 0.2, "float(y)", None, BufferId(50)), Waited(9.2, 0.2, "wait for all", None)]
    facts += [Waited(9.2, 0.2, "wait for train_step", None), ProgramEnded(9.5, ProgramId(2), NodeState.DONE)]
    drawn = timeline(model_of(facts), ProgramId(2))
    assert drawn.title == "other"
    assert labels(drawn.boxes) == ["other", "float(y)", "wait for all", "alone"]
    assert drawn.totals.launches == 1 and drawn.totals.waits == 2


def test_colours_by_client() -> None:
    facts = [*one_island(1), *ran(1, "x", 1.0, 2.0, 0), *ran(2, "y", 2.0, 3.0, 0)]
    facts += [
        ProgramOpened(0.0, ProgramId(2), "q", "bob", None),
        NodeAdded(0.0, ProgramId(2), runs.node(3, "x", runs.A)),
    ]
    facts += [NodeEnded(4.0, NodeId(3), NodeState.DONE, 3.0, 4.0, IslandId(0), runs.devices(0))]
    model = model_of(facts)
    drawn = timeline(model, colour="client")
    assert [(key.name, key.seconds, key.launches) for key in drawn.keys] == [("main", 2.0, 2), ("bob", 1.0, 1)]
    assert [row.label for row in drawn.rows][:2] == ["client main", "client bob"]
    by_name = {b.label: b.colour for b in timeline(model).boxes if b.kind is SpanKind.COMPUTE}
    assert by_name["x"] != by_name["y"]


@pytest.mark.parametrize("name", ["x" * 10_000, "W" * 40, "🎉" * 50, "emoji 🚀👩‍🚀 é and more of it", "bob"])
def test_the_name_of_a_client_fits_beside_its_row(name: str) -> None:
    facts = [*one_island(1)[:2], ProgramOpened(0.0, runs.P, "p", name, None), *ran(1, "x", 1.0, 2.0, 0)]
    root = ElementTree.fromstring(timeline_svg(timeline(model_of(facts))))
    (label,) = [t for t in root.iter(f"{SVG}text") if "".join(t.itertext()).startswith("client ")]
    whole = label.findtext(f"{SVG}title")
    shown = "".join(label.itertext()).removeprefix(whole or "")
    assert shown.startswith("client ") and _pixels(shown) <= LEFT - 20
    assert (whole is None) == (name == "bob") and (whole or shown).startswith(f"client {name[:20]}")


def test_a_colouring_that_is_none() -> None:
    with pytest.raises(UnknownName, match=r"no colouring is called 'x'\. There are: computation, client"):
        timeline(model_of(runs.run()), colour="x")  # pyright: ignore[reportArgumentType]


def test_a_name_keeps_its_colour_when_more_come() -> None:
    few = timeline(model_of([*one_island(1), *ran(1, "train", 1.0, 2.0, 0)]))
    more = timeline(model_of([*one_island(1), *ran(1, "train", 1.0, 2.0, 0), *ran(2, "other", 2.0, 3.0, 0)]))
    assert few.boxes[-1].colour == next(b.colour for b in more.boxes if b.label == "train")


def test_of_many_devices_those_that_did_the_same_share_a_row() -> None:
    facts = [*one_island(2048), *ran(1, "x", 1.0, 2.0, *range(1024)), *ran(2, "y", 2.0, 3.0, *range(512))]
    drawn = timeline(model_of(facts))
    assert [row.label for row in drawn.rows if row.kind == "device"] == [
        *("devices 0–511", "devices 512–1023", "devices 1024–2047")
    ]
    assert drawn.totals.devices == 2048 and drawn.totals.device_seconds == pytest.approx(1024 + 512)


def test_kinds_of_devices_beyond_64_are_told() -> None:
    facts = one_island(100)
    for i in range(100):
        facts += ran(i + 1, "x", 1.0, 2.0 + i, i)
    drawn = timeline(model_of(facts))
    assert sum(row.kind == "device" for row in drawn.rows) == 64
    assert drawn.note == "island 0: the 64 busiest of 100 kinds of devices shown"


def test_arrows_beyond_the_limit_are_told() -> None:
    model = RunModel()
    for fact in runs.run()[:5]:
        model.add(fact)
    model.add(ProgramOpened(0.0, runs.P, "p", "main", None))
    island, chips = runs.WHERE[runs.B]
    for i in range(MOST_ARROWS + 5):
        for number, spec in ((2 * i + 1, runs.node(2 * i + 1, "x", runs.A)),
                             (2 * i + 2, runs.node(2 * i + 2, "t", runs.B, (2 * i + 1,), link=Link.DCN))):  # fmt: skip
            model.add(NodeAdded(0.0, runs.P, spec))
            where = runs.WHERE[spec.slice] if number % 2 else (island, chips)
            model.add(NodeEnded(i + 1.0, spec.id, NodeState.DONE, float(i), i + 1.0, *where))
    drawn = timeline(model)
    assert len(drawn.arrows) == MOST_ARROWS and "300 of 305 arrows shown" in drawn.note


def test_many_launches_make_a_picture_of_bounded_size() -> None:
    facts = one_island(1)
    for i in range(30_000):
        facts += ran(i + 1, "even" if i % 2 else "odd", i * 1e-4, i * 1e-4 + 0.9e-4, 0)
    drawn = timeline(model_of(facts))
    assert len(drawn.boxes) == 30_001
    few = condensed(drawn.boxes, drawn.axis, 500)
    assert len(few) < 1500 and sum(box.count for box in few) == 30_001
    assert len(timeline_svg(drawn)) < 400_000
    assert len(timeline_text(drawn)) < 5_000


def test_the_failed_are_never_melted_away() -> None:
    facts = one_island(1)
    for i in range(1000):
        facts += ran(i + 1, "x", i * 1e-3, i * 1e-3 + 1e-4, 0)
    facts[2000] = NodeEnded(
        1.0, NodeId(999), NodeState.FAILED, 0.998, 0.9981, IslandId(0), runs.devices(0), "no", NodeId(999)
    )
    drawn = timeline(model_of(facts))
    assert [box.state for box in condensed(drawn.boxes, drawn.axis, 50)].count(NodeState.FAILED) == 1
    assert "✗ failed" in timeline_text(drawn)


# --- SVG ------------------------------------------------------------------------------------------


def nasty(name: str) -> RunModel:
    """A run in which all that a user can name has this name."""
    model = RunModel()
    spec = runs.node(1, name, runs.A, cell=name or "Cell In[1]")
    for fact in (
        IslandKnown(0.0, IslandSpec(IslandId(0), name, runs.devices(0), chip=name)),
        SliceMapped(0.0, runs.A, name, IslandId(0), runs.devices(0)),
        ProgramOpened(0.0, runs.P, name, name, Source(name, 1, name)),
        NodeAdded(0.0, runs.P, spec),
        NodeEnded(1.0, spec.id, NodeState.FAILED, 0.5, 1.0, IslandId(0), runs.devices(0), name or "x", spec.id),
        Waited(0.2, 0.7, name, Source(name, 3, name), BufferId(1)),
    ):
        model.add(fact)
    return model


@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped_and_shortened(name: str) -> None:
    drawn = timeline(nasty(name))
    text = timeline_svg(drawn)
    ElementTree.fromstring(text)
    assert "<script" not in text and "\x00" not in text and "\u202e" not in text
    assert len(text) < 60_000
    ElementTree.fromstring(re.sub(r"(<img[^>]*)>", r"\1/>", image(text, describe_timeline(drawn))))
    plain = timeline_text(drawn, 100)
    assert max(map(width, plain.splitlines())) <= 100 and "\x00" not in plain


@settings(deadline=None, max_examples=30)
@given(st.text(max_size=60))
def test_any_name_gives_well_formed_xml(name: str) -> None:
    ElementTree.fromstring(timeline_svg(timeline(nasty(name))))


def test_it_brings_its_themes_and_fetches_nothing() -> None:
    text = timeline_svg(timeline(model_of(runs.run())))
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.findtext(f"{SVG}title") == "1 program"
    assert "script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    for word in ("prefers-color-scheme:dark", 'data-jp-theme-light="false"', "vscode-dark"):
        assert word in text
    assert "var(" not in text and not re.search(r"\bon\w+=", text)


def test_kinds_are_told_apart_without_colour() -> None:
    text = timeline_svg(timeline(model_of(runs.run())))
    for pattern in ("wait", "compile", "failed", "dcn", "ici"):
        assert re.search(rf'style="fill:url\(#pt\w{{8}}{pattern}\)"', text), pattern
    assert "✗" in text or "s-failed" in text


def test_equal_runs_give_equal_pictures_and_ids_differ_between_pictures() -> None:
    one, other = timeline_svg(timeline(model_of(runs.run()))), timeline_svg(timeline(model_of(one_island(1))))
    assert one == timeline_svg(timeline(model_of(runs.run())))
    assert not set(re.findall(r'\bid="([^"]+)"', one)) & set(re.findall(r'\bid="([^"]+)"', other))


def test_it_says_in_words_what_it_shows() -> None:
    words = describe_timeline(timeline(model_of(runs.run()), runs.P))
    assert words.startswith(
        "Timeline of train_step: 16.0 ms wall, devices computing 38%, 7 launches of 15 computations"
    )
    assert words.endswith("1 failed on island0, island1.")


def test_the_controller_tells_what_it_did() -> None:
    drawn = timeline(model_of(runs.run()))
    (row,) = [row for row in drawn.rows if row.kind == "controller"]
    boxes = [b for b in drawn.boxes if b.kind is SpanKind.CONTROL]
    assert row.about == "2.00 ms" and labels(boxes) == ["3 launches", "4 launches"]
    assert boxes[0].about.splitlines() == [
        "controller",
        "2.00 ms, from 50.0 ms",
        "took 16 events, gave 3 launches; at work 1.50 ms of it",
    ]


def test_what_the_controller_did_before_the_first_program_is_not_drawn() -> None:
    facts = [ControllerWorked(-5.0, 0.1, 0.1, 2), *one_island(1), *ran(1, "x", 1.0, 2.0, 0)]
    drawn = timeline(model_of(facts))
    assert drawn.axis.end == pytest.approx(2.0, abs=0.1) and "controller" not in {row.kind for row in drawn.rows}


def test_an_empty_run_says_so() -> None:
    assert "nothing has run yet" in timeline_svg(timeline(RunModel()))
    assert "nothing has run yet" in timeline_text(timeline(RunModel()))


# --- text ------------------------------------------------------------------------------------------


def test_the_text_form() -> None:
    facts = [*one_island(2), *ran(1, "embed", 0.0, 1.0, 0, 1), *ran(2, "train", 1.0, 3.0, 0)]
    facts += [ControllerWorked(0.0, 0.4, 0.4, 9, 2), ControllerWorked(2.8, 0.01, 0.01, 3)]
    facts += [Waited(2.0, 2.0, "float(x)", None), ProgramEnded(4.0, runs.P, NodeState.DONE)]
    assert timeline_text(timeline(model_of(facts)), 64).splitlines() == [
        "1 program",
        "4.00 s wall · devices computing 50% · 2 launches",
        "1 wait, 2.00 s · controller busy 10%",
        "               0         1 s       2 s      3 s       4 s",
        "host  clients, controller, compilation and waits",
        "  client main  ───────────────────────────────────────",
        "  controller   ░░░░·······················░···········    410 ms",
        "  waits        ···················▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒    2.00 s",
        "pod  2 × tpu",
        "  device 0     AAAAAAAAAABBBBBBBBBBBBBBBBBBBB·········       75%",
        "  device 1     AAAAAAAAAA·····························       25%",
        "A embed 2.00 s  B train 2.00 s  ░ controller  ▒ waited",
    ]  # fmt: skip


def test_the_controller_in_a_pause_is_in_its_break() -> None:
    bursts = [*ran(1, "x", 0.0, 1.0, 0), *ran(2, "y", 100.0, 101.0, 0)]
    facts = [*one_island(1), ProgramEnded(1.0, runs.P, NodeState.DONE), *bursts]
    facts += [ControllerWorked(t, 0.1, 0.1, 1) for t in (0.5, 20.0, 50.0, 80.0)]
    drawn = timeline(model_of(facts))
    assert [seconds for _, _, seconds in drawn.axis.breaks()] == [99.0]
    assert len([box for box in drawn.boxes if box.kind is SpanKind.CONTROL]) == 4
    lines = timeline_text(drawn, 80).splitlines()
    assert ["A┊B" in line for line in lines if line.startswith("  device 0")] == [True]
    (ticks,) = [line.split() for line in lines if line.lstrip().startswith("0 ")]
    assert " ".join(ticks) == "0 1 s 1 min 41 s"


@pytest.mark.parametrize(("seconds", "ticks"), [(0.0219, 5), (3.22, 7), (0.152, 4), (3000.0, 6)])
def test_times_stand_as_closely_as_can_be_read(seconds: float, ticks: int) -> None:
    facts = [*one_island(1), *ran(1, "x", 0.0, seconds, 0), ProgramEnded(seconds, runs.P, NodeState.DONE)]
    drawn = timeline(model_of(facts))
    (line,) = [line for line in timeline_text(drawn, 80).splitlines() if line.lstrip().startswith("0 ")]
    assert len(line.replace(" ms", "ms").replace(" s", "s").replace(" min", "min").split()) == ticks
    assert width(line) <= 80


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_asked(columns: int) -> None:
    for line in timeline_text(timeline(model_of(runs.run())), columns).splitlines():
        assert width(line) <= columns, line
