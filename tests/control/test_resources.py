"""Where slices go, and why some go nowhere."""

from __future__ import annotations

from math import prod

import pytest
from control_harness import Lab

from pwlab.errors import InternalError, PlacementError, UnknownName
from pwlab.events import (
    IslandJoined,
    IslandKnown,
    IslandSpec,
    Launch,
    Move,
    NodeState,
    Noted,
    Prepare,
    SliceMapped,
    SliceRefused,
    SliceRequested,
)
from pwlab.ids import DeviceId, IslandId, SliceId


def placed(*requests: tuple[int, int | None], islands: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    lab = Lab()
    for devices in islands:
        lab.island(devices)
    facts = [lab.request(devices, island) for devices, island in requests]
    lab.controller.validate()
    return [(f.island, f.devices) for f in facts if isinstance(f, SliceMapped)]


@pytest.mark.parametrize(
    ("islands", "requests", "expected"),
    [
        ((4,), [(2, None), (2, None)], [(0, (0, 1)), (0, (2, 3))]),
        ((2, 2), [(2, None), (2, None)], [(0, (0, 1)), (1, (2, 3))]),
        ((2, 2), [(1, None), (1, None)], [(0, (0,)), (1, (2,))]),
        ((2, 2), [(1, 1), (1, None)], [(1, (2,)), (0, (0,))]),
        ((2, 2), [(1, 1), (1, 1)], [(1, (2,)), (1, (3,))]),
        # Shared only where every island would have to share; then the least loaded, by id.
        (
            (2,),
            [(2, None), (1, None), (1, None), (2, None)],
            [(0, (0, 1)), (0, (0,)), (0, (1,)), (0, (0, 1))],
        ),
        ((2, 4), [(2, None), (3, None)], [(0, (0, 1)), (1, (2, 3, 4))]),
        # Only the second is large enough, however busy.
        ((1, 2), [(2, None), (2, None), (1, None)], [(1, (1, 2)), (1, (1, 2)), (0, (0,))]),
        # Equal on the devices that it would use: the emptier island.
        ((2, 4), [(1, 0), (1, None)], [(0, (0,)), (1, (2,))]),
    ],
)
def test_balance(islands, requests, expected):
    assert placed(*requests, islands=islands) == expected


@pytest.mark.parametrize(
    ("islands", "devices", "island", "reason"),
    [
        (
            (),
            2,
            None,
            "slice 'big' asks for 2 devices, but no island has joined yet: start the session first",
        ),
        ((4,), 0, None, "slice 'big' asks for 0 devices: ask for at least 1"),
        (
            (4, 2),
            16,
            None,
            "slice 'big' asks for 16 devices; the largest island, island0, has 4: "
            "ask for at most 4, or start with more devices_per_island",
        ),
        (
            (4, 2),
            16,
            1,
            "slice 'big' asks for 16 devices; the largest island, island0, has 4: "
            "ask for at most 4, or start with more devices_per_island",
        ),
        (
            (4, 2),
            3,
            1,
            "slice 'big' asks for 3 devices of island1, which has 2: "
            "ask for at most 2, or name no island; island0 has 4",
        ),
        (
            (4, 2),
            1,
            7,
            "slice 'big' asks for 1 device of island 7, which has not joined: the islands are 0 (island0), 1 (island1)",
        ),
    ],
)
def test_refusal_says_what_is_and_what_fits(islands, devices, island, reason):
    lab = Lab()
    for size in islands:
        lab.island(size)
    fact = lab.request(devices, island, name="big")
    assert isinstance(fact, SliceRefused)
    assert fact.reason == reason


MESHES = [
    # mesh, blocks asked for, devices that they get
    ((2, 4), [(2, 2), (2, 2), (2, 2)], [(0, 1, 4, 5), (2, 3, 6, 7), (0, 1, 4, 5)]),
    ((2, 4), [(1, 4), (1, 4)], [(0, 1, 2, 3), (4, 5, 6, 7)]),
    ((2, 4), [(4, 2)], [(0, 4, 1, 5, 2, 6, 3, 7)]),  # turned; in the order of its own shape
    ((2, 4), [(4,), (2,)], [(0, 1, 2, 3), (4, 5)]),  # along whichever axis has room
    ((4, 2), [(1, 3)], [(0, 2, 4)]),
    ((2, 4), [(1, 1), (1, 1), (2, 2)], [(0,), (1,), (2, 3, 6, 7)]),
    ((2, 2, 2), [(2, 1, 2), (2, 2)], [(0, 1, 4, 5), (2, 3, 6, 7)]),
    ((8,), [(4, 1), (2,)], [(0, 1, 2, 3), (4, 5)]),
    ((1,), [(1,), (1,), (1,)], [(0,), (0,), (0,)]),  # several virtual devices on one physical one
]


@pytest.mark.parametrize(("mesh", "shapes", "devices"), MESHES)
def test_blocks(mesh, shapes, devices):
    lab = Lab()
    lab.island(prod(mesh), shape=mesh)
    facts = [lab.request(prod(shape), shape=shape) for shape in shapes]
    assert [fact.devices for fact in facts] == devices
    assert [fact.shape for fact in facts] == shapes


def test_a_block_goes_to_the_island_where_it_loads_least():
    lab = Lab()
    lab.island(4, shape=(2, 2))
    lab.island(4, shape=(2, 2), chip="tpu")
    assert [lab.request(2, shape=(2, 1)).island for _ in range(4)] == [0, 1, 0, 1]
    assert lab.request(2, chip="tpu").island == 1
    assert lab.request(2, chip="tpu", shape=(1, 2)).island == 1


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {"devices": 9, "shape": (3, 3)},
            "slice 'big' asks for a block of shape (3, 3); island0 is (2, 4), island1 is (4,): a block of shape (2, 3) "
            "would fit on island0",
        ),
        (
            {"devices": 4, "shape": (2, 2), "island": 1},
            "slice 'big' asks for a block of shape (2, 2); island1 is (4,): a block of shape (2,) would fit on island1",
        ),
        (
            {"devices": 3, "shape": (2, 2)},
            "slice 'big' asks for a block of shape (2, 2), which has 4 devices, and for 3 devices: leave one of them "
            "out",
        ),
        (
            {"devices": 4, "shape": (4, 0)},
            "slice 'big' asks for a block of shape (4, 0): give each axis a size of at least 1",
        ),
        ({"devices": 1, "shape": ()}, "slice 'big' asks for a block of shape (): give each axis a size of at least 1"),
        (
            {"devices": 1, "chip": "tpus"},
            "slice 'big' asks for 1 device of chip 'tpus'; did you mean 'tpu'? The islands have: cpu, tpu",
        ),
        (
            {"devices": 1, "chip": "tpu", "island": 0},
            "slice 'big' asks for 1 device of chip 'tpu' on island0, which has 'cpu': name another island",
        ),
        (
            {"devices": 6, "chip": "tpu"},
            "slice 'big' asks for 6 devices; the largest island, island1, has 4: ask for at most 4, or start with more "
            "devices_per_island",
        ),
    ],
)
def test_what_cannot_be_placed_says_what_would_fit(more, reason):
    lab = Lab()
    lab.island(8, shape=(2, 4))
    lab.island(4, chip="tpu")
    fact = lab.request(name="big", **more)
    assert isinstance(fact, SliceRefused)
    assert fact.reason == reason


