"""How long buffers live, and what donation means."""

from __future__ import annotations

import pytest
from control_harness import Lab

from pwlab.events import Abandon, BuffersFreed, Free, Launch, NodeKind, NodeState
from pwlab.ids import BufferId, IslandId, Source

ISLAND = IslandId(0)


def dropped(lab):
    return [buffer for free in lab.told(Free) for buffer in free.buffers]


def test_a_buffer_lives_while_it_is_held_read_or_made(lab):
    a = lab.node("a")
    b = lab.node("b", a, pinned=False)
    lab.submit(a, b)
    lab.release(a)
    assert dropped(lab) == [], "not even made"
    lab.prepare(a, b)
    lab.complete(a)
    assert dropped(lab) == [], "b reads it"
    lab.complete(b)
    _, instructions, facts = lab.trace[-1]
    buffers = (a.outputs[0].buffer, b.outputs[0].buffer)
    assert instructions == [Free(buffers)]
    assert BuffersFreed(lab.time, buffers, 200) in facts
    assert lab.controller.sizes()["buffers"] == 0


def test_a_held_buffer_serves_later_programs(lab):
    a = lab.node("a")
    lab.run(a)
    for _ in range(3):
        lab.run(lab.node("b", a, pinned=False))
    assert a.outputs[0].buffer not in dropped(lab)
    lab.release(a)
    assert a.outputs[0].buffer in dropped(lab)


def test_a_node_may_read_a_buffer_twice(lab):
    a = lab.node("a", pinned=False)
    b = lab.node("b", a, a, pinned=False)
    lab.run(a, b)
    assert sorted(dropped(lab)) == [1, 2]
    lab.end()


def test_unknown_and_repeated_releases_are_ignored(lab):
    a = lab.node("a")
    lab.run(a)
    lab.release(a, a, BufferId(99))
    lab.release(a)
    assert dropped(lab) == [1]


def test_a_buffer_that_nobody_wanted_goes_when_it_is_made(lab):
    lab.run(lab.node("a", pinned=False))
    assert dropped(lab) == [1]


def test_an_argument_is_held_until_the_client_lets_go(lab):
    argument = BufferId(500)
    lab.run(lab.node("a", argument))
    lab.run(lab.node("b", argument))
    assert argument not in dropped(lab)
    c = lab.node("c", argument)
    lab.submit(c)
    lab.release(argument)
    assert argument not in dropped(lab)
    lab.drain()
    assert argument in dropped(lab)
    lab.end()


def test_buffers_of_what_never_ran_are_dropped_with_no_bytes(lab):
    a = lab.node("a")
    program = lab.submit(a)
    lab.cancel(program)
    assert BuffersFreed(lab.time, (BufferId(1),), 0) in lab.trace[-1][2]
    assert dropped(lab) == [], "the client may still ask for its error"
    lab.release(a)
    assert lab.trace[-1][1:] == ([Free((BufferId(1),))], [])


def test_a_failed_launch_gives_its_memory_back_at_once(lab):
    a = lab.node("a")
    lab.submit(a)
    lab.prepare(a)
    assert lab.controller.bytes(ISLAND) == (100, 100)
    lab.breaks(a)
    assert lab.controller.bytes(ISLAND) == (0, 100)
    assert BuffersFreed(lab.time, (BufferId(1),), 100) in lab.trace[-1][2]
    lab.end()


def test_bytes_count_from_the_launch_and_the_peak_stays(lab):
    a = lab.node("a")
    b = lab.node("b", a)
    lab.submit(a, b)
    assert lab.controller.bytes(ISLAND) == (0, 0)
    lab.prepare(a, b)
    lab.drain()
    assert lab.controller.bytes(ISLAND) == (200, 200)
    lab.release(a, b)
    assert lab.controller.bytes(ISLAND) == (0, 200)


# --- donation ---------------------------------------------------------------------------


def test_donated_memory_passes_to_the_taker_at_its_launch(lab):
    a = lab.node("a")
    step = lab.node("step", a, donates=(a,))
    lab.submit(a, step)
    lab.prepare(a)
    lab.complete(a)
    lab.prepare(step)
    assert lab.controller.bytes(ISLAND) == (100, 100)
    assert BuffersFreed(lab.time, (BufferId(1),), 100) in lab.trace[-1][2]
    lab.complete(step)
    assert dropped(lab) == []
    lab.release(a, step)
    assert dropped(lab) == [1, 2]
    lab.end()


