"""Values of wrong types and names that are none: each call says which argument it was, what came, and what it takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pwlab as pw
from pwlab.errors import ClientError, PlacementError, PolicyError, StartError

HUGE = 10**400


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"priority": "hi"}, "client 'z': priority is a whole number, such as 2, not 'hi'"),
        ({"priority": math.nan}, "priority is a whole number, such as 2, not nan"),
        ({"priority": 1.5}, "priority is a whole number, such as 2, not 1.5"),
        ({"max_bytes": math.nan}, r"max_bytes is a whole number, in bytes, such as 16e9 or 16 \* 2\*\*30, not nan"),
        ({"max_bytes": 1.5}, "max_bytes is a whole number, in bytes, .*, not 1.5"),
        ({"max_bytes": "1GB"}, "max_bytes is a whole number, in bytes, .*, not '1GB'"),
        ({"max_in_flight": math.nan}, "max_in_flight is a whole number, such as 2, not nan"),
        ({"max_in_flight": 1.5}, "max_in_flight is a whole number, such as 2, not 1.5"),
        ({"share": True}, "client 'z': share is a number, such as 1 or 2.5, not True"),
        ({"share": "3"}, "share is a number, such as 1 or 2.5, not '3'"),
        ({"share": None}, "share is a number, such as 1 or 2.5, not None"),
        ({"share": HUGE}, r"share is a number, such as 1 or 2.5, not 10000\d+\.\.\.0"),
        ({"name": 7}, "the name of a client is a text of one or more characters, not 7"),
        ({"name": ""}, "the name of a client is a text of one or more characters, not ''"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_clients(session: pw.Session, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ClientError, match=says):
        pw.Client(**{"name": "z", **arguments})
    assert session.clients() == ()


def test_whole_numbers_come_in_many_types(session: pw.Session) -> None:
    usage = pw.Client("z", np.float32(2), np.int64(3), 1e9, np.int32(4)).usage()  # type: ignore[arg-type]
    assert (usage.share, usage.priority, usage.max_bytes, usage.max_in_flight) == (2.0, 3, 1_000_000_000, 4)
    assert type(usage.max_bytes) is int
    assert pw.start(islands=np.int64(2), devices_per_island=4.0) is session  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"hbm_bytes": math.nan}, "hbm_bytes is a whole number, in bytes, .*, not nan"),
        ({"hbm_bytes": "1GB"}, r"hbm_bytes is a whole number, in bytes, such as 16e9 or 16 \* 2\*\*30, not '1GB'"),
        ({"hbm_bytes": 0}, "hbm_bytes is 0; it is at least 1"),
        ({"islands": 1.5}, r"islands is a whole number, or a list such as \[\{\"shape\": \(2, 4\)\}\], not 1.5"),
        ({"islands": "2"}, "islands is a whole number, or a list .*, not '2'"),
        ({"islands": True}, "islands is a whole number, or a list .*, not True"),
        ({"islands": {"shape": (2, 4)}}, r"islands is a whole number, or a list .*, not {'shape': \(2, 4\)}"),
        ({"islands": [(2, 4)]}, r"island 0 is described as \(2, 4\); describe it by its mesh, and by its chip"),
        ({"islands": [{"chip": "cpu"}]}, r"island 0 is described as {'chip': 'cpu'}; describe it by its mesh"),
        ({"islands": [{"shape": (2,), "chp": "cpu"}]}, "island 0 is described as .*'chp'.*; describe it by its mesh"),
        ({"islands": [{"shape": 4}]}, r"the shape of island 0 is one size of at least 1 an axis, .*, not 4"),
        ({"islands": [{"shape": (2,)}, {"shape": "22"}]}, "the shape of island 1 is one size .*, not '22'"),
        ({"islands": [{"shape": (2, 0)}]}, r"the shape of island 0 is one size of at least 1 .*, not \(2, 0\)"),
        ({"islands": [{"shape": (2,), "chip": 3}]}, "the chip of island 0 is a text of one or more characters, not 3"),
        ({"islands": [{"shape": (2,), "chip": "tpu"}]}, "an island of 'tpu' was asked for; JAX runs on 'cpu' here"),
        ({"islands": []}, "islands is an empty list; describe at least one"),
        ({"islands": [{"shape": (2, 4)}], "devices_per_island": 7}, "devices_per_island=7 goes with a number of isl"),
        ({"devices_per_island": 1.5}, "devices_per_island is a whole number, such as 2, not 1.5"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_starts(session: pw.Session, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(StartError, match=says):
        pw.start(**arguments)
    assert pw.session() is session


def test_a_whole_float_is_a_number_of_bytes(session: pw.Session) -> None:
    assert pw.start(islands=1, devices_per_island=2, hbm_bytes=1e9).machine.islands[0].hbm_bytes == 1_000_000_000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("max_in_flight", 0, "max_in_flight is 0; it is at least 1"),
        ("max_in_flight", "0", "max_in_flight is 0; it is at least 1"),
        ("max_in_flight", 1.5, "max_in_flight is a whole number, such as 2, not 1.5"),
        ("max_in_flight", None, "max_in_flight is a whole number, such as 2, not None"),
        ("max_in_flight", True, "max_in_flight is a whole number, such as 2, not True"),
        ("max_in_flight", "1.5", r"max_in_flight takes a number \(int\), not '1.5'"),
        ("window_ms", math.nan, "window_ms is nan; it is at least 0"),
        ("window_ms", [1], r"window_ms is a number, such as 1 or 2.5, not \[1\]"),
        ("max_ahead", math.inf, "max_ahead is a whole number, such as 2, not inf"),
    ],
)
def test_settings(session: pw.Session, name: str, value: Any, says: str) -> None:
    before = getattr(session.config, name)
    for call in (lambda: session.configure(name, value), lambda: pw.start(**{name: value})):
        with pytest.raises(ValueError, match=says):
            call()
    assert getattr(session.config, name) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tpu_devices": 1.5}, "tpu_devices is a whole number, such as 2, not 1.5"),
        ({"tpu_devices": "3"}, "tpu_devices is a whole number, such as 2, not '3'"),
        ({"tpu_devices": math.nan}, "tpu_devices is a whole number, such as 2, not nan"),
        ({"tpu_devices": 0}, "a slice has at least 1 device, not 0"),
        ({"shape": 4}, r"the shape of a slice is one size of at least 1 an axis, such as \(2, 4\), not 4"),
        ({"shape": "22"}, "the shape of a slice is one size .*, not '22'"),
        ({"shape": ()}, r"the shape of a slice is one size .*, not \(\)"),
        ({"shape": (1,) * 9}, r"a block has at most 3 axes, x, y, z, not \(1, 1, 1, 1, 1, 1, 1, 1, 1\)"),
        ({"shape": (1, 1, 1, 2)}, r"a block has at most 3 axes, x, y, z, not \(1, 1, 1, 2\)"),
        ({"tpu_devices": 1, "name": 5}, "name is a text of one or more characters, not 5"),
        ({"tpu_devices": 1, "name": ""}, "name is a text of one or more characters, not ''"),
        ({"tpu_devices": 1, "chip": 5}, "chip is a text of one or more characters, not 5"),
        ({}, r"a slice needs tpu_devices=n or a shape, such as \(2, 2\)"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_slices(session: pw.Session, arguments: dict[str, Any], says: str) -> None:
    known = session.driver.look(lambda controller: controller.sizes()["slices"])
    with pytest.raises(PlacementError, match=says):
        pw.make_virtual_device_set().add_slice(**arguments)
    assert session.driver.look(lambda controller: controller.sizes()["slices"]) == known, "nothing is left of it"


def test_an_island_is_no_truth_value(session: pw.Session) -> None:
    with pytest.raises(pw.errors.UnknownName, match="no island is called True"):
        pw.make_virtual_device_set().add_slice(1, island=True)


def test_steering(session: pw.Session) -> None:
    for call, error, says in (
        (lambda: pw.step(1.5), ValueError, "the number of launches is a whole number, such as 2, not 1.5"),
        (lambda: pw.step("2"), ValueError, "the number of launches is a whole number, such as 2, not '2'"),
        (lambda: session.steering.dispatch("parallel", 0), ValueError, "max_in_flight is 0; it is at least 1"),
        (lambda: setattr(session, "policy", None), PolicyError, "the name of a policy is a text .*, not None"),
        (lambda: setattr(session, "policy", 7), PolicyError, "the name of a policy is a text .*, not 7"),
        (lambda: pw.suspend(7), ValueError, "the name of a client, slice or program is a text .*, not 7"),
        (lambda: pw.lazy(5), ValueError, "the name of a program is a text of one or more characters, not 5"),
        (lambda: pw.lazy(""), ValueError, "the name of a program is a text of one or more characters, not ''"),
        (lambda: pw.program(name=5), ValueError, "the name of a program is a text of one or more characters, not 5"),
        (lambda: pw.host(max, name=5), ValueError, "the name of a host function is a text .*, not 5"),
        (lambda: session.programs.scope(5), ValueError, "the name of a program is a text .*, not 5"),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            call()


def test_the_nearest_name_in_any_case(session: pw.Session) -> None:
    with pytest.raises(pw.errors.UnknownName, match="no scheduling policy is called 'SHORTEST'; did you mean 'shortes"):
        session.policy = "SHORTEST"
