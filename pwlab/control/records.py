"""The records that the machines of the controller share.

A node's record lives from its submission to its end, and longer only while a
buffer that it wrote is still known: the buffer needs it to say who made it and
what went wrong.  Records point at each other only while both live (lists of
waiting nodes are dropped when they are served), so that forgetting one frees
it at once and a session of days holds no more than what is going on now.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..events import Dispatch, Fact, Instruction, NodeKind, NodeSpec, NodeState, OutputSpec
from ..ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source
from .accounts import Account
from .clients import Client
from .durations import Durations

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


@dataclass(slots=True, eq=False)
class Placement:
    """Where a virtual slice lies: distinct devices of one island.

    They are in the order of their ids or, if the slice has a shape, in its row-major order.
    """

    slice: SliceId
    name: str
    island: IslandId
    devices: tuple[DeviceId, ...]
    shape: tuple[int, ...] = ()
    #: By the user's hand.
    suspended: bool = False
    #: Where it shall lie when what is launched on it has ended, or None.
    target: Placement | None = None
    #: Nodes of it that are launched and have not ended.
    flying: int = 0


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
    client: Client
    #: How its nodes are dispatched, or None for the session's setting.
    dispatch: Dispatch | None = None
    #: Its last window has come.
    closed: bool = False
    #: Why the user gave it up, or None.
    given_up: str | None = None
    any_failed: bool = False
    any_cancelled: bool = False
    suspended: bool = False
    #: Its nodes that have not ended, in the order of submission.
    live: dict[NodeId, Node] = field(default_factory=dict["NodeId", "Node"])

    @property
    def verdict(self) -> NodeState:
        """The state in which it ends, by the worst of its nodes."""
        if self.any_failed:
            return NodeState.FAILED
        return NodeState.CANCELLED if self.any_cancelled else NodeState.DONE


def share_of(output: OutputSpec, devices: int) -> int:
    """Bytes of an output on each of so many devices; on a host they are not counted."""
    if not devices:
        return 0
    return -(-output.bytes // devices) if output.per_device is None else output.per_device


class Node:
    """One node on its way through life."""

    __slots__ = (
        "accounts",
        "asked",
        "charge",
        "client",
        "crests",
        "devices",
        "draw",
        "duration",
        "failure",
        "host",
        "id",
        "island",
        "last",
        "launched",
        "missing",
        "offered",
        "on_end",
        "on_launch",
        "order",
        "place",
        "plan",
        "program",
        "reads",
        "spec",
        "state",
    )

    def __init__(self, spec: NodeSpec, program: Program, place: Placement, order: int, durations: Durations):
        self.id = spec.id
        self.spec = spec
        self.program = program
        self.client = program.client
        #: Position in the order of all submissions: the one order that every queue follows.
        self.order = order
        self.place = place
        self.host = spec.kind is NodeKind.HOST
        self.settle()
        #: Bytes that its outputs take on each of its devices.
        self.draw = 0
        if not self.host:
            devices = len(self.devices)
            for output in spec.outputs:
                self.draw += share_of(output, devices)
        #: What it draws on, one for each device; and for each that has a limit the highest point before it.
        self.accounts: tuple[Account, ...] = ()
        self.crests: tuple[tuple[Account, int], ...] = ()
        #: Number of the memory plan under which it was launched.
        self.plan = -1
        self.duration = durations.of(spec.key or spec.name, len(self.devices))
        #: Device time for which its client was charged at its launch.
        self.charge = 0.0
        #: When it could first have been launched.
        self.offered = 0.0
        self.state = NodeState.WAITING
        #: The state before this one.
        self.last = NodeState.WAITING
        #: It has been handed to the devices; stays true afterwards.
        self.launched = False
        #: How many answers to ``Prepare`` are due or were given, less those that a move has made worthless.
        self.asked = 0
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

    def settle(self) -> None:
        """Takes its devices from the place of its slice."""
        self.island = self.place.island
        devices = self.place.devices
        #: The gang: all of these devices or none.  A host node takes none.
        self.devices: tuple[DeviceId, ...] = () if self.host else devices if self.spec.spread else devices[:1]

    @property
    def held(self) -> bool:
        """Whether its client, its program or its slice is suspended, or the slice is about to move."""
        place = self.place
        return self.program.suspended or self.client.suspended or place.suspended or place.target is not None

    def story(self) -> str:
        """The states it has been in, for error texts: ``waiting → prepared → queued``."""
        if self.state in LIFE:
            path = LIFE[: LIFE.index(self.state) + 1]
        else:
            path = (*LIFE[: LIFE.index(self.last) + 1], self.state)
        return " → ".join(path)

    def __str__(self) -> str:
        return f"node {self.id} {self.spec.name!r} of program {self.program.id} {self.program.name!r}"
