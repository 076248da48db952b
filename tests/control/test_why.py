"""Why it waits: each kind of reason by its text, and the chain to the root."""

from __future__ import annotations

import pytest
from control_harness import Lab, buffer_of

from pwlab.control import Kind, text_of
from pwlab.errors import InternalError
from pwlab.events import Link, NodeKind
from pwlab.ids import BufferId, NodeId, ProgramId, Source

SHOWN: set[Kind] = set()


def lines(why):
    SHOWN.update(reason.kind for reason in why.reasons)
    return [text_of(reason) for reason in why.reasons]


def one_by_one(**settings):
    lab = Lab(max_in_flight=1, **settings)
    lab.island(2)
    lab.slice(2)
    return lab


def test_input_of_another_client_and_compiling(lab):
    a = lab.node("a", source=Source("Cell In[2]", 1))
    b = lab.node("b", a)
    lab.submit(a, name="cell 2", client="other")
    lab.submit(b, name="cell 3", client="me")
    assert lines(lab.controller.why(b.id)) == [
        "'b' of program 2 'cell 3' waits for its input from 'a' of program 1 'cell 2' (client 'other')",
        "'a' of program 1 'cell 2' (Cell In[2], line 1) is being compiled",
    ]
    assert str(lab.controller.why(b.id)).splitlines()[1].startswith("  'a' of")
    assert lab.controller.why(b.id).root.node == a.id


def test_transfer(lab):
    lab.island(1)
    there = lab.slice(1, island=1)
    a = lab.node("a")
    moved = lab.node("send", a, kind=NodeKind.TRANSFER, bytes_in=4_200_000, link=Link.DCN, slice=there)
    b = lab.node("b", moved, slice=there)
    lab.submit(a, moved, b)
    lab.prepare(a, b)
    assert lines(lab.controller.why(b.id)) == [
        "'b' of program 1 'p' waits for the transfer of 4.0 MB over DCN by 'send'",
        "'send' of program 1 'p' is being compiled",
    ]
    lab.prepare(moved)
    assert lines(lab.controller.why(b.id)) == [
        "'b' of program 1 'p' waits for the transfer of 4.0 MB over DCN by 'send'",
        "'send' of program 1 'p' waits for its input from 'a'",
        "'a' of program 1 'p' is running",
    ]
    lab.complete(a)
    assert lines(lab.controller.why(b.id))[1] == "'send' of program 1 'p' is running: it moves 4.0 MB over DCN"


def test_order_and_donation(lab):
    first = lab.node("print")
    second = lab.node("print again", after=(first,))
    lab.submit(first, second)
    lab.prepare(first)
    assert lines(lab.controller.why(second.id)) == [
        "'print again' of program 1 'p' must follow 'print', which has not ended",
        "'print' of program 1 'p' is running",
    ]
    a = lab.node("a")
    reader, step = lab.node("reader", a), lab.node("step", a, donates=(a,))
    lab.submit(a, reader, step)
    lab.prepare(a, step)
    assert lines(lab.controller.why(step.id)) == [
        "'step' of program 2 'p' takes over a buffer that 'reader' has still to read",
        "'reader' of program 2 'p' is being compiled",
    ]


def test_behind_and_busy():
    lab = one_by_one()
    nodes = [lab.node(f"n{i}") for i in range(3)]
    lab.submit(nodes[0], client="a")
    lab.submit(*nodes[1:], client="b")
    lab.prepare(*nodes)
    assert lines(lab.controller.why(nodes[2].id)) == [
        "'n2' of program 2 'p' is queued behind 'n1' of its client 'b'",
        "'n1' of program 2 'p' waits for a place: island0 has 1 launch in flight, as many as it may; the first is 'n0' "
        "of program 1 'p' (client 'a')",
        "'n0' of program 1 'p' is running",
    ]


def test_a_gang_member_is_busy(lab):
    wide, narrow = lab.node("wide", spread=True), lab.node("narrow")
    lab.submit(narrow, wide)
    lab.prepare(narrow, wide)
    assert lines(lab.controller.why(wide.id)) == [
        "'wide' of program 1 'p' is launched, and device 0 is busy with 'narrow'",
        "'narrow' of program 1 'p' is running",
    ]


def test_limit_of_the_client(lab):
    lab.open("few", max_in_flight=1)
    a, b = lab.node("a"), lab.node("b")
    lab.submit(a, b, client="few")
    lab.prepare(a, b)
    assert lines(lab.controller.why(b.id)) == [
        "'b' of program 1 'p' waits for its client 'few', which has 1 launch in flight, as many as it may "
        "(max_in_flight)",
        "'a' of program 1 'p' is running",
    ]