# --- moving ------------------------------------------------------------------------------


def test_a_slice_moves_between_launches_with_all_that_lies_on_it():
    lab = Lab(max_in_flight=1)
    lab.island(4, shape=(2, 2), hbm_bytes=1000)
    lab.island(4, shape=(2, 2), hbm_bytes=1000)
    slice = lab.slice(2, shape=(2, 1))
    held, a = lab.node("held", spread=True), (lab.node("a", spread=True))
    b = lab.node("b", a, held, spread=True)
    lab.run(held)
    lab.submit(a, b)
    lab.prepare(a, b)
    lab.move(slice, island=1)
    assert lab.trace[-1][1:] == ([], []), "a is launched"
    lab.complete(a)
    _, instructions, facts = lab.trace[-1]
    devices = lab.slices[slice].devices
    assert devices == (4, 6)
    assert instructions == [
        Move((held.outputs[0].buffer, a.outputs[0].buffer), slice, IslandId(1), devices),
        Prepare(b.id, devices),
    ]
    assert SliceMapped(lab.time, slice, "s", IslandId(1), devices, (2, 1)) in facts
    assert [use.bytes for use in lab.controller.memory().devices] == [0, 0, 0, 0, 100, 0, 100, 0]
    assert (lab.controller.bytes(IslandId(0))[0], lab.controller.bytes(IslandId(1))[0]) == (0, 200)
    lab.drain()
    assert lab.told(Launch)[-1] == Launch(b.id, IslandId(1), devices)
    assert lab.request(4, shape=(2, 2)).island == 0, "its old devices are free"
    lab.end()


