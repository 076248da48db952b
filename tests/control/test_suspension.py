"""What is suspended leaves the devices, and comes back for a launch, or when there is room to spare."""

from __future__ import annotations

import pytest
from control_harness import Lab, buffer_of

from pwlab.control import Kind
from pwlab.errors import InternalError
from pwlab.events import BuffersOffloaded, BuffersRestored, Launch, NodePrepared, NodeState, Offload, Restore

D, F, Q, L = NodeState.DONE, NodeState.FAILED, NodeState.QUEUED, NodeState.LAUNCHED


@pytest.fixture
def small():
    lab = Lab()
    lab.island(1, hbm_bytes=100)
    lab.slice(1)
    yield lab
    lab.controller.validate()


def used(lab):
    return lab.controller.memory().devices[0].bytes


def moves(lab):
    """Offloads and restores so far, by the names of the nodes that wrote what they name."""
    told = [i for _, instructions, _ in lab.trace for i in instructions if isinstance(i, Offload | Restore)]
    name = {b: lab.specs[n].name for b, n in lab.producer.items()}
    return [(type(i).__name__, *(name[b] for b in i.buffers)) for i in told]


@pytest.mark.parametrize("kind", ["client", "program", "slice"])
def test_it_leaves_when_what_is_in_flight_has_ended_and_comes_back(small, kind):
    lab = small
    a = lab.node("a", bytes=40)
    b = lab.node("b", a, bytes=40)
    program = lab.submit(a, b, client="me", last=False)
    lab.prepare(a, b)
    entity = {kind: {"client": "me", "program": program, "slice": 1}[kind]}
    lab.complete(a)
    lab.suspend(**entity)
    assert moves(lab) == [] and used(lab) == 80, "'b' runs, and reads 'a'"
    lab.complete(b)
    assert moves(lab) == [("Offload", "a", "b")] and used(lab) == 0
    use = lab.controller.memory()
    assert use.host_bytes == 80 and all(holder.away for holder in use.holders)
    assert lab.controller.clients()[0].bytes == 0
    lab.unsuspend(**entity)
    assert moves(lab)[1:] == [("Restore", "a", "b")] and used(lab) == 80
    facts = [f for _, _, facts in lab.trace for f in facts if isinstance(f, BuffersOffloaded | BuffersRestored)]
    assert [(type(f), f.bytes) for f in facts] == [(BuffersOffloaded, 80), (BuffersRestored, 80)]
    lab.submit(program=program, client="me")
    lab.end()


def test_others_use_the_room_and_it_waits_for_it_when_it_goes_on(small):
    lab = small
    mine, theirs = lab.node("mine", bytes=70), lab.node("theirs", bytes=80)
    lab.run(mine, client="me")
    reader = lab.node("reader", mine, bytes=10)
    lab.submit(theirs, client="you")
    lab.submit(reader, client="me")
    lab.prepare(theirs, reader)
    assert (lab.state(theirs), lab.state(reader)) == (Q, L)
    lab.complete(reader)
    lab.release(reader)
    again = lab.node("again", mine, bytes=10)
    lab.submit(again, client="me")
    lab.suspend(client="me")
    assert lab.state(theirs) is L and moves(lab) == [("Offload", "mine")]
    lab.prepare(again)
    why = lab.controller.why(again.id).root
    assert (why.kind, why.bytes) == (Kind.SUSPENDED, 70)
    lab.unsuspend(client="me")
    assert lab.state(again) is Q and "short by 60 B" in str(lab.controller.why(again.id))
    there = lab.controller.why(buffer=buffer_of(mine))
    assert "is there, 70 B in host memory: it comes back when a launch reads it" in str(there)
    lab.complete(theirs)
    lab.release(theirs)
    assert lab.state(again) is L and moves(lab)[1:] == [("Restore", "mine")]
    _, instructions, _ = next(entry for entry in lab.trace if any(isinstance(i, Restore) for i in entry[1]))
    order = [type(i) for i in instructions if isinstance(i, Restore | Launch)]
    assert order == [Restore, Launch], "before the launch that reads it"
    lab.end()


def test_another_who_reads_it_has_it_brought_back_for_the_time(small):
    lab = small
    mine = lab.node("mine", bytes=70)
    lab.run(mine, client="me")
    lab.suspend(client="me")
    reader = lab.node("reader", mine, bytes=10, pinned=False)
    lab.submit(reader, client="you")
    lab.prepare(reader)
    assert lab.state(reader) is L and used(lab) == 80
    lab.complete(reader)
    assert moves(lab) == [("Offload", "mine"), ("Restore", "mine"), ("Offload", "mine")]
    assert "is there, 70 B in host memory: client 'me' is suspended" in str(lab.controller.why(buffer=buffer_of(mine)))
    lab.end()


