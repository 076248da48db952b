"""Suspend and resume through a real session: buffers leave the devices and come back, values stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import LONG, facts, settle, sizes

import pwlab as pw
from pwlab.backends import offload
from pwlab.errors import ProgramCancelledError, SessionClosed
from pwlab.events import BuffersOffloaded, BuffersRestored
from pwlab.runtime import Parked


@jax.jit
def mixed(x: Any) -> Any:
    return jnp.tanh(x @ x.T) @ x + jnp.sum(x)


MATRIX = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


@pytest.fixture
def one() -> Iterator[pw.Session]:
    """One island of eight devices with 20,000 bytes each; every computation is a launch of its own."""
    pw.shutdown()
    session = pw.start(islands=1, devices_per_island=8, hbm_bytes=20_000, coalesce_ms=0)
    yield session
    if not session.closed:
        settle(session)
    pw.shutdown()


@pytest.fixture(params=["pinned", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in which an array lies in host memory."""
    if request.param == "numpy":
        monkeypatch.setattr(offload, "_pinned", lambda array: False)
    return request.param


def on_devices(session: pw.Session) -> int:
    return sum(device.bytes for device in session.steering.memory().devices)


def program(name: str, slice: Any = None, n: int = 6) -> tuple[Any, Any]:
    """(first, last) of a chain over a sharded array."""
    with pw.lazy(name, slice):
        x = first = pw.shard(MATRIX, jax.P("d"))
        for _ in range(n):
            x = mixed(x)
    return first, x


@pytest.mark.parametrize(("name", "kind"), [("alice", "client"), ("work", "slice"), ("mine", "program")])
def test_buffers_leave_and_come_back_and_values_stay(one: pw.Session, way: str, name: str, kind: str) -> None:
    work = pw.make_virtual_device_set().add_slice(4, name="work")
    plain = np.asarray(program("plain", work)[1].result())
    settle(one)
    before = on_devices(one)
    one.steering.pause()
    with pw.Client("alice"):
        first, last = program("mine", work)
    one.steering.step(3)
    pw.wait(first)
    assert one.driver.signal.wait_for(lambda: len(one.driver._alive) == 4, LONG)
    assert on_devices(one) > before
    assert one.steering.suspend(name) == f"{kind} {name}"
    one.driver.look(lambda controller: controller.validate())
    use = one.steering.memory()
    assert on_devices(one) == before and use.host_bytes > 0
    assert all(holder.away == (holder.client == "alice") for holder in use.holders)
    one.steering.resume()
    assert "is suspended: resume it; 256 B of what it reads lie in host memory" in str(pw.why("mine"))
    np.testing.assert_array_equal(first.result(), MATRIX)  # a copy of the reader's own
    assert str(pw.why(first)).endswith("is suspended") and "in host memory" in str(pw.why(first))
    if kind == "client":
        others = [program(f"other {i}", work)[1] for i in range(3)]
        for other in others:
            np.testing.assert_array_equal(other.result(), plain)
    one.steering.resume(name)
    np.testing.assert_array_equal(last.result(), plain)
    settle(one)
    assert one.steering.memory().host_bytes == 0
    assert first.result().sharding == jax.sharding.NamedSharding(first.result().sharding.mesh, jax.P("d"))
    assert not isinstance(first._ref.buffer.array, Parked)
    gone, back = facts(one, BuffersOffloaded), facts(one, BuffersRestored)
    assert {b for fact in gone for b in fact.buffers} == {b for fact in back for b in fact.buffers}


def test_every_type_survives(one: pw.Session, way: str) -> None:
    work = pw.make_virtual_device_set().add_slice(4, name="work")
    values = {
        "bf16": jnp.arange(8, dtype=jnp.bfloat16) / 3,
        "keys": jax.random.split(jax.random.key(7), 8),
        "nan": jnp.array([np.nan, -0.0, np.inf] * 8, jnp.float32),
        "bool": jnp.arange(8) % 3 == 0,
        "empty": jnp.zeros((8, 0), jnp.int8),
    }
    with pw.Client("alice"), pw.lazy("make", work):
        cut = {name: pw.shard(value, jax.P("d")) for name, value in values.items()}
        whole = {name: pw.shard(value, jax.P()) for name, value in values.items()}
        single = jax.jit(lambda x: x + 1)(np.float16(2.5))
    pw.wait((cut, whole, single))
    settle(one)
    want = jax.tree.map(bits, pw.fetch((cut, whole, single)))
    lay = jax.tree.map(lambda x: x.result().sharding, (cut, whole, single), is_leaf=is_lazy)
    one.steering.suspend("alice")
    assert on_devices(one) == 0
    assert jax.tree.map(bits, pw.fetch((cut, whole, single))) == want
    one.steering.resume("alice")
    assert one.steering.memory().host_bytes == 0
    assert jax.tree.map(bits, pw.fetch((cut, whole, single))) == want
    assert jax.tree.map(lambda x: x.result().sharding, (cut, whole, single), is_leaf=is_lazy) == lay


def is_lazy(x: Any) -> bool:
    return isinstance(x, pw.LazyTensor)


def bits(x: Any) -> bytes:
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        x = jax.random.key_data(x)
    return np.asarray(x).tobytes()


def test_what_comes_back_waits_for_memory(one: pw.Session) -> None:
    def block(name: str) -> Any:
        with pw.lazy(name):
            return jnp.full((3_000,), 7.0, jnp.float32)  # 12,000 of 20,000 bytes

    alice = pw.Client("alice")
    with alice:
        mine = block("mine")
        with pw.lazy("more"):
            pw.wait(jnp.max(mine))  # so that it is compiled
    settle(one)
    one.steering.suspend("alice")
    other = block("other")
    pw.wait(other)
    with alice, pw.lazy("more"):
        more = jnp.max(mine)
    one.steering.resume("alice")
    np.testing.assert_array_equal(mine.result(), np.full(3_000, 7.0))
    assert "is short by" in str(pw.why(more)) and one.steering.memory().host_bytes == 12_000
    assert "comes back when a launch reads it" in str(pw.why(mine))
    other.release()
    assert more.result() == 7.0
    settle(one)
    assert one.steering.memory().host_bytes == 0


def test_cancelled_closed_and_stopped_while_suspended(one: pw.Session) -> None:
    one.steering.pause()
    alice, bob = pw.Client("alice"), pw.Client("bob")
    with alice:
        first, last = program("a")
    with bob:
        kept, never = program("b")
    one.steering.step(4)
    pw.wait((first,))
    one.steering.resume()
    one.steering.suspend("bob")
    pw.wait(last)
    one.steering.suspend("alice")
    assert one.steering.cancel("b") >= 1
    with pytest.raises(ProgramCancelledError):
        never.result()
    alice.close()
    assert {holder.client for holder in one.steering.memory().holders} <= {"bob"}
    pw.shutdown()
    with pytest.raises((SessionClosed, ProgramCancelledError)):
        never.result()
    del kept


def test_a_slice_that_moves_while_suspended(session: pw.Session) -> None:
    work = pw.make_virtual_device_set().add_slice(2, island=0, name="work")
    with pw.lazy("p", work):
        x = pw.shard(MATRIX, jax.P("d"))
    pw.wait(x)
    settle(session)
    session.steering.suspend("work")
    pw.migrate(work, "island1")
    session.steering.resume("work")
    np.testing.assert_array_equal(x.result(), MATRIX)
    assert {d.id for d in x.result().devices()} == set(work.devices) <= {4, 5, 6, 7}
    x.release()
    assert sizes(session)["buffers"] == 0
