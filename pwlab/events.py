"""What the control plane hears, orders and reports: events, instructions and facts.

The controller is *sans I/O*: :meth:`pwlab.control.Controller.handle` takes one
event and answers with instructions (for a backend) and facts (for observers).
Everything here is a frozen, slotted dataclass that holds ids, numbers and
text, never a live object, so a run can be recorded, replayed and compared.

Times are seconds on the driver's monotonic clock; the controller never reads a
clock, it only sees the time of an event.  Sizes are bytes.  Every fact carries
the id of what it is about and, where something caused it, of the cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId, Source


class NodeKind(StrEnum):
    """What carries a node out."""

    COMPUTE = "compute"  #: one compiled function, gang-scheduled on devices
    TRANSFER = "transfer"  #: moves or reshards one buffer, over ICI or DCN
    HOST = "host"  #: a Python function on a host; takes no device


class NodeState(StrEnum):
    """A node's life: waiting → prepared → queued → launched → done, failed or cancelled."""

    WAITING = "waiting"  #: submitted; being prepared (compiled, buffers planned)
    PREPARED = "prepared"  #: ready to be queued; sequential dispatch holds it here
    QUEUED = "queued"  #: in its island's order
    LAUNCHED = "launched"  #: handed to the devices
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in _ENDED


_ENDED = frozenset({NodeState.DONE, NodeState.FAILED, NodeState.CANCELLED})


class Dispatch(StrEnum):
    """How host-side work of a program is ordered (Pathways §4.5)."""

    PARALLEL = "parallel"  #: all nodes are prepared and queued at once, inputs being futures
    SEQUENTIAL = "sequential"  #: a node is prepared when its predecessors are launched


class Link(StrEnum):
    """Which network a transfer crosses."""

    ICI = "ICI"  #: within an island
    DCN = "DCN"  #: between islands
    PCIE = "PCIe"  #: between a host and its devices


