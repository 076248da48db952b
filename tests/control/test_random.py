"""Any sequence of events that can be, in any order that can be.

The machine below submits programs of several clients to two islands, one of them short of memory,
answers for a backend that is free to prepare and to finish in any order its data allow, breaks nodes,
cancels, releases, changes settings and policies (a user's own and one that misbehaves among them),
opens and closes clients, pauses, steps, suspends and moves slices.  ``Lab.send`` checks every
answer against a model of its own and every invariant after every event; :meth:`Sequences.ask` asks
why, of everything, at any moment.  At the end the strictest backend, which runs each island's
launches one after another, must get everything done.
"""

from __future__ import annotations

from contextlib import suppress

from control_harness import Lab
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pwlab.control import POLICIES, Controller, Kind
from pwlab.errors import PlacementError
from pwlab.events import Dispatch, NodeKind, NodeState, SliceMoved

index = st.integers(0, 1 << 16)
client = st.sampled_from("abc")
node = st.fixed_dictionaries(
    {
        "slice": st.integers(1, 4),
        "kind": st.sampled_from([NodeKind.COMPUTE, NodeKind.COMPUTE, NodeKind.TRANSFER, NodeKind.HOST]),
        "reads": st.lists(index, max_size=3),
        "after": st.lists(index, max_size=1),
        "donates": st.booleans(),
        "pinned": st.booleans(),
        "spread": st.booleans(),
        "bytes": st.sampled_from([0, 20, 60, 100, 150]),
        "name": st.sampled_from(["plain", "plain", "scratches"]),
    }
)


def longest(lanes):
    return max(lanes, key=lambda lane: (lane.expected or 0.0, -lane.order))


