"""Control by hand: pause, step, suspend; each holds back what it names and nothing else."""

from __future__ import annotations

import pytest

from pwlab.errors import InternalError, UnknownName
from pwlab.events import Launch, NodeKind, NodeState, Suspended

D, C, Q, L = NodeState.DONE, NodeState.CANCELLED, NodeState.QUEUED, NodeState.LAUNCHED


def names(lab):
    return [lab.specs[launch.node].name for launch in lab.told(Launch)]


def test_pause_step_and_resume(lab):
    nodes = [lab.node(f"n{i}") for i in range(5)] + [lab.node("host", kind=NodeKind.HOST)]
    lab.submit(*nodes)
    lab.prepare(nodes[0])
    lab.pause()
    assert lab.controller.paused
    lab.prepare(*nodes[1:])
    assert names(lab) == ["n0"], "what is launched goes on, and nothing else"
    lab.complete(nodes[0])
    lab.step()
    assert names(lab) == ["n0", "host"]
    lab.step(2)
    assert names(lab) == ["n0", "host", "n1", "n2"]
    lab.complete(nodes[1])
    assert len(names(lab)) == 4
    lab.resume()
    assert not lab.controller.paused
    assert names(lab)[4:] == ["n3", "n4"]
    lab.end()


def test_steps_that_find_nothing_are_kept_for_what_comes(lab):
    lab.step(2)
    nodes = [lab.node(f"n{i}") for i in range(3)]
    lab.submit(*nodes)
    lab.prepare(*nodes)
    assert names(lab) == ["n0", "n1"]
    lab.pause()
    lab.step(1)
    lab.cancel(1)
    lab.resume()
    lab.end()


def test_what_is_cancelled_in_a_pause_is_gone(lab):
    host, node = lab.node("host", kind=NodeKind.HOST), lab.node("node")
    program = lab.submit(host, node)
    lab.pause()
    lab.prepare(host, node)
    lab.cancel(program)
    lab.resume()
    assert names(lab) == []
    lab.end()


def test_a_step_is_one_launch_at_least(lab):
    with pytest.raises(InternalError, match="a step is at least 1 launch, not 0"):
        lab.step(0)
    lab.steps = None


@pytest.mark.parametrize("kind", ["client", "program", "slice"])
@pytest.mark.parametrize("early", [True, False], ids=["before it is queued", "while it is queued"])
def test_what_is_suspended_launches_nothing_and_others_go_on(lab, kind, early):
    there = lab.slice(2)
    lab.settings(max_in_flight=1)
    gate = lab.node("gate", slice=there)
    lab.submit(gate, client="other")
    lab.prepare(gate)
    mine = [lab.node("a"), lab.node("b"), lab.node("host", kind=NodeKind.HOST)]
    program = lab.submit(mine[0], last=False, client="me")
    others = [lab.node(f"o{i}", slice=there) for i in range(2)]
    lab.submit(*others, client="other")
    entity = {kind: {"client": "me", "program": program, "slice": 1}[kind]}
    if early:
        lab.suspend(**entity)
    lab.submit(*mine[1:], program=program, client="me")
    lab.prepare(mine[0], mine[1], *others)
    if not early:
        lab.suspend(**entity)
    lab.prepare(mine[2])
    lab.drain()
    assert names(lab) == ["gate", "o0", "o1"]
    assert [lab.state(n) for n in mine] == [Q, Q, Q]
    lab.unsuspend(**entity)
    assert names(lab)[3:] == ["host", "a"]
    lab.end()


@pytest.mark.parametrize("kind", ["client", "program", "slice"])
def test_what_is_suspended_can_be_cancelled_and_leaves_nothing(lab, kind):
    nodes = [lab.node("a"), lab.node("host", kind=NodeKind.HOST)]
    program = lab.submit(*nodes, client="me")
    entity = {kind: {"client": "me", "program": program, "slice": 1}[kind]}
    lab.suspend(**entity)
    lab.prepare(*nodes)
    lab.cancel(program)
    assert [lab.state(n) for n in nodes] == [C, C]
    if kind != "program":
        lab.unsuspend(**entity)
    lab.end()


def test_what_is_held_by_two_hands_goes_when_both_let_go(lab):
    node = lab.node("a")
    program = lab.submit(node)
    lab.suspend(program=program)
    lab.suspend(slice=1)
    lab.prepare(node)
    lab.unsuspend(slice=1)
    lab.unsuspend(slice=1)
    assert lab.state(node) is Q
    lab.unsuspend(program=program)
    assert lab.state(node) is L
    lab.end()


def test_a_slice_that_is_given_back_holds_nothing(lab):
    node = lab.node("a")
    lab.submit(node)
    lab.suspend(slice=1)
    lab.prepare(node)
    lab.suspended.clear()
    lab.release_slice(1)
    assert lab.state(node) is L
    lab.end()


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ({"program": 77}, "program 77 has ended, or never was: there is nothing of it to hold"),
        ({"slice": 77}, "slice 77 is not mapped: there is nothing of it to hold"),
        ({"client": "x"}, r"no client is called 'x'\. None is open"),
    ],
)
def test_unknown_entities(lab, entity, text):
    for act in (lab.suspend, lab.unsuspend):
        with pytest.raises(UnknownName, match=text):
            act(**entity)
    lab.suspended.clear()


def test_one_thing_at_a_time(lab):
    with pytest.raises(InternalError, match="Suspended names 0 of a client, a program and a slice, not one"):
        lab.send(Suspended(0.0))
    with pytest.raises(InternalError, match="Suspended names 2 of a client, a program and a slice, not one"):
        lab.send(Suspended(0.0, client="a", slice=1))


def test_suspended_work_keeps_its_memory_and_others_fit_in_the_rest():
    from control_harness import Lab

    lab = Lab()
    lab.island(1, hbm_bytes=100)
    lab.slice(1)
    a = lab.node("a", bytes=40, pinned=False)
    b = lab.node("b", a, bytes=60, pinned=False)
    program = lab.submit(a, b, client="me")
    lab.prepare(a)
    lab.suspend(program=program)
    lab.prepare(b)
    other, more = lab.node("other", bytes=50, pinned=False), lab.node("more", bytes=70)
    lab.submit(other, more, client="you")
    lab.prepare(other, more)
    lab.complete(a)
    assert [lab.state(n) for n in (b, other, more)] == [Q, L, Q]
    lab.unsuspend(program=program)
    assert lab.state(b) is Q
    lab.complete(other)
    assert [lab.state(n) for n in (b, more)] == [L, Q]
    lab.end()