def test_what_nobody_needs_does_not_take_the_room_of_what_is_planned(small):
    lab = small
    mine, hold = lab.node("mine", bytes=60), lab.node("hold", bytes=20)
    lab.run(mine, client="me")
    lab.suspend(client="me")
    lab.run(hold, client="you")
    planned = lab.node("planned", hold, bytes=60, pinned=False)
    lab.submit(planned, client="you")  # is being compiled
    lab.unsuspend(client="me")
    assert moves(lab) == [("Offload", "mine")]
    lab.drain()
    assert lab.state(planned) is D and moves(lab)[1:] == [("Restore", "mine")]
    lab.end()


@pytest.mark.parametrize("how", ["cancel", "close", "release"])
def test_what_ends_while_it_is_suspended_leaves_nothing(small, how):
    lab = small
    a = lab.node("a", bytes=60)
    b = lab.node("b", a, bytes=30)
    program = lab.submit(a, b, client="me")
    lab.prepare(a)
    lab.complete(a)
    lab.suspend(client="me")
    assert moves(lab) == [("Offload", "a")]
    if how == "cancel":
        lab.cancel(program)
        assert used(lab) == 0
        lab.unsuspend(client="me")
        assert used(lab) == 60
    elif how == "close":
        lab.close("me")
    else:
        lab.release(a)
        lab.unsuspend(client="me")
        lab.prepare(b)
    lab.end()


def test_a_program_that_ends_while_it_is_suspended_is_suspended_no_more(small):
    lab = small
    a = lab.node("a", bytes=60)
    program = lab.submit(a)
    lab.prepare(a)
    lab.suspend(program=program)
    lab.complete(a)
    lab.suspended.clear()
    assert used(lab) == 60
    lab.end()


def test_what_is_donated_comes_back_first_and_is_used_again(small):
    lab = small
    params = lab.node("params", bytes=70)
    lab.run(params, client="me")
    step = lab.node("step", params, donates=(params,), bytes=70)
    lab.submit(step, client="me")
    lab.suspend(client="me")
    lab.prepare(step)
    assert used(lab) == 0
    lab.unsuspend(client="me")
    assert lab.state(step) is L and used(lab) == 70
    lab.end()


# --- scratch, and where the compiler put results --------------------------------------------------------


def test_scratch_counts_while_a_launch_runs():
    lab = Lab()
    lab.island(2, hbm_bytes=100)
    lab.slice(2)
    lab.scratch["greedy"] = 50
    greedy, plain = lab.node("greedy", bytes=40, spread=True), lab.node("plain", bytes=60)
    lab.submit(greedy, plain)
    lab.prepare(greedy, plain)
    assert [use.bytes for use in lab.controller.memory().devices] == [70, 70]
    assert lab.state(plain) is Q and "short by 30 B" in str(lab.controller.why(plain.id))
    lab.complete(greedy)
    assert lab.state(plain) is L
    lab.end()


def test_scratch_that_can_never_fit_fails_with_the_sums():
    lab = Lab()
    lab.island(1, hbm_bytes=1000)
    lab.slice(1)
    lab.scratch["greedy"] = 700
    a = lab.node("a", bytes=200)
    lab.run(a)
    text = (
        "'greedy' writes 200 B beside the 200 B it reads and needs 700 B of scratch while it runs on device 0, which "
        "may hold 1000 B: it can never run there, short by 100 B; make it smaller or spread it over more devices"
    )
    for state in ("prepared", "submitted"):  # its like was prepared before
        greedy = lab.node("greedy", a, bytes=200)
        lab.submit(greedy)
        if state == "prepared":
            lab.prepare(greedy)
        assert lab.state(greedy) is F and lab.ended[greedy.id].error == text
    lab.end()


def test_what_the_compiler_replicates_counts_whole_on_each_device():
    lab = Lab()
    lab.island(4, hbm_bytes=1000)
    lab.slice(4)
    first, second = lab.node("f", bytes=400, spread=True), lab.node("f", bytes=400, spread=True)
    lab.submit(first, second)
    lab.controller.handle(NodePrepared(0.0, first.id, written=(400,)))
    assert [use.bytes for use in lab.controller.memory().devices] == [400] * 4
    lab.controller.validate()
    with pytest.raises(InternalError, match="was prepared with 2 outputs, and has 1"):
        lab.controller.handle(NodePrepared(0.0, second.id, written=(1, 2)))
