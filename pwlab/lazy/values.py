"""Values: waiting for them, what they are while nobody waits, and what to say when they will never be.

The only place where the user's thread waits.  Every wait has an end: the value, its failure, the timeout, the end of
the session, or Ctrl-C; and each is a fact, with the line that needed the value.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import jax

from ..config import Config
from ..errors import (
    BufferReleased,
    ComputationFailed,
    InternalError,
    ProgramCancelledError,
    SessionClosed,
    SyncForbidden,
    WaitTimeout,
)
from ..runtime import Buffer, Driver, Failure
from . import _jax, patience
from .describe import TensorInfo, parts_of, preview_of, spec_text
from .places import here
from .tensor import LazyTensor, Ref, gone_text
from .trace import active


class Values:
    """The values of one session's tensors.

    Args:
      driver: tells when buffers settle.
      slices: the session's slices, by id.
      flush: dispatches an open window that a tensor waits in.
      recording: whether this thread or task is inside a scope.
    """

    def __init__(
        self,
        driver: Driver,
        config: Config,
        slices: Any,
        flush: Callable[[Any], None],
        recording: Callable[[], bool],
    ):
        self._driver = driver
        self._config = config
        self._slices = slices
        self._flush = flush
        self._recording = recording

    def value(self, tensor: LazyTensor, reason: str, timeout: float | None = None) -> Any:
        """Waits for the value of a tensor; see :meth:`LazyTensor.result`."""
        ref = tensor._ref
        if ref.gone:
            raise BufferReleased(gone_text(tensor))
        buffer = self._settling(tensor)
        if buffer.ready:
            return self._taken(buffer)
        recorder = active.get()
        if recorder is not None and self._recording():
            recorder.program.split = True  # what the cell does next may depend on it (Pathways §4.5)
        explicit = reason in ("result()", "block_until_ready()", "pw.fetch", "pw.wait", "jax.device_get")
        source = here()
        if self._recording() and not explicit:
            if self._config.sync == "error":
                raise SyncForbidden(
                    f"{reason} at {source} needs a value inside a pathways cell, and sync=error forbids to wait; use "
                    "jnp.where or jax.lax.cond, move the line to a plain cell, or `%pw config sync=log`"
                )
            if self._config.sync == "warn":
                warnings.warn(f"{reason} at {source} waits for the devices", stacklevel=2)
        with self._driver.waiting(reason, source, buffer.id):
            settled = patience.wait_for(
                self._driver,
                lambda: buffer.settled or self._driver.crash is not None,
                reason,
                lambda controller: controller.why(buffer=buffer.id),
                self._config.progress_after,
                timeout,
            )
        if not settled:
            raise WaitTimeout(
                f"{self._name(tensor)} is not there after {timeout:g} s: it is {tensor.state}; the program goes on, "
                "wait again or look at `%pw status`"
            )
        return self._taken(buffer)

    def _settling(self, tensor: LazyTensor) -> Buffer:
        """The buffer of a tensor, dispatched if it was only recorded; raises if it failed."""
        ref = tensor._ref
        if ref.window is not None:
            self._flush(ref.window)
        buffer = ref.buffer
        if buffer is None:
            raise InternalError("a tensor has neither a window nor a buffer")
        if buffer.failure is not None:
            self._taken(buffer)
        return buffer

    def _taken(self, buffer: Buffer) -> Any:
        failure = buffer.failure
        if failure is not None:
            raise self.error_of(failure)
        if self._driver.crash is not None and not buffer.ready:
            raise InternalError(self._driver.crash)
        array = buffer.value
        if array is None:
            made = f", made at {buffer.source}," if buffer.source else ""
            raise BufferReleased(f"this value{made} was freed when its client was closed; compute it again")
        return array

    def error_of(self, failure: Failure) -> Exception:
        """What to raise for a failure: with its whole story the first time, one line later."""
        if failure.closed:
            return SessionClosed("the session was stopped before this value was computed; start again with %pw start")
        if failure.cancelled:
            return ProgramCancelledError(f"this value will never be computed: {failure.error}")
        where = f", recorded at {failure.source}" if failure.source else ""
        name = f"`{failure.node}`" if failure.node else "a computation"
        if failure.told:
            text = f"{name}{where} failed: {failure.error}"
        else:
            line = f"\n    {failure.source.text}" if failure.source and failure.source.text else ""
            text = (
                f"{name}{where}, failed:{line}\n  {failure.error}\n"
                "What depends on it cannot be computed; other programs go on. Mend the computation and run its cell "
                "again."
            )
        failure.told = True
        error = ComputationFailed(text, node=failure.node, source=failure.source, cause=failure.error)
        # What Python code of the user's raised has a traceback worth reading; XLA's own leads through JAX alone.
        if not isinstance(failure.exception, jax.errors.JaxRuntimeError):
            error.__cause__ = failure.exception
        return error

    async def value_async(self, tensor: LazyTensor) -> Any:
        """The value of a tensor; other tasks of the event loop run meanwhile."""
        if tensor._ref.gone:
            raise BufferReleased(gone_text(tensor))
        buffer = self._settling(tensor)
        if not buffer.settled:
            loop = asyncio.get_running_loop()
            ready = asyncio.Event()

            def tell() -> None:
                loop.call_soon_threadsafe(ready.set)

            buffer.listeners = [*(buffer.listeners or []), tell]
            with self._driver.waiting("await x", here(), buffer.id):
                while not buffer.settled:
                    try:
                        await asyncio.wait_for(ready.wait(), 0.1)
                    except TimeoutError:
                        if self._driver.crash is not None or self._driver.closed:
                            break
        return self._taken(buffer)

    # --- looking ----------------------------------------------------------------------------------

    def state_of(self, ref: Ref) -> str:
        if ref.gone:
            return "released"
        if ref.window is not None:
            return "recorded"
        buffer = ref.buffer
        if buffer.failure is not None:
            return "cancelled" if buffer.failure.cancelled else "failed"
        if buffer.ready:
            return "released" if buffer.array is None else "ready"  # its client was closed
        return buffer.state

    def slice_of(self, ref: Ref) -> Any:
        return None if ref.buffer is None else self._slices.by_id.get(ref.buffer.slice)

    def describe(self, tensor: LazyTensor) -> TensorInfo:
        """What can be told of a tensor without waiting."""
        ref = tensor._ref
        state = self.state_of(ref)
        aval = tensor.aval
        on = self.slice_of(ref)
        buffer = ref.buffer
        shape = tuple(getattr(aval, "shape", ()))
        sharding = buffer.sharding if buffer is not None else None
        named = isinstance(sharding, jax.sharding.NamedSharding)
        grid, holders = parts_of(sharding, shape)
        failure = buffer.failure if buffer is not None else None
        return TensorInfo(
            dtype=_jax.short_dtype(aval),
            shape=shape,
            slice="" if on is None else on.name,
            state=state,
            source=ref.places.source(ref.at),
            spread=bool(buffer is not None and buffer.spread),
            spec=spec_text(sharding.spec) if named else "",
            nbytes=_jax.dim_bytes(aval),
            preview=preview_of(buffer.array) if buffer is not None and state == "ready" else None,
            error="" if failure is None else failure.error,
            failed="" if failure is None or failure.cancelled else failure.node,
            failed_at=None if failure is None else failure.source,
            grid=grid,
            holders=holders,
        )

    def _name(self, tensor: LazyTensor) -> str:
        info = self.describe(tensor)
        return f"{info.dtype}[{','.join(map(str, info.shape))}] from {info.source}"

    def where_now(self) -> str:
        """The user's line that runs now, as text."""
        return str(here() or "an unknown place")

    def closed_text(self, tensor: LazyTensor) -> str:
        return (
            f"{self._name(tensor)} belongs to a session that was stopped; compute it again in this one, or keep values "
            "as NumPy arrays (`pw.fetch(x)`) before stopping"
        )
