"""Clients: what each may have and has had, and that one's trouble is nobody else's."""

from __future__ import annotations

import math

import pytest

from pwlab.control import ClientUsage
from pwlab.errors import ClientError, UnknownName
from pwlab.events import Abandon, Free, NodeKind, NodeState
from pwlab.ids import BufferId

D, F, C, Q, L = NodeState.DONE, NodeState.FAILED, NodeState.CANCELLED, NodeState.QUEUED, NodeState.LAUNCHED


@pytest.mark.parametrize("share", [0, -1, -0.5, math.nan, math.inf, -math.inf])
def test_bad_shares(lab, share):
    with pytest.raises(ClientError, match=f"client 'a' asks for share={share}: a share is a positive finite number"):
        lab.open("a", share=share)
    assert lab.controller.clients() == ()


@pytest.mark.parametrize(
    ("client", "more", "text"),
    [
        ("", {}, "a client needs a name: one or more characters"),
        ("a", {"max_bytes": 0}, "client 'a' asks for max_bytes=0: allow at least 1 byte, or None for no limit"),
        ("a", {"max_in_flight": 0}, "client 'a' asks for max_in_flight=0: allow at least 1 launch, or None for no"),
    ],
)
def test_bad_settings(lab, client, more, text):
    with pytest.raises(ClientError, match=text):
        lab.open(client, **more)
    assert lab.controller.clients() == ()


def test_unknown_clients(lab):
    lab.open("train")
    text = r"no client is called 'trains'; did you mean 'train'\? Open are: train"
    for act in (lab.close, lab.cancel_client):
        with pytest.raises(UnknownName, match=text):
            act("trains")
    with pytest.raises(UnknownName, match=text):
        lab.suspend(client="trains")
    lab.suspended.clear()
    lab.close("train")
    with pytest.raises(UnknownName, match=r"no client is called 'train'\. None is open"):
        lab.close("train")


def test_who_submits_without_being_opened_is_opened(lab):
    lab.submit(lab.node("a"), client="new")
    (usage,) = lab.controller.clients()
    assert usage == ClientUsage("new", 1.0, 0, None, None, False, 0.0, 0, 0.0, 0, 1, 0, 0)
    lab.open("new", share=2, priority=3, max_bytes=500, max_in_flight=4)
    (usage,) = lab.controller.clients()
    assert usage == ClientUsage("new", 2.0, 3, 500, 4, False, 0.0, 0, 0.0, 0, 1, 0, 0)
    lab.end()


def test_accounts(lab):
    lab.settings(max_in_flight=1)
    wide, narrow = lab.node("wide", spread=True), lab.node("narrow")
    last, host = lab.node("last"), lab.node("host", kind=NodeKind.HOST)
    lab.submit(wide, narrow, last, host, client="a")
    lab.prepare(wide, narrow)
    (usage,) = lab.controller.clients()
    assert (usage.launches, usage.in_flight, usage.queued, usage.bytes) == (1, 1, 3, 100)
    lab.complete(wide)
    (usage,) = lab.controller.clients()
    assert (usage.device_seconds, usage.launches, usage.in_flight, usage.queued) == (4.0, 2, 1, 2)
    assert usage.waited == 1.0, "narrow could go when it was prepared, and went a second later"
    lab.drain()
    lab.release(wide)
    (usage,) = lab.controller.clients()
    assert (usage.device_seconds, usage.launches, usage.bytes, usage.peak_bytes) == (6.0, 4, 200, 300)
    lab.end()


def test_what_fails_after_a_while_is_charged_and_told_with_its_times(lab):
    wide, after = lab.node("wide", spread=True), lab.node("after")
    broken = lab.node("broken")
    lab.submit(wide, broken, after, client="a")
    lab.prepare(wide, after)
    lab.breaks(broken)  # while it is prepared
    lab.breaks(wide)
    (usage,) = lab.controller.clients()
    assert usage.device_seconds == 4.0, "one second on four devices"
    assert lab.ended[wide.id].end - lab.ended[wide.id].start == 1.0
    assert (lab.ended[broken.id].start, lab.ended[broken.id].end) == (0.0, 0.0)
    lab.drain()
    lab.end()


