"""The life of a node: every step, every end, and what others learn of it."""

from __future__ import annotations

import pytest

from pwlab.control.programs import Programs
from pwlab.errors import InternalError
from pwlab.events import (
    Abandon,
    Dispatch,
    Launch,
    NodeAdded,
    NodeBroke,
    NodeCompleted,
    NodeEnded,
    NodeMoved,
    NodePrepared,
    NodeState,
    Prepare,
    ProgramEnded,
    ProgramOpened,
)
from pwlab.ids import NodeId, ProgramId, Source

W, P, Q, L = NodeState.WAITING, NodeState.PREPARED, NodeState.QUEUED, NodeState.LAUNCHED
D, F, C = NodeState.DONE, NodeState.FAILED, NodeState.CANCELLED


def bring(lab, state):
    """A node in ``state``, behind a running gang so that it can rest in its queue."""
    lab.settings(max_in_flight=1)
    if state is Q:
        gate = lab.node("gate")
        lab.submit(gate)
        lab.prepare(gate)
    node = lab.node("x")
    program = lab.submit(node)
    if state is not W:
        lab.prepare(node)
    assert lab.state(node) is state
    return node, program


STEPS = {
    (W, P): lambda lab, node, program: lab.prepare(node),
    (L, D): lambda lab, node, program: lab.complete(node),
    (W, F): lambda lab, node, program: lab.breaks(node),
    (Q, F): lambda lab, node, program: lab.breaks(node),
    (L, F): lambda lab, node, program: lab.breaks(node),
    (W, C): lambda lab, node, program: lab.cancel(program),
    (Q, C): lambda lab, node, program: lab.cancel(program),
    (Q, W): lambda lab, node, program: migrate(lab),
}


def migrate(lab):
    """The slice moves when the running gang has ended."""
    lab.island(4)
    lab.move(1, island=1)
    lab.complete(next(iter(lab.flying[0])))


#: Taken in the same event as the step before them.
FOLLOWING = {(P, Q), (Q, L)}


def test_every_step_has_a_test():
    assert STEPS.keys() | FOLLOWING == Programs._LIFE.keys()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0]}-{step[1]}")
def test_step(lab, step):
    before, after = step
    node, program = bring(lab, before)
    STEPS[step](lab, node, program)
    _, _, facts = lab.trace[-1]
    states = [f.state for f in facts if isinstance(f, NodeMoved | NodeEnded) and f.node == node.id]
    if after is P:
        assert states == [P, Q, L]
        assert facts[0] == NodeMoved(lab.time, node.id, P, lab.slices[1].island, (0,), 0.5)
    elif after is W:
        assert states == [W]
    else:
        assert states == [after]
        assert lab.programs[program] is after
    lab.end()


def test_facts_of_a_plain_life(lab):
    source = Source("Cell In[4]", 3, "y = f(x)")
    node = lab.node("f", source=source)
    program = lab.submit(node, name="cell 4", source=source)
    _, instructions, facts = lab.trace[-1]
    assert instructions == [Prepare(node.id, (0,))]
    assert facts == [ProgramOpened(3.0, program, "cell 4", "main", source), NodeAdded(3.0, program, node)]
    lab.prepare(node)
    _, instructions, facts = lab.trace[-1]
    assert instructions == [Launch(node.id, 0, (0,))]
    lab.complete(node)
    _, instructions, facts = lab.trace[-1]
    assert instructions == []
    assert facts == [NodeEnded(5.0, node.id, D, 4.0, 5.0, 0, (0,)), ProgramEnded(5.0, program, D)]


@pytest.mark.parametrize(
    ("state", "event", "text"),
    [
        (W, NodeCompleted(0.0, NodeId(1), 0.0, 0.0), "cannot become done: so far it was waiting"),
        (
            Q,
            NodeCompleted(0.0, NodeId(2), 0.0, 0.0),
            "become done: so far it was waiting → prepared → queued",
        ),
        (Q, NodePrepared(0.0, NodeId(2)), "become prepared: so far it was waiting → prepared → queued"),
        (
            L,
            NodePrepared(0.0, NodeId(1)),
            "node 1 'x' of program 1 'p' cannot become prepared: so far it was waiting → prepared → queued → launched",
        ),
        (
            L,
            NodeCompleted(0.0, NodeId(9), 0.0, 0.0),
            "NodeCompleted is about node 9, which was never submitted",
        ),
        (L, NodePrepared(0.0, NodeId(9)), "NodePrepared is about node 9, which was never submitted"),
        (L, NodeBroke(0.0, NodeId(9), "x"), "NodeBroke is about node 9, which was never submitted"),
    ],
)
def test_impossible_events_are_refused_and_change_nothing(lab, state, event, text):
    bring(lab, state)
    with pytest.raises(InternalError, match=text):
        lab.send(event)
    lab.controller.validate()
    lab.end()


def test_completed_twice(lab):
    node = lab.node("a")
    lab.run(node)
    with pytest.raises(InternalError, match="node 1 completed, but it has ended already"):
        lab.complete(node)


