"""What nobody can give memory any more is given up, and only that."""

from __future__ import annotations

import pytest
from control_harness import Lab

from pwlab.events import NodeState

Q, L, D, F = NodeState.QUEUED, NodeState.LAUNCHED, NodeState.DONE, NodeState.FAILED


def short_lab(**settings: object) -> Lab:
    lab = Lab(**settings)
    lab.island(1, hbm_bytes=100)
    lab.slice(1)
    return lab


def crossed(lab: Lab, pinned: bool = False):
    """Two sources before their readers: 40 + 40, and each reader needs 40 more."""
    u, v = (lab.node(name, bytes=40, pinned=pinned) for name in "uv")
    w, z = (lab.node(name, read, bytes=40, pinned=False) for name, read in (("w", u), ("z", v)))
    r = lab.node("r", w, z, bytes=4)
    lab.submit(u, v, w, z, r)
    lab.prepare(u, v, w, z, r)
    lab.complete(u, v)
    return u, v, w, z, r


def test_intermediates_in_each_others_way_are_given_up_with_the_sums():
    lab = short_lab()
    *_, w, z, r = crossed(lab)
    assert [lab.state(n) for n in (w, z, r)] == [F, L, F], "what w kept is free, so z goes"
    assert lab.ended[w.id].error == (
        "'w' needs 40 B on device 0, where 80 B of 100 B hold what others will read that wait for memory, too: in the "
        "order in which all this was submitted it cannot run, short by 20 B; compute less at once, or spread it over "
        "more devices"
    )
    lab.complete(z)
    lab.end()


def test_another_client_is_not_held_up_by_them():
    lab = short_lab()
    crossed(lab)
    other = lab.node("other", bytes=60)
    lab.submit(other, client="b")
    lab.prepare(other)
    lab.drain()
    assert lab.state(other) is D
    lab.end()


def test_who_may_be_helped_by_a_release_waits():
    lab = short_lab()
    kept = lab.node("kept", bytes=80)
    lab.run(kept)
    x = lab.node("x", bytes=40)
    lab.submit(x)
    lab.prepare(x)
    assert lab.state(x) is Q
    lab.release(kept)
    assert lab.state(x) is L
    lab.end()


def test_what_is_held_and_still_read_cannot_be_released():
    lab = short_lab()
    *_, w, _, r = crossed(lab, pinned=True)
    assert [lab.state(n) for n in (w, r)] == [F, F]
    lab.end()


def test_as_long_as_one_could_be_helped_nobody_is_given_up():
    """x stands in the way of w, and could go if a user released what is kept."""
    lab = short_lab()
    kept = lab.node("kept", bytes=30)
    lab.run(kept)
    a = lab.node("a", bytes=40, pinned=False)
    x = lab.node("x", a, bytes=35, pinned=False)
    lab.submit(a, x)
    lab.prepare(a, x)
    lab.complete(a)
    big = lab.node("big", bytes=90)
    lab.submit(big)
    lab.prepare(big)
    assert (lab.state(x), lab.state(big)) == (Q, Q)
    lab.release(kept)
    lab.drain()
    assert lab.state(big) is D
    lab.end()


@pytest.mark.parametrize("act", ["pause", "suspend", "compiles", "flies"])
def test_it_is_looked_for_at_rest_alone(act):
    lab = short_lab()
    lab.island(1)
    elsewhere = lab.slice(1, 1)
    other = lab.node("other", slice=elsewhere)
    if act == "suspend":
        lab.open("b")
        lab.submit(other, client="b")
        lab.suspend(client="b")
        lab.prepare(other)
    elif act in ("compiles", "flies"):
        lab.submit(other)
        if act == "flies":
            lab.prepare(other)
    u, v = (lab.node(name, bytes=40, pinned=False) for name in "uv")
    w, z = (lab.node(name, read, bytes=40, pinned=False) for name, read in (("w", u), ("z", v)))
    lab.submit(u, v, w, z)
    lab.prepare(u, v, w, z)
    if act == "pause":
        lab.pause()
    lab.complete(u, v)
    assert (lab.state(w), lab.state(z)) == (Q, Q)
    if act == "pause":
        lab.resume()
    elif act == "suspend":
        lab.unsuspend(client="b")
        lab.complete(other)
    else:
        if act == "compiles":
            lab.prepare(other)
        lab.complete(other)
    assert lab.state(w) is F
    lab.end()


def test_of_a_clients_own_limit():
    lab = short_lab()
    lab.open("poor", max_bytes=50)
    a = lab.node("a", bytes=30, pinned=False)
    b = lab.node("b", a, bytes=30, pinned=False)
    c = lab.node("c", b, bytes=30)
    lab.submit(a, b, c, client="poor")
    lab.prepare(a, b, c)
    lab.complete(a)
    assert lab.state(b) is F
    assert "'b' needs 30 B on client 'poor', where 30 B of 50 B hold what others will read" in lab.ended[b.id].error
    lab.end()
