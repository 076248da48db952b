"""The order of launches."""

from __future__ import annotations

import pytest
from control_harness import Lab

from pwlab.control import POLICIES, fifo, policy_named
from pwlab.control.lanes import ClientLane
from pwlab.errors import InternalError, UnknownName
from pwlab.events import Launch, NodeKind, NodeState


def names(lab):
    return [lab.specs[launch.node].name for launch in lab.told(Launch)]


def test_fifo_over_programs_and_clients(lab):
    lab.settings(max_in_flight=1)
    nodes = [lab.node(name) for name in "abcd"]
    for node, client in zip(nodes, ("one", "two", "one", "two"), strict=True):
        lab.submit(node, client=client)
    lab.prepare(*nodes)
    lab.complete(*nodes)
    assert names(lab) == ["a", "b", "c", "d"]


def test_a_gang_is_one_instruction_with_all_its_devices(lab):
    wide, narrow = lab.node("wide", spread=True), lab.node("narrow")
    host = lab.node("host", kind=NodeKind.HOST)
    lab.run(wide, narrow, host)
    assert {launch.node: launch.devices for launch in lab.told(Launch)} == {
        wide.id: (0, 1, 2, 3),
        narrow.id: (0,),
        host.id: (),
    }


def test_what_is_not_prepared_holds_nobody_up(lab):
    slow, fast = lab.node("slow"), lab.node("fast")
    lab.submit(slow, fast)
    lab.prepare(fast)
    assert names(lab) == ["fast"]
    lab.prepare(slow)
    assert names(lab) == ["fast", "slow"]


def test_what_misses_an_input_is_passed_over_and_comes_as_soon_as_it_can(lab):
    lab.settings(max_in_flight=1)
    first, producer, reader, other, last = (
        lab.node("first"),
        (p := lab.node("producer")),
        lab.node("reader", p),
        lab.node("other"),
        lab.node("last"),
    )
    lab.submit(first, producer, reader, other, last)
    lab.prepare(first, reader, other, last)
    lab.complete(first)
    assert names(lab) == ["first", "other"]
    lab.prepare(producer)
    lab.complete(other, producer, reader, last)
    assert names(lab) == ["first", "other", "producer", "reader", "last"]


def test_inputs_are_futures(lab):
    a = lab.node("a")
    b = lab.node("b", a)
    lab.submit(a, b)
    lab.prepare(b, a)
    assert names(lab) == ["a", "b"]
    assert not lab.ended


def test_max_in_flight_counts_gangs_of_one_island_and_no_host_nodes():
    lab = Lab(max_in_flight=2)
    lab.island(1)
    lab.island(1)
    left, right = lab.slice(1, 0), lab.slice(1, 1)
    nodes = [lab.node(f"l{i}", slice=left) for i in range(4)] + [lab.node(f"r{i}", slice=right) for i in range(3)]
    hosts = [lab.node(f"h{i}", slice=left, kind=NodeKind.HOST) for i in range(5)]
    lab.submit(*nodes, *hosts)
    lab.prepare(*nodes, *hosts)
    assert names(lab) == ["l0", "l1", "r0", "r1", "h0", "h1", "h2", "h3", "h4"]
    lab.complete(nodes[1])
    assert names(lab)[-1] == "l2"
    lab.settings(max_in_flight=3)
    assert names(lab)[-2:] == ["l3", "r2"]
    lab.settings(max_in_flight=1)  # lowered below what flies: nothing is taken back
    lab.end()


def test_two_islands_that_feed_each_other_do_not_deadlock():
    lab = Lab(max_in_flight=1)
    lab.island(1)
    lab.island(1)
    left, right = lab.slice(1, 0), lab.slice(1, 1)
    a, b = lab.node("a0", slice=left), lab.node("b0", slice=right)
    nodes = [a, b]
    for i in range(1, 20):
        a, b = lab.node(f"a{i}", b, slice=left), lab.node(f"b{i}", a, slice=right)
        nodes += [a, b]
    lab.submit(*nodes)
    for node in reversed(nodes):
        lab.prepare(node)
    lab.end()


def test_withdrawn_gangs_leave_no_trace(lab):
    lab.settings(max_in_flight=1)
    keep, drop, late = lab.node("keep"), [lab.node(f"d{i}") for i in range(5)], lab.node("late")
    lab.submit(keep)
    lab.prepare(keep)
    gone = lab.submit(*drop, client="other")
    lab.submit(late, client="other")
    lab.prepare(*drop, late)
    lab.cancel(gone)
    lab.complete(keep)
    assert names(lab) == ["keep", "late"]
    assert [lab.state(node) for node in drop] == [NodeState.CANCELLED] * 5
    lab.end()


def test_host_nodes_keep_the_order_of_submission(lab):
    gate = lab.node("gate")
    hosts = [lab.node(f"h{i}", gate, kind=NodeKind.HOST) for i in range(4)]
    lab.submit(gate, *hosts)
    lab.prepare(*reversed(hosts), gate)
    assert names(lab) == ["gate", "h0", "h1", "h2", "h3"]


def test_a_policy_is_a_function_of_lanes():
    lanes = [ClientLane("a", 5), ClientLane("b", 3), ClientLane("c", 9)]
    assert fifo(lanes) is lanes[1]
    assert policy_named("fifo", POLICIES) is fifo


def test_another_policy_needs_no_other_change(monkeypatch):
    monkeypatch.setitem(POLICIES, "last", lambda lanes: max(lanes, key=lambda lane: lane.client))
    lab = Lab(max_in_flight=1, policy="last")
    lab.island(1)
    lab.slice(1)
    gate, nodes = lab.node("gate"), [lab.node(name) for name in ("a0", "b0", "a1", "b1")]
    lab.submit(gate, client="c")
    for node in nodes:
        lab.submit(node, client=node.name[0])
    lab.prepare(gate, *nodes)
    lab.drain()
    assert names(lab) == ["gate", "b0", "b1", "a0", "a1"]


def test_bad_settings(lab):
    with pytest.raises(InternalError, match="max_in_flight is at least 1, not 0"):
        lab.settings(max_in_flight=0)
    with pytest.raises(
        UnknownName, match=r"no scheduling policy is called 'fifi'; did you mean 'fifo'\? Policies: fifo"
    ):
        lab.settings(policy="fifi")
    with pytest.raises(UnknownName, match=r"no scheduling policy is called 'zzz'\. Policies: fifo"):
        Lab(policy="zzz")
    lab.settings(policy="fifo")
