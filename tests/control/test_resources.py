"""Where slices go, and why some go nowhere."""

from __future__ import annotations

import pytest
from control_harness import Lab

from pwlab.errors import InternalError
from pwlab.events import IslandJoined, IslandKnown, IslandSpec, SliceMapped, SliceRefused, SliceRequested
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
    assert facts == [IslandKnown(1.0, lab.islands[IslandId(0)])]


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


def test_slice_requested_twice(lab):
    with pytest.raises(InternalError, match="slice 1 's' was requested twice"):
        lab.send(SliceRequested(0.0, SliceId(1), "s", 1))
