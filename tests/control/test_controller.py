"""The whole: what is refused, what is forgotten, and that nothing is left to chance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pwlab import control
from pwlab.control import Controller
from pwlab.errors import InternalError
from pwlab.events import (
    BuffersReleased,
    IslandJoined,
    IslandSpec,
    Launch,
    NodeCompleted,
    NodeKind,
    NodePrepared,
    NodeSpec,
    NodesSubmitted,
    OutputSpec,
    Prepare,
    SliceRequested,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId


def test_public_names_resolve():
    for name in ("Controller", "Lane", "POLICIES", "Policy", "fifo", "policy_named"):
        assert getattr(control, name) is not None


def test_something_else_is_no_event(lab):
    with pytest.raises(InternalError, match="str is no event"):
        lab.controller.handle("hello")


def two(lab):
    a = lab.node("a")
    return a, lab.node("b", a)


REFUSALS = {
    "twice in a window": (lambda lab, a, b: (a, a), "program 9 'p' submits a node twice"),
    "unknown slice": (
        lambda lab, a, b: (replace(a, slice=SliceId(7)),),
        "node 2 'a' is placed on slice 7, which is not mapped",
    ),
    "wrong order": (lambda lab, a, b: (b, a), "node 3 'b' reads buffer 2, which is written only after it"),
    "reads itself": (
        lambda lab, a, b: (replace(a, inputs=(BufferId(2),)),),
        "node 2 'a' reads buffer 2, which is written only after it",
    ),
    "after a later one": (
        lambda lab, a, b: (replace(a, after=(b.id,)), b),
        "node 2 'a' comes after node 3, which was not submitted before it",
    ),
    "after itself": (
        lambda lab, a, b: (replace(a, after=(a.id,)),),
        "node 2 'a' comes after node 2, which was not submitted before it",
    ),
    "two writers": (
        lambda lab, a, b: (a, replace(b, inputs=(), outputs=a.outputs, pinned=())),
        "node 3 'b' writes buffer 2, which is known already",
    ),
    "known buffer": (
        lambda lab, a, b: (replace(a, outputs=(OutputSpec(BufferId(1), 1),), pinned=()),),
        "node 2 'a' writes buffer 1, which is known already",
    ),
    "known node": (lambda lab, a, b: (replace(a, id=NodeId(1)),), "node 1 'a' was submitted twice"),
    "pins of others": (
        lambda lab, a, b: (replace(a, pinned=(BufferId(1),)),),
        r"node 2 'a' pins \(1,\), which are not all outputs of it",
    ),
    "gives what it has not": (
        lambda lab, a, b: (replace(a, donates=(BufferId(1),)),),
        r"node 2 'a' takes \(1,\) over, which are not all inputs of it",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_bad_window_is_refused_whole(lab, case):
    make, text = REFUSALS[case]
    lab.submit(lab.node("known"))
    before = lab.controller.sizes()
    nodes = make(lab, *two(lab))
    with pytest.raises(InternalError, match=text) as caught:
        lab.send(NodesSubmitted(0.0, ProgramId(9), "p", nodes))
    assert "please report it" in str(caught.value)
    assert lab.controller.sizes() == before
    lab.controller.validate()


def test_a_closed_program_takes_no_more(lab):
    program = lab.submit(lab.node("a"))
    with pytest.raises(InternalError, match="program 1 'p' is closed, and 1 more nodes came"):
        lab.send(NodesSubmitted(0.0, program, "p", (lab.node("b"),)))


def test_the_tables_do_not_grow():
    """Twenty thousand nodes of a loop that keeps its state, three windows running ahead."""
    controller = Controller()
    controller.handle(IslandJoined(0.0, IslandSpec(IslandId(0), "island0", (DeviceId(0),))))
    controller.handle(SliceRequested(0.0, SliceId(1), "s", 1))
    inbox = []
    largest = 0

    def send(event):
        for instruction in controller.handle(event)[0]:
            if isinstance(instruction, Prepare):
                inbox.append(NodePrepared(0.0, instruction.node))
            elif isinstance(instruction, Launch):
                inbox.append(NodeCompleted(0.0, instruction.node, 0.0, 0.0))

    for i in range(1, 20_001):
        reads = (BufferId(i - 1),) if i > 1 else ()
        spec = NodeSpec(
            NodeId(i), "step", NodeKind.COMPUTE, SliceId(1), reads,
            (OutputSpec(BufferId(i), 8),), donates=reads, pinned=(BufferId(i),),
        )  # fmt: skip
        send(NodesSubmitted(0.0, ProgramId(i), "p", (spec,)))
        send(BuffersReleased(0.0, reads))
        while len(inbox) > 3:
            send(inbox.pop(0))
        largest = max(largest, sum(controller.sizes().values()))
    while inbox:
        send(inbox.pop(0))
    assert largest < 20
    assert controller.sizes() == {"islands": 1, "slices": 1, "programs": 0, "nodes": 0, "buffers": 1, "clients": 1}
    assert controller.bytes(IslandId(0))[0] == 8
    controller.validate()


def test_the_same_events_give_the_same_answers(lab):
    nodes = [lab.node(f"n{i}") for i in range(5)]
    lab.submit(*nodes, lab.node("sum", *nodes))
    lab.drain()
    lab.release(*nodes)
    again = Controller()
    for event, instructions, facts in lab.trace:
        assert again.handle(event) == (instructions, facts)
