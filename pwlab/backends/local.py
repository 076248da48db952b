"""The local backend: the JAX devices of this process, real or emulated.

Threads, each with one job, so that nobody waits for anybody else's:

* *compile*: prepares nodes, in order; what was compiled before is found without it;
* *island N*: one executor an island, or for all that share chips; launches in the scheduler's order, and nothing
  blocks it but an input that another island has not launched yet.  That cannot deadlock: the controller orders
  launches so that the producer of an input was always ordered before, so of all that is not launched the first can be;
* *watch N*: waits for what was launched and reports its end; JAX has no completion callback;
* *host*: a small pool for host nodes.

Emulated devices need care (measured): JAX up to 0.11 aborts the process if collectives are launched from two threads
unordered, or with too many in flight.  So launches on several devices are made under one lock and at most
:data:`_COLLECTIVES_IN_FLIGHT` of them are under way.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from ..control.topology import homes
from ..errors import BufferReleased, InternalError, PlacementError
from ..events import (
    Abandon,
    Event,
    Free,
    Instruction,
    IslandSpec,
    Launch,
    Move,
    NodeBroke,
    NodeCompleted,
    NodeKind,
    NodePrepared,
    Offload,
    Prepare,
    Restore,
)
from ..ids import BufferId, DeviceId, IslandId, NodeId
from ..runtime import Buffer, Failure, Task
from ..runtime.buffers import Signal
from ..runtime.clock import now
from . import compiler
from .devices import Machine
from .offload import HostCopy

_COLLECTIVES_IN_FLIGHT = 16
_HOST_THREADS = 4
#: How many ends of launches are told at once at most, and within how many seconds.
_ENDS_AT_ONCE = 8
_ENDS_WITHIN = 0.005


class LocalBackend:
    """Runs nodes on the devices of a :class:`~pwlab.backends.devices.Machine`."""

    def __init__(self, machine: Machine):
        self._machine = machine
        self._tasks: dict[NodeId, Task] = {}
        self._buffers: dict[BufferId, Buffer] = {}
        self._failures: dict[NodeId, Failure] = {}
        self._post: Callable[..., None] = lambda event: None
        self._settled: Callable[[Task], None] = lambda task: None
        self._launches: dict[IslandId, SimpleQueue[Any]] = {}
        self._threads: list[threading.Thread] = []
        self._compiling: SimpleQueue[Any] = SimpleQueue()
        #: Tasks given to the compiling thread (counted by the driver's), and done by it (counted by its own).
        self._to_compile = 0
        self._compiled = 0
        self._launched = Signal()
        self._collectives = threading.Lock()
        self._collective_slots = threading.Semaphore(_COLLECTIVES_IN_FLIGHT)
        self._host = ThreadPoolExecutor(_HOST_THREADS, thread_name_prefix="pwlab-host")
        self._closed = False
        #: How many computations were compiled, and for how long, since the session began.
        self.compilations = 0

    def islands(self) -> Sequence[IslandSpec]:
        return self._machine.islands

    def start(self, post: Callable[..., None], settled: Callable[[Task], None]) -> None:
        self._post, self._settled = post, settled
        self._thread("pwlab-compile", self._compile_loop, self._compiling)
        home = homes(self._machine.islands)
        for island in self._machine.islands:
            if home[island.id] != island.id:  # it shares chips with one before it, and so its threads
                self._launches[island.id] = self._launches[home[island.id]]
                continue
            launches = self._launches[island.id] = SimpleQueue()
            watched: SimpleQueue[Any] = SimpleQueue()
            self._thread(f"pwlab-{island.name}", self._island_loop, launches, watched)
            self._thread(f"pwlab-watch-{island.name}", self._watch_loop, watched)

    def _thread(self, name: str, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    # --- instructions; called by the driver's thread ------------------------------------------

    def register(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._tasks[task.node] = task
            for buffer in task.outputs:
                self._buffers[buffer.id] = buffer

    def execute(self, instruction: Instruction) -> Event | None:
        if isinstance(instruction, Prepare):
            return self._prepare(instruction)
        if isinstance(instruction, Launch):
            task = self._tasks[instruction.node]
            if task.kind is NodeKind.HOST:
                self._host.submit(self._run_host, task)
            else:
                self._launches[instruction.island].put(task)
        elif isinstance(instruction, Move):
            self._move(instruction)
        elif isinstance(instruction, Offload):
            self._offload(instruction)
        elif isinstance(instruction, Restore):
            self._restore(instruction)
        elif isinstance(instruction, Free):
            for buffer_id in instruction.buffers:
                buffer = self._buffers.pop(buffer_id, None)
                if buffer is not None:
                    buffer.array = None
        else:
            self._abandon(instruction)
        return None

    def _move(self, instruction: Move) -> None:
        """Brings buffers to the devices to which their slice moved; all that was launched on them has ended."""
        devices = self._devices(instruction.devices)
        for buffer_id in instruction.buffers:
            buffer = self._buffers.get(buffer_id)
            if buffer is None or not isinstance(buffer.array, (jax.Array, HostCopy)):
                continue
            old = buffer.array.sharding
            if buffer.spread and isinstance(old, NamedSharding):
                mesh: Any = old.mesh
                buffer.sharding = compiler.on_slice(old.spec, devices, mesh.axis_names, mesh.devices.shape)
            else:
                buffer.sharding = SingleDeviceSharding(devices[0])
            if isinstance(buffer.array, HostCopy):
                buffer.array.sharding = buffer.sharding
            else:
                buffer.array = jax.device_put(buffer.array, buffer.sharding)

    def _offload(self, instruction: Offload) -> None:
        """Puts host copies in place of arrays that nothing launched uses; what the host cannot take stays."""
        for buffer_id in instruction.buffers:
            buffer = self._buffers.get(buffer_id)
            if buffer is not None and isinstance(buffer.array, jax.Array):
                with suppress(RuntimeError):  # or the user's own code donated it
                    buffer.array = HostCopy(buffer.array)

    def _restore(self, instruction: Restore) -> None:
        """Brings arrays back from the host; one for which the device has no room stays, and fails what reads it."""
        for buffer_id in instruction.buffers:
            buffer = self._buffers.get(buffer_id)
            if buffer is not None and isinstance(buffer.array, HostCopy):
                with suppress(RuntimeError):
                    buffer.array = buffer.array.copied()

    def close(self) -> None:
        self._closed = True
        self._compiling.put(None)
        for launches in set(self._launches.values()):
            launches.put(None)
        self._launched.notify()
        self._host.shutdown(wait=False, cancel_futures=True)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(10.0)
        self._tasks.clear()
        self._buffers.clear()

    # --- preparing -----------------------------------------------------------------------------

    def _devices(self, ids: tuple[DeviceId, ...]) -> tuple[Any, ...]:
        """The JAX devices of these ids, each once: logical devices may share a chip."""
        return tuple(dict.fromkeys(self._machine.devices[i] for i in ids))

    def _prepare(self, instruction: Prepare) -> Event | None:
        task = self._tasks[instruction.node]
        task.devices = self._devices(instruction.devices)
        # Only while nothing compiles are the shardings of all inputs known.
        try:
            if self._to_compile == self._compiled and self._prepared(task):
                return _told(task, len(instruction.devices))
        except Exception as error:  # of this node alone: what the driver's thread raises stops the session
            return self._broke(task, error)
        self._to_compile += 1
        self._compiling.put((task, task.devices, len(instruction.devices)))
        return None

    def _prepared(self, task: Task) -> bool:
        """Prepares without compiling, if that is possible."""
        shardings: Sequence[Any]
        if task.kind is NodeKind.HOST:
            shardings = [SingleDeviceSharding(task.devices[0]) if task.devices else None] * len(task.outputs)
        elif task.kind is NodeKind.TRANSFER:
            shardings = [self._transfer_sharding(task)]
        else:
            task.executable = compiler.find(task, task.devices)
            if task.executable is None:
                return False
            shardings = task.executable.out_shardings
        for buffer, sharding in zip(task.outputs, shardings, strict=True):
            buffer.sharding = sharding
            buffer.state = "queued"
        return True

    def _transfer_sharding(self, task: Task) -> Any:
        if isinstance(task.spec, jax.sharding.Sharding):
            return task.spec  # over physical devices that the user named
        if task.spec is not None:
            spec, axes, shape = task.spec
            if len(task.devices) != math.prod(shape):  # logical devices that share a chip: it has all of it
                return SingleDeviceSharding(task.devices[0])
            return compiler.on_slice(spec, task.devices, axes, shape)
        source = compiler.sharding_of(task.inputs[0])
        if task.spread and isinstance(source, NamedSharding) and source.mesh.size == len(task.devices):
            mesh: Any = source.mesh
            return compiler.on_slice(source.spec, task.devices, mesh.axis_names, mesh.devices.shape)
        if task.spread:
            return compiler.on_slice(PartitionSpec(), task.devices, ("d",), (len(task.devices),))
        return SingleDeviceSharding(task.devices[0])

    def _compile_loop(self, inbox: SimpleQueue[Any]) -> None:
        while (item := inbox.get()) is not None:
            task, devices, width = item
            took = 0.0
            try:
                # Its slice may move meanwhile; then it comes again with new devices, and what is answered here says
                # only that this time is over.
                while task.devices is devices and not self._prepared(task):
                    if took and task.devices is devices:
                        raise InternalError(f"{task.name} was compiled and is not found")
                    before = list(map(compiler.sharding_of, task.inputs))
                    began = now()
                    compiler.make(task, devices)
                    self.compilations += 1
                    if before == list(map(compiler.sharding_of, task.inputs)):
                        took = now() - began
                event: Event = _told(task, width, took)
            except Exception as error:
                event = self._broke(
                    task, error if width <= len(devices) else _crowded(task, width, len(devices), error)
                )
            self._compiled += 1
            self._post(event)
            del item, task  # an idle thread keeps nothing alive

    # --- launching ------------------------------------------------------------------------------

    def _island_loop(self, launches: SimpleQueue[Any], watched: SimpleQueue[Any]) -> None:
        # Each launch is a call of its own: an idle thread's locals would keep the last one's arrays.
        while (task := launches.get()) is not None:
            if not self._closed:
                self._go(task, watched)
            del task
        watched.put(None)

    def _go(self, task: Task, watched: SimpleQueue[Any]) -> None:
        began, collective = 0.0, False
        try:
            values = [self._value(v) for v in task.inputs]
            if task.kind is NodeKind.TRANSFER and task.devices[0].platform == "cpu":
                _inputs_there(task)  # putting a value on another emulated device would wait for it in there
            began = now()
            if task.kind is NodeKind.TRANSFER:
                results = [jax.device_put(values[0], task.outputs[0].sharding)]
            else:
                collective = task.executable.several
                if collective:
                    self._collective_slots.acquire()
                results = self._call(task, values)
        except _InputFailed:
            self._post(NodeBroke(now(), task.node, "an input failed"))  # the controller knows why
            return
        except Exception as error:
            if collective:
                self._collective_slots.release()
            self._post(self._broke(task, error, began, now()))
            return
        for buffer, result in zip(task.outputs, results, strict=True):
            buffer.array = result
            buffer.state = "running"
        self._launched.notify()
        watched.put((task, results, began, collective))

    def _call(self, task: Task, values: list[Any]) -> list[Any]:
        executable = task.executable
        placed = [
            v if getattr(v, "sharding", None) == s or not hasattr(v, "sharding") else jax.device_put(v, s)
            for v, s in zip(values, executable.in_shardings, strict=True)
        ]
        if task.context is not None:
            return task.context.copy().run(self._launch, executable, placed)
        return self._launch(executable, placed)

    def _launch(self, executable: compiler.Executable, placed: list[Any]) -> list[Any]:
        if executable.several:
            with self._collectives:
                return executable.call(*placed)
        return executable.call(*placed)

    def _value(self, value: Any) -> Any:
        """The array of an input; a future of JAX's own while it is computed."""
        if not isinstance(value, Buffer):
            return value
        if value.array is None:
            self._launched.wait_for(
                lambda: value.array is not None or value.failure is not None or value.ready or self._closed
            )
        array = value.value
        if array is None:
            if value.ready and not self._closed:  # it was there; it went with its client, which is closed
                made = f", made at {value.source}," if value.source else ""
                raise BufferReleased(f"a value that it reads{made} was freed when its client was closed")
            raise _InputFailed
        return array

    def _watch_loop(self, watched: SimpleQueue[Any]) -> None:
        free_at = 0.0  # when what was launched before on this island ended
        ended: list[Event] = []
        while (item := watched.get()) is not None:
            task, results, began, collective = item
            free_at = self._watch(task, results, began, collective, free_at, ended)
            del item, task, results  # an idle thread keeps nothing alive
            # Whoever waits for a value knows already; the controller can hear of a few ends at once, which spares a
            # change of threads each, as long as the devices have more to do and it is not kept waiting.
            if ended and (watched.empty() or len(ended) >= _ENDS_AT_ONCE or free_at - ended[0].time > _ENDS_WITHIN):
                self._post(*ended)
                ended.clear()

    def _watch(
        self, task: Task, results: list[Any], began: float, collective: bool, free_at: float, ended: list[Event]
    ) -> float:
        """Waits for one launch and adds the event of its end; returns when the island is free again."""
        there = _inputs_there(task)
        error = _error_of(results)
        del results
        if collective:
            self._collective_slots.release()
        if self._closed:
            return free_at
        end = now()
        start = min(max(began, free_at, there), end)
        ended.append(self._finish(task, start, end) if error is None else self._broke(task, error, start, end))
        return end

    def _run_host(self, task: Task) -> None:
        began = now()
        try:
            values = [self._value(v) for v in task.inputs]
            jax.block_until_ready([v for v in values if isinstance(v, jax.Array)])
            assert task.computation is not None
            fn = task.computation.fn
            results = task.context.copy().run(fn, *values) if task.context is not None else fn(*values)
            if self._closed:
                return
            for buffer, result in zip(task.outputs, results, strict=True):
                if isinstance(result, np.ndarray) and task.devices:
                    result = jax.device_put(result, task.devices[0])
                buffer.array = result
                if isinstance(result, jax.Array):
                    buffer.sharding = getattr(result, "sharding", None)
            jax.block_until_ready([b.array for b in task.outputs if isinstance(b.array, jax.Array)])
        except _InputFailed:
            self._post(NodeBroke(now(), task.node, "an input failed"))
            return
        except BaseException as error:
            self._post(self._broke(task, error, began, now()))
            return
        self._launched.notify()
        self._post(self._finish(task, began, now()))

    def _finish(self, task: Task, start: float, end: float) -> Event:
        self._tasks.pop(task.node, None)
        for buffer in task.outputs:
            buffer.settle()
        self._settled(task)
        return NodeCompleted(end, task.node, start, end)

    # --- failing -------------------------------------------------------------------------------------

    def _broke(self, task: Task, error: BaseException, start: float = 0.0, end: float = 0.0) -> NodeBroke:
        """That a task failed, which ran from ``start`` to ``end``, if it did."""
        text = str(error).strip() or type(error).__name__
        lines = text.splitlines()
        if "Traceback (most recent call last)" in text:  # a callback's error, told by XLA: its end says what it was
            line = lines[-1].strip()
        else:
            line = f"{type(error).__name__}: {lines[0]}"
        self._failures[task.node] = Failure(task.name, line, task.source, error)
        return NodeBroke(now(), task.node, line, start, end)

    def _abandon(self, instruction: Abandon) -> None:
        task = self._tasks.pop(instruction.node, None)
        if task is None:
            return
        failure = self._failures.get(instruction.cause)
        if failure is None:
            failure = Failure(task.name, instruction.error, task.source, cancelled=instruction.cancelled)
            self._failures[instruction.cause] = failure
        while len(self._failures) > 1000:
            del self._failures[next(iter(self._failures))]
        if instruction.node == instruction.cause:
            task.failure = failure
        for buffer in task.outputs:
            buffer.settle(failure)
        self._launched.notify()
        self._settled(task)