# --- descriptions -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IslandSpec:
    """An island: devices joined by a fast network (Pathways §2)."""

    id: IslandId
    name: str
    devices: tuple[DeviceId, ...]
    #: Platform of the devices, ``cpu``, ``tpu`` or ``gpu``.
    chip: str = "cpu"
    #: The physical mesh, ``devices`` being in row-major order; empty means one axis.
    shape: tuple[int, ...] = ()
    #: Memory of one device in bytes, or None where nobody limits it.
    hbm_bytes: int | None = None
    #: The physical chip behind each device; devices with one number share its memory.  Empty: each is its own.
    chips: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A logical buffer that a node will write.  ``bytes`` counts the whole buffer once."""

    buffer: BufferId
    bytes: int
    #: Bytes on each device of the gang; None: ``bytes`` divided evenly.  A replicated buffer has all of them on each.
    per_device: int | None = None
    #: What it holds, as people write it: ``f32[8,128]``; empty where nobody knows.
    shape: str = ""

    def share(self, devices: int) -> int:
        """Bytes on each of so many devices; on a host, which is none, they are not counted."""
        if not devices:
            return 0
        return -(-self.bytes // devices) if self.per_device is None else self.per_device


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node as the controller sees it.

    Attributes:
      slice: where it runs; a host node's slice names the island whose host runs it.
      inputs: buffers it reads; the producers are other nodes of this session, or none.
      after: nodes that must have ended first though no buffer joins them (ordered effects).
      donates: those of ``inputs`` whose memory the node may reuse.
      spread: runs on every device of the slice; else on its first device.
      parts: how many computations were merged into this launch.
      bytes_in: for a transfer, the bytes that move.
      link: for a transfer, the network it crosses.
      pinned: outputs the client still holds; others are freed when their last reader ended.
      key: equal for nodes that run the same computation, so that one's duration tells the other's; the name if empty.
    """

    id: NodeId
    name: str
    kind: NodeKind
    slice: SliceId
    inputs: tuple[BufferId, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    after: tuple[NodeId, ...] = ()
    donates: tuple[BufferId, ...] = ()
    pinned: tuple[BufferId, ...] = ()
    spread: bool = False
    parts: int = 1
    bytes_in: int = 0
    link: Link | None = None
    source: Source | None = None
    key: str = ""


# --- events: what happened, told to the controller ----------------------------


@dataclass(frozen=True, slots=True)
class IslandJoined:
    time: float
    island: IslandSpec


@dataclass(frozen=True, slots=True)
class SliceRequested:
    """A virtual slice of ``devices`` devices is wanted (Pathways §4.1).

    ``shape`` asks for a contiguous block of the island's mesh, ``chip`` for a platform.
    """

    time: float
    slice: SliceId
    name: str
    devices: int
    island: IslandId | None = None
    shape: tuple[int, ...] | None = None
    chip: str | None = None


@dataclass(frozen=True, slots=True)
class SliceReleased:
    time: float
    slice: SliceId


@dataclass(frozen=True, slots=True)
class SliceMoved:
    """A slice shall lie on other devices, of ``island`` or of whichever is best (migration, Pathways §4.1).

    It moves between launches: what is launched on it ends first, what is not waits and is prepared anew.
    """

    time: float
    slice: SliceId
    island: IslandId | None = None


@dataclass(frozen=True, slots=True)
class ClientOpened:
    """A client that submits programs (Pathways §5.2); opening one that is open changes its settings.

    Attributes:
      share: its part of the device time under the policy ``proportional``, relative to others.
      priority: under the policy ``priority``; the highest goes first.
      max_bytes: what its buffers may take on the devices, all together.
      max_in_flight: its launches in flight, over all islands.
    """

    time: float
    client: str
    share: float = 1.0
    priority: int = 0
    max_bytes: int | None = None
    max_in_flight: int | None = None


@dataclass(frozen=True, slots=True)
class ClientClosed:
    """A client is gone: what it has not launched is cancelled, what it holds is released."""

    time: float
    client: str


@dataclass(frozen=True, slots=True)
class NodesSubmitted:
    """Nodes of a program; the first such event of a program opens it.

    A long cell sends its program in windows, each one event; ``last`` closes the program.
    ``nodes`` are in topological order and may read buffers of earlier windows and programs.
    """

    time: float
    program: ProgramId
    name: str
    nodes: tuple[NodeSpec, ...]
    last: bool = True
    client: str = "main"
    dispatch: Dispatch | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class NodePrepared:
    """A backend compiled the node and knows its buffers.  ``seconds`` is 0 where it was cached.

    Attributes:
      scratch: bytes that it needs on each of its devices while it runs, beside its inputs and outputs.
      written: bytes of each output on each of its devices, where the compiler laid them out; if empty, they are as
        :class:`OutputSpec` says.
    """

    time: float
    node: NodeId
    seconds: float = 0.0
    scratch: int = 0
    written: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeCompleted:
    """The node's outputs exist.  It ran on its devices from ``start`` to ``end``."""

    time: float
    node: NodeId
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class NodeBroke:
    """The node could not be prepared or run.  ``error`` is one line of text for people.

    It ran on its devices from ``start`` until it failed at ``end``; both are 0 where it never began.
    """

    time: float
    node: NodeId
    error: str
    start: float = 0.0
    end: float = 0.0


@dataclass(frozen=True, slots=True)
class BuffersReleased:
    """The client no longer holds these buffers."""

    time: float
    buffers: tuple[BufferId, ...]


@dataclass(frozen=True, slots=True)
class ProgramCancelled:
    """The user gave the program up: what has not been launched never will be."""

    time: float
    program: ProgramId
    reason: str = "cancelled by the user"


@dataclass(frozen=True, slots=True)
class ClientCancelled:
    """The user gave up all programs of a client; the client stays open."""

    time: float
    client: str
    reason: str = "cancelled by the user"


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is launched until :class:`Resumed`; what is launched goes on."""

    time: float


@dataclass(frozen=True, slots=True)
class Stepped:
    """The next ``n`` nodes are launched, then all is paused."""

    time: float
    n: int = 1


@dataclass(frozen=True, slots=True)
class Resumed:
    """The end of :class:`Paused`."""

    time: float


@dataclass(frozen=True, slots=True)
class Suspended:
    """One client, program or slice launches nothing until :class:`ResumedEntity`; all others go on.

    When what it has in flight has ended its buffers go to host memory (Pathways §4.1).
    """

    time: float
    client: str | None = None
    program: ProgramId | None = None
    slice: SliceId | None = None


@dataclass(frozen=True, slots=True)
class ResumedEntity:
    """The end of :class:`Suspended`."""

    time: float
    client: str | None = None
    program: ProgramId | None = None
    slice: SliceId | None = None


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Control settings; a field that is ``None`` stays as it is."""

    time: float
    dispatch: Dispatch | None = None
    max_in_flight: int | None = None
    policy: str | None = None


Event = (
    IslandJoined
    | SliceRequested
    | SliceReleased
    | NodesSubmitted
    | NodePrepared
    | NodeCompleted
    | NodeBroke
    | BuffersReleased
    | ProgramCancelled
    | SettingsChanged
    | SliceMoved
    | ClientOpened
    | ClientClosed
    | ClientCancelled
    | Paused
    | Stepped
    | Resumed
    | Suspended
    | ResumedEntity
)


# --- instructions: what a backend shall do -------------------------------------


@dataclass(frozen=True, slots=True)
class Prepare:
    """Compile the node for these devices; answer :class:`NodePrepared` or :class:`NodeBroke`."""

    node: NodeId
    devices: tuple[DeviceId, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """Run the node on these devices, after all that was launched on the island before it."""

    node: NodeId
    island: IslandId
    devices: tuple[DeviceId, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """Nobody will read these buffers again."""

    buffers: tuple[BufferId, ...]


@dataclass(frozen=True, slots=True)
class Abandon:
    """The node will never run; whoever waits for its outputs gets ``error``.

    ``cause`` is the node whose failure began it, which may be this node itself.
    """

    node: NodeId
    error: str
    cause: NodeId
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Bring these buffers to the devices to which their slice moved, laid out there as they were."""

    buffers: tuple[BufferId, ...]
    slice: SliceId
    island: IslandId
    devices: tuple[DeviceId, ...]


@dataclass(frozen=True, slots=True)
class Offload:
    """Bring these buffers to host memory, and let go of theirs on the devices; nothing that is launched uses them."""

    buffers: tuple[BufferId, ...]


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring these buffers from host memory to where they lay, or to where their slice has moved since."""

    buffers: tuple[BufferId, ...]


Instruction = Prepare | Launch | Free | Abandon | Move | Offload | Restore


# --- facts: what observers learn -----------------------------------------------


@dataclass(frozen=True, slots=True)
class IslandKnown:
    time: float
    island: IslandSpec


@dataclass(frozen=True, slots=True)
class SliceMapped:
    """A slice lies on these devices; told again when it moved."""

    time: float
    slice: SliceId
    name: str
    island: IslandId
    devices: tuple[DeviceId, ...]
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SliceRefused:
    """No island can hold the slice; ``reason`` says why and what would fit."""

    time: float
    slice: SliceId
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SliceUnmapped:
    time: float
    slice: SliceId


@dataclass(frozen=True, slots=True)
class ClientKnown:
    """A client was opened, or its settings changed; they are those of :class:`ClientOpened`."""

    time: float
    client: str
    share: float = 1.0
    priority: int = 0
    max_bytes: int | None = None
    max_in_flight: int | None = None


@dataclass(frozen=True, slots=True)
class ClientGone:
    """A client was closed; one of that name that is opened later is another."""

    time: float
    client: str


@dataclass(frozen=True, slots=True)
class ProgramOpened:
    time: float
    program: ProgramId
    name: str
    client: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class SettingsKnown:
    """How launches are decided from now on: told at the start, and again when any of it changed.

    Attributes:
      policy: the name of the scheduling policy.
      dispatch: of programs that name none.
      max_in_flight: launches in flight on an island.
    """

    time: float
    policy: str
    dispatch: Dispatch
    max_in_flight: int


@dataclass(frozen=True, slots=True)
class DispatchChanged:
    """The nodes of a program that are added after this are dispatched so; at first they are in parallel (§4.5)."""

    time: float
    program: ProgramId
    dispatch: Dispatch


@dataclass(frozen=True, slots=True)
class ProgramEnded:
    """All nodes of a closed program ended; ``state`` is done, failed or cancelled."""

    time: float
    program: ProgramId
    state: NodeState


@dataclass(frozen=True, slots=True)
class NodeAdded:
    time: float
    program: ProgramId
    node: NodeSpec


@dataclass(frozen=True, slots=True)
class NodeMoved:
    """A node entered ``state``.

    Attributes:
      seconds: for prepared, the time it took to compile.
      scratch, written: for launched, as in :class:`NodePrepared`, where the compiler said so: bytes on each device.
    """

    time: float
    node: NodeId
    state: NodeState
    island: IslandId | None = None
    devices: tuple[DeviceId, ...] = ()
    seconds: float = 0.0
    scratch: int = 0
    written: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeHeld:
    """A queued node could be launched but for memory, when that was last tried (Pathways §4.6); it ends as it moves on.

    Told when the node is first held back, and of each client's first such node on an island again when what it lacks
    has changed.

    Attributes:
      account: what is too small, such as ``device 3`` or ``client 'a'``; empty where there is room, kept for an
        older node.
      bytes: by how much it is too small.
    """

    time: float
    node: NodeId
    account: str
    bytes: int


@dataclass(frozen=True, slots=True)
class NodeEnded:
    """A node is done, failed or cancelled.  ``cause`` is the node that failed first.

    It ran from ``start`` to ``end``, also where it failed then; both are 0 where it never began.
    """

    time: float
    node: NodeId
    state: NodeState
    start: float = 0.0
    end: float = 0.0
    island: IslandId | None = None
    devices: tuple[DeviceId, ...] = ()
    error: str = ""
    cause: NodeId | None = None


@dataclass(frozen=True, slots=True)
class BuffersFreed:
    time: float
    buffers: tuple[BufferId, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class BuffersOffloaded:
    """Buffers of something suspended lie in host memory; ``bytes`` counts each whole buffer once."""

    time: float
    buffers: tuple[BufferId, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class BuffersRestored:
    """Buffers came back from host memory to their devices; ``bytes`` counts each whole buffer once."""

    time: float
    buffers: tuple[BufferId, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class WaitBegan:
    """A thread of the user's waits for a value from ``time`` on; :class:`Waited` with that time tells the end."""

    time: float
    reason: str
    source: Source | None
    buffer: BufferId | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """The user's thread waited for a value from ``time`` to ``time + seconds``.

    ``reason`` names the call that needed it, such as ``float(x)``.
    """

    time: float
    seconds: float
    reason: str
    source: Source | None
    buffer: BufferId | None = None


@dataclass(frozen=True, slots=True)
class ControllerWorked:
    """The thread of the controller was at work from ``time`` to ``time + seconds`` (Pathways §4.5).

    Its driver tells so, which measures it: the controller itself reads no clock.  Short stretches that follow each
    other closely are one.

    Attributes:
      busy: seconds of these in which it took events and gave instructions, waits for Python's lock included.
      events: how many it took.
      launches: how many nodes it handed to devices.
    """

    time: float
    seconds: float
    busy: float
    events: int
    launches: int = 0


@dataclass(frozen=True, slots=True)
class Noted:
    """Something a person should know and that is no state of a node."""

    time: float
    text: str


Fact = (
    IslandKnown
    | SliceMapped
    | SliceRefused
    | SliceUnmapped
    | ClientKnown
    | ProgramOpened
    | ClientGone
    | SettingsKnown
    | DispatchChanged
    | ProgramEnded
    | NodeAdded
    | NodeMoved
    | NodeHeld
    | NodeEnded
    | BuffersFreed
    | BuffersOffloaded
    | BuffersRestored
    | WaitBegan
    | Waited
    | ControllerWorked
    | Noted
)