def wrong(lanes):
    """Right now and then."""
    return [lanes[-1], lanes[0], None, 1 // 0 if len(lanes) > 1 else lanes[0]][sum(lane.order for lane in lanes) % 4]


#: Policies of the user's; what misbehaves is removed.
OWN = {"longest": longest, "wrong": wrong}


def with_policies(controller):
    for name, policy in OWN.items():
        controller.register(name, policy)


class Sequences(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.open = []

    @initialize(
        limit=st.integers(1, 4),
        dispatch=st.sampled_from(list(Dispatch)),
        policy=st.sampled_from(sorted(POLICIES)),
        hbm=st.sampled_from([None, 120, 250, 400]),
    )
    def start(self, limit, dispatch, policy, hbm):
        self.settings = {"max_in_flight": limit, "dispatch": dispatch, "policy": policy}
        self.lab = Lab(**self.settings)
        with_policies(self.lab.controller)
        self.lab.scratch["scratches"] = 30
        self.lab.island(2, hbm_bytes=hbm)
        self.lab.island(3)
        for devices, island in ((2, 0), (3, 1), (1, 0), (2, 1)):
            self.lab.slice(devices, island)

    @rule(
        nodes=st.lists(node, min_size=1, max_size=6),
        last=st.booleans(),
        which=index,
        dispatch=st.sampled_from([None, None, *Dispatch]),
        client=client,
    )
    def submit(self, nodes, last, which, dispatch, client):
        lab = self.lab
        specs = []
        unheld = []
        for each in nodes:
            # What the client may name: what it holds, and what this window makes.
            known = sorted(b for b in lab.held if b in lab.producer) + unheld
            reads = [known[i % len(known)] for i in each["reads"] if known]
            before = [*lab.specs.values(), *specs]
            after = tuple(before[i % len(before)] for i in each["after"] if before)
            spec = lab.node(
                each["name"],
                *reads,
                slice=each["slice"],
                kind=each["kind"],
                after=after,
                donates=tuple(reads[:1]) if each["donates"] else (),
                pinned=each["pinned"],
                spread=each["spread"],
                bytes=each["bytes"],
            )
            specs.append(spec)
            unheld.append(spec.outputs[0].buffer)
        program, client, gone = lab.ids.program(), client, False
        if self.open and which % 2:
            program, client, gone = self.open.pop(which % len(self.open))
        if not last:
            self.open.append((program, client, gone))
        lab.submit(*specs, program=program, last=last, dispatch=dispatch, client=client, holds=not gone)

    @precondition(lambda self: self.lab.preparing)
    @rule(which=index, works=st.sampled_from([True, True, True, False]))
    def prepare(self, which, works):
        node = self.lab.preparing[which % len(self.lab.preparing)]
        if works:
            self.lab.prepare(node)
        else:
            self.lab.breaks(node, "it does not compile")

    @precondition(lambda self: any(self.lab.flying.values()))
    @rule(which=index, works=st.sampled_from([True, True, True, False]))
    def finish(self, which, works):
        lab = self.lab
        flying = [n for nodes in lab.flying.values() for n in nodes if lab.inputs_ended(n)]
        node = flying[which % len(flying)]
        if works and not lab.input_failed(node):
            lab.complete(node)
        else:
            lab.breaks(node, "it does not run")
            assert lab.input_failed(node) == (lab.ended[node].cause != node)

    @precondition(lambda self: self.lab.held)
    @rule(which=st.lists(index, min_size=1, max_size=4))
    def release(self, which):
        held = sorted(self.lab.held)
        self.lab.release(*{held[i % len(held)] for i in which})

    @precondition(lambda self: self.lab.specs)
    @rule(which=index)
    def cancel(self, which):
        programs = sorted({*self.lab.programs, *self.lab.controller._programs.programs})
        self.lab.cancel(programs[which % len(programs)])

    @rule(
        limit=st.none() | st.integers(1, 4),
        dispatch=st.sampled_from([None, *Dispatch]),
        policy=st.sampled_from([None, *sorted(POLICIES), *OWN]),
    )
    def change(self, limit, dispatch, policy):
        known = policy in self.lab.controller.policies
        self.lab.settings(max_in_flight=limit, dispatch=dispatch, policy=policy if known else None)

    @rule(
        client=client,
        share=st.sampled_from([0.5, 1.0, 4.0]),
        priority=st.integers(-1, 2),
        max_bytes=st.sampled_from([None, None, 200, 400]),
        max_in_flight=st.sampled_from([None, None, 1, 2]),
    )
    def open_client(self, client, **settings):
        self.lab.open(client, **settings)

    @rule(client=client, close=st.booleans())
    def lose_client(self, client, close):
        if client not in [usage.name for usage in self.lab.controller.clients()]:
            return
        if not close:
            self.lab.cancel_client(client)
            return
        self.lab.close(client)
        self.open = [(program, owner, gone or owner == client) for program, owner, gone in self.open]

    @rule(act=st.sampled_from(["pause", "step", "resume", "resume"]))
    def hold(self, act):
        getattr(self.lab, act)()

    @rule(which=index, kind=st.sampled_from(["client", "program", "slice"]), again=st.booleans())
    def suspend(self, which, kind, again):
        lab = self.lab
        there = {
            "client": [usage.name for usage in lab.controller.clients()],
            "program": sorted(lab.controller._programs.programs),
            "slice": sorted(lab.slices),
        }[kind]
        if there:
            act = lab.unsuspend if again else lab.suspend
            act(**{kind: there[which % len(there)]})

    @rule(slice=st.integers(1, 4), island=st.sampled_from([None, 0, 1]))
    def move(self, slice, island):
        try:
            self.lab.move(slice, island)
        except PlacementError:
            self.lab.controller.validate()

    @rule()
    def ask(self):
        lab = self.lab
        for id in lab.specs:
            why = lab.controller.why(id)
            assert (why.root.kind is Kind.ENDED) == (id in lab.ended)
            assert str(why)
        for id in [*lab.controller._programs.programs, *lab.programs]:
            assert str(lab.controller.why(program=id))
        for id in lab.producer:
            assert str(lab.controller.why(buffer=id))

    def teardown(self):
        if not hasattr(self, "lab"):
            return
        lab = self.lab
        for program, client, _ in self.open:
            lab.submit(program=program, client=client)
        lab.resume()
        lab.drain()
        for name, entity in sorted(lab.suspended, key=str):
            if name != "program" or entity in lab.controller._programs.programs:
                lab.unsuspend(**{name: entity})
        lab.suspended.clear()
        lab.drain()
        lab.check_who_is_left()
        lab.release(*lab.held)
        lab.drain()
        lab.check_who_is_left()
        for program in list(lab.controller._programs.programs):
            lab.cancel(program)  # what needs more at once than there is
        for usage in lab.controller.clients():
            lab.close(usage.name)
        lab.end()
        assert lab.controller.sizes()["clients"] == 0
        assert lab.controller.memory().holders == ()
        assert all(not queue.tallies for queue in lab.controller._scheduler.queues.values())
        assert all(end.state is not NodeState.DONE or end.node in lab.launched for end in lab.ended.values())
        again = Controller(**self.settings)
        with_policies(again)
        for event, instructions, facts in lab.trace:
            if isinstance(event, SliceMoved):
                with suppress(PlacementError):
                    assert again.handle(event) == (instructions, facts)
                continue
            assert again.handle(event) == (instructions, facts), "the same events, another answer"


Sequences.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestSequences = Sequences.TestCase
