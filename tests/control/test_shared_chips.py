"""Logical islands on one chip take turns on it (Pathways §4.1, §4.4)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from control_harness import Lab

from pwlab.control.topology import homes
from pwlab.errors import InternalError
from pwlab.events import DeviceId, IslandJoined, IslandSpec, Launch, NodeState
from pwlab.ids import IslandId


def spec(number: int, *chips: int) -> IslandSpec:
    devices = tuple(DeviceId(100 * number + i) for i in range(max(1, len(chips))))
    return IslandSpec(IslandId(number), f"island{number}", devices, chips=chips)


@pytest.mark.parametrize(
    ("chips", "expected"),
    [
        ([(), ()], [0, 1]),
        ([(1, 2), (3, 4)], [0, 1]),
        ([(1, 2), (1, 2), (3,)], [0, 0, 2]),
        ([(1,), (2,), (2, 1)], [0, 0, 0]),
        ([(1,), (2,), (3,), (4, 2), (3, 4)], [0, 1, 1, 1, 1]),
    ],
)
def test_islands_that_share_chips_have_one_home(chips, expected):
    found = homes([spec(i, *island) for i, island in enumerate(chips)])
    assert [found[IslandId(i)] for i in range(len(chips))] == expected


def two_on_one_chip(**settings: object) -> tuple[Lab, dict[str, int]]:
    lab = Lab(max_in_flight=1, **settings)
    for _ in range(2):
        lab.island(2, chips=(7, 8))
    return lab, {"a": lab.slice(2, 0), "b": lab.slice(2, 1)}


@pytest.mark.parametrize(("share", "expected"), [(1.0, 20), (4.0, 32)])
def test_the_chips_time_is_divided_by_share_whichever_island_it_is_asked_through(share, expected):
    lab, slices = two_on_one_chip(policy="proportional")
    lab.open("b", share=share)
    for client, slice in slices.items():
        nodes = [lab.node(f"{client}{i}", slice=slice, spread=True, pinned=False) for i in range(40)]
        lab.submit(*nodes, client="main" if client == "a" else client)
        lab.prepare(*nodes)
    for _ in range(40):
        (running,) = [node for flying in lab.flying.values() for node in flying]
        lab.complete(running)
    launched = [lab.specs[launch.node].name[0] for launch in lab.told(Launch)[:40]]
    assert launched.count("b") == pytest.approx(expected, abs=1)
    lab.end()


def test_one_place_in_flight_is_one_for_both():
    lab, slices = two_on_one_chip()
    a, b = (lab.node(name, slice=slice, spread=True) for name, slice in slices.items())
    lab.submit(a, b)
    lab.prepare(a, b)
    assert (lab.state(a), lab.state(b)) == (NodeState.LAUNCHED, NodeState.QUEUED)
    assert "'a'" in str(lab.controller.why(b.id))
    lab.complete(a)
    assert lab.state(b) is NodeState.LAUNCHED
    lab.end()


def test_a_launch_behind_one_of_the_other_island_says_so():
    lab, slices = two_on_one_chip()
    lab.settings(max_in_flight=2)
    a, b = (lab.node(name, slice=slice, spread=True) for name, slice in slices.items())
    lab.submit(a, b)
    lab.prepare(a, b)
    assert lab.state(b) is NodeState.LAUNCHED
    told = str(lab.controller.why(b.id))
    assert "'a'" in told and "device 2" in told, told
    lab.complete(a, b)
    lab.end()


def test_an_island_may_not_join_queues_that_are_in_use():
    lab = Lab()
    lab.island(1, chips=(1,))
    lab.island(1, chips=(2,))
    lab.run(lab.node("n", slice=lab.slice(1, 1)))
    with pytest.raises(InternalError, match="island 2 shares chips with islands that have had queues of their own"):
        lab.controller.handle(IslandJoined(lab.tick(), spec(2, 1, 2)))


def test_every_launch_on_a_shared_chip_is_in_one_order():
    """The order in which gangs of both islands are launched is the order of their one queue."""
    lab, slices = two_on_one_chip()
    lab.settings(max_in_flight=4)
    nodes = [lab.node(f"n{i}", slice=slices["ab"[i % 2]], spread=True, pinned=False) for i in range(10)]
    lab.submit(*nodes)
    lab.prepare(*nodes)
    lab.drain()
    launched = [launch.node for launch in lab.told(Launch)]
    assert all(a < b for a, b in pairwise(launched))
    lab.end()
