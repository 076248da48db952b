"""The model: any part of a stream can be folded, and its counts stay right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import (
    BuffersFreed,
    Fact,
    IslandKnown,
    IslandSpec,
    NodeAdded,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    Noted,
    OutputSpec,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
    SliceRefused,
    SliceUnmapped,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId
from pwlab.observe import RunModel, model_of, stats_of

LIFE = (NodeState.PREPARED, NodeState.QUEUED, NodeState.LAUNCHED)


def program(number: int, nodes: int, ends: list[NodeState]) -> list[Fact]:
    """A whole program: a chain of nodes, each of which ends as told."""
    key = ProgramId(number)
    facts: list[Fact] = [ProgramOpened(0.0, key, f"p{number}", "main", None)]
    for i in range(nodes):
        me = 1000 * number + i
        reads = (BufferId(me - 1),) if i else ()
        facts.append(
            NodeAdded(
                0.0,
                key,
                NodeSpec(NodeId(me), "f", NodeKind.COMPUTE, SliceId(1), reads, (OutputSpec(BufferId(me), 8),)),
            )
        )
        facts += [NodeMoved(1.0, NodeId(me), state, IslandId(0), (DeviceId(0),)) for state in LIFE]
        facts.append(NodeEnded(2.0 + i, NodeId(me), ends[i % len(ends)], 1.0 + i, 2.0 + i, IslandId(0),
                               (DeviceId(0),), cause=NodeId(me)))  # fmt: skip
        facts.append(BuffersFreed(2.0, (BufferId(me),), 8))
    facts.append(ProgramEnded(9.0, key, NodeState.DONE))
    return facts


STREAM: list[Fact] = [
    IslandKnown(0.0, IslandSpec(IslandId(0), "island0", (DeviceId(0),))),
    SliceMapped(0.0, SliceId(1), "a", IslandId(0), (DeviceId(0),)),
    SliceRefused(0.0, SliceId(2), "b", "8 devices were asked for, the largest island has 1"),
    *program(1, 3, [NodeState.DONE, NodeState.FAILED, NodeState.CANCELLED]),
    Noted(3.0, "note"),
    *program(2, 2, [NodeState.DONE]),
    SliceUnmapped(9.0, SliceId(1)),
]


@given(st.integers(0, len(STREAM)), st.integers(0, len(STREAM)))
def test_any_part_of_a_stream_can_be_folded(start: int, end: int) -> None:
    model = model_of(STREAM[start:end])
    stats_of(STREAM[start:end])
    for view in model.programs.values():
        mine = model.nodes_of(view.id)
        assert view.nodes == len(mine)
        for state in NodeState:
            assert view.counts.get(state, 0) == sum(node.state is state for node in mine)
    assert all(writer in model.nodes for writer in model.producer.values())


def test_the_whole_stream() -> None:
    model = model_of(STREAM)
    failed = model.nodes[NodeId(1001)]
    assert failed.state is NodeState.FAILED and failed.cause == NodeId(1001)
    assert failed.seconds == 1.0 and failed.times[NodeState.QUEUED] == 1.0
    assert model.programs[ProgramId(1)].state is NodeState.DONE
    assert model.programs[ProgramId(1)].wall(99.0) == 9.0
    assert model.slices[SliceId(2)].refused and not model.slices[SliceId(1)].mapped
    assert model.island_of(failed) == IslandId(0)
    assert model.bytes_freed == 40
    assert model.producer[BufferId(1000)] == NodeId(1000)


def test_a_fact_told_twice_counts_once() -> None:
    twice = [fact for fact in STREAM for _ in range(2) if not isinstance(fact, BuffersFreed | Noted)]
    once = [fact for fact in STREAM if not isinstance(fact, BuffersFreed | Noted)]
    a, b = model_of(twice), model_of(once)
    assert {k: v.nodes for k, v in a.programs.items()} == {k: v.nodes for k, v in b.programs.items()}
    assert a.nodes == b.nodes


def test_old_nodes_are_forgotten_and_their_counts_kept() -> None:
    model = RunModel(keep_nodes=10)
    for fact in program(1, 100, [NodeState.DONE]):
        model.add(fact)
    assert len(model.nodes) <= 11 and model.forgotten == 100 - len(model.nodes)
    assert model.programs[ProgramId(1)].counts[NodeState.DONE] == 100
    assert set(model.producer.values()) == set(model.nodes)


@pytest.mark.parametrize("late", LIFE)
def test_an_ended_node_stays_ended(late: NodeState) -> None:
    model = model_of([*program(1, 1, [NodeState.DONE]), NodeMoved(9.0, NodeId(1000), late)])
    assert model.nodes[NodeId(1000)].state is NodeState.DONE