def test_late_answers_about_what_has_ended_are_ignored(lab):
    a, b = lab.node("a"), lab.node("b")
    program = lab.submit(a, b)
    lab.cancel(program)
    for send in (lab.prepare, lab.breaks):
        send(a)
        _, instructions, facts = lab.trace[-1]
        assert (instructions, facts) == ([], [])
    lab.cancel(program)
    lab.cancel(ProgramId(77))
    lab.preparing.clear()
    lab.end()


# --- failure ---------------------------------------------------------------------


def test_a_failure_reaches_all_that_depend_on_it_and_nobody_else(lab):
    lab.settings(max_in_flight=1)
    a = lab.node("a", source=Source("Cell In[2]", 5))
    b, c = lab.node("b", a), lab.node("c", a)
    d = lab.node("d", b, c)
    other = lab.node("other")
    first, second = lab.submit(a, b, other), lab.submit(c, d)
    lab.prepare(a, d)
    lab.breaks(a, "ValueError: bad shape")
    text = "'{}' has no input, because 'a' (Cell In[2], line 5) failed: ValueError: bad shape"
    assert lab.told(Abandon) == [
        Abandon(a.id, "ValueError: bad shape", a.id),
        Abandon(b.id, text.format("b"), a.id),
        Abandon(c.id, text.format("c"), a.id),
        Abandon(d.id, text.format("d"), a.id),
    ]
    assert lab.programs == {second: F}
    assert [lab.ended[n.id].cause for n in (a, b, c, d)] == [a.id] * 4
    lab.drain()
    assert lab.programs[first] is F
    assert lab.state(other) is D
    lab.end()


def test_a_launched_reader_is_abandoned_once_and_with_the_root_as_cause(lab):
    a = lab.node("a")
    b = lab.node("b", a)
    c = lab.node("c", b)
    lab.submit(a, b, c)
    lab.prepare(a, b)
    lab.breaks(a, "boom")
    assert [i.node for i in lab.told(Abandon)] == [a.id, c.id], "c depends on a, through b"
    late = lab.node("late", b)
    lab.submit(late)
    lab.breaks(b, "input is an error")
    lab.breaks(b, "again")
    abandoned = lab.told(Abandon)
    assert [i.node for i in abandoned] == [a.id, c.id, late.id, b.id]
    assert {i.cause for i in abandoned} == {a.id}
    assert abandoned[-1].error == "'b' has no input, because 'a' failed: boom"
    lab.end()


def test_a_marked_reader_that_completes_all_the_same_is_done(lab):
    a = lab.node("a")
    b = lab.node("b", a)
    lab.submit(a, b)
    lab.prepare(a, b)
    lab.breaks(a)
    lab.complete(b)
    assert lab.state(b) is D
    late = lab.node("late", b)
    lab.run(late)
    assert lab.state(late) is D
    lab.end()


def test_late_readers_of_a_failed_buffer_fail_at_once(lab):
    a = lab.node("a")
    b = lab.node("b", a)
    lab.submit(a, b)
    lab.breaks(a, "boom")
    late = lab.node("late", b)
    program = lab.submit(late)
    _, instructions, facts = lab.trace[-1]
    assert instructions == [Abandon(late.id, "'late' has no input, because 'a' failed: boom", a.id)]
    assert [type(fact) for fact in facts[:3]] == [ProgramOpened, NodeAdded, NodeEnded]
    assert lab.programs[program] is F
    assert lab.controller.sizes()["buffers"] == 3, "remembered until the client lets go"
    lab.end()


def test_a_chain_of_thousands_fails_without_recursion(lab):
    nodes = [lab.node("n0")]
    for i in range(1, 3000):
        nodes.append(lab.node(f"n{i}", nodes[-1], pinned=False))
    lab.controller.validate = lambda: None  # a full check after each of these would take minutes
    lab.submit(*nodes)
    lab.breaks(nodes[0])
    assert [end.state for end in lab.ended.values()] == [F] * 3000
    assert lab.controller.sizes()["nodes"] == 0


def test_a_window_that_is_partly_lost_is_lost_by_its_edges(lab):
    """Nobody holds the first one's result, yet its reader in the same window is told."""
    a = lab.node("a")
    lab.submit(a)
    lab.breaks(a, "boom")
    first = lab.node("first", a, pinned=False)
    second, third = lab.node("second", first), lab.node("third")
    lab.submit(first, second, third)
    assert [lab.state(n) for n in (first, second, third)] == [F, F, W]
    assert lab.ended[second.id].error == "'second' has no input, because 'a' failed: boom"
    lab.end()


# --- cancelling ---------------------------------------------------------------------