def test_max_in_flight_holds_back_one_client_over_all_islands(lab):
    lab.island(2)
    there = lab.slice(2, island=1)
    lab.open("few", max_in_flight=2)
    few = [lab.node(f"f{i}", slice=(1, there)[i % 2]) for i in range(4)]
    many = [lab.node(f"m{i}") for i in range(3)]
    lab.submit(*few, client="few")
    lab.submit(*many, client="many")
    lab.prepare(*few, *many)
    assert [lab.state(n) for n in few + many] == [L, L, Q, Q, L, L, L]
    lab.complete(few[0])
    assert [lab.state(n) for n in few[2:]] == [L, Q]
    lab.open("few", max_in_flight=3)
    assert lab.state(few[3]) is L
    lab.end()


def test_closing_cancels_and_frees_what_is_its_own(lab):
    lab.settings(max_in_flight=1)
    held, running, waiting, argument = lab.node("held"), lab.node("running"), lab.node("waiting"), BufferId(900)
    lab.run(held, client="a")
    other = lab.node("other", running)
    mine = lab.submit(running, waiting, lab.node("reads", argument), client="a")
    theirs = lab.submit(other, lab.node("fine"), client="b")
    lab.prepare(running)
    lab.close("a")
    _, instructions, _ = lab.trace[-1]
    assert Abandon(waiting.id, "client 'a' was closed", waiting.id, cancelled=True) in instructions
    dropped = {b for i in instructions if isinstance(i, Free) for b in i.buffers}
    assert {held.outputs[0].buffer, waiting.outputs[0].buffer, argument} <= dropped
    assert [usage.name for usage in lab.controller.clients()] == ["b"]
    lab.drain()
    assert lab.programs == {1: D, mine: C, theirs: D}, "what it had launched ended, and its reader too"
    lab.end()
    assert lab.controller.memory().holders == ()


def test_the_name_is_free_again_and_means_somebody_else(lab):
    node = lab.node("a")
    lab.submit(node, client="a")
    lab.prepare(node)
    lab.close("a")
    again = lab.node("again")
    lab.submit(again, client="a")
    lab.prepare(again)
    (usage,) = lab.controller.clients()
    assert (usage.launches, usage.in_flight, usage.bytes) == (1, 1, 100)
    lab.complete(node)
    (usage,) = lab.controller.clients()
    assert (usage.device_seconds, usage.in_flight, usage.bytes) == (0.0, 1, 100)
    lab.end()


def test_windows_of_a_closed_client_are_cancelled(lab):
    program = lab.submit(lab.node("a"), last=False, client="a")
    lab.close("a")
    late = lab.node("late", BufferId(900))
    lab.submit(late, program=program, client="a", holds=False)
    assert lab.state(late) is C
    assert lab.controller.sizes()["buffers"] == lab.controller.sizes()["clients"] == 0
    lab.end()


def test_cancelling_a_client_cancels_all_its_programs_and_leaves_it_open(lab):
    lab.settings(max_in_flight=1)
    nodes = [lab.node(f"n{i}") for i in range(4)]
    for node, client in zip(nodes, "aabb", strict=True):
        lab.submit(node, client=client)
    lab.prepare(*nodes)
    lab.cancel_client("a", reason="enough")
    assert [lab.state(n) for n in nodes] == [L, C, Q, Q]
    assert lab.ended[nodes[1].id].error == "enough"
    more = lab.node("more")
    lab.run(more, client="a")
    assert lab.state(more) is D
    lab.end()


def test_a_failure_and_a_flood_of_one_do_not_touch_another(lab):
    lab.settings(max_in_flight=2, policy="proportional")
    flood = [lab.node(f"f{i}") for i in range(60)]
    lab.submit(*flood, client="flood")
    lab.prepare(*flood)
    mine = lab.node("mine")
    lab.submit(mine, client="me")
    lab.prepare(mine)
    lab.breaks(flood[0])
    lab.complete(flood[1])
    assert lab.state(mine) is L, "two launches of the flood were before it, and no more"
    lab.drain()
    assert lab.state(mine) is D
    lab.end()
