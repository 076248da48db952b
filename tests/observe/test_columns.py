"""Every kind of fact goes into columns and comes back the same, down to the type of each field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import Fact, NodeMoved, NodeState, SliceMapped
from pwlab.ids import DeviceId, IslandId, NodeId, SliceId
from pwlab.observe import columns

from .facts import FACTS, objects


@pytest.mark.parametrize("kind", FACTS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_fact_comes_back(kind: type[Any], data: st.DataObject) -> None:
    facts: list[Fact] = data.draw(st.lists(objects(kind), max_size=6))
    facts = data.draw(st.permutations(facts * 2))  # tables of values are for what occurs again
    packed = columns.column(kind, facts)
    assert list(map(repr, packed)) == list(map(repr, facts))
    assert list(packed) == facts, "as often as it is asked"


def test_minus_zero_and_none_are_kept_apart_from_what_they_equal() -> None:
    moved = NodeMoved(0.0, NodeId(1), NodeState.QUEUED, IslandId(0), (DeviceId(0),), 0.0)
    facts = [moved, replace(moved, seconds=-0.0), replace(moved, island=None), moved]
    assert list(map(repr, columns.column(NodeMoved, facts))) == list(map(repr, facts))


def test_many_devices_cost_once() -> None:
    gang = tuple(DeviceId(i) for i in range(2_000))
    facts = [SliceMapped(float(i), SliceId(i), "s", IslandId(0), tuple(gang[: 1_000 + i % 2])) for i in range(100)]
    packed = columns.column(SliceMapped, facts)
    assert list(packed) == facts
    assert len({id(fact.devices) for fact in packed}) == 2


def test_a_field_that_has_no_column_is_refused() -> None:
    @dataclass(frozen=True)
    class Live:
        handle: object

    with pytest.raises(TypeError, match=r"Live\.handle is a .*object.*, for which there is no column"):
        columns._objects(Live)
