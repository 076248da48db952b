"""Sizes for people."""

import pytest

from pwlab.units import bytes_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (123_456, "121 KB"),
        (1 << 20, "1.0 MB"),
        (5 << 30, "5.0 GB"),
        (3 << 50, "3072 TB"),
    ],
)
def test_bytes_are_told_in_powers_of_1024(count: int, text: str) -> None:
    assert bytes_text(count) == text
