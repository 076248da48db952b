"""Fixtures of the control tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from control_harness import Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    """One island of four devices and, as slice 1, all of it."""
    lab = Lab()
    lab.island(4)
    lab.slice(4)
    yield lab
    lab.controller.validate()
