"""Tables of clients and memory, the picture of a mesh, and the chain of reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pwlab.control import ClientUsage, DeviceUse, Holder, Kind, MemoryUse, Reason, Why
from pwlab.events import IslandKnown, IslandSpec, SliceMapped
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source
from pwlab.observe import RunModel
from pwlab.viz import clients_table, islands_table, memory_tables, render, why_tree

from . import runs
from .test_svg import NASTY

A = ClientUsage("alice", 3.0, 0, None, None, False, 3.2, 400, 0.02, 2, 10, 4096, 8192)
B = replace(A, name="bob", share=1.0, device_seconds=0.8, launches=100, in_flight=0, queued=0, bytes=0)
IDLE = replace(A, name="idle", share=2.5, device_seconds=0.0, launches=0, in_flight=0, queued=0, waited=0.0, bytes=0)


def rows(text: str) -> list[list[str]]:
    bars = str.maketrans("", "", "█▒·")
    return [line.translate(bars).split() for line in text.splitlines()]


def test_what_was_asked_stands_beside_what_was_got() -> None:
    text = render(clients_table([A, B, IDLE], "proportional"), 110)
    found = rows(text)
    assert [
        "alice",
        "75%",
        "80%",
        "3.20",
        "s",
        "400",
        "20.0",
        "ms",
        "4.0",
        "KB",
        "2",
        "in",
        "flight,",
        "10",
        "queued",
    ] in found
    assert ["bob", "25%", "20%", "800", "ms", "100", "20.0", "ms", "0", "B"] in found
    assert ["idle", "share", "2.5", "–", "–", "0", "–", "0", "B"] in found
    assert text.splitlines()[-1].strip() == "policy proportional; since each client was opened, transfers count too"
    assert "which does not look at shares" in render(clients_table([A], "fifo"), 110)
    assert max(map(len, text.splitlines())) <= 110


def test_settings_and_suspension() -> None:
    limited = replace(IDLE, priority=2, max_in_flight=3, max_bytes=1 << 20, suspended=True)
    text = " ".join(render(clients_table([limited]), 130).split())
    assert "suspended, priority 2, at most 3 in flight, at most 1.0 MB" in text


@pytest.mark.parametrize("name", NASTY)
def test_names_are_no_markup(name: str) -> None:
    reason = Reason(Kind.FAILED, name, detail=name)
    use = MemoryUse((device(0, 1),), (holder(1, name=name),))
    for part in (clients_table([replace(A, name=name)], name), memory_tables(use), why_tree(Why((reason,)))):
        text = render(part, 110)
        assert "\x1b" not in text and len(text) < 5000


# --- memory ---------------------------------------------------------------------------------------------


def device(number: int, used: int, capacity: int | None = 1 << 20, island: int = 0) -> DeviceUse:
    return DeviceUse(DeviceId(number), IslandId(island), used, 2 * used, capacity)


def holder(number: int, bytes: int = 1 << 19, name: str = "step", pinned: bool = True, readers: int = 0) -> Holder:
    source = Source("Cell In[4]", 2, "y = step(x)")
    return Holder(BufferId(number), bytes, runs.devices(0, 1), name, NodeId(number), ProgramId(1), "train", "alice",
                  pinned, readers, source)  # fmt: skip


def test_bytes_stand_against_capacity_and_devices_alike_share_a_row() -> None:
    use = MemoryUse(
        (device(0, 1 << 19), device(1, 1 << 19), device(2, 0), device(3, 0, None, 1)),
        (holder(1), holder(2, readers=2, pinned=False), holder(3, 1 << 10, pinned=False)),
    )
    text = render(memory_tables(use, {IslandId(0): "island0"}), 110)
    found = rows(text)
    assert ["island0", "0–1", "50%", "512", "KB", "1.0", "MB", "1.0", "MB"] in found
    assert ["2", "0%", "0", "B", "1.0", "MB", "0", "B"] in found
    assert ["island", "1", "3", "no", "limit", "0", "B", "–", "0", "B"] in found
    assert ["512", "KB", "0–1", "step", "train", "alice", "Cell", "In[4]:2", "you"] in found
    assert ["512", "KB", "0–1", "step", "train", "alice", "Cell", "In[4]:2", "2", "readers"] in found
    assert ["1.0", "KB", "0–1", "step", "train", "alice", "Cell", "In[4]:2", "nobody"] in found


def test_much_memory_is_told_shortly() -> None:
    use = MemoryUse(tuple(device(i, i) for i in range(100)), tuple(holder(i) for i in range(30)))
    text = render(memory_tables(use, most=5), 110)
    assert "and 84 devices that hold less" in text and "and 25 others, 12.5 MB" in text
    assert len(text.splitlines()) < 35
    assert "nothing is held" in render(memory_tables(MemoryUse((device(0, 0),), ())))


# --- why --------------------------------------------------------------------------------------------------


def test_a_chain_is_a_tree_that_ends_at_the_root() -> None:
    why = Why((Reason(Kind.INPUT, "'b'", other_name="'a'"), Reason(Kind.PAUSED, "'a'", source=Source("Cell In[2]", 1))))
    assert render(why_tree(why)).splitlines() == [
        "'b' waits for its input from 'a'",
        "└── 'a' (Cell In[2], line 1) waits, because all launches are paused: step or resume",
    ]
    assert render(why_tree(Why(why.reasons[1:]))).count("\n") == 0


def test_a_long_chain_is_cut_inside() -> None:
    reasons = [Reason(Kind.INPUT, f"'n{i}'", other_name=f"'n{i + 1}'") for i in range(3000)]
    lines = render(why_tree(Why((*reasons, Reason(Kind.COMPILING, "'n3000'"))))).splitlines()
    assert len(lines) == 6 + 1 + 4
    assert "… 2,991 more steps …" in lines[6] and lines[-1].endswith("'n3000' is being compiled")


# --- the mesh ---------------------------------------------------------------------------------------------


def mesh(shape: tuple[int, ...], mine: tuple[int, ...]) -> list[str]:
    n = 1
    for size in shape:
        n *= size
    model = RunModel()
    model.add(IslandKnown(0.0, IslandSpec(IslandId(0), "pod", runs.devices(*range(n)), "tpu", shape)))
    model.add(SliceMapped(0.0, SliceId(1), "a", IslandId(0), runs.devices(*mine)))
    lines = render(islands_table(model)).splitlines()[2:]
    return ["".join(char if char in "■◧·" else " " for char in line).strip() for line in lines]


def test_a_block_shows_as_a_block() -> None:
    assert mesh((2, 4), (1, 2, 5, 6)) == ["· ■ ■ ·", "· ■ ■ ·"]
    assert mesh((2, 2, 2), (0, 1, 4, 5)) == ["■ ■   ■ ■", "· ·   · ·"]
    assert mesh((1, 4), (0, 1)) == mesh((4,), (0, 1)) == ["■ ■ · ·"]
    assert len(mesh((64, 64), (0, 1))) == 1, "what is too large is one line"