def test_a_later_reader_of_a_donated_buffer_fails_by_name(lab):
    params = lab.node("init")
    step = lab.node("step", params, donates=(params,), source=Source("Cell In[3]", 2))
    late = lab.node("late", params)
    lab.submit(params, step, late)
    text = (
        "'late' reads a result of 'init' that was donated to 'step' (Cell In[3], line 2) and is gone: "
        "read it before, or do not donate it"
    )
    assert lab.told(Abandon) == [Abandon(late.id, text, late.id)]
    lab.drain()
    again = lab.node("again", params, donates=(params,))
    lab.submit(again)
    assert lab.state(again) is NodeState.FAILED
    lab.end()


def test_an_argument_can_be_donated(lab):
    argument = BufferId(500)
    lab.submit(lab.node("step", argument, donates=(argument,)), lab.node("late", argument))
    assert lab.told(Abandon)[0].error.startswith("'late' reads an argument that was donated to 'step' and")
    lab.end()


def test_the_taker_waits_for_earlier_readers(lab):
    a = lab.node("a")
    reader = lab.node("reader", a)
    step = lab.node("step", a, donates=(a,))
    lab.submit(a, reader, step)
    lab.prepare(a, step)
    assert lab.state(step) is NodeState.QUEUED
    lab.prepare(reader)
    assert [launch.node for launch in lab.told(Launch)] == [a.id, reader.id, step.id]
    lab.end()


def test_the_taker_does_not_wait_for_readers_that_are_on_their_way(lab):
    a = lab.node("a")
    reader = lab.node("reader", a)
    lab.submit(a, reader)
    lab.prepare(a, reader)
    step = lab.node("step", a, donates=(a,))
    lab.submit(step)
    lab.prepare(step)
    assert lab.state(step) is NodeState.LAUNCHED
    lab.end()


def test_the_taker_waits_no_longer_for_readers_that_are_gone(lab):
    a, reader = (a := lab.node("a")), lab.node("reader", a)
    lab.submit(a)
    gone = lab.submit(reader)
    step = lab.node("step", a, donates=(a,))
    lab.submit(step)
    lab.prepare(a, step)
    lab.cancel(gone)
    assert lab.state(step) is NodeState.LAUNCHED
    lab.end()


@pytest.mark.parametrize("launched", [False, True])
def test_a_buffer_comes_back_only_from_a_taker_that_was_never_launched(lab, launched):
    params = lab.node("init")
    lab.run(params)
    step = lab.node("step", params, donates=(params,))
    program = lab.submit(step)
    if launched:
        lab.prepare(step)
        lab.breaks(step)
    else:
        lab.cancel(program)
    late = lab.node("late", params)
    lab.submit(late)
    lab.drain()
    assert lab.state(late) is (NodeState.FAILED if launched else NodeState.DONE)
    lab.end()


@pytest.mark.parametrize(
    ("reader", "waits_for_end"),
    [
        ({}, False),  # the same island launches in one order
        ({"slice": 2}, True),
        ({"kind": NodeKind.HOST}, True),
        ({"kind": NodeKind.TRANSFER, "slice": 2}, True),
    ],
    ids=["same island", "other island", "host", "transfer to another island"],
)
@pytest.mark.parametrize("launched_before", [False, True])
def test_a_donor_waits_until_earlier_readers_have_read(reader, waits_for_end, launched_before):
    lab = Lab()
    for island in (lab.island(), lab.island()):
        lab.slice(1, island)
    x = lab.node("x")
    lab.run(x)
    reads = lab.node("reads", x, **reader)
    takes = lab.node("takes", x, donates=(x,))
    if launched_before:
        lab.submit(reads)
        lab.prepare(reads)
        lab.submit(takes)
        lab.prepare(takes)
    else:
        lab.submit(reads, takes)
        lab.prepare(takes, reads)
    assert (takes.id in lab.launched) is not waits_for_end
    lab.complete(reads)
    assert takes.id in lab.launched
    lab.drain()
    lab.end()
