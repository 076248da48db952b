"""Back-pressure: who waits for memory, who passes, who can never run, and that nobody waits for ever."""

from __future__ import annotations

import random

import pytest
from control_harness import Lab, buffer_of
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pwlab.control import DeviceUse, Holder
from pwlab.events import ClientKnown, Dispatch, NodeHeld, NodeKind, NodeState
from pwlab.ids import DeviceId, IslandId, Source

D, F, Q, L = NodeState.DONE, NodeState.FAILED, NodeState.QUEUED, NodeState.LAUNCHED


def small(hbm=100, devices=1, **settings):
    lab = Lab(**settings)
    lab.island(devices, hbm_bytes=hbm)
    lab.slice(devices)
    return lab


def test_a_launch_that_does_not_fit_waits_and_others_go_on():
    lab = small(100)
    big, bigger, little = lab.node("big", bytes=60), lab.node("bigger", bytes=50), lab.node("little", bytes=30)
    lab.submit(big, bigger, little, lab.node("other", bytes=10), client="a")
    for node in (big, bigger, little):
        lab.prepare(node)
    assert [lab.state(n) for n in (big, bigger, little)] == [L, Q, L]
    lab.complete(big)
    assert lab.state(bigger) is Q, "the client still holds it"
    lab.release(big)
    assert lab.state(bigger) is L
    lab.end()


def test_memory_is_counted_on_each_device_of_the_gang():
    lab = small(100, devices=4)
    wide = lab.node("wide", bytes=402, spread=True)
    narrow = lab.node("narrow", bytes=100)
    copies = lab.node("copies", bytes=100, per_device=60, spread=True)
    lab.submit(wide, narrow, copies)
    assert lab.state(wide) is F
    assert "'wide' writes 101 B on device 0, which may hold 100 B" in lab.ended[wide.id].error
    lab.prepare(copies, narrow)
    assert (lab.state(copies), lab.state(narrow)) == (Q, L), "the older one's room is kept"
    lab.complete(narrow)
    lab.release(narrow)
    assert [use.bytes for use in lab.controller.memory().devices] == [60] * 4
    lab.end()


def test_two_islands_on_one_chip_share_its_memory():
    lab = Lab()
    lab.island(1, hbm_bytes=100, chips=(7,))
    lab.island(1, hbm_bytes=100, chips=(7,))
    a, b = lab.node("a", slice=lab.slice(1, 0), bytes=60), lab.node("b", slice=lab.slice(1, 1), bytes=60)
    lab.submit(a, b)
    lab.prepare(a, b)
    assert (lab.state(a), lab.state(b)) == (L, Q)
    lab.complete(a)
    lab.release(a)
    assert lab.state(b) is L
    lab.end()


NEVER = {
    "one buffer": (
        {"bytes": 2000},
        "'x' writes 2.0 KB on device 0, which may hold 1000 B: it can never run there, short by 1000 B; make it "
        "smaller or spread it over more devices",
    ),
    "beside its input": (
        {"bytes": 700, "reads": True},
        "'x' writes 700 B beside the 600 B it reads on device 0, which may hold 1000 B: it can never run there, "
        "short by 300 B; make it smaller or spread it over more devices",
    ),
    "of its client": (
        {"bytes": 900, "client": "poor"},
        "'x' writes 900 B, but client 'poor' may hold 800 B (max_bytes): it can never run; raise the limit or make it "
        "smaller",
    ),
}


@pytest.mark.parametrize("case", NEVER)
def test_what_can_never_fit_fails_at_once_with_the_sums(case):
    more, text = NEVER[case]
    lab = small(1000)
    lab.open("poor", max_bytes=800)
    a = lab.node("a", bytes=600)
    lab.run(a)
    x = lab.node("x", *((a,) if more.pop("reads", False) else ()), bytes=more.pop("bytes"))
    after = lab.node("after", x)
    lab.submit(x, after, **more)
    assert lab.ended[x.id].error == text
    assert lab.ended[after.id].error == f"'after' has no input, because 'x' failed: {text}"
    lab.end()


