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
    #: How those of its newest window are.
    dispatched: Dispatch = Dispatch.PARALLEL
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
        "early",
        "failure",
        "host",
        "id",
        "island",
        "lack",
        "laid",
        "last",
        "launched",
        "missing",
        "needs",
        "obstacle",
        "offered",
        "on_end",
        "on_launch",
        "order",
        "place",
        "plan",
        "program",
        "reads",
        "scratch",
        "shares",
        "spec",
        "state",
        "written",
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
        self.duration = duration = durations.of(spec.key or spec.name, len(self.devices))
        devices = len(self.devices)
        #: Bytes that each of its outputs takes on each of its devices, that all of them take, and that it needs besides
        #: while it runs.  What the compiler says of that is known once its like was prepared.
        self.written: tuple[int, ...] = ()
        if self.host or not spec.key or len(duration.written) != len(spec.outputs):
            self.written = tuple([output.share(devices) for output in spec.outputs])
        else:
            self.written = duration.written
        #: As the compiler told it, or empty where that is as was thought.
        self.laid: tuple[int, ...] = ()
        self.draw = sum(self.written)
        self.scratch = 0 if self.host else duration.scratch
        #: What it draws on, one account for each device.
        self.accounts: tuple[Account, ...] = ()
        # See ``memory.py``: those of its devices' accounts that need a look, each with how often it counts there;
        self.shares: tuple[tuple[Account, int], ...] = ()
        #: what its launch takes of each account, at most and in the end, if nothing is donated to it;
        self.needs: tuple[tuple[Account, int, int], ...] = ()
        #: for each such account the highest point before it;
        self.crests: tuple[tuple[Account, int], ...] = ()
        #: number of the memory plan under which it was launched, and whether out of order;
        self.plan = -1
        self.early = False
        #: the account, and the bytes needed there, for which it was not launched; None: they are kept for another.
        self.obstacle: tuple[Account, int] | None = None
        #: Device time for which its client was charged at its launch.
        self.charge = 0.0
        #: When it could first have been launched.
        self.offered = 0.0
        #: Where it waits for memory: which account is too small, and by how many bytes, as observers were told.
        self.lack: tuple[str, int] | None = None
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
        # Lists, once somebody waits: what few nodes need, none of ten thousand carries along.
        self.on_launch: list[Node] | None = None
        self.on_end: list[Node] | None = None

    def settle(self) -> None:
        """Takes its devices from the place of its slice."""
        self.island = self.place.island
        devices = self.place.devices
        #: The gang: all of these devices or none.  A host node takes none.
        self.devices: tuple[DeviceId, ...] = () if self.host else devices if self.spec.spread else devices[:1]

    @property
    def suspended(self) -> bool:
        """Whether its client, its program or its slice is suspended."""
        return self.program.suspended or self.client.suspended or self.place.suspended

    @property
    def held(self) -> bool:
        """Whether it is suspended, or its slice is about to move."""
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
