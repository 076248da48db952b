"""The picture as data: rows, lanes, edges that go down, groups, and equal pictures for equal models."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.errors import UnknownName
from pwlab.events import (
    Link,
    NodeAdded,
    NodeEnded,
    NodeKind,
    NodeSpec,
    NodeState,
    OutputSpec,
    ProgramEnded,
    ProgramOpened,
)
from pwlab.ids import BufferId, IslandId, NodeId, ProgramId, SliceId, Source
from pwlab.observe import RunModel, model_of
from pwlab.viz import GraphPicture, graph_text, picture, svg
from pwlab.viz.format import seconds_text
from pwlab.viz.layout import Item, place

from . import runs


def check(drawn: GraphPicture) -> None:
    """What holds of every picture."""
    at = {node.key: node for node in drawn.nodes}
    assert len(at) == len(drawn.nodes)
    lanes = {(lane.key, lane.x): lane for lane in drawn.slices}
    for a, b in combinations(drawn.nodes, 2):
        apart = a.x + a.w <= b.x + 1e-6 or b.x + b.w <= a.x + 1e-6 or a.y + a.h <= b.y + 1e-6 or b.y + b.h <= a.y + 1e-6
        assert apart, (a, b)
    for node in drawn.nodes:
        assert any(
            lane.key == node.slice
            and lane.x - 1e-6 <= node.x
            and node.x + node.w <= lane.x + lane.w + 1e-6
            and lane.y <= node.y
            and node.y + node.h <= lane.y + lane.h + 1e-6
            for lane in lanes.values()
        ), node
    for edge in drawn.edges:
        source, target = at[edge.source], at[edge.target]
        assert source.y + source.h < target.y
        ys = [y for _, y in edge.points]
        assert ys == sorted(ys)
        assert edge.points[0][1] == source.y + source.h and edge.points[-1][1] == target.y
    for a, b in combinations(drawn.bands, 2):
        assert a.x + a.w <= b.x or b.x + b.w <= a.x
    assert sum(count for _, count in drawn.counts) == sum(node.count for node in drawn.nodes)


@st.composite
def models(draw: st.DrawFn) -> RunModel:
    """Graphs of up to 40 nodes on up to 4 slices, some of them unknown."""
    model = RunModel()
    for fact in runs.run()[:5]:
        model.add(fact)
    for number in range(draw(st.integers(0, 40))):
        reads = draw(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        spec = NodeSpec(
            NodeId(number),
            draw(st.sampled_from(["f", "a_rather_long_name_for_a_function", "λ🎉"])),
            draw(st.sampled_from(NodeKind)),
            SliceId(draw(st.integers(1, 4))),
            tuple(BufferId(r) for r in reads),
            (OutputSpec(BufferId(number), 1024),),
            after=(NodeId(number - 1),) if number and draw(st.booleans()) else (),
            parts=draw(st.integers(1, 3)),
            source=Source(f"Cell In[{draw(st.integers(1, 3))}]", 1),
        )
        model.add(NodeAdded(0.0, ProgramId(1), spec))
    return model


@settings(deadline=None)
@given(models(), st.sampled_from([2000, 5]))
def test_no_nodes_overlap_and_edges_go_down(model: RunModel, limit: int) -> None:
    drawn = picture(model, limit=limit)
    check(drawn)
    assert drawn == picture(model, limit=limit)
    assert sum(node.count for node in drawn.nodes) == len(model.nodes)


def test_the_example_says_what_ran_where() -> None:
    drawn = picture(model_of(runs.run()), runs.P)
    check(drawn)
    assert drawn.title == "train_step" and drawn.note == ""
    assert [(b.name, b.about) for b in drawn.bands] == [("island0", "4 × cpu"), ("island1", "4 × cpu")]
    assert [(s.name, s.about) for s in drawn.slices] == [
        ("slice a", "devices 0–3"),
        ("slice b", "devices 4–5"),
        ("slice c", "devices 6–7"),
    ]
    by = {node.key: node for node in drawn.nodes}
    assert by["n4"].label == "encoder_block" and by["n4"].parts == 6
    assert by["n4"].sub == "Cell In[4]:3 · 7.20 ms"
    assert by["n5"].label == "DCN 256 KB" and by["n5"].kind is NodeKind.TRANSFER
    assert "RESOURCE_EXHAUSTED" in by["n8"].error
    assert by["n10"].error == "after attention failed"
    edges = {(e.source, e.target): e for e in drawn.edges}
    assert edges["n4", "n5"].link is Link.DCN and edges["n4", "n5"].bytes == 256 * 1024
    assert edges["n7", "n8"].link is Link.ICI
    assert edges["n1", "n3"].link is None and edges["n1", "n3"].bytes == 4096 * 1024
    assert dict(drawn.counts)[NodeState.DONE] == 7


def test_details_are_shown_where_known() -> None:
    drawn = picture(model_of(runs.run()), details={NodeId(3): "f32[8,128]"})
    assert next(n for n in drawn.nodes if n.key == "n3").sub == "Cell In[4]:2 · f32[8,128] · 1.20 ms"


def test_many_nodes_become_groups_by_cell_and_slice() -> None:
    drawn = picture(model_of(runs.run()), limit=10)
    check(drawn)
    assert drawn.note == "15 nodes shown as 5 groups, by cell and slice"
    assert [(n.label, n.slice, n.count) for n in drawn.nodes] == [
        ("init_params", runs.A, 1),
        ("load_batch", runs.A, 1),
        ("Cell In[4]", runs.A, 6),
        ("Cell In[4]", runs.B, 3),
        ("Cell In[4]", runs.C, 4),
    ]
    a_to_b = next(e for e in drawn.edges if {e.source, e.target} == {"g3", "g5"})
    assert a_to_b.both, "values go from a to b and back"
    assert next(n for n in drawn.nodes if n.key == "g7").state is NodeState.FAILED


def test_still_too_many_groups_become_one_a_slice() -> None:
    assert picture(model_of(runs.run()), limit=4).note == "15 nodes shown as 3 groups, by slice"


def in_a_script() -> RunModel:
    """The run as a script: two of its lines compute a hundred nodes each, of which one is cancelled and one failed."""
    model = RunModel()
    for fact in runs.run()[:5]:
        model.add(fact)
    for number in range(1, 201):
        line = 7 + number // 101
        spec = runs.node(number, "step", runs.A, (number - 1,), cell="/home/me/train.py", line=line)
        model.add(NodeAdded(0.0, runs.P, spec))
        states = {50: NodeState.CANCELLED, 150: NodeState.FAILED}
        cause = spec.id if number == 150 else None
        model.add(NodeEnded(1.0, spec.id, states.get(number, NodeState.DONE), error="no luck" if cause else "",
                            cause=cause))  # fmt: skip
    return model


def test_in_a_script_lines_are_what_cells_are_in_a_notebook() -> None:
    drawn = picture(in_a_script(), limit=60)
    check(drawn)
    assert drawn.note == "200 nodes shown as 2 groups, by line and slice"
    assert [n.label for n in drawn.nodes] == ["train.py:7", "train.py:8"]
    assert picture(in_a_script(), by="cell") == drawn


def test_a_group_tells_how_many_of_it_are_not_like_the_others() -> None:
    first, second = picture(in_a_script(), limit=60).nodes
    assert (first.state, first.sub, first.error) == (NodeState.CANCELLED, "step, 100 nodes, 1 cancelled", "")
    assert (second.state, second.sub) == (NodeState.FAILED, "step, 100 nodes, 1 failed")
    assert second.error == "step: no luck"
    assert "100 nodes, 1 cancelled" in graph_text(picture(in_a_script(), limit=60))


def test_a_grouping_that_is_none() -> None:
    with pytest.raises(UnknownName, match=r"no grouping is called 'line'.* There are: cell, slice, client"):
        picture(RunModel(), by="line")  # pyright: ignore[reportArgumentType]


def test_a_buffer_read_twice_is_one_edge_with_its_bytes_once() -> None:
    model = RunModel()
    model.add(NodeAdded(0.0, runs.P, runs.node(1, "f", runs.A, kb=4)))
    model.add(NodeAdded(0.0, runs.P, runs.node(2, "g", runs.A, (1, 1))))
    (edge,) = picture(model).edges
    assert edge.bytes == 4096


def test_one_program_is_drawn_without_the_others() -> None:
    model = model_of(runs.run())
    model.add(NodeAdded(0.0, ProgramId(2), runs.node(99, "other", runs.A, (1,))))
    assert len(picture(model, runs.P).nodes) == 15
    assert len(picture(model, [ProgramId(2)]).nodes) == 1
    assert len(picture(model).nodes) == 16


def test_nothing_is_a_picture_too() -> None:
    drawn = picture(RunModel())
    assert drawn.nodes == () and drawn.title == "0 programs"


def test_what_was_forgotten_is_told() -> None:
    model = RunModel(keep_nodes=10)
    model.extend(runs.run())
    model.extend([NodeAdded(2.0, runs.P, runs.node(n, "more", runs.A)) for n in range(100, 103)])
    assert model.forgotten and model.whole_from is not None and 1.0 < model.whole_from < 1.0162
    told = f"gone: the last {seconds_text(2.0 - model.whole_from)} are whole, and shares are of those"
    drawn = picture(model)
    assert drawn.note == f"the oldest detail is {told}"
    assert told in svg(drawn) and told in graph_text(drawn)


def test_of_a_program_that_was_forgotten_no_detail_is_left() -> None:
    model = RunModel(whole_from=2.25)
    model.extend(runs.run()[:5])
    for number in (1, 2):
        model.add(ProgramOpened(float(number), ProgramId(number), f"p{number}", "main", None))
    model.extend([ProgramEnded(1.5, ProgramId(1), NodeState.DONE), NodeAdded(2.5, ProgramId(2), runs.NODES[0])])
    told = "no detail of this is left: it is older than the last 250 ms, which alone are whole"
    drawn = picture(model, [ProgramId(1)])
    assert drawn.nodes == () and drawn.note == told
    for text in (graph_text(drawn), svg(drawn)):
        assert told in text and "nothing has been recorded" not in text
    assert "the last 250 ms are whole" in picture(model, [ProgramId(2)]).note
    assert picture(replace(model, whole_from=2.0), [ProgramId(2)]).note == ""
    assert picture(replace(model, whole_from=2.5)).note.endswith("gone, and of the rest nothing is whole")


def test_a_slice_that_moved_has_a_lane_on_each_island() -> None:
    model = model_of(runs.run())
    model.nodes[NodeId(14)].island = IslandId(1)
    drawn = picture(model)
    check(drawn)
    assert [(s.key, s.about) for s in drawn.slices][:2] == [(runs.A, "devices 0–3"), (runs.A, "")]


def test_a_chain_is_a_straight_line() -> None:
    placed = place([Item(0, 100, 40)] * 6, [(i, i + 1) for i in range(5)], [50.0], [0])
    assert len({x for x, _ in placed.at}) == 1


def test_a_long_edge_runs_beside_the_nodes_that_it_passes() -> None:
    items = [Item(0, 100, 40)] * 5
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    placed = place(items, edges, [50.0], [0])
    inner = placed.paths[0, 4][2:-2]
    assert len({x for x, _ in inner}) == 1, "straight"
    for x, y in inner:
        for left, top in placed.at[1:4]:
            assert not (left <= x <= left + 100 and top <= y <= top + 40)


def test_nodes_are_grouped_by_what_is_asked_for() -> None:
    model = model_of(runs.run())
    by_slice, by_client = picture(model, by="slice"), picture(model, by="client")
    check(by_slice)
    assert by_slice.note == "15 nodes shown as 3 groups, by slice"
    assert [(n.label, n.slice, n.count) for n in by_slice.nodes] == [
        ("all of the slice", runs.A, 8),
        ("all of the slice", runs.B, 3),
        ("all of the slice", runs.C, 4),
    ]
    assert by_client.note == "15 nodes shown as 3 groups, by client and slice"
    assert {n.label for n in by_client.nodes} == {p.client for p in model.programs.values()}
    assert picture(model, by="cell").note == "15 nodes shown as 5 groups, by cell and slice"


def test_an_edge_says_what_flows() -> None:
    model = RunModel()
    wide = (OutputSpec(BufferId(1), 4096, None, "f32[8,128]"), OutputSpec(BufferId(9), 8, None, "i32[2]"))
    model.add(NodeAdded(0.0, runs.P, replace(runs.node(1, "f", runs.A), outputs=wide)))
    model.add(NodeAdded(0.0, runs.P, runs.node(2, "g", runs.A, (1,))))
    model.add(NodeAdded(0.0, runs.P, runs.node(3, "h", runs.A, (1, 9))))
    assert [(e.shape, e.bytes) for e in picture(model).edges] == [("f32[8,128]", 4096), ("2 values", 4104)]
    # Edges that carry different values are named where they arrive; here there is no room for more than the bytes.
    drawn = svg(picture(model))
    assert re.findall(r'class="by"[^>]*>([^<]*)<', drawn) == ["4.0 KB", "4.0 KB"]
    assert "<title>f32[8,128] 4.0 KB</title>" in drawn and "<title>2 values 4.0 KB</title>" in drawn


def test_parallel_nodes_make_a_block_and_not_a_line() -> None:
    placed = place([Item(0, 140.0, 46.0)] * 60, [], [100.0], [0])
    assert placed.width < 1_800 and len({y for _, y in placed.at}) == 6
    with_readers = place([Item(0, 140.0, 46.0)] * 60, [(i, i + 30) for i in range(30)], [100.0], [0])
    assert all(with_readers.at[i][1] < with_readers.at[i + 30][1] for i in range(30))
