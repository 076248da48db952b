"""Each device really gets its gangs in the one order that the scheduler decided (Pathways §4.4)."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

import jax
import numpy as np
import pytest

import pwlab as pw
from pwlab.backends.devices import _grouped
from pwlab.config import Config
from pwlab.events import Launch, NodeKind
from pwlab.functions import _shard
from pwlab.lazy.scope import Scope
from pwlab.session import Session

CLIENTS = 4


@pytest.mark.parametrize("shared", [False, True], ids=["islands of their own", "islands on the same chips"])
def test_every_device_gets_its_gangs_in_the_order_of_the_scheduler(
    shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pw.shutdown()
    devices = jax.devices()[:4]
    machine = _grouped(devices if shared else [*devices, *jax.devices()[4:8]], 2, 4)
    assert machine.shared is shared
    session = Session(machine, Config(coalesce_ms=0))
    backend: Any = session.driver._backend
    decided: defaultdict[Any, list[int]] = defaultdict(list)
    launched: defaultdict[Any, list[int]] = defaultdict(list)
    execute, go, lock = backend.execute, backend._go, threading.Lock()

    def told(instruction: Any) -> Any:
        if isinstance(instruction, Launch) and backend._tasks[instruction.node].kind is not NodeKind.HOST:
            for device in backend._devices(instruction.devices):
                decided[device].append(instruction.node)
        return execute(instruction)

    def goes(task: Any, watched: Any) -> None:
        with lock:
            for device in task.devices:
                launched[device].append(task.node)
        go(task, watched)

    monkeypatch.setattr(backend, "execute", told)
    monkeypatch.setattr(backend, "_go", goes)
    add = jax.jit(lambda x: x + x.sum())

    def client(number: int) -> None:
        for _ in range(5):
            for slice in session.slices:
                with Scope(session.frontend, f"client {number}", slice):
                    x: Any = _shard(session, np.ones(4, np.float32), jax.P("d"), slice)
                    for _ in range(4):
                        x = add(x)
                x.result()

    try:
        threads = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        session.close()
    assert len(decided) == (4 if shared else 8)
    assert decided == launched
    assert all(len(order) >= CLIENTS * 5 * 4 for order in decided.values())
