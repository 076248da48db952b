"""The recorder: puts down what a scope does, and cuts the record into windows.

A long cell runs while it records.  The record is cut into *windows*, each dispatched as
it is complete, so an hour's training loop neither delays nor fills memory.  Where it is
cut decides how much is compiled: cut by count or time alone, 730 windows of one loop had
707 distinct structures.  So a window ends only

* where a loop of the user's turns (a frame's instruction offset goes back, or it calls again from
  where it stands), once 256 operations have passed, or 10 ms while the devices have nothing to do;
* where a value is needed at once;
* at the end of the cell.

And each loop keeps the size that its first full window had, however fast the machine
happens to be later, so a loop has one structure and a cell that is run again finds its plans.

A recorder belongs to one scope.  Other threads may ask it to flush, so it has a lock.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from time import perf_counter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..errors import InternalError, SessionClosed
from ..runtime.interrupts import without_interrupts
from . import _jax
from .ops import Op, OpTable, transfer_p
from .places import Places, places_of, turned, user_chain
from .tensor import LazyTensor, Ref

if TYPE_CHECKING:
    from .frontend import Frontend

#: Remembered window sizes: where a loop turns → operations a window.  Equal code of a cell that is run again
#: compares equal, so it is found again.
_window_sizes: dict[tuple[CodeType, int], int] = {}

_SCOPE_ENDED = "this pathways scope has ended; record in a new cell"


class Window:
    """A stretch of the record.  Open while the recorder appends; then handed to the frontend."""

    __slots__ = (
        "args",
        "calls",
        "held",
        "places",
        "recorder",
        "refs",
        "started",
    )

    def __init__(self, recorder: Recorder, places: Places):
        self.recorder = recorder
        self.places = places
        #: (operation, codes of its inputs, the cell's instruction offset, number of its first result).  One tuple a
        #: call, put down last of all: a Ctrl-C in the middle of recording leaves no half of a call behind.
        self.calls: list[tuple[Op, tuple[int, ...], int, int]] = []
        #: Arguments: ``jax.Array``, Buffer, NumPy array (a copy), Python scalar, or any object of a host call.
        self.args: list[Any] = []
        #: What the arguments come from, kept until the window is submitted: else their buffers could be freed before.
        self.held: list[Ref] = []
        #: One a result, in the order of their numbers.
        self.refs: list[weakref.ref[Ref]] = []
        self.started = 0.0


class Recorder:
    """Records one scope.

    Args:
      frontend: where windows go and values come from.
      program: the program that the windows are parts of.
      frame: the user's frame that entered the scope; its line is the line of what is recorded.
      windows: cut long records; False for ``--defer``.
    """

    def __init__(self, frontend: Frontend, program: Any, frame: FrameType, windows: bool = True):
        self.frontend = frontend
        self.program = program
        self.trace = frontend.trace
        self.table: OpTable = frontend.table
        self.lock = threading.RLock()
        self.frame: FrameType | None = frame
        self.places = places_of(frame.f_code)
        self.windows = windows
        #: What it records is held back until somebody asks for it (``--defer``).
        self.defers = False
        #: What it records will never run (``--dry-run``).
        self.dry = False
        #: How a concrete array is cut up when it is read: parameters of the transfer, or None (``--shard``).
        self.shard: Callable[[Any], dict[str, Any] | None] | None = None
        self._sharded: dict[int, tuple[Any, LazyTensor]] = {}
        #: The code of the function whose call this scope is, until its frame is found.
        self.seek: CodeType | None = None
        self.closed = False
        #: Its scope was left.  A task that was started in it may live longer, and runs plain JAX then.
        self.over = False
        self.window: Window
        self._argument_of: dict[int, int]
        self._last = -1
        self._site: tuple[CodeType, int] | None = (frame.f_code, -1)
        self._size: int | None = None
        self._chain: list[tuple[FrameType, int]] | None = None
        self._begin()

    # --- recording -------------------------------------------------------------------

    def record(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Puts down one primitive; gives its results as LazyTensors."""
        with self.lock:
            if self.closed:
                raise SessionClosed(_SCOPE_ENDED)
            if primitive is _jax.device_put_p:
                return self._device_put(args, params)
            self._maybe_cut()
            if primitive is _jax.slice_p and params["strides"] is None:
                primitive, args, params = _as_dynamic_slice(args, params)
            op, codes = self._find(primitive, args, params)
            tensors = self._append(op, codes)
            if op.donates:
                self._donate(op, args)
            return tensors if op.multiple else tensors[0]

    def _device_put(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """``jax.device_put``: a transfer to the slice of the session that has the device.

        A physical device means its island's slice, a sharding over devices of one island is a sharding there.
        """
        results: list[Any] = []
        for a, where in zip(args, params["devices"], strict=True):
            target = self.frontend.transfer_to(where)
            if target is None:  # nowhere in particular, so it stays where it is
                results.append(a if isinstance(a, jax.Array) else self.record(_jax.copy_p, [a], {}))
            else:
                results.append(self.record(transfer_p, [a], target))
        return results

    def record_known(self, op: Op, args: Sequence[Any]) -> list[LazyTensor]:
        """Puts down an operation that need not be looked up: it is no JAX primitive, or was recorded before."""
        with self.lock:
            if self.closed:
                raise SessionClosed(_SCOPE_ENDED)
            self._maybe_cut()
            tensors = self._append(op, [self._argument(a)[0] for a in args])
            if op.donates:
                self._donate(op, args)
            return tensors

    def _find(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> tuple[Op, list[int]]:
        codes: list[int] = []
        context = _jax.trace_context()
        key: list[Any] = [primitive, context]
        window = self.window
        for a in args:
            if type(a) is LazyTensor:
                ref = a._ref
                if ref.window is window and not ref.gone:
                    codes.append(ref.index)
                else:
                    codes.append(self._tensor_argument(a))
                key.append(id(a.aval))
            else:
                code, kind = self._argument(a)
                codes.append(code)
                key.append(kind)
        key.extend(params.values())
        by_value = tuple(key)
        table = self.table
        try:
            op = table.by_value.get(by_value)
        except TypeError:  # a parameter that cannot be hashed
            op, by_value = None, None
        if op is None:
            avals = [a.aval if type(a) is LazyTensor else _jax.typeof(a) for a in args]
            op = table.make(by_value, primitive, avals, params, context)
            # A window with a new operation must be compiled anyway: starting it early gains nothing, and would
            # give the first turns of a loop, slow from tracing, sizes and so structures of their own.
            window.started = perf_counter()
        return op, codes

    def _append(self, op: Op, codes: list[int]) -> list[LazyTensor]:
        window = self.window
        if not window.calls:
            window.started = perf_counter()
        frame = self.frame
        at = frame.f_lasti if frame is not None else -1
        refs = window.refs
        first = index = len(refs)
        made: list[weakref.ref[Ref]] = []
        tensors: list[LazyTensor] = []
        trace, places, frontend = self.trace, self.places, self.frontend
        for aval in op.out_avals:
            ref = Ref(window, index, places, at)
            made.append(weakref.ref(ref))
            tensors.append(LazyTensor(trace, aval, ref, frontend))
            index += 1
        refs += made
        window.calls.append((op, tuple(codes), at, first))
        return tensors

    def _donate(self, op: Op, args: Sequence[Any]) -> None:
        for i in op.donates:
            a = args[i]
            if type(a) is LazyTensor:
                a._ref.gone = f"donated to {op.name} at {self.places.source(self.window.calls[-1][2])}"

    # --- arguments ----------------------------------------------------------------------

    def _tensor_argument(self, tensor: LazyTensor) -> int:
        ref = tensor._ref
        if ref.gone:
            tensor.check_usable()
        if tensor._frontend is not self.frontend:
            raise SessionClosed(tensor._frontend.values.closed_text(tensor))
        if ref.window is not None:
            if ref.window is self.window:
                return ref.index
            if self.defers and ref.window.recorder.defers:
                self.window.held.append(ref)
                return self._slot(id(ref), ref)  # its buffer takes its place when this window is dispatched
            self.frontend.flush(ref.window)  # another thread's or an outer scope's
        buffer = ref.buffer
        if buffer is None:
            raise InternalError("a tensor has neither a window nor a buffer")
        if buffer.aval is None and buffer.failure is not None:  # it was never submitted
            raise self.frontend.values.error_of(buffer.failure)
        self.window.held.append(ref)
        return self._slot(id(buffer), buffer)

    def _argument(self, a: Any) -> tuple[int, Any]:
        """(code, what to look the operation up by)."""
        if self.shard is not None and isinstance(a, (jax.Array, np.ndarray)) and not isinstance(a, _jax.Tracer):
            a = self._cut_up(a)
        if type(a) is LazyTensor:
            if a._ref.window is self.window and not a._ref.gone:
                return a._ref.index, id(a.aval)
            return self._tensor_argument(a), id(a.aval)
        if isinstance(a, (bool, int, float, complex)):
            # Each its own slot: the number may change from turn to turn while the structure stays.
            self.window.args.append(a)
            return ~(len(self.window.args) - 1), (type(a), getattr(a, "dtype", None))
        if isinstance(a, jax.Array) and not isinstance(a, _jax.Tracer):
            aval = self.table.intern(_jax.typeof(a))
            return self._slot(id(a), a), id(aval)
        if isinstance(a, (np.ndarray, np.generic, _jax.TypedNdArray)):
            value = np.array(getattr(a, "val", a))  # a copy: the user may write into it before it is used
            self.window.args.append(value)
            return ~(len(self.window.args) - 1), ("np", _jax.typeof(a))
        self.window.args.append(a)
        return ~(len(self.window.args) - 1), None

    def _slot(self, identity: int, value: Any) -> int:
        slot = self._argument_of.get(identity)
        if slot is None:
            slot = self._argument_of[identity] = len(self.window.args)
            self.window.args.append(value)  # keeps it alive, so its identity stays its own
        return ~slot

    def _cut_up(self, a: Any) -> Any:
        """The tensor that stands for a concrete array in a scope that shards; the array itself if it stays whole."""
        known = self._sharded.get(id(a))
        if known is not None:
            return known[1]
        assert self.shard is not None
        params = self.shard(a)
        if params is None:
            return a
        shard, self.shard = self.shard, None  # the transfer reads it as it is
        try:
            [cut] = self._append(*self._find(transfer_p, (a,), params))
        finally:
            self.shard = shard
        if isinstance(a, jax.Array):  # a NumPy array may change until it is read again
            self._sharded[id(a)] = (a, cut)
        return cut

    # --- windows -------------------------------------------------------------------------

    def _begin(self) -> None:
        self.window = Window(self, self.places)
        self._argument_of = {}
        self._chain = None
        site = self._site
        self._size = None if site is None else _window_sizes.get(site)
        config = self.frontend.config
        # A loop that knows its size keeps it unless the machine is very much slower now.
        self._due_calls = self._size or max(1, config.window_nodes)
        self._due_seconds = config.window_ms / 1e3 * (50 if self._size else 1)

    def _enter_function(self, code: CodeType) -> None:
        """The scope is a call of a function: its own frame, now that it runs, is the one whose lines count."""
        self.seek = None
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        if frame is not None:
            self.frame, self.places = frame, places_of(code)
            self._site = (code, -1)
            self._begin()

    def _maybe_cut(self) -> None:
        if self.seek is not None:
            self._enter_function(self.seek)
        if not self.windows or self.frame is None:
            return
        window = self.window
        n = len(window.calls)
        if n == 0:
            self._last = self.frame.f_lasti
            return
        lasti = self.frame.f_lasti
        before, self._last = self._last, lasti
        # The clock costs as much as the rest of this function; look at it now and then.
        if n < self._due_calls and (
            n & 7 or perf_counter() - window.started < self._due_seconds or not self.frontend.idle
        ):
            return
        if lasti < before:
            self._cut_at((self.frame.f_code, lasti))
            return
        chain = user_chain(self.frame)
        previous, self._chain = self._chain, chain
        if previous is not None:
            site = turned(previous, chain)
            if site is not None:
                self._cut_at(site)

    def _cut_at(self, site: tuple[CodeType, int]) -> None:
        window = self.window
        n = len(window.calls)
        if self._site is not None:
            known = _window_sizes.get(self._site)
            limit = self.frontend.config.window_nodes
            seconds = perf_counter() - window.started
            if self._site != site and known is None:
                _window_sizes[self._site] = n  # the part before the loop, and its first turns
            elif self._site == site and (
                known is None or (n == known and n * 2 <= limit and seconds < self._due_seconds / 200)
            ):
                # The first window was slow, as things were traced and compiled: let it grow once.
                _window_sizes[site] = n if known is None else limit // n * n
            if len(_window_sizes) > 10_000:
                _window_sizes.clear()
        self._site = site
        self.flush()

    def flush(self, last: bool = False, hurry: bool = False) -> None:
        """Hands over what is recorded so far; waits for nothing if it is in a ``hurry``."""
        with self.lock:
            with without_interrupts():  # a window that is begun anew and not handed over would be lost
                window = self.window
                self._begin()
                if window.calls or last:
                    self.frontend.dispatch(self, window, last)
            if not hurry:
                self.frontend.hold_back(self.program)

    def hold(self) -> None:
        """Ends the scope, and keeps what was recorded in its program until that is run."""
        with self.lock:
            self.frame = self._chain = None
            self.program.held.append(self)

    def close(self, last: bool = True, hurry: bool = False) -> None:
        """Ends the scope: the rest is handed over and the frame let go; see :meth:`flush`."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            self._site = None
            try:
                self.flush(last, hurry)
            finally:
                self.frame = None
                self._chain = None


def _as_dynamic_slice(args: Sequence[Any], params: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
    """An un-strided slice with its start as arguments: ``x[i*64:(i+1)*64]`` is one operation for all ``i``."""
    starts, limits = params["start_indices"], params["limit_indices"]
    sizes = tuple(stop - start for start, stop in zip(starts, limits, strict=True))
    # np.int32 scalars, as jax.lax.dynamic_slice makes of Python integers that fit.
    return _jax.dynamic_slice_p, [*args, *map(np.int32, starts)], {"slice_sizes": sizes}
