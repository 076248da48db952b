"""Every fact becomes JSON and comes back the same, down to the type of each field."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.events import Fact, NodeAdded, NodeEnded, NodeKind, NodeSpec, NodeState, Noted, OutputSpec
from pwlab.ids import BufferId, DeviceId, NodeId, ProgramId, SliceId
from pwlab.observe import CodecError, codec, decode, encode

from .facts import FACTS, objects


def test_every_fact_has_a_codec() -> None:
    assert set(codec.FACTS.values()) == set(FACTS)


@pytest.mark.parametrize("kind", FACTS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_fact_round_trips(kind: type[Any], data: st.DataObject) -> None:
    fact: Fact = data.draw(objects(kind))
    text = json.dumps(encode(fact), allow_nan=False)
    back = decode(json.loads(text))
    assert back == fact and type(back) is kind
    # Equality alone would pass 1 for 1.0, "done" for NodeState.DONE and 0.0 for -0.0.
    assert repr(back) == repr(fact)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_floats_that_json_lacks(number: float) -> None:
    back = decode(json.loads(json.dumps(encode(Noted(number, "x")), allow_nan=False)))
    assert repr(back) == repr(Noted(number, "x"))


def test_the_form_is_the_documented_one() -> None:
    fact = NodeEnded(1.5, NodeId(7), NodeState.DONE, 1.25, 1.5, None, (DeviceId(0), DeviceId(1)))
    assert encode(fact) == {
        "is": "NodeEnded",
        "time": 1.5,
        "node": 7,
        "state": "done",
        "start": 1.25,
        "end": 1.5,
        "devices": [0, 1],
    }


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([], "a fact is an object, not []"),
        ({}, "there is no fact called None"),
        ({"is": "Party"}, "there is no fact called 'Party'"),
        ({"is": ["Noted"]}, "there is no fact called ['Noted']"),
        ({"is": "Noted", "text": "x"}, "Noted lacks time"),
        ({"is": "Noted", "time": 1.0, "text": "x", "size": 3}, "Noted has no 'size'"),
        ({"is": "Noted", "time": "soon", "text": "x"}, "Noted.time: float was expected, not 'soon'"),
        ({"is": "Noted", "time": True, "text": "x"}, "Noted.time: float was expected, not True"),
        ({"is": "Noted", "time": 1.0, "text": 3}, "Noted.text: str was expected, not 3"),
        ({"is": "SliceUnmapped", "time": 1.0, "slice": 1.5}, "SliceUnmapped.slice: int was expected, not 1.5"),
        ({"is": "ProgramEnded", "time": 1.0, "program": 1, "state": "gone"}, "'gone' is no NodeState"),
        ({"is": "BuffersFreed", "time": 1.0, "buffers": 3, "bytes": 1}, "a list was expected, not 3"),
        ({"is": "IslandKnown", "time": 1.0, "island": {"id": 0}}, "IslandKnown.island: IslandSpec lacks devices, name"),
        ({"is": "IslandKnown", "time": 1.0, "island": 0}, "IslandSpec is an object, not 0"),
    ],
)
def test_what_is_no_fact_is_told(plain: object, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode(plain)
    assert message in str(caught.value)


def test_a_field_that_json_cannot_carry_is_refused_at_once() -> None:
    @dataclass(frozen=True)
    class Live:
        handle: object

    with pytest.raises(TypeError, match=r"Live\.handle is a <class 'object'>, which no run file can hold"):
        codec._class(Live)


def test_a_record_from_before_shapes_were_recorded_is_read() -> None:
    added = NodeAdded(
        1.0,
        ProgramId(1),
        NodeSpec(NodeId(1), "f", NodeKind.COMPUTE, SliceId(1), outputs=(OutputSpec(BufferId(1), 4, None, "f32[]"),)),
    )
    plain = encode(added)
    del plain["node"]["outputs"][0]["shape"]
    old = decode(plain)
    assert isinstance(old, NodeAdded) and old.node.outputs == (OutputSpec(BufferId(1), 4),)
