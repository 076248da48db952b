"""Scopes: where JAX records instead of running.

``with pw.lazy():`` opens one for a block, ``%%pathways`` for a cell, ``@pw.program`` for a call, and
``pw.jit`` outside of any scope one for itself.  All go through :class:`Scope`.

A thread's JAX trace and a context variable must agree (see :mod:`pwlab.lazy.trace`).  Scopes of several asyncio
tasks interleave on one thread, so the thread's trace is set while any scope is open on it, and
the variable says which task records.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import Token
from types import CodeType, FrameType
from typing import Any

from jax.experimental.xla_metadata import set_xla_metadata

from ..events import Dispatch
from ..ids import Source
from . import _jax
from .frontend import Frontend, ProgramRecord
from .ops import SLICE_KEY
from .places import places_of, user_frame
from .recorder import Recorder
from .trace import active

_open_scopes = threading.local()


class Scope:
    """One pathways scope; a context manager that may be entered once.

    Args:
      frontend: of the session.
      name: of the program that the scope is.
      slice: the slice for everything that names none, or None.
      frame: the user's frame; its lines are reported.
      windows: run long records in parts while they are recorded.
      program: add to this program instead of opening one.
      defer: hold what was recorded back when the scope is left (:meth:`pwlab.programs.Programs.run` dispatches it).
      code: of the function whose call the scope is; its own lines are reported then.
      dry: nothing of it will ever run; needing a value in it is an error.
      dispatch: of the program's nodes (Pathways §4.5), or None for the session's setting.
    """

    def __init__(
        self,
        frontend: Frontend,
        name: str,
        slice: Any = None,
        frame: FrameType | None = None,
        windows: bool = True,
        program: ProgramRecord | None = None,
        defer: bool = False,
        dry: bool = False,
        code: CodeType | None = None,
        dispatch: Dispatch | None = None,
    ):
        self._code = code
        self._dispatch = dispatch
        self._frontend = frontend
        self._name = name
        self._slice = slice
        self._frame = frame
        self._windows = windows
        self._defer = defer
        self._dry = dry
        #: How concrete arrays that are read from outside are cut up (:func:`pwlab.specs.cutter`); set before entering.
        self.shard: Callable[[Any], dict[str, Any] | None] | None = None
        self.program = program
        self.recorder: Recorder | None = None
        self._token: Token[Recorder | None] | None = None
        self._placed: Any = None

    def __enter__(self) -> Scope:
        frame = self._frame or user_frame(sys._getframe(1)) or sys._getframe(1)
        self._frame = None
        if self.program is None:
            places = places_of(frame.f_code)
            source = places.source(max(frame.f_lasti, 0))
            self.program = self._frontend.open_program(self._name, source)
        self.program.dispatch = self._dispatch or self.program.dispatch
        self.recorder = Recorder(self._frontend, self.program, frame, self._windows)
        self.recorder.defers, self.recorder.dry = self._defer, self._dry
        self.recorder.shard = self.shard
        self.recorder.seek = self._code
        if self._slice is not None:
            self._placed = on(self._slice)
            self._placed.__enter__()
        count = getattr(_open_scopes, "count", 0)
        if count == 0:
            _open_scopes.before = _jax.current_trace()
        _open_scopes.count = count + 1
        _jax.install_trace(self._frontend.trace)
        self._token = active.set(self.recorder)
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        self.leave(dispatch=not self._defer, hurry=kind is not None)

    def leave(self, dispatch: bool = True, hurry: bool = False) -> None:
        """Ends the scope; what was recorded is dispatched, unless it is to be held.

        Args:
          hurry: an error or an interrupt ended it, so it does not wait for the devices to catch up.
        """
        recorder, self.recorder = self.recorder, None
        if recorder is None:
            return
        recorder.over = True
        if self._token is not None:
            try:
                active.reset(self._token)
            except ValueError:  # left in another context than it was entered in (an asyncio task)
                active.set(None)
            self._token = None
        _open_scopes.count -= 1
        if _open_scopes.count == 0:
            _jax.install_trace(_open_scopes.before)
            del _open_scopes.before
        if self._placed is not None:
            self._placed.__exit__(None, None, None)
        if dispatch:
            recorder.close(hurry=hurry)
        else:
            recorder.hold()

    @property
    def source(self) -> Source | None:
        return self.program.source if self.program is not None else None


class on:  # a class: entered for each call of a ``pmap``, a generator would take twice as long
    """Places what is recorded in the block, and its derivatives, on ``slice``."""

    __slots__ = ("_metadata", "_slice")

    def __init__(self, slice: Any):
        self._slice = slice
        self._metadata = set_xla_metadata(**{SLICE_KEY: int(slice.id)})

    def __enter__(self) -> Any:
        self._metadata.__enter__()
        return self._slice

    def __exit__(self, *exc: Any) -> None:
        self._metadata.__exit__(*exc)


def one_call(frontend: Frontend, name: str) -> AbstractContextManager[Any]:
    """A scope for one call, unless a scope is open already."""
    if frontend.recording():
        return _SCOPE_IS_OPEN
    return Scope(frontend, name, frame=user_frame(sys._getframe(1)), windows=False)


_SCOPE_IS_OPEN: AbstractContextManager[None] = nullcontext()
