"""What all tests share: eight emulated devices, a session a test, and no thread left behind."""

from __future__ import annotations

import os

# Both must be there before JAX starts: emulated devices, and threads enough for their collectives.
os.environ.setdefault("NPROC", "16")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.pop("COLUMNS", None)  # texts are as wide here as where nothing says how wide they may be

import threading
from collections.abc import Iterator

import jax
import pytest

jax.config.update("jax_num_cpu_devices", 8)

from harness import settle  # noqa: E402

import pwlab as pw  # noqa: E402
from pwlab.session import running  # noqa: E402


@pytest.fixture
def session() -> Iterator[pw.Session]:
    """Two islands of four emulated devices.  At the end nothing is under way and every invariant holds."""
    pw.shutdown()
    session = pw.start(islands=2, devices_per_island=4)
    yield session
    if not session.closed:
        settle(session)
    pw.shutdown()


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Without a session there is no thread of pwlab's."""
    yield
    if running() is None:
        left = [t.name for t in threading.enumerate() if t.name.startswith("pwlab-")]
        for thread in threading.enumerate():
            if thread.name.startswith("pwlab-host"):  # a pool's threads end by themselves, a moment later
                thread.join(10.0)
        left = [t.name for t in threading.enumerate() if t.name.startswith("pwlab-")]
        assert not left, f"threads are left: {', '.join(left)}"
