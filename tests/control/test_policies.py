"""Policies: who is next, that shares hold, that nobody starves, and what becomes of a policy that misbehaves."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from heapq import heappop, heappush

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.control import Controller, priority, proportional, shortest
from pwlab.control.clients import Client
from pwlab.control.durations import Durations
from pwlab.control.lanes import ClientLane, Tally
from pwlab.control.policies import AGEING
from pwlab.control.records import Node as Record
from pwlab.control.records import Placement, Program
from pwlab.errors import PolicyError, UnknownName
from pwlab.events import (
    ClientOpened,
    Dispatch,
    IslandJoined,
    IslandSpec,
    Launch,
    NodeCompleted,
    NodeKind,
    NodePrepared,
    NodeSpec,
    NodesSubmitted,
    Noted,
    Prepare,
    SettingsChanged,
    SettingsKnown,
    SliceRequested,
)
from pwlab.ids import DeviceId, IslandId, NodeId, ProgramId, SliceId


def names(lab):
    return [lab.specs[launch.node].name for launch in lab.told(Launch)]


def notes(lab):
    return [fact.text for _, _, facts in lab.trace for fact in facts if isinstance(fact, Noted)]


def lane(order, *, virtual=0.0, rank=0, passed=0, seconds=None):
    owner = Client("c")
    owner.priority = rank
    spec = NodeSpec(NodeId(order), "n", NodeKind.COMPUTE, SliceId(1))
    place = Placement(SliceId(1), "s", IslandId(0), (DeviceId(0),))
    node = Record(spec, Program(ProgramId(1), "p", owner), place, order, Durations())
    node.duration.seconds = seconds
    return ClientLane("c", order, [(order, node)], owner, Tally(virtual, 100 - passed), [100])


@pytest.mark.parametrize(
    ("policy", "lanes", "first"),
    [
        (proportional, [lane(1, virtual=2.0), lane(2, virtual=1.0)], 1),
        (proportional, [lane(2, virtual=1.0), lane(1, virtual=1.0)], 1),
        (priority, [lane(1, rank=0), lane(2, rank=3)], 1),
        (priority, [lane(2, rank=3), lane(1, rank=3)], 1),
        (priority, [lane(1, rank=0, passed=2 * AGEING), lane(2, rank=3)], 1),
        (priority, [lane(1, rank=0, passed=4 * AGEING), lane(2, rank=3)], 0),
        (shortest, [lane(1, seconds=2.0), lane(2, seconds=1.0)], 1),
        (shortest, [lane(1, seconds=1.0), lane(2)], 1),
        (shortest, [lane(2, seconds=1.0), lane(1, seconds=1.0)], 1),
        (shortest, [lane(2, seconds=1.0), lane(1, seconds=7.0, passed=2 * AGEING)], 0),
        (shortest, [lane(2, seconds=1.0), lane(1, seconds=7.0, passed=3 * AGEING)], 1),
    ],
)
def test_choice(policy, lanes, first):
    assert policy(lanes) is lanes[first]


# --- a model of one island, whose devices run one launch after another --------------------------


class Island:
    """Clients that always have a few programs queued, and an island that runs one launch after another."""

    def __init__(self, policy, clients, seconds=lambda client, i: 1.0, ahead=40, in_flight=4, devices=2, key=""):
        self.controller = Controller(policy=policy, max_in_flight=in_flight)
        self.seconds, self.ahead, self.key = seconds, ahead, key
        self.now = self.free = 0.0
        self.heap, self.count, self.made = [], 0, 0
        self.owner, self.length, self.done = {}, {}, {}
        self.submitted = {}
        self.send(IslandJoined(0.0, IslandSpec(IslandId(0), "i", tuple(DeviceId(i) for i in range(devices)))))
        self.send(SliceRequested(0.0, SliceId(1), "s", devices))
        for name, asked in clients.items():
            self.send(ClientOpened(0.0, name, **asked))
            self.done[name] = 0.0
            self.submitted[name] = 0

    def send(self, event):
        for instruction in self.controller.handle(event)[0]:
            if isinstance(instruction, Prepare):
                self.send(NodePrepared(self.now, instruction.node))
            elif isinstance(instruction, Launch):
                start = max(self.now, self.free)
                self.free = start + self.length[instruction.node]
                self.count += 1
                heappush(self.heap, (self.free, self.count, instruction.node, start))

    def submit(self, client):
        self.made += 1
        self.submitted[client] += 1
        self.owner[self.made] = client
        self.length[self.made] = self.seconds(client, self.submitted[client])
        spec = NodeSpec(NodeId(self.made), f"{client}", NodeKind.COMPUTE, SliceId(1), spread=True, key=self.key)
        self.send(NodesSubmitted(self.now, ProgramId(self.made), "p", (spec,), client=client))

    def run(self, launches, active):
        """Time that each client got of the next so many launches; ``active`` keep ``ahead`` programs submitted."""
        got = dict.fromkeys(self.done, 0.0)
        open = {client: sum(self.owner[n] == client for *_, n, _ in self.heap) for client in active}
        live = {u.name: u.queued + u.in_flight for u in self.controller.clients()}
        open.update((client, live[client]) for client in active)
        for _ in range(launches):
            for client in active:
                while open[client] < self.ahead:
                    self.submit(client)
                    open[client] += 1
            end, _, node, start = heappop(self.heap)
            self.now = end
            client = self.owner[node]
            got[client] += end - start
            if client in open:
                open[client] -= 1
            self.send(NodeCompleted(end, NodeId(node), start, end))
        return got


@pytest.mark.parametrize("shares", [(1, 1, 1, 1), (1, 2, 4, 8)])
@pytest.mark.parametrize(
    "seconds",
    [
        lambda client, i: 0.001,
        lambda client, i: 0.001 * (1 + int(client)),  # the clients' computations differ
        lambda client, i: 0.001 * (1 + i * 7 % 3),  # and so do the runs of one
    ],
    ids=["equal", "by client", "by run"],
)
def test_shares_hold(shares, seconds):
    clients = {str(i): {"share": float(share)} for i, share in enumerate(shares)}
    island = Island("proportional", clients, seconds)
    got = island.run(3000, list(clients))
    whole = sum(got.values())
    errors = [abs(got[str(i)] / whole * sum(shares) / share - 1) for i, share in enumerate(shares)]
    assert max(errors) <= 0.03, errors
    usage = island.controller.clients()
    assert [u.device_seconds for u in usage] == pytest.approx([2 * got[u.name] for u in usage])


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.tuples(st.floats(0.5, 8.0), st.floats(0.2, 5.0)), min_size=2, max_size=5),
    st.integers(1, 16),
    st.booleans(),
)
def test_any_shares_hold_whatever_the_computations_take(clients, in_flight, common):
    """Device time, or if the computations are the same and as long, what is completed: each within a launch or two."""
    takes = {str(i): clients[0][1] if common else seconds for i, (_, seconds) in enumerate(clients)}
    island = Island(
        "proportional",
        {str(i): {"share": share} for i, (share, _) in enumerate(clients)},
        lambda client, i: takes[client],
        in_flight=in_flight,
        key="f" if common else "",
    )
    island.run(400, list(takes))
    got = island.run(1500, list(takes))
    whole, asked = sum(got.values()), sum(share for share, _ in clients)
    longest = (1 + in_flight) * max(takes.values())
    for i, (share, _) in enumerate(clients):
        assert abs(got[str(i)] - whole * share / asked) <= 2 * longest, got


def test_who_was_idle_has_no_credit():
    island = Island("proportional", {"a": {}, "b": {}})
    island.run(500, ["a"])
    got = island.run(400, ["a", "b"])
    assert got["a"] / sum(got.values()) == pytest.approx(0.5, abs=0.07)


def test_priority_goes_first_and_does_not_starve_the_other():
    island = Island("priority", {"low": {}, "high": {"priority": 2}})
    got = island.run(1000, ["low", "high"])
    assert 0 < got["low"] < 0.05 * sum(got.values())


def test_shortest_runs_short_ones_first_and_long_ones_too():
    island = Island("shortest", {"long": {}, "short": {}}, lambda client, i: 1.0 if client == "short" else 20.0)
    got = island.run(1000, ["long", "short"])
    assert 0 < got["long"] / 20 < 0.02 * got["short"]


def test_a_change_of_shares_and_policy_holds_at_once():
    island = Island("fifo", {"a": {}, "b": {}})
    island.run(200, ["a", "b"])
    island.send(SettingsChanged(island.now, policy="proportional"))
    island.send(ClientOpened(island.now, "b", share=3.0))
    assert island.controller.policy == "proportional"
    got = island.run(1000, ["a", "b"])
    assert got["b"] / sum(got.values()) == pytest.approx(0.75, rel=0.05)


def test_durations_are_learned_and_bounded():
    table = Durations(keep=2)
    first = table.of("f", 1)
    assert table.of("f", 1) is first and table.of("f", 2) is not first
    first.measured(4.0)
    first.measured(8.0)
    assert first.seconds == 6.0
    for _ in range(100):
        first.measured(1.0)
    assert first.seconds == pytest.approx(1.0, abs=0.01), "the newest sixteen or so count"
    table.of("f", 1)
    table.of("g", 1)
    assert len(table) == 2
    assert table.of("f", 1).seconds == first.seconds, "used since, so kept"


def test_equal_computations_count_equal_however_they_were_measured():
    """Who runs rarely always runs after others, and its runs measure longer."""
    clients = {"rare": {"share": 1.0}, "often": {"share": 8.0}}
    island = Island("proportional", clients, lambda client, i: 1.3 if client == "rare" else 1.0, key="f")
    got = island.run(1800, list(clients))
    assert got["often"] / (got["rare"] / 1.3) == pytest.approx(8.0, rel=0.02)


def test_a_client_for_which_a_computation_really_takes_longer_pays_for_that():
    """As where its data say how long a loop runs.  The other then pays for its own, but for what the average is off."""
    clients = {"long": {}, "short": {}}
    island = Island("proportional", clients, lambda client, i: 10.0 if client == "long" else 1.0, key="f")
    island.run(200, list(clients))
    got = island.run(2200, list(clients))
    assert got["long"] / got["short"] == pytest.approx(1.0, abs=0.15)


# --- policies of the user's ----------------------------------------------------------------------------


def longest(lanes):
    return max(lanes, key=lambda lane: (lane.expected or 0.0, -lane.order))


def queued(lab):
    """Three gangs of two clients, queued behind another."""
    lab.settings(max_in_flight=1)
    gate, *nodes = (lab.node(name) for name in ("gate", "a0", "a1", "b0"))
    lab.submit(gate, client="g")
    for node in nodes:
        lab.submit(node, client=node.name[0])
    lab.prepare(gate, *nodes)


def test_a_policy_of_ones_own(lab):
    lab.controller.register("last", lambda lanes: max(lanes, key=lambda lane: lane.order))
    lab.settings(policy="last")
    assert lab.controller.policies[-1] == "last"
    queued(lab)
    lab.drain()
    assert names(lab) == ["gate", "b0", "a0", "a1"]
    lab.controller.register("longest", longest)
    lab.settings(policy="longest")
    lab.run(lab.node("x"))
    assert not notes(lab)


def muddles(lanes):
    """Tries whatever would reach the scheduler, were it shown more than copies."""
    for change in (
        lambda: lanes.clear(),
        lambda: setattr(lanes[0], "share", float("nan")),
        lambda: lanes[0].gangs.clear(),
        lambda: object.__setattr__(lanes[0], "share", float("nan")),  # a copy's, and so nobody's
    ):
        with suppress(Exception):
            change()
    return lanes[-1]


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("even its text fails")


def speechless(lanes):
    raise Speechless


def leaves(lanes):
    sys.exit(3)


def interrupts(lanes):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (lambda lanes: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda lanes: None, "answered nothing, which is none of the lanes it was shown"),
        (lambda lanes: "a0", "answered a str, which is none of the lanes it was shown"),
        (lambda lanes: replace(lanes[0]), "answered a Lane, which is none of the lanes it was shown"),
        (lambda lanes: list(lanes), "answered a list, which is none of the lanes it was shown"),
        (lambda: 0, "raised TypeError: <lambda>() takes 0 positional arguments but 1 was given"),
        (lambda lanes: lanes[7], "raised IndexError: tuple index out of range"),
        (speechless, "raised Speechless: (its text cannot be had)"),
        (leaves, "raised SystemExit: 3"),
        (interrupts, "raised KeyboardInterrupt"),
    ],
)
def test_a_policy_that_misbehaves_is_removed_and_told_once(lab, policy, text):
    queued(lab)
    lab.controller.register("mine", policy)
    lab.settings(policy="mine")
    lab.drain()
    assert names(lab) == ["gate", "a0", "a1", "b0"]
    assert notes(lab) == [
        f"the scheduling policy 'mine' {text}; it was removed and fifo took over: mend it and register it again"
    ]
    assert lab.controller.policy == "fifo"
    with pytest.raises(UnknownName, match="no scheduling policy is called 'mine'"):
        lab.settings(policy="mine")
    lab.controller.register("mine", longest)
    lab.settings(policy="mine")
    lab.end()


def told_settings(lab):
    facts = (fact for _, _, facts in lab.trace for fact in facts if isinstance(fact, SettingsKnown))
    return [(fact.policy, fact.dispatch, fact.max_in_flight) for fact in facts]


def test_settings_are_told_at_the_start_and_when_they_change(lab):
    assert told_settings(lab) == [("fifo", Dispatch.PARALLEL, 16)]
    lab.settings(policy="shortest")
    lab.settings(policy="shortest", max_in_flight=16)
    lab.settings(dispatch=Dispatch.SEQUENTIAL, max_in_flight=4)
    assert told_settings(lab)[1:] == [("shortest", Dispatch.PARALLEL, 16), ("shortest", Dispatch.SEQUENTIAL, 4)]


def test_that_fifo_took_over_from_a_policy_is_told(lab):
    queued(lab)
    lab.controller.register("mine", lambda lanes: None)
    lab.settings(policy="mine")
    lab.drain()
    assert [policy for policy, _, _ in told_settings(lab)[-3:]] == ["fifo", "mine", "fifo"]


def test_a_policy_sees_copies_and_can_reach_nothing(lab):
    lab.controller.register("muddles", muddles)
    lab.settings(policy="muddles")
    queued(lab)
    lab.drain()
    assert names(lab) == ["gate", "b0", "a0", "a1"]
    assert lab.controller.policy == "muddles" and not notes(lab)
    assert all(usage.share == 1.0 for usage in lab.controller.clients())
    lab.end()


def test_what_a_policy_sees(lab):
    seen = []

    def looks(lanes):
        seen.append(lanes)
        return lanes[0]

    lab.open("b", share=2.0, priority=3)
    lab.controller.register("looks", looks)
    lab.settings(policy="looks")
    queued(lab)
    lab.drain()
    a, b = seen[1]
    assert (a.client, a.node, a.queued, a.in_flight, a.launches, a.expected) == ("a", "a0", 2, 0, 0, None)
    assert (b.client, b.node, b.queued, b.share, b.priority) == ("b", "b0", 1, 2.0, 3)
    assert a.order < b.order and a.virtual == b.virtual == 0 and a.passed == b.passed == 0
    lab.end()


@pytest.mark.parametrize(
    ("name", "policy", "text"),
    [
        ("", longest, "a policy needs a name: one or more characters"),
        ("fifo", longest, "the policy 'fifo' is built in and stays as it is: register yours under another name"),
        ("mine", 3, "the policy 'mine' is a function from lanes to a lane, not 3"),
    ],
)
def test_what_cannot_be_registered(lab, name, policy, text):
    with pytest.raises(PolicyError, match=text):
        lab.controller.register(name, policy)


def test_unknown_policies_change_nothing_else(lab):
    with pytest.raises(
        UnknownName, match=r"did you mean 'shortest'\? Policies: fifo, proportional, priority, shortest"
    ):
        lab.settings(policy="shortes", max_in_flight=3)
    lab.limit = 16
    assert lab.controller.policy == "fifo"
    nodes = [lab.node("n") for _ in range(5)]
    lab.submit(*nodes)
    lab.prepare(*nodes)
    assert len(names(lab)) == 5
