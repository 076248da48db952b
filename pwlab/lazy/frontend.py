"""The frontend: takes windows of the record and submits them as programs.

It does for one session what the paper's client library does (Pathways §4.2): it lowers programs, hands their nodes
to the driver, and holds the handles of the results, whose values :mod:`pwlab.lazy.values` waits for.
"""

from __future__ import annotations

import contextvars
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import jax

from ..config import Config
from ..errors import (
    BufferReleased,
    ClientError,
    PlacementError,
    SessionClosed,
    SyncForbidden,
)
from ..events import Dispatch, Link, NodeKind, NodeSpec, NodesSubmitted, NodeState, OutputSpec
from ..ids import BufferId, IdCounters, NodeId, ProgramId, SliceId, Source
from ..runtime import Buffer, Driver, Failure, Owner, Task
from ..runtime.clock import now
from . import _jax, patience
from .ops import OpTable
from .places import Places, here
from .plan import Plan, Planner, limits_of, pack
from .recorder import Recorder, Window
from .tensor import LazyTensor, Ref
from .trace import RecordingTrace, active
from .values import Values

#: The client that this thread or task submits for, or None for ``main``; see :mod:`pwlab.clients`.
current_owner: ContextVar[Owner | None] = ContextVar("pwlab_owner", default=None)

#: How many programs ``pw.dump`` and ``%pw graph`` can look back to.
_KEEP_PROGRAMS = 64
#: Windows kept of one program.
_KEEP_WINDOWS = 4


class ProgramRecord:
    """What the frontend remembers of a program: one run of a cell, or one call of a ``@pw.program``."""

    def __init__(self, id: ProgramId, name: str, source: Source | None, owner: Owner):
        self.id = id
        self.name = name
        self.owner = owner
        self.source = source
        #: How it is dispatched (Pathways §4.5), or None for the session's setting; and whether the host had to see a
        #: value of it while it was recorded, so that what comes behind is dispatched sequentially.
        self.dispatch: Dispatch | None = None
        self.split = False
        #: (plan, positions of its calls, places) of the last windows, for ``pw.dump``.
        self.windows: list[tuple[Plan, list[int], Places]] = []
        self.plans: set[int] = set()
        self.closed = False
        self.nodes = 0
        #: What the cell's last expression was, if it was a tree of tensors (``%pw result``).
        self.result: Any = None
        #: Recorders of its cells while it is held back (``--defer``), in order.
        self.held: list[Recorder] = []
        #: How it ended; None until it has.
        self.state: NodeState | None = None

    @property
    def client(self) -> str:
        return self.owner.name