def test_cancel_lets_finish_what_is_launched(lab):
    lab.settings(max_in_flight=1)
    a = lab.node("a")
    b, c = lab.node("b", a), lab.node("c")
    mine = lab.submit(a, b, c)
    reader, stranger = lab.node("reader", b), lab.node("stranger")
    other = lab.submit(reader, stranger)
    lab.prepare(a, b)
    lab.cancel(mine, reason="stopped by Ctrl-C")
    assert lab.told(Abandon) == [
        Abandon(b.id, "stopped by Ctrl-C", b.id, cancelled=True),
        Abandon(c.id, "stopped by Ctrl-C", c.id, cancelled=True),
        Abandon(reader.id, "'reader' has no input, because 'b' was cancelled: stopped by Ctrl-C", b.id, True),
    ]
    assert mine not in lab.programs
    lab.drain()
    assert lab.programs == {mine: C, other: C}
    assert (lab.state(a), lab.state(stranger)) == (D, D)
    lab.end()


def test_windows_that_come_after_the_cancellation_are_cancelled(lab):
    a = lab.node("a")
    program = lab.submit(a, last=False)
    lab.cancel(program)
    b = lab.node("b")
    lab.submit(b, program=program)
    assert lab.state(b) is C
    assert lab.programs == {program: C}


@pytest.mark.parametrize(
    ("acts", "verdict"),
    [
        (("complete", "complete"), D),
        (("complete", "cancel"), C),
        (("breaks", "cancel"), F),
        (("breaks", "complete"), F),
    ],
)
def test_a_program_ends_as_the_worst_of_its_nodes(lab, acts, verdict):
    nodes = [lab.node("a"), lab.node("b")]
    program = lab.submit(*nodes, last=False)
    for node, act in zip(nodes, acts, strict=True):
        if act == "cancel":
            lab.cancel(program)
        else:
            lab.prepare(node)
            getattr(lab, act)(node)
    assert program not in lab.programs, "it is open still"
    lab.submit(program=program)
    assert lab.programs == {program: verdict}


def test_an_empty_program_is_done(lab):
    program = lab.submit()
    _, _, facts = lab.trace[-1]
    assert facts == [ProgramOpened(3.0, program, "p", "main", None), ProgramEnded(3.0, program, D)]


# --- dispatch ----------------------------------------------------------------------------


def prepared_order(lab):
    return [lab.specs[i.node].name for i in lab.told(Prepare)]


def chain(lab):
    a = lab.node("a")
    b = lab.node("b", a)
    return a, b, lab.node("c", b)


def test_parallel_dispatch_prepares_all_at_once(lab):
    a, b, c = chain(lab)
    lab.submit(a, b, c)
    assert prepared_order(lab) == ["a", "b", "c"]


def test_sequential_dispatch_prepares_a_node_when_its_predecessors_are_launched(lab):
    lab.settings(dispatch=Dispatch.SEQUENTIAL)
    a, b, c = chain(lab)
    lab.submit(a, b, c)
    assert prepared_order(lab) == ["a"]
    with pytest.raises(InternalError, match=r"node 2 'b' .* was prepared, but nobody asked for that yet"):
        lab.prepare(b)
    lab.prepare(a)
    assert prepared_order(lab) == ["a", "b"], "a is launched, not done"
    lab.prepare(b)
    assert prepared_order(lab) == ["a", "b", "c"]
    lab.end()


def test_a_program_overrides_the_session_in_all_its_windows(lab):
    lab.settings(dispatch=Dispatch.SEQUENTIAL)
    a, b, c = chain(lab)
    program = lab.submit(a, b, last=False, dispatch=Dispatch.PARALLEL)
    lab.submit(c, program=program)
    assert prepared_order(lab) == ["a", "b", "c"]
    lab.end()


def test_a_change_of_dispatch_holds_for_what_comes(lab):
    a, b, c = chain(lab)
    program = lab.submit(a, b, last=False, dispatch=None)
    lab.settings(dispatch=Dispatch.SEQUENTIAL)
    lab.submit(c, program=program)
    assert prepared_order(lab) == ["a", "b"]
    lab.end()


# --- ordered effects --------------------------------------------------------------------------


@pytest.mark.parametrize("dispatch", list(Dispatch))
@pytest.mark.parametrize("end", ["complete", "breaks"])
def test_after_waits_for_the_end_however_it_ends(lab, dispatch, end):
    lab.settings(dispatch=dispatch)
    first = lab.node("first")
    second = lab.node("second", after=(first,))
    lab.submit(first, second)
    lab.prepare(first)
    if dispatch is Dispatch.PARALLEL:
        lab.prepare(second)
    assert lab.state(second) is not L
    getattr(lab, end)(first)
    lab.drain()
    assert lab.state(second) is D
    third = lab.node("third", after=(first, second))  # both have ended, and are forgotten
    lab.run(third)
    assert lab.state(third) is D
    lab.end()


def test_story(lab):
    node = lab.node("a")
    lab.submit(node)
    lab.prepare(node)
    assert lab.controller.story(node.id) == "waiting → prepared → queued → launched"
    lab.complete(node)
    assert lab.controller.story(node.id) == ""