def test_an_answer_about_the_old_devices_is_not_taken_for_one_about_the_new(lab):
    lab.island(4)
    node = lab.node("a")
    lab.submit(node)
    lab.move(1, island=1)
    assert [p.devices for p in lab.told(Prepare)] == [(0,), (4,)]
    lab.prepare(node)
    assert lab.state(node) is NodeState.WAITING
    lab.prepare(node)
    assert lab.state(node) is NodeState.LAUNCHED
    lab.end()


def test_a_slice_that_is_given_back_while_it_moves_stays():
    lab = Lab()
    lab.island(1)
    lab.island(1)
    slice = lab.slice(1, 0)
    a, b = lab.node("a", slice=slice), lab.node("b", slice=slice)
    lab.submit(a, b)
    lab.prepare(a)
    lab.move(slice, island=1)
    lab.prepare(b)
    lab.release_slice(slice)
    assert lab.state(b) is NodeState.LAUNCHED
    lab.end()


def test_moves_that_cannot_be():
    lab = Lab()
    lab.island(2, hbm_bytes=500)
    lab.island(1, hbm_bytes=100)
    slice = lab.slice(1, 0)
    node, other = lab.node("a", bytes=150), lab.node("b")
    with pytest.raises(UnknownName, match="slice 9 cannot move: it is not mapped"):
        lab.move(9)
    with pytest.raises(PlacementError, match=r"slice 's' lies on devices 0 of island0 already, and nowhere better"):
        lab.move(slice, island=0)
    with pytest.raises(PlacementError, match="slice 's' asks for 1 device of island 7, which has not joined"):
        lab.move(slice, island=7)
    lab.submit(node)
    lab.prepare(node)
    with pytest.raises(
        PlacementError,
        match="slice 's' stays on island0: 150 B of it would lie on device 2, which holds 0 B of 100 B: release 50 B",
    ):
        lab.move(slice, island=1)
    lab.complete(node)
    lab.release(node)
    lab.submit(other)
    lab.prepare(other)
    lab.move(slice, island=1)
    with pytest.raises(PlacementError, match="slice 's' moves already, to island1: wait until it is there"):
        lab.move(slice, island=1)
    there = lab.node("c", slice=lab.slice(1, 1), bytes=50)
    lab.submit(there)
    lab.prepare(there)
    lab.complete(other)
    notes = [fact.text for fact in lab.trace[-1][2] if isinstance(fact, Noted)]
    assert notes == [
        "slice 's' stays on island0: 100 B of it would lie on device 2, which holds 50 B of 100 B: release 50 B there "
        "first"
    ]
    lab.end()


def test_a_released_slice_gives_its_devices_back_and_its_nodes_run_on(lab):
    node = lab.node("a")
    lab.submit(node)
    lab.release_slice(SliceId(1))
    assert lab.controller.sizes()["slices"] == 0
    again = lab.request(2)
    assert again.devices == (0, 1)
    lab.release_slice(SliceId(1))  # again: ignored
    lab.drain()
    assert node.id in lab.ended


def test_island_is_made_known():
    lab = Lab()
    lab.island(2)
    (_, _, facts) = lab.trace[-1]
    assert facts[0] == IslandKnown(1.0, lab.islands[IslandId(0)])


@pytest.mark.parametrize(
    ("id", "devices", "text"),
    [
        (0, (9,), "island 0 'x' joined twice"),
        (1, (), "island 1 'x' joined without devices"),
        (1, (3,), "device 3 of island 1 'x' is already in another island"),
    ],
)
def test_bad_island(lab, id, devices, text):
    with pytest.raises(InternalError, match=text):
        lab.send(IslandJoined(0.0, IslandSpec(IslandId(id), "x", tuple(DeviceId(device) for device in devices))))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"shape": (2, 2)}, r"island 1 'x' has 2 devices, which are no mesh of shape \(2, 2\)"),
        ({"hbm_bytes": 0}, "island 1 'x' has hbm_bytes=0: at least 1"),
        ({"chips": (1,)}, "island 1 'x' names 1 chips, not one a device"),
    ],
)
def test_bad_island_details(lab, more, text):
    with pytest.raises(InternalError, match=text):
        lab.send(IslandJoined(0.0, IslandSpec(IslandId(1), "x", (DeviceId(8), DeviceId(9)), **more)))


def test_slice_requested_twice(lab):
    with pytest.raises(InternalError, match="slice 1 's' was requested twice"):
        lab.send(SliceRequested(0.0, SliceId(1), "s", 1))
