"""When a launch ran: from when it had its inputs and its devices, until its outputs were there."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import facts, settle

import pwlab as pw
from pwlab.events import NodeAdded, NodeEnded, NodeKind, NodeState
from pwlab.ids import BufferId, NodeId
from pwlab.runtime import Buffer, Task
from pwlab.runtime.clock import now


@jax.jit
def encode(x: Any) -> Any:
    return x + 1


def ran(session: pw.Session, name: str | NodeKind) -> NodeEnded:
    """The end of the node of this name, or of the first of this kind."""
    node = next(f.node for f in facts(session, NodeAdded) if name in (f.node.name, f.node.kind))
    return next(f for f in facts(session, NodeEnded) if f.node == node.id)


def test_waiting_for_a_host_is_no_computing(session: pw.Session) -> None:
    left: list[float] = []

    @pw.host(out=jax.ShapeDtypeStruct((4,), jnp.float32))
    def load() -> Any:
        left.append(now())
        return np.ones(4, np.float32)

    with pw.lazy():
        y = encode(load())
    assert y.tolist() == [2, 2, 2, 2]
    settle(session)
    computed, host = ran(session, "encode"), ran(session, "load")
    assert host.start <= left[0] <= computed.start < computed.end


def test_waiting_for_another_island_is_no_transfer(session: pw.Session) -> None:
    backend: Any = session.driver._backend
    (one, _), made = session.slices, jax.block_until_ready(jnp.ones(4))

    def moved(settled: bool) -> tuple[float, float]:
        """When the watcher began to look, and when a transfer that was handed over before began, as it says."""
        source = Buffer(BufferId(1), NodeId(1), one.id, False, made.aval, 16, None, list[Any]().append)
        source.array, source.ready = made, settled
        task = Task(NodeId(2), NodeKind.TRANSFER, "to b", None, [source], [], False, None)
        looked, ended = now(), list[Any]()
        backend._watch(task, [made], looked - 5, False, 0.0, ended)
        return looked, ended[0].start

    looked, start = moved(settled=False)
    assert start >= looked
    looked, start = moved(settled=True)
    assert start == looked - 5


@pytest.mark.parametrize("where", ["host", "device"])
def test_what_fails_ran_until_then(session: pw.Session, where: str) -> None:
    times: list[float] = []

    def bad(*x: Any) -> Any:
        times.append(now())
        raise ValueError("bad batch")

    out = jax.ShapeDtypeStruct((4,), jnp.float32)
    with pw.lazy():
        y = pw.host(bad, out=out)() if where == "host" else jax.pure_callback(bad, out, jnp.ones(4))
        z = y + 1
    settle(session)
    assert z.state == y.state == "failed"
    first, *others = [f for f in facts(session, NodeEnded) if f.state is NodeState.FAILED]
    assert first.start <= times[0] <= first.end
    assert [(f.start, f.end, f.cause) for f in others] == [(0.0, 0.0, first.node)] * len(others)