def _told(task: Task, width: int, seconds: float = 0.0) -> NodePrepared:
    """That a task is prepared for so many virtual devices, and what it takes of each."""
    executable = task.executable
    if executable is None:
        spread = task.spread and task.kind is NodeKind.TRANSFER
        written = compiler.written(task.outputs, [b.sharding for b in task.outputs], width) if spread else ()
        return NodePrepared(now(), task.node, seconds, 0, written)
    if executable.written is None:
        shardings = executable.out_shardings
        executable.written = compiler.written(task.outputs, shardings, width) if task.spread else ()
    return NodePrepared(now(), task.node, seconds, executable.scratch, executable.written)


def _crowded(task: Task, virtual: int, chips: int, error: Exception) -> PlacementError:
    """Why what names virtual devices one by one, as ``shard_map`` does, does not compile where some share a chip."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    made = PlacementError(
        f"`{task.name}` cannot be compiled for {virtual} virtual devices on {chips} chip{'s' * (chips > 1)}: JAX cuts "
        "values up over chips alone; use pw.pmap or jax.vmap instead of shard_map, or a slice whose devices have chips "
        f"of their own ({first})"
    )
    made.__cause__ = error
    return made


def _inputs_there(task: Task) -> float:
    """Waits for the inputs that another island still makes, and says when they were there; 0 if all have been."""
    at = 0.0
    for value in task.inputs:
        if isinstance(value, Buffer) and not value.settled and isinstance(value.array, jax.Array):
            with suppress(Exception):  # who made it tells; or it was donated meanwhile
                value.array.block_until_ready()
            at = now()
    return at


def _error_of(results: list[Any]) -> Exception | None:
    """Waits for arrays; the error with which they were computed, or None."""
    try:
        if results:
            jax.block_until_ready(results)
        return None
    except Exception as error:
        if not any(r.is_deleted() for r in results):
            return error
    # Some were donated to a later launch meanwhile; that one tells of their errors.
    for r in results:
        try:
            r.block_until_ready()
        except Exception as error:
            if not r.is_deleted():
                return error
    return None


class _InputFailed(Exception):
    """An input of a launch will never exist."""
