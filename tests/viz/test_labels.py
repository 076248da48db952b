"""Labels of edges stand over nothing, inside their slice, or not at all; then the tooltip tells."""

from __future__ import annotations

import html

import pytest
from hypothesis import given, settings

from pwlab.events import Link, NodeAdded, NodeSpec, ProgramOpened
from pwlab.observe import RunModel, model_of
from pwlab.viz import picture, svg
from pwlab.viz.format import width
from pwlab.viz.graph import GraphPicture
from pwlab.viz.labels import Label, flow_text, labels

from . import runs
from .test_graph import models


def built(*nodes: NodeSpec) -> RunModel:
    """These nodes on the three slices of the usual run; nothing has run."""
    opened = ProgramOpened(1.0, runs.P, "p", "main", None)
    return model_of([*runs.run()[:5], opened, *(NodeAdded(1.0, runs.P, node) for node in nodes)])


def box(label: Label) -> tuple[float, float, float, float]:
    """A label's letters, rather too small."""
    return label.x, label.y - 7, label.x + 4.8 * width(label.text), label.y


def apart(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def clean(drawn: GraphPicture) -> list[Label]:
    found = list(labels(drawn))
    boxes = [box(label) for label in found]
    for i, one in enumerate(boxes):
        assert all(apart(one, other) for other in boxes[:i]), "labels over each other"
        for node in drawn.nodes:
            assert apart(one, (node.x, node.y, node.x + node.w, node.y + node.h)), (found[i], node.label)
        assert any(
            lane.x <= one[0] and one[2] <= lane.x + lane.w and one[3] <= lane.y + lane.h for lane in drawn.slices
        )
    return found


def test_the_run_that_has_everything() -> None:
    drawn = picture(model_of(runs.run()), runs.P)
    texts = [label.text for label in clean(drawn)]
    assert texts and set(texts) <= {flow_text(edge) for edge in drawn.edges}, "there is room for all of it"
    page = svg(drawn)
    assert page.count('class="by"') == len(texts)
    for edge in drawn.edges:
        assert f"<title>{html.escape(flow_text(edge))}" in page


def fan(readers: int, kb: int = 100_000) -> RunModel:
    """One node whose result many read, and each of theirs one."""
    nodes = [runs.node(1, "source", runs.A, kb=kb)]
    nodes += [runs.node(2 + i, "r", runs.A, (1,), kb=kb + i) for i in range(readers)]
    nodes += [runs.node(100 + i, "s", runs.A, (2 + i,), kb=1) for i in range(readers)]
    return built(*nodes)


@pytest.mark.parametrize("readers", [1, 2, 7, 20])
def test_readers_side_by_side(readers: int) -> None:
    assert clean(picture(fan(readers), runs.P))


def test_no_label_stands_on_an_edge_that_crosses_to_another_island() -> None:
    model = built(
        runs.node(1, "work", runs.A, kb=16),
        runs.node(2, "to b", runs.B, (1,), kb=16, link=Link.DCN),
        runs.node(3, "use", runs.B, (2,), kb=1),
        runs.node(4, "here", runs.A, (1,), kb=1),
    )
    drawn = picture(model, runs.P)
    (label,) = [label for label in clean(drawn) if label.text == "16.0 KB"]
    (work,) = [node for node in drawn.nodes if node.label == "work"]
    assert label.x + 5 * len(label.text) < work.x + work.w / 2, "to the left, for the edge leaves to the right"


@settings(deadline=None, max_examples=60)
@given(models())
def test_any_graph(model: RunModel) -> None:
    clean(picture(model))