def test_donated_memory_is_used_again():
    lab = small(1000)
    params = lab.node("init", bytes=700)
    steps = [params]
    for i in range(5):
        steps.append(lab.node(f"step{i}", steps[-1], donates=(steps[-1],), bytes=700))
    lab.run(*steps)
    assert all(end.state is D for end in lab.ended.values())
    assert lab.controller.memory().devices == (DeviceUse(DeviceId(0), IslandId(0), 700, 700, 1000),)
    lab.end()


def test_a_chain_needs_two_buffers_however_long_it_is():
    lab = small(200)
    nodes = [lab.node("n0", pinned=False)]
    for i in range(1, 50):
        nodes.append(lab.node(f"n{i}", nodes[-1], pinned=False))
    lab.run(*nodes)
    assert all(end.state is D for end in lab.ended.values())
    assert lab.controller.memory().devices[0].peak_bytes == 200
    lab.end()


def test_two_programs_that_each_hold_a_part_do_not_deadlock():
    """Each holds 40 and needs 30 more before it gives anything back; together that is 140 of 100."""
    lab = small(100)
    programs = []
    for name in "ab":
        first = lab.node(f"{name}1", bytes=40, pinned=False)
        second = lab.node(f"{name}2", first, bytes=30, pinned=False)
        programs.append((first, second))
    for name, nodes in zip("ab", programs, strict=True):
        lab.submit(*nodes, client=name)
    (a1, a2), (b1, b2) = programs
    lab.prepare(a1, b1, b2)
    assert (lab.state(a1), lab.state(b1)) == (L, Q), "b1 fits, and would leave no room for a2"
    lab.prepare(a2)
    lab.drain()
    assert all(end.state is D for end in lab.ended.values())
    lab.end()


def test_a_stream_of_small_ones_does_not_starve_a_big_one():
    lab = small(100, max_in_flight=4)
    keep, big = lab.node("keep", bytes=30), lab.node("big", bytes=70)
    lab.submit(keep, client="a")
    lab.prepare(keep)
    streams = [lab.node(f"s{i}", bytes=20, pinned=False) for i in range(30)]
    lab.submit(streams[0], client="b")
    lab.prepare(streams[0])
    lab.submit(big, client="a")
    lab.prepare(big)
    for node in streams[1:]:
        lab.submit(node, client="b")
        lab.prepare(node)
    lab.complete(streams[0])
    assert lab.state(big) is L
    assert lab.state(streams[1]) is Q
    lab.end()


def test_who_fills_the_memory_holds_up_itself_and_nobody_who_fits():
    lab = small(100)
    leak = [lab.node(f"leak{i}", bytes=20) for i in range(30)]
    lab.submit(*leak, client="leaky")
    lab.prepare(*leak)
    for node in leak[:4]:
        lab.complete(node)
    lab.complete(leak[4])
    assert lab.controller.memory().devices[0].bytes == 100
    lab.release(leak[0])
    assert lab.state(leak[5]) is L, "its own next one takes it"
    lab.complete(leak[5])
    other = [lab.node(f"o{i}", bytes=0, pinned=False) for i in range(5)]
    lab.submit(*other, client="other")
    lab.prepare(*other)
    assert all(lab.state(n) is L for n in other)
    lab.end()


def test_a_clients_own_limit_holds_up_the_client_alone():
    lab = small(1000)
    lab.open("poor", max_bytes=150)
    mine, theirs = [lab.node(f"m{i}") for i in range(3)], [lab.node(f"t{i}") for i in range(3)]
    lab.submit(*mine, client="poor")
    lab.submit(*theirs, client="rich")
    lab.prepare(*mine, *theirs)
    assert [lab.state(n) for n in mine + theirs] == [L, Q, Q, L, L, L]
    lab.open("poor", max_bytes=250)
    assert [lab.state(n) for n in mine] == [L, L, Q]
    lab.open("poor")
    assert [lab.state(n) for n in mine] == [L, L, L]
    lab.end()


