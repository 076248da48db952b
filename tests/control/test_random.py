"""Any sequence of events that can be, in any order that can be.

The machine below submits programs to two islands, answers for a backend that is free to prepare
and to finish in any order its data allow, breaks nodes, cancels, releases and changes settings.
``Lab.send`` checks every answer against a model of its own and every invariant after every event.
At the end the strictest backend, which runs each island's launches one after another, must get
everything done.
"""

from __future__ import annotations

from control_harness import Lab
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pwlab.control import Controller
from pwlab.events import Dispatch, NodeKind, NodeState

index = st.integers(0, 1 << 16)
node = st.fixed_dictionaries(
    {
        "slice": st.integers(1, 4),
        "kind": st.sampled_from([NodeKind.COMPUTE, NodeKind.COMPUTE, NodeKind.TRANSFER, NodeKind.HOST]),
        "reads": st.lists(index, max_size=3),
        "after": st.lists(index, max_size=1),
        "donates": st.booleans(),
        "pinned": st.booleans(),
        "spread": st.booleans(),
    }
)


class Sequences(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.open = []

    @initialize(limit=st.integers(1, 4), dispatch=st.sampled_from(list(Dispatch)))
    def start(self, limit, dispatch):
        self.settings = {"max_in_flight": limit, "dispatch": dispatch}
        self.lab = Lab(**self.settings)
        self.lab.island(2)
        self.lab.island(3)
        for devices, island in ((2, 0), (3, 1), (1, 0), (2, 1)):
            self.lab.slice(devices, island)

    @rule(
        nodes=st.lists(node, min_size=1, max_size=6),
        last=st.booleans(),
        which=index,
        dispatch=st.sampled_from([None, None, *Dispatch]),
        client=st.sampled_from("ab"),
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
                "n",
                *reads,
                slice=each["slice"],
                kind=each["kind"],
                after=after,
                donates=tuple(reads[:1]) if each["donates"] else (),
                pinned=each["pinned"],
                spread=each["spread"],
            )
            specs.append(spec)
            unheld.append(spec.outputs[0].buffer)
        program = self.open.pop(which % len(self.open)) if self.open and which % 2 else lab.ids.program()
        if not last:
            self.open.append(program)
        lab.submit(*specs, program=program, last=last, dispatch=dispatch, client=client)

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
        programs = sorted({*self.lab.programs, *self.open, *self.lab.controller._programs.programs})
        self.lab.cancel(programs[which % len(programs)])

    @rule(limit=st.none() | st.integers(1, 4), dispatch=st.sampled_from([None, *Dispatch]))
    def change(self, limit, dispatch):
        self.lab.settings(max_in_flight=limit, dispatch=dispatch)

    def teardown(self):
        if not hasattr(self, "lab"):
            return
        lab = self.lab
        for program in self.open:
            lab.submit(program=program)
        lab.end()
        assert all(end.state is not NodeState.DONE or end.node in lab.launched for end in lab.ended.values())
        again = Controller(**self.settings)
        for event, instructions, facts in lab.trace:
            assert again.handle(event) == (instructions, facts), "the same events, another answer"


Sequences.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestSequences = Sequences.TestCase
