"""What the driver asks of a backend, and what a client hands it to run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextvars import Context
from itertools import count
from typing import Any, Protocol

from ..events import Event, Instruction, IslandSpec, NodeKind
from ..ids import NodeId, Source
from .buffers import Buffer, Failure


class Computation:
    """A function that a backend compiles, shared by all nodes that run it.

    Attributes:
      key: equal for equal computations.
      fn: flat values → flat list of results; traceable by JAX, or plain Python for a host node.
      in_avals: JAX types of the inputs.
      donate: positions of inputs whose memory may be reused.
      mesh_devices: the physical devices that a mesh of its own names, or None.
    """

    __slots__ = ("donate", "executables", "fn", "in_avals", "key", "label", "mesh_devices", "name")

    _count = count(1)

    def __init__(
        self,
        key: Hashable,
        name: str,
        fn: Callable[..., Sequence[Any]],
        in_avals: Sequence[Any],
        donate: tuple[int, ...] = (),
        mesh_devices: tuple[Any, ...] | None = None,
    ):
        self.key = key
        self.name = name
        #: Tells this computation from others of the same name, so that one run's duration foretells the next one's.
        self.label = f"{name}#{next(self._count)}"
        self.fn = fn
        self.in_avals = tuple(in_avals)
        self.donate = donate
        self.mesh_devices = mesh_devices
        #: Kept by the backend: (devices, input shardings) → executable.
        self.executables: dict[Hashable, Any] = {}


class Owner:
    """A client, as those know it who submit for it and run it: how far it is ahead of the devices."""

    __slots__ = ("closed", "ended", "ended_bytes", "name", "submitted", "submitted_bytes")

    def __init__(self, name: str):
        self.name = name
        self.closed = False
        #: Nodes that were submitted, and the bytes of their results.
        self.submitted = 0
        self.submitted_bytes = 0
        #: What of these has ended.
        self.ended = 0
        self.ended_bytes = 0


class Task:
    """One run of a node: what the backend needs beside the controller's :class:`~pwlab.events.NodeSpec`."""

    __slots__ = (
        "computation",
        "context",
        "devices",
        "executable",
        "failure",
        "inputs",
        "kind",
        "name",
        "nbytes",
        "node",
        "outputs",
        "owner",
        "parts",
        "source",
        "spec",
        "spread",
    )

    def __init__(
        self,
        node: NodeId,
        kind: NodeKind,
        name: str,
        computation: Computation | None,
        inputs: list[Any],
        outputs: list[Buffer],
        spread: bool,
        source: Source | None,
        parts: int = 1,
        spec: Any = None,
        context: Context | None = None,
        owner: Owner | None = None,
    ):
        self.node = node
        self.kind = kind
        self.name = name
        self.computation = computation
        #: Buffers, JAX arrays, NumPy arrays, or for a host node any object.
        self.inputs = inputs
        self.outputs = outputs
        self.nbytes = sum(b.nbytes for b in outputs)
        self.spread = spread
        self.source = source
        self.parts = parts
        #: For a transfer: the PartitionSpec wanted on the slice, or None.
        self.spec = spec
        #: The context variables of the cell, for Python that runs as part of the node.
        self.context = context
        self.owner = owner
        self.devices: tuple[Any, ...] = ()
        self.executable: Any = None
        #: Why it failed, where the failure began with it; set by the backend before it settles.
        self.failure: Failure | None = None


class Backend(Protocol):
    """Carries out what the controller decides.  Nothing here waits; results come back as events."""

    def islands(self) -> Sequence[IslandSpec]: ...

    def start(self, post: Callable[..., None], settled: Callable[[Task], None]) -> None:
        """Begins; ``post(*events)`` takes events, ``settled`` is told of each task whose outputs settled."""
        ...

    def register(self, tasks: Sequence[Task]) -> None:
        """Makes tasks known, before the controller hears of their nodes."""
        ...

    def execute(self, instruction: Instruction) -> Event | None:
        """Begins what the instruction says; gives the event that tells its end if that is known already."""
        ...

    def close(self) -> None: ...
