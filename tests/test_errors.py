"""What errors make of names, which users give: one line, however long or hostile, and never a list without end."""

from __future__ import annotations

import pytest

from pwlab.errors import COLUMNS, closest, nearest, quoted, unknown

HOSTILE = ["x" * 10_000, "line\nbreak\x1b[31mred\x07", "\u202ertl", "emoji 🚀👩‍🚀 é", "<script>"]


def test_the_nearest_is_suggested_and_all_are_listed() -> None:
    assert unknown("slice", "isle1", ["a", "Isle2"]) == (
        "no slice is called 'isle1'; did you mean 'Isle2'? There are: a, Isle2"
    )
    assert unknown("slice", "zzz", ["a1"], "Slices") == "no slice is called 'zzz'. Slices: a1"
    assert unknown("slice", "zzz", [], none="None was made") == "no slice is called 'zzz'. None was made"
    assert unknown("island", 7, ["a"]) == "no island is called 7. There are: a"


def test_of_many_it_says_how_many_there_are_beside() -> None:
    text = unknown("program", "zzz", [f"p{i}" for i in range(2_000)])
    assert text.endswith("There are: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 and 1,988 more")


def printable(text: str) -> bool:
    return text.replace("\u200d", "").isprintable()  # what joins an emoji


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_in_its_line(name: str) -> None:
    text = unknown("program", name, [*HOSTILE, name + "y"])
    assert printable(text) and len(text) < (len(HOSTILE) + 3) * (COLUMNS + 4) + 60
    assert printable(quoted(name)) and len(nearest(name, HOSTILE)) < COLUMNS + 24


def test_long_names_are_compared_by_how_they_begin() -> None:
    assert closest("x" * 9_000, HOSTILE) == "x" * 10_000
