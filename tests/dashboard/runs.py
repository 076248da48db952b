"""Runs of any length, as facts."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pwlab.events import (
    BuffersFreed,
    Fact,
    IslandKnown,
    IslandSpec,
    NodeAdded,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    OutputSpec,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source

JS = Path(__file__).parents[2] / "pwlab" / "viz" / "js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="!!! NOT TESTED: the dashboard's JavaScript, for there is no node")


def run(launches: int, program: int = 20, clients: int = 3) -> Iterator[Fact]:
    """Two islands of four devices; programs of ``program`` launches, chained, on the islands and by clients in turn."""
    islands = [
        IslandSpec(IslandId(i), f"island{i}", tuple(DeviceId(4 * i + k) for k in range(4)), "tpu") for i in range(2)
    ]
    for island in islands:
        yield IslandKnown(0.0, island)
        yield SliceMapped(0.0, SliceId(island.id + 1), f"s{island.id}", island.id, island.devices)
    now, chance = 1.0, random.Random(1)
    for k in range(launches):
        id, island = ProgramId(k // program + 1), islands[k // program % 2]
        if k % program == 0:
            yield ProgramOpened(now, id, f"step {id}", f"client {id % clients}", Source("Cell In[4]", 3, "y = f(x)"))
        node = NodeId(k + 1)
        source = Source("Cell In[4]", k % 9 + 1, f"y = layer{k % 9}(x)")
        inputs = (BufferId(k),) if k % program else ()
        yield NodeAdded(
            now,
            id,
            NodeSpec(
                node,
                f"layer{k % 9}",
                NodeKind.COMPUTE,
                SliceId(island.id + 1),
                inputs,
                (OutputSpec(BufferId(k + 1), 4096),),
                spread=True,
                source=source,
            ),
        )
        launched = now + 1e-4 * chance.random()
        yield NodeMoved(launched, node, NodeState.PREPARED, seconds=0.001 if k < 9 else 0.0)
        yield NodeMoved(launched, node, NodeState.QUEUED, island.id, island.devices)
        yield NodeMoved(launched, node, NodeState.LAUNCHED, island.id, island.devices)
        now = launched + 2e-3 * chance.random()
        yield NodeEnded(now, node, NodeState.DONE, launched, now, island.id, island.devices)
        if inputs:
            yield BuffersFreed(now, inputs, 4096)
        if k % program == program - 1:
            yield ProgramEnded(now, id, NodeState.DONE)