#: Who wrote the 100 bytes that 'poor', which may hold 150, has given to its step of 100; what it holds besides; and
#: whether the step can go.
DONATED = {
    "its own": ("poor", 50, D),
    "another's, beside little": ("rich", 50, D),
    "another's, beside too much": ("rich", 51, Q),
}


@pytest.mark.parametrize("case", DONATED)
def test_donated_bytes_go_back_to_the_client_that_wrote_them(case):
    giver, holds, state = DONATED[case]
    lab = small(1000)
    lab.open("poor", max_bytes=150)
    given, kept = lab.node("given"), lab.node("kept", bytes=holds)
    lab.run(given, client=giver)
    lab.run(kept, client="poor")
    step = lab.node("step", given, donates=(given,))
    lab.run(step, client="poor")
    assert lab.state(step) is state
    lab.check_who_is_left()
    lab.release(kept)
    lab.drain()
    assert lab.state(step) is D
    lab.end()


def test_holders_are_listed_with_program_client_and_source():
    lab = small(1000)
    source = Source("Cell In[3]", 2)
    a, b = lab.node("a", bytes=300, source=source), lab.node("b", bytes=400)
    program = lab.submit(a, b, name="cell 3", client="me")
    lab.prepare(a, b)
    lab.submit(lab.node("c", b, bytes=1))
    first, second = lab.controller.memory().holders
    assert (first.name, first.bytes, first.readers) == ("b", 400, 1)
    assert second == Holder(
        buffer_of(a), 300, (DeviceId(0),), "a", a.id, program, "cell 3", "me", True, 0, source
    )  # fmt: skip
    lab.end()


def test_host_nodes_take_no_device_memory():
    lab = small(100)
    host = lab.node("host", kind=NodeKind.HOST, bytes=5000)
    lab.run(host)
    assert lab.state(host) is D
    assert lab.controller.memory().devices[0].peak_bytes == 0
    lab.end()


# --- nobody is stuck ---------------------------------------------------------------------------

shape = st.lists(
    st.lists(  # a program: nodes of (bytes, reads, slice, donates, pinned)
        st.tuples(
            st.integers(0, 60),
            st.lists(st.integers(0, 6), max_size=3),
            st.integers(1, 3),
            st.booleans(),
            st.sampled_from([False, False, True]),
            st.sampled_from([NodeKind.COMPUTE, NodeKind.COMPUTE, NodeKind.TRANSFER, NodeKind.HOST]),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    ),
    min_size=1,
    max_size=6,
)


def build(lab, programs):
    """Submits programs, each of a client of its own; a node may read results of its own program, and pinned ones."""
    everything, kept = [], []
    for number, nodes in enumerate(programs):
        specs = []
        given = set()
        for bytes, reads, slice, donates, pinned, kind, spread in nodes:
            known = [s for s in (*specs[-4:], *kept[-2:]) if s.id not in given]
            inputs = [known[-1 - i % len(known)] for i in reads] if known else []
            gives = inputs[:1] if donates and inputs and inputs[0] in specs else []
            given.update(s.id for s in gives)
            spec = lab.node(
                "n", *inputs, slice=slice, bytes=bytes, donates=tuple(gives), pinned=pinned, kind=kind, spread=spread
            )
            specs.append(spec)
        kept += [s for s in specs if s.outputs[0].buffer in s.pinned and s.id not in given]
        everything.append((f"client{number % 3}", specs))
    return everything


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    programs=shape,
    seed=st.integers(0, 999),
    limit=st.integers(1, 4),
    dispatch=st.sampled_from(list(Dispatch)),
    policy=st.sampled_from(["fifo", "proportional", "priority", "shortest"]),
)
def test_nobody_is_stuck_where_memory_suffices(programs, seed, limit, dispatch, policy):
    """Memory is what the serial run needs and not a byte more; compilations and ends come in any order."""
    peak = serial_peak(programs)
    assume(peak > 0)
    lab = Lab(max_in_flight=limit, dispatch=dispatch, policy=policy)
    lab.island(2, hbm_bytes=peak)
    for devices in (2, 1, 1):
        lab.slice(devices)
    for client, specs in build(lab, programs):
        lab.submit(*specs, client=client)
    play(lab, random.Random(seed))
    assert all(lab.ended[id].state is D for id in lab.specs), "stuck"
    lab.end()


