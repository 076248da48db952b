"""Graphs made by hand: operations that are nothing but data."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pwlab.ids import DeviceId, SliceId, Source
from pwlab.ir import Argument, Call, Graph, OpKind, TensorType

A, B, C = SliceId(1), SliceId(2), SliceId(3)
NAMES = {A: "a", B: "b", C: "c"}
DEVICES = {A: tuple(map(DeviceId, (0, 1, 2, 3))), B: tuple(map(DeviceId, (4, 5))), C: tuple(map(DeviceId, (6, 7)))}

_ids = count(1)


def tensor(*shape: int) -> TensorType:
    size = 4
    for n in shape:
        size *= n
    return TensorType(shape, "f32", size)


@dataclass(frozen=True, eq=False)
class FakeOp:
    """An :class:`~pwlab.ir.Op` that does nothing."""

    name: str
    kind: OpKind = OpKind.PRIMITIVE
    slice: SliceId | None = None
    spread: bool = False
    ordered: bool = False
    cost_us: float = 1.0
    size: int = 1
    donates: tuple[int, ...] = ()
    results: tuple[TensorType, ...] = (tensor(2),)
    id: int = field(default_factory=lambda: next(_ids))


class Builder:
    """Puts a graph together as a recorder would.

    ``g = Builder(); x = g.argument(slice=A); y = g.call("sin", x)``
    """

    def __init__(self, default: SliceId = A):
        self.calls: list[Call] = []
        self.arguments: list[Argument] = []
        self.default = default
        self.results = 0

    def argument(self, slice: SliceId | None = None, spread: bool = False, type: TensorType | None = None) -> int:
        self.arguments.append(Argument(type or tensor(2), slice, spread))
        return ~(len(self.arguments) - 1)

    def call(self, name: str, *inputs: int, kind: OpKind = OpKind.PRIMITIVE, **options: Any) -> int:
        """Its first result."""
        op = FakeOp(name, kind, **options)
        first = self.results
        self.calls.append(Call(op, inputs, first, len(self.calls)))
        self.results += len(op.results)
        return first

    def jit(self, name: str, *inputs: int, **options: Any) -> int:
        return self.call(name, *inputs, kind=OpKind.COMPUTATION, **options)

    def move(self, x: int, to: SliceId, spread: bool = False) -> int:
        return self.call("shard" if spread else "transfer", x, kind=OpKind.TRANSFER, slice=to, spread=spread)

    def graph(self, *live: int) -> Graph:
        return Graph(tuple(self.calls), tuple(self.arguments), frozenset(live), self.default)

    def sources(self) -> list[Source]:
        return [Source("Cell In[4]", i + 1, call.op.name) for i, call in enumerate(self.calls)]
