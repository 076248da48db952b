"""What was recorded, and the program made of it.

A :class:`Graph` is the record of one window of a cell: calls of operations, in
the order in which the cell made them.  A :class:`Program` is what passes turn it
into: nodes, one a computation whatever its shards (Pathways §3), each on a
virtual slice, with transfers between slices as nodes of their own.

Values are named by integers, as the recorder numbers them:

* ``v >= 0`` is the ``v``-th result of the window (results of all calls, numbered through);
* ``v < 0`` is argument ``~v``: something that existed before the window began.

The passes know nothing of JAX.  They see an operation through :class:`Op`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ..ids import DeviceId, SliceId, Source


class OpKind(StrEnum):
    """How an operation becomes a node."""

    PRIMITIVE = "primitive"  #: joins the group of primitives around it
    COMPUTATION = "computation"  #: a function that the user jitted: a node of its own, under its name
    TRANSFER = "transfer"  #: moves its input to a slice, or reshards it there
    HOST = "host"  #: Python on a host: ``pw.host``, callbacks, Refs


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape, dtype (as JAX abbreviates it, ``f32``) and bytes of one logical tensor."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Op(Protocol):
    """An operation with its parameters and types; equal operations share one object."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> OpKind: ...
    @property
    def slice(self) -> SliceId | None:
        """The slice that ``pw.on`` asks for, or None."""
        ...

    @property
    def spread(self) -> bool:
        """It names a mesh of its own, so it runs on every device of its slice."""
        ...

    @property
    def ordered(self) -> bool:
        """It has an effect: it is never dropped and keeps its place among the others with effects."""
        ...

    @property
    def cost_us(self) -> float:
        """Estimated device time, microseconds."""
        ...

    @property
    def size(self) -> int:
        """How many equations it lowers to; bounds what is compiled as one."""
        ...

    @property
    def donates(self) -> tuple[int, ...]:
        """Positions of inputs whose memory it takes over."""
        ...

    @property
    def results(self) -> tuple[TensorType, ...]: ...


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call.  Its results are the values ``first .. first + len(op.results)``."""

    op: Op
    inputs: tuple[int, ...]
    first: int
    #: Its position in the record.
    at: int = -1

    @property
    def outputs(self) -> range:
        return range(self.first, self.first + len(self.op.results))


@dataclass(frozen=True, slots=True)
class Argument:
    """Something that existed before the window: a tensor, a Python scalar, any object of a host call."""

    type: TensorType
    #: Where it lies; None where it lies on the host or has no home (an uncommitted array).
    slice: SliceId | None = None
    spread: bool = False
    #: What computes it has failed already.
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """One window as recorded.

    Attributes:
      live: values that something outside still holds when the window is cut.
      default: the slice for what names none and has no placed input.
    """

    calls: tuple[Call, ...]
    arguments: tuple[Argument, ...]
    live: frozenset[int]
    default: SliceId

    def type(self, value: int) -> TensorType:
        """The type of a value; linear in the calls, so for text only."""
        if value < 0:
            return self.arguments[~value].type
        for call in self.calls:
            if value in call.outputs:
                return call.op.results[value - call.first]
        raise KeyError(value)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a program.

    Attributes:
      calls: indices into :attr:`Graph.calls`, empty for an inserted transfer.
      reads: what each of ``params`` is fetched from: the same value, or its transferred copy.
      params: values from outside, as the calls name them.
      writes: values that others read or the user holds.
      at: position in the record of its first call, or of the call that an inserted transfer is for.
      level: longest path from the program's beginning; every edge goes to a higher level.
    """

    name: str
    kind: OpKind
    slice: SliceId
    spread: bool
    calls: tuple[int, ...]
    params: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    level: int
    cost_us: float = 0.0
    size: int = 1
    ordered: bool = False
    donates: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    at: int = -1
    #: For a transfer: the slice that it comes from, where known.
    origin: SliceId | None = None
    devices: tuple[DeviceId, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The nodes of one window, in topological order, and the graph that they came from."""

    graph: Graph
    nodes: tuple[Node, ...]
    #: Copies made by inserted transfers: new value → the value it copies.
    copies: dict[int, int] = field(default_factory=dict[int, int])

    def type(self, value: int) -> TensorType:
        return self.graph.type(self.copies.get(value, value))

    def producers(self) -> dict[int, int]:
        """Value → index of the node that writes it."""
        return {v: i for i, node in enumerate(self.nodes) for v in node.writes}

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """(from node, to node, value), in order."""
        producers = self.producers()
        for i, node in enumerate(self.nodes):
            for v in node.reads:
                if v in producers:
                    yield producers[v], i, v

    def validate(self) -> None:
        """Raises AssertionError unless nodes are in topological order and every value has one writer."""
        seen: set[int] = set()
        for node in self.nodes:
            for v in node.reads:
                assert v < 0 or v in seen, f"{node.name} reads %{v} before it is written"
            for v in node.writes:
                assert v not in seen, f"%{v} is written twice"
                seen.add(v)
        missing = {v for v in self.graph.live if v >= 0} - seen
        assert not missing, f"live values {sorted(missing)} are written by no node"


#: A function from a call's position to the place in the user's text.
SourceMap = Sequence[Source | None]
