"""A small run that has everything: two islands, transfers, a failure, what waits for it, a queue."""

from __future__ import annotations

from pathlib import Path

from pwlab.events import (
    ControllerWorked,
    Fact,
    IslandKnown,
    IslandSpec,
    Link,
    NodeAdded,
    NodeEnded,
    NodeKind,
    NodeMoved,
    NodeSpec,
    NodeState,
    OutputSpec,
    ProgramOpened,
    SliceMapped,
    Waited,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source

#: The root of the repository.
ROOT = Path(__file__).parents[2]
P = ProgramId(1)
A, B, C = SliceId(1), SliceId(2), SliceId(3)


def devices(*numbers: int) -> tuple[DeviceId, ...]:
    return tuple(DeviceId(n) for n in numbers)


WHERE = {
    A: (IslandId(0), devices(0, 1, 2, 3)),
    B: (IslandId(1), devices(4, 5)),
    C: (IslandId(1), devices(6, 7)),
}


def node(
    number: int,
    name: str,
    where: SliceId,
    inputs: tuple[int, ...] = (),
    *,
    line: int = 1,
    cell: str = "Cell In[4]",
    kb: int = 32,
    parts: int = 1,
    kind: NodeKind = NodeKind.COMPUTE,
    link: Link | None = None,
) -> NodeSpec:
    """Node ``number`` writes buffer ``number``."""
    return NodeSpec(
        id=NodeId(number),
        name=name,
        kind=NodeKind.TRANSFER if link else kind,
        slice=where,
        inputs=tuple(BufferId(i) for i in inputs),
        outputs=(OutputSpec(BufferId(number), kb * 1024),),
        spread=True,
        parts=parts,
        bytes_in=kb * 1024 if link else 0,
        link=link,
        source=Source(cell, line, f"{name} = ..."),
    )


NODES = (
    node(1, "init_params", A, cell="Cell In[2]", line=3, kb=4096),
    node(2, "load_batch", A, cell="Cell In[3]", line=1, kb=512, kind=NodeKind.HOST),
    node(3, "embed", A, (1, 2), line=2, kb=256),
    node(4, "encoder_block", A, (3,), line=3, kb=256, parts=6),
    node(5, "to b", B, (4,), line=4, kb=256, link=Link.DCN),
    node(6, "decoder_block", B, (5,), line=4, kb=128, parts=4),
    node(7, "to c", C, (6,), line=5, kb=128, link=Link.ICI),
    node(8, "attention", C, (7,), line=5, kb=64),
    node(9, "loss", B, (6,), line=6, kb=1),
    node(10, "grad_norm", C, (8,), line=7, kb=1),
    node(11, "metrics", A, (3, 4), line=8, kb=1),
    node(12, "log_softmax", A, (4,), line=9, kb=8),
    node(13, "to a", A, (9,), line=9, kb=1, link=Link.DCN),
    node(14, "update", A, (1, 12, 13), line=9, kb=4096),
    node(15, "sample", C, (8,), line=10, kb=2),
)


def run() -> list[Fact]:
    """The facts, in order."""
    islands = [
        IslandSpec(IslandId(0), "island0", devices(0, 1, 2, 3)),
        IslandSpec(IslandId(1), "island1", devices(4, 5, 6, 7)),
    ]
    facts: list[Fact] = [IslandKnown(0.0, island) for island in islands]
    facts += [SliceMapped(0.0, key, name, *WHERE[key]) for key, name in ((A, "a"), (B, "b"), (C, "c"))]
    facts.append(ProgramOpened(1.0, P, "train_step", "main", Source("Cell In[4]", 1, "%%pathways")))
    facts += [NodeAdded(1.0, P, spec) for spec in NODES]
    facts += [ControllerWorked(1.0, 0.002, 0.0015, 16, 3), ControllerWorked(1.004, 0.0005, 0.0005, 4, 4)]
    clock = 1.0
    for spec in NODES[:7]:
        island, chips = WHERE[spec.slice]
        compiled = 0.05 if spec.kind is NodeKind.COMPUTE else 0.0
        facts.append(NodeMoved(clock, spec.id, NodeState.PREPARED, seconds=compiled))
        facts.append(NodeMoved(clock, spec.id, NodeState.QUEUED, island, chips))
        facts.append(NodeMoved(clock, spec.id, NodeState.LAUNCHED, island, chips))
        took = 0.0002 if spec.link else 0.0012 * spec.parts
        end = clock + took
        used = () if spec.kind is NodeKind.HOST else chips
        facts.append(NodeEnded(end, spec.id, NodeState.DONE, clock, end, island, used))
        clock = end
    island, chips = WHERE[C]
    error = "XlaRuntimeError: RESOURCE_EXHAUSTED: attempting to allocate 64.0 GiB on device 6"
    facts.append(NodeEnded(clock, NodeId(8), NodeState.FAILED, clock - 0.0001, clock, island, chips, error,
                           NodeId(8)))  # fmt: skip
    facts.append(NodeEnded(clock, NodeId(10), NodeState.FAILED, error=error, cause=NodeId(8)))
    facts.append(NodeEnded(clock, NodeId(15), NodeState.CANCELLED, error="cancelled by the user"))
    for number, state in ((9, NodeState.LAUNCHED), (11, NodeState.QUEUED), (12, NodeState.PREPARED)):
        where = WHERE[NODES[number - 1].slice]
        facts.append(NodeMoved(clock, NodeId(number), state, *where))
    facts.append(Waited(1.002, 0.004, "float(x)", Source("Cell In[4]", 6, "float(loss)"), BufferId(9)))
    facts.append(Waited(1.012, 0.001, "print(x)", Source("Cell In[5]", 2, "print(m)"), BufferId(11)))
    return facts