def serial_peak(programs):
    """Most bytes on a device if all ran one after another in the order of submission, counted by hand."""
    lab = Lab()
    lab.island(2)
    for devices in (2, 1, 1):
        lab.slice(devices)
    order = [spec for _, specs in build(lab, programs) for spec in specs]
    used = {DeviceId(0): 0, DeviceId(1): 0}
    lies, peak = {}, 0
    for i, spec in enumerate(order):
        place = lab.slices[spec.slice].devices
        devices = () if spec.kind is NodeKind.HOST else place if spec.spread else place[:1]
        for buffer in spec.donates:
            for device, bytes in lies.pop(buffer, []):
                used[device] -= bytes
        (output,) = spec.outputs
        lies[output.buffer] = [(device, -(-output.bytes // len(devices))) for device in devices]
        for device, bytes in lies[output.buffer]:
            used[device] += bytes
        peak = max(peak, *used.values())
        for buffer in {*spec.inputs, output.buffer}:
            held = any(buffer in s.pinned for s in order)
            if buffer in lies and not held and not any(buffer in later.inputs for later in order[i + 1 :]):
                for device, bytes in lies.pop(buffer):
                    used[device] -= bytes
    return peak


def play(lab, chance):
    """Prepares and completes in a random order, as far as data allow."""
    while True:
        ready = [n for nodes in lab.flying.values() for n in nodes if lab.inputs_ended(n)]
        choices = [(lab.prepare, n) for n in lab.preparing] + [(lab.complete, n) for n in ready]
        if not choices:
            return
        act, node = chance.choice(choices)
        act(node)


# --- what observers are told ------------------------------------------------------------------------------------------


def told(lab):
    return [(f.node, f.account, f.bytes) for _, _, facts in lab.trace for f in facts if isinstance(f, NodeHeld)]


def test_observers_are_told_what_waits_for_memory_and_how_much_it_lacks():
    lab = small(None)
    lab.open("alice", max_bytes=80)
    a, b, c = lab.node("a", bytes=30), lab.node("b", bytes=40), lab.node("c", bytes=60)
    lab.submit(a, b, c, client="alice")
    lab.prepare(a, b, c)
    assert told(lab) == [(c.id, "client 'alice'", 50)]
    lab.complete(a)
    assert told(lab) == [(c.id, "client 'alice'", 50)], "nothing has changed"
    lab.release(a)
    assert told(lab)[1:] == [(c.id, "client 'alice'", 20)]
    lab.complete(b)
    lab.release(b)
    assert lab.state(c) is L and len(told(lab)) == 2
    lab.end()


def test_room_that_is_kept_for_an_older_launch_is_told_as_such():
    lab = small(100)
    wide, narrow = lab.node("wide", bytes=90), lab.node("narrow", bytes=50)
    lab.submit(wide, narrow)
    lab.prepare(narrow)
    assert lab.state(narrow) is Q
    assert told(lab) == [(narrow.id, "", 0)]
    lab.prepare(wide)
    lab.end()


def test_observers_know_the_settings_of_each_client():
    lab = Lab()
    lab.open("alice", share=2.5, max_bytes=80)
    lab.open("alice", share=4.0, priority=3, max_in_flight=2)
    known = [fact for _, _, facts in lab.trace for fact in facts]
    assert known == [ClientKnown(1.0, "alice", 2.5, 0, 80, None), ClientKnown(2.0, "alice", 4.0, 3, None, 2)]
