"""The records that the machines of the controller share.

A node's record lives from its submission to its end, and longer only while a
buffer that it wrote is still known: the buffer needs it to say who made it and
what went wrong.  Records point at each other only while both live (lists of
waiting nodes are dropped when they are served), so that forgetting one frees
it at once and a session of days holds no more than what is going on now.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..events import Dispatch, Fact, Instruction, NodeKind, NodeSpec, NodeState
from ..ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source

#: The states of a life in which nothing goes wrong, in order.
LIFE = (
    NodeState.WAITING,
    NodeState.PREPARED,
    NodeState.QUEUED,
    NodeState.LAUNCHED,
    NodeState.DONE,
)


@dataclass(slots=True)
class Answer:
    """What one event leads to: orders for the backend, facts for observers."""

    time: float
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    facts: list[Fact] = field(default_factory=list[Fact])


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a virtual slice lies: distinct devices of one island, in the order of their ids."""

    slice: SliceId
    name: str
    island: IslandId
    devices: tuple[DeviceId, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why results will never exist.  All that depends on a failed node shares its one record."""

    #: The node with which it began.
    cause: NodeId
    name: str
    source: Source | None
    #: One line of text for people.
    error: str
    cancelled: bool = False

    @classmethod
    def of(cls, node: Node, error: str, *, cancelled: bool = False) -> Failure:
        """A failure that begins with ``node``."""
        return cls(node.id, node.spec.name, node.spec.source, error, cancelled)

    def told_to(self, node: Node) -> str:
        """The error text of ``node``: the bare one for the cause, the way to it for all others."""
        if node.id == self.cause:
            return self.error
        where = f" ({self.source})" if self.source else ""
        what = "was cancelled" if self.cancelled else "failed"
        return f"{node.spec.name!r} has no input, because {self.name!r}{where} {what}: {self.error}"


@dataclass(slots=True, eq=False)
class Program:
    """One run of a cell, or one call of a ``@pw.program``."""

    id: ProgramId
    name: str
    client: str
    #: How its nodes are dispatched, or None for the session's setting.
    dispatch: Dispatch | None = None
    #: Its last window has come.
    closed: bool = False
    #: Why the user gave it up, or None.
    given_up: str | None = None
    any_failed: bool = False
    any_cancelled: bool = False
    #: Its nodes that have not ended, in the order of submission.
    live: dict[NodeId, Node] = field(default_factory=dict["NodeId", "Node"])

    @property
    def verdict(self) -> NodeState:
        """The state in which it ends, by the worst of its nodes."""
        if self.any_failed:
            return NodeState.FAILED
        return NodeState.CANCELLED if self.any_cancelled else NodeState.DONE


class Node:
    """One node on its way through life."""

    __slots__ = (
        "asked",
        "client",
        "devices",
        "failure",
        "host",
        "id",
        "island",
        "last",
        "launched",
        "missing",
        "on_end",
        "on_launch",
        "order",
        "program",
        "reads",
        "spec",
        "state",
    )

    def __init__(self, spec: NodeSpec, program: Program, place: Placement, order: int):
        self.id = spec.id
        self.spec = spec
        self.program = program
        self.client = program.client
        #: Position in the order of all submissions: the one order that every queue follows.
        self.order = order
        self.island = place.island
        self.host = spec.kind is NodeKind.HOST
        #: The gang: all of these devices or none.  A host node takes none.
        self.devices: tuple[DeviceId, ...] = () if self.host else place.devices if spec.spread else place.devices[:1]
        self.state = NodeState.WAITING
        #: The state before this one.
        self.last = NodeState.WAITING
        #: It has been handed to the devices; stays true afterwards.
        self.launched = False
        #: The backend was told to prepare it.
        self.asked = False
        #: How many things must happen before it may be launched (see ``programs.py``).
        self.missing = 0
        #: Why its outputs will never exist.  A launched node may have one before it has ended.
        self.failure: Failure | None = None
        inputs = spec.inputs
        #: The buffers it reads, each once.
        self.reads: tuple[BufferId, ...] = inputs if len(inputs) < 2 else tuple(dict.fromkeys(inputs))
        #: Nodes that miss this one's launch, and its end.
        self.on_launch: list[Node] = []
        self.on_end: list[Node] = []

    def story(self) -> str:
        """The states it has been in, for error texts: ``waiting → prepared → queued``."""
        if self.state in LIFE:
            path = LIFE[: LIFE.index(self.state) + 1]
        else:
            path = (*LIFE[: LIFE.index(self.last) + 1], self.state)
        return " → ".join(path)

    def __str__(self) -> str:
        return f"node {self.id} {self.spec.name!r} of program {self.program.id} {self.program.name!r}"