def test_memory_and_reserved():
    lab = Lab()
    lab.island(1, hbm_bytes=100)
    lab.slice(1)
    held, big, small = lab.node("held", bytes=40), lab.node("big", bytes=90), lab.node("small", bytes=40)
    lab.run(held)
    lab.submit(big, name="cell 4")
    lab.prepare(big)
    assert lines(lab.controller.why(big.id)) == [
        "'big' of program 2 'cell 4' waits for memory: device 0 is short by 30 B, and 'held' of program 1 'p' holds "
        "most of it"
    ]
    (reason,) = lab.controller.why(big.id).reasons
    assert (reason.bytes, reason.other, reason.detail) == (30, held.id, "device 0")
    lab.release(held)
    lab.complete(big)
    lab.release(big)
    run, wide = lab.node("run", bytes=50, pinned=False), lab.node("wide", bytes=70, pinned=False)
    lab.submit(run, wide, small)
    lab.prepare(run, small)
    assert lines(lab.controller.why(small.id)) == [
        "'small' of program 3 'p' waits for memory that is kept for 'wide', which is older",
        "'wide' of program 3 'p' is being compiled",
    ]
    lab.prepare(wide)
    assert lines(lab.controller.why(wide.id)) == [
        "'wide' of program 3 'p' waits for memory: device 0 is short by 20 B, and 'run' holds most of it",
        "'run' of program 3 'p' is running",
    ]
    lab.end()


def test_paused_and_suspended(lab):
    a = lab.node("a")
    program = lab.submit(a, name="cell 1")
    lab.pause()
    lab.prepare(a)
    assert lines(lab.controller.why(a.id)) == [
        "'a' of program 1 'cell 1' waits, because all launches are paused: step or resume"
    ]
    for entity, text in (
        ({"slice": 1}, "slice 's'"),
        ({"program": program}, "program 1 'cell 1'"),
        ({"client": "main"}, "client 'main'"),
    ):
        lab.suspend(**entity)
        assert lines(lab.controller.why(a.id)) == [
            f"'a' of program 1 'cell 1' waits, because {text} is suspended: resume it"
        ]


def test_moving(lab):
    lab.island(4)
    a, b = lab.node("a"), lab.node("b")
    lab.submit(a, b)
    lab.prepare(a)
    lab.move(1, island=1)
    lab.prepare(b)
    assert lines(lab.controller.why(b.id)) == [
        "'b' of program 1 'p' waits, because its slice 's' moves when 'a', launched there, has ended",
        "'a' of program 1 'p' is running",
    ]


def test_programs(lab):
    nodes = [lab.node("a"), lab.node("b")]
    program = lab.submit(*nodes, name="cell 1", last=False)
    assert lines(lab.controller.why(program=program)) == [
        "program 1 'cell 1' has 2 nodes that have not ended",
        "'a' of program 1 'cell 1' is being compiled",
    ]
    lab.drain()
    assert lines(lab.controller.why(program=program)) == [
        "program 1 'cell 1' has nothing to run now, and more of it will be submitted"
    ]
    lab.submit(program=program)
    assert lines(lab.controller.why(program=program)) == ["program 1 has ended"]


def test_buffers(lab):
    a = lab.node("a", BufferId(900))
    lab.submit(a)
    assert lines(lab.controller.why(buffer=buffer_of(a))) == ["'a' of program 1 'p' is being compiled"]
    assert lines(lab.controller.why(buffer=BufferId(900))) == ["buffer 900, an argument, is there"]
    lab.drain()
    assert lines(lab.controller.why(buffer=buffer_of(a))) == ["buffer 1, a result of 'a', is there"]
    b = lab.node("b", a, source=Source("Cell In[9]", 3))
    lab.submit(b)
    lab.breaks(b, "boom")
    assert lines(lab.controller.why(buffer=buffer_of(b))) == [
        "buffer 2, a result of 'b', (Cell In[9], line 3) will never exist: boom"
    ]
    assert lines(lab.controller.why(buffer=BufferId(77))) == [
        "buffer 77 is not known: it was never submitted, or nobody holds it any more"
    ]


def test_what_has_ended_or_never_was(lab):
    a = lab.node("a")
    lab.run(a)
    assert lines(lab.controller.why(a.id)) == ["node 1 has ended"]
    assert lab.controller.why(NodeId(99)).root.kind is Kind.UNKNOWN
    assert lines(lab.controller.why(program=ProgramId(1))) == ["program 1 has ended"]
    with pytest.raises(InternalError, match=r"why\(\) was asked about nothing: name a node, a buffer or a program"):
        lab.controller.why()


def test_a_long_chain_is_told_without_recursion(lab):
    nodes = [lab.node("n0")]
    for i in range(1, 3000):
        nodes.append(lab.node(f"n{i}", nodes[-1], pinned=False))
    lab.controller.validate = lambda: None
    lab.submit(*nodes)
    why = lab.controller.why(nodes[-1].id)
    assert len(why.reasons) == 3000
    assert why.root.kind is Kind.COMPILING
    assert why == lab.controller.why(nodes[-1].id)


def test_what_lies_in_host_memory(lab):
    a = lab.node("a", bytes=2048)
    lab.run(a, client="me")
    lab.suspend(client="me")
    b = lab.node("b", a)
    lab.submit(b, client="me")
    (first,) = lines(lab.controller.why(b.id))
    assert first.endswith(
        "waits, because client 'me' is suspended: resume it; 2.0 KB of what it reads lie in host memory"
    )
    (there,) = lines(lab.controller.why(buffer=buffer_of(a)))
    assert there == "buffer 1, a result of 'a', is there, 2.0 KB in host memory: client 'me' is suspended"
    lab.unsuspend(client="me")
    lab.end()


def test_every_kind_was_shown(request):
    ran = {item.name for item in request.session.items if item.path == request.path}
    if ran != {name for name in globals() if name.startswith("test_")}:
        pytest.skip("only a part of this file is run")
    assert set(Kind) == SHOWN
