"""The SVG: well-formed, nothing of a user's text unescaped, states told apart without colour."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.events import IslandKnown, IslandSpec, NodeAdded, NodeEnded, NodeState, ProgramOpened, SliceMapped
from pwlab.ids import IslandId, NodeId, Source
from pwlab.observe import RunModel, model_of
from pwlab.viz import data_uri, describe, image, picture, svg
from pwlab.viz.svg_style import GLYPHS, patterns

from . import runs

NASTY = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'single' ]]> <!--",
    "🎉" * 50,
    "x" * 10_000,
    "line\none\r\n\ttwo\x00\x1b[31m",
    "\u202eright to left",
    "[bold red]markup[/]",
    "",
]
XLINK = "{http://www.w3.org/2000/svg}"


def nasty(name: str) -> RunModel:
    """A run in which all that a user can name has this name."""
    model = RunModel()
    spec = runs.node(1, name, runs.A, cell=name or "Cell In[1]")
    facts = [
        IslandKnown(0.0, IslandSpec(IslandId(0), name, runs.devices(0), chip=name)),
        SliceMapped(0.0, runs.A, name, IslandId(0), runs.devices(0)),
        ProgramOpened(0.0, runs.P, name, name, Source(name, 1, name)),
        NodeAdded(0.0, runs.P, spec),
        NodeEnded(1.0, spec.id, NodeState.FAILED, error=name or "x", cause=spec.id),
    ]
    for fact in facts:
        model.add(fact)
    return model


def test_it_is_well_formed_and_has_no_script() -> None:
    text = svg(picture(model_of(runs.run()), runs.P))
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.findtext(f"{XLINK}title") == "train_step"
    assert "script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"\bon\w+=", text)


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("limit", [2000, 0])
def test_names_are_escaped_and_shortened(name: str, limit: int) -> None:
    drawn = picture(nasty(name), details={NodeId(1): name}, limit=limit)
    text = svg(drawn)
    ElementTree.fromstring(text)
    assert "<script" not in text and "\x00" not in text and "\u202e" not in text
    assert len(text) < 60_000
    page = image(svg(drawn), describe(drawn))
    ElementTree.fromstring(re.sub(r"(<img[^>]*)>", r"\1/>", page))
    assert "<script" not in page


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=80))
def test_any_name_gives_well_formed_xml(name: str) -> None:
    ElementTree.fromstring(svg(picture(nasty(name))))


def test_every_state_has_a_sign_and_a_pattern_of_its_own() -> None:
    assert set(GLYPHS) == set(NodeState) and len(set(GLYPHS.values())) == len(NodeState)
    for state in NodeState:
        assert f'id="p{state.value}"' in patterns("p")
    text = svg(picture(model_of(runs.run()), runs.P))
    for state in NodeState:
        assert f"n s-{state.value}" in text


def test_the_failing_node_tells_its_error() -> None:
    root = ElementTree.fromstring(svg(picture(model_of(runs.run()), runs.P)))
    (shown,) = [t for t in root.iter(f"{XLINK}text") if (t.text or "").startswith("XlaRuntimeError")]
    assert len(shown.text or "") <= 44
    titles = [t.text or "" for t in root.iter(f"{XLINK}title")]
    assert any("attempting to allocate 64.0 GiB on device 6" in title for title in titles)


def test_ids_of_two_pictures_differ_and_equal_pictures_are_equal() -> None:
    model = model_of(runs.run())
    one, other = svg(picture(model, runs.P)), svg(picture(model, limit=5))
    assert not set(re.findall(r'\bid="([^"]+)"', one)) & set(re.findall(r'\bid="([^"]+)"', other))
    assert one == svg(picture(model_of(runs.run()), runs.P))


def test_both_themes_and_the_hosts_are_answered() -> None:
    text = svg(picture(RunModel()))
    assert "nothing has been recorded yet" in text
    for word in ("prefers-color-scheme:dark", 'data-jp-theme-light="false"', "vscode-dark"):
        assert word in text
    assert "var(" not in text


def test_the_data_uri_holds_the_same_picture() -> None:
    drawn = picture(model_of(runs.run()), runs.P)
    assert base64.b64decode(data_uri(svg(drawn)).split(",", 1)[1]).decode() == svg(drawn)


def test_it_says_in_words_what_it_shows() -> None:
    words = describe(picture(model_of(runs.run()), runs.P))
    assert words.startswith("Dataflow graph of train_step: 15 nodes (2 waiting, 1 prepared,")
    assert "on island0, island1; attention failed: XlaRuntimeError" in words


def test_merged_computations_and_groups_are_marked() -> None:
    assert "×6" in svg(picture(model_of(runs.run()), runs.P))
    grouped = svg(picture(model_of(runs.run()), limit=10))
    assert "5 groups, by cell and slice" in grouped and 'class="bar s-done"' in grouped