class Frontend:
    """Programs and values of one session.

    Args:
      driver: where nodes go.
      slices: the session's slices (``default``, ``devices``, ``home``, ``by_id``).
    """

    def __init__(self, driver: Driver, ids: IdCounters, config: Config, slices: Any, trace: RecordingTrace):
        self.driver = driver
        self.config = config
        self.table = OpTable(lambda device: slices.find(device).id)
        self.trace = trace
        self.closed = False
        self._ids = ids
        self._slices = slices
        self.planner = Planner(slices.home, slices.by_id)
        self.values = Values(driver, config, slices, self.flush, self.recording)
        self.programs: OrderedDict[ProgramId, ProgramRecord] = OrderedDict()
        #: The clients that are open.
        self.owners: dict[str, Owner] = {}
        self._submitted = 0
        self._last_ordered: NodeId | None = None
        self._lock = threading.RLock()

    # --- recording ---------------------------------------------------------------------------

    def recording(self) -> bool:
        """Whether this thread or task is inside a pathways scope, and records now."""
        recorder = active.get()
        return recorder is not None and not recorder.over and _jax.current_trace() is not _jax.eval_trace

    def open_program(self, name: str, source: Source | None) -> ProgramRecord:
        record = ProgramRecord(self._ids.program(), name, source, self.submits_for())
        self.programs[record.id] = record
        while len(self.programs) > _KEEP_PROGRAMS:
            # Not those that are being recorded or held back.
            oldest = next((id for id, known in self.programs.items() if known.closed), None)
            if oldest is None:
                break
            del self.programs[oldest]
        return record

    def transfer_to(self, where: Any) -> dict[str, Any] | None:
        """Parameters of the transfer that ``jax.device_put`` to a device or a sharding asks for; None for nowhere.

        Raises:
          PlacementError: the session does not have the device.
        """
        if where is None:
            return None
        if isinstance(where, jax.sharding.Sharding):
            devices = sorted(where.device_set, key=lambda d: d.id)
            spec = where if len(devices) > 1 else None
            return {"slice": int(self._slices.find(devices[0]).id), "spec": spec}
        return {"slice": int(self._slices.find(where).id), "spec": None}

    # --- clients -------------------------------------------------------------------------------

    def owner(self, name: str) -> Owner:
        """The client of that name, known from now on."""
        with self._lock:
            return self.owners.setdefault(name, Owner(name))

    def submits_for(self) -> Owner:
        """The client that this thread or task submits for.

        Raises:
          ClientError: it was closed.
          SessionClosed: it belongs to a session that was stopped.
        """
        owner = current_owner.get()
        if owner is None:
            return self.owner("main")
        check_open(owner)
        if self.owners.get(owner.name) is not owner:
            raise SessionClosed(f"client {owner.name!r} belongs to a session that was stopped; open it again")
        return owner

    def close_owner(self, owner: Owner) -> None:
        """Takes nothing more from a client.

        Raises:
          ClientError: it was closed before.
        """
        with self._lock:  # what another thread submits for it is submitted by now, or refused
            check_open(owner)
            owner.closed = True
            self.owners.pop(owner.name, None)

    # --- windows --------------------------------------------------------------------------------

    def flush(self, window: Window) -> None:
        """Dispatches the open window that some tensor is waiting in."""
        recorder = window.recorder
        if recorder.dry:
            raise SyncForbidden("a value is needed here, and a dry run computes none; run the cell without --dry-run")
        with recorder.lock:
            if recorder.window is window:  # another thread may have been faster
                recorder.flush()

    def dispatch(self, recorder: Recorder, window: Window, last: bool) -> None:
        """Submits a window."""
        if recorder.defers:
            window.args = [self._late(a) if isinstance(a, Ref) else a for a in window.args]
        live = [(i, ref) for i, weak in enumerate(window.refs) if (ref := weak()) is not None and not ref.gone]
        try:
            self._dispatch(recorder.program, window, live, last)
        except BaseException as error:
            self._abandon(live, error)
            raise

    def _late(self, ref: Ref) -> Buffer:
        """The buffer of a tensor that was held back when a held-back cell read it."""
        if ref.window is not None:
            self.flush(ref.window)
        if ref.buffer is None:
            made = ref.places.source(ref.at)
            raise BufferReleased(f"a tensor made at {made}, which a held-back cell reads, was {ref.gone or 'lost'}")
        return ref.buffer

    def discard(self, recorder: Recorder, why: str) -> None:
        """Drops what a recorder holds back; its tensors tell ``why`` when they are used."""
        with recorder.lock:
            window, recorder.closed = recorder.window, True
            for weak in window.refs:
                ref = weak()
                if ref is not None and not ref.gone and ref.window is window:
                    source = ref.places.source(ref.at)
                    buffer = self._buffer(NodeId(0), self._slices.default.id, False, None, source)
                    buffer.settle(Failure("", why, source, cancelled=True, told=True))
                    ref.window, ref.buffer = None, buffer

    def _abandon(self, live: Sequence[tuple[int, Ref]], error: BaseException) -> None:
        """Makes tensors of a window that could not be submitted fail with the reason."""
        for _, ref in live:
            source = ref.places.source(ref.at)
            buffer = self._buffer(NodeId(0), self._slices.default.id, False, None, source)
            buffer.settle(Failure("", f"{type(error).__name__}: {error}", source, error, told=True))
            ref.window, ref.buffer = None, buffer

    def _buffer(self, node: NodeId, slice: SliceId, spread: bool, aval: Any, source: Source | None) -> Buffer:
        nbytes = 0 if aval is None else _jax.dim_bytes(aval)
        return Buffer(self._ids.buffer(), node, slice, spread, aval, nbytes, source, self.driver.released)

    def _dispatch(self, program: ProgramRecord, window: Window, live: Sequence[tuple[int, Ref]], last: bool) -> None:
        if self.closed:
            raise SessionClosed("the session was stopped while this cell was recording; start it again with %pw start")
        slices = self._slices
        specs: list[NodeSpec] = []
        tasks: list[Task] = []
        plan: Plan | None = None
        alive = dict(live)
        if window.calls:
            _check_arguments(window)
            plan = self.planner.plan(window, tuple(alive), slices.default.id, slices.devices, limits_of(self.config))
            for step in plan.steps:
                if step.node.slice not in slices.by_id:
                    raise PlacementError(
                        f"`{step.node.name}` is placed on a slice that was removed; take another with pw.on(slice)"
                    )
            program.plans.add(id(plan))
            program.windows.append((plan, [at for _, _, at, _ in window.calls], window.places))
            del program.windows[:-_KEEP_WINDOWS]
        owner = program.owner
        with self._lock:
            check_open(owner)
            if plan is not None:
                self._instantiate(plan, window, alive, program, specs, tasks)
            program.nodes += len(specs)
            program.closed = last
            self._submitted += len(tasks)
            owner.submitted += len(tasks)
            owner.submitted_bytes += sum(task.nbytes for task in tasks)
            self.driver.submit(
                NodesSubmitted(
                    now(),
                    program.id,
                    program.name,
                    tuple(specs),
                    last,
                    owner.name,
                    Dispatch.SEQUENTIAL if program.split else program.dispatch,
                    program.source,
                ),
                tasks,
            )

    @property
    def idle(self) -> bool:
        """Whether all that was submitted has ended, so that the devices wait for the user's thread."""
        return self._submitted <= self.driver.ended

    def hold_back(self, program: ProgramRecord) -> None:
        """Bounds how far a client records ahead of the devices."""
        driver, config, owner = self.driver, self.config, program.owner

        def near_enough() -> bool:
            ahead = owner.submitted - owner.ended
            return ahead <= 0 or (
                ahead <= config.max_ahead and owner.submitted_bytes - owner.ended_bytes <= config.max_ahead_bytes
            )

        if not near_enough():
            patience.wait_for(
                driver,
                lambda: near_enough() or driver.closed or driver.crash is not None,
                f"recording, {owner.submitted - owner.ended:,} launches of client {owner.name!r} ahead,",
                lambda controller: controller.why(program=program.id),
                config.progress_after,
            )

    def _instantiate(
        self,
        plan: Plan,
        window: Window,
        alive: dict[int, Ref],
        program: ProgramRecord,
        specs: list[NodeSpec],
        tasks: list[Task],
    ) -> None:
        values: dict[int, Buffer] = {}
        args = window.args
        context: contextvars.Context | None = None
        for step in plan.steps:
            node = step.node
            id = self._ids.node()
            source = window.places.source(window.calls[node.at][2])
            # A function without a name goes by the line that calls it.
            name = source.text if node.name == "<lambda>" and source.text else node.name
            writes = node.writes
            outputs: list[Buffer] = []
            pinned: list[BufferId] = []
            if step.kind is NodeKind.HOST:
                call = plan.program.graph.calls[node.calls[0]]
                writes = tuple(call.outputs)
            for v in writes:
                buffer = self._buffer(id, node.slice, node.spread, plan.aval(v), source)
                values[v] = buffer
                outputs.append(buffer)
                ref = alive.get(v)
                if ref is not None:
                    ref.buffer, ref.window = buffer, None
                    buffer.held_by(ref)
                    pinned.append(buffer.id)
            inputs: list[Any] = [values[v] if v >= 0 else args[~v] for v in step.reads]
            reads = tuple(dict.fromkeys(v.id for v in inputs if isinstance(v, Buffer)))
            donates: tuple[BufferId, ...] = ()
            if node.donates:
                given = [values[v] if v >= 0 else args[~v] for v in node.donates]
                donates = tuple(v.id for v in given if isinstance(v, Buffer))
            for dtype, codes in step.packs:
                inputs.append(pack(dtype, [args[~v] for v in codes]))
            if step.kind is NodeKind.HOST or node.ordered:
                context = context or _clean_context()
            after = ()
            if node.ordered:
                after = (self._last_ordered,) if self._last_ordered is not None else ()
                self._last_ordered = id
            link, moved = self._link(step, inputs)
            tasks.append(
                Task(
                    id,
                    step.kind,
                    name,
                    step.computation,
                    inputs,
                    outputs,
                    node.spread,
                    source,
                    len(node.parts),
                    self._spec(step),
                    context if step.kind is NodeKind.HOST or node.ordered else None,
                    program.owner,
                )
            )
            specs.append(
                NodeSpec(
                    id,
                    name,
                    step.kind,
                    node.slice,
                    reads,
                    tuple(
                        OutputSpec(b.id, b.nbytes, None, plan.shape(v)) for b, v in zip(outputs, writes, strict=True)
                    ),
                    after,
                    donates,
                    tuple(pinned),
                    node.spread,
                    len(node.parts),
                    moved,
                    link,
                    source,
                    "" if step.computation is None else step.computation.label,
                )
            )

    def _spec(self, step: Any) -> Any:
        if step.spec is None or isinstance(step.spec, jax.sharding.Sharding):
            return step.spec
        return (step.spec, *self._slices.by_id[step.node.slice].mesh_for(step.spec))

    def _link(self, step: Any, inputs: list[Any]) -> tuple[Link | None, int]:
        if step.kind is not NodeKind.TRANSFER:
            return None, 0
        origin = step.node.origin
        moved = sum(getattr(v, "nbytes", 0) for v in inputs)
        if origin is None:
            return Link.PCIE, moved
        same = self._slices.by_id[origin].island == self._slices.by_id[step.node.slice].island
        return (Link.ICI if same else Link.DCN), moved

    # --- giving back --------------------------------------------------------------------------------

    def release(self, ref: Ref, why: str) -> None:
        """The user gives a value back."""
        if ref.gone:
            return
        if ref.window is not None:
            self.flush(ref.window)
        ref.gone = why
        buffer, ref.buffer = ref.buffer, None
        if buffer is not None:
            buffer.release()

    def copy(self, tensor: LazyTensor) -> LazyTensor:
        """A tensor of its own with the same value, computed in the background."""
        from .scope import one_call

        tensor.check_usable()
        with one_call(self, "copy"):
            return _jax.copy_p.bind(tensor)

    def close(self) -> None:
        self.closed = True


def check_open(owner: Owner) -> None:
    """Raises ClientError if a client was closed."""
    if owner.closed:
        raise ClientError(f"client {owner.name!r} was closed; open it again with pw.Client({owner.name!r}, ...)")


def _check_arguments(window: Window) -> None:
    """Raises BufferReleased if an array that the window reads was deleted or donated since it was recorded."""
    for slot, value in enumerate(window.args):
        if isinstance(value, jax.Array) and value.is_deleted():
            op, at = next((op, at) for op, codes, at, _ in window.calls if ~slot in codes)
            raise BufferReleased(
                f"`{op.name}` at {window.places.source(at)} reads an array, {value.dtype}{list(value.shape)}, "
                f"that was deleted or donated before {here() or 'the end of the cell'}, where the cell is dispatched; "
                "keep a copy (`y = x.copy()`) before, or donate it in the same cell"
            )


def _clean_context() -> contextvars.Context:
    """The context variables of the cell, outside of its scope: for callbacks and host functions."""
    context = contextvars.copy_context()
    context.run(active.set, None)
    return context
