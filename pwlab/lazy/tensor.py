"""``LazyTensor``: an array that may not exist yet, and behaves as if it did.

A LazyTensor is a JAX tracer, so every JAX function takes it.  Inside a pathways scope what is done with it
is recorded; outside, JAX asks it for its value, and that waits.  Looking at it (``repr``, shape,
dtype, HTML) never waits and never dispatches.

Inside a scope only a need for the value waits: ``bool``, ``int``, ``float``, ``complex``, ``operator.index``,
``np.asarray``, ``str`` and formatting, ``item``, ``tolist``, pickling, ``np.copyto`` and friends, boolean-mask
indexing and ``jnp.nonzero`` without a size.  Each such wait is logged (``%pw syncs``).
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BufferReleased
from . import _jax, describe

if TYPE_CHECKING:
    from .frontend import Frontend


class Ref:
    """What a LazyTensor stands for: a result of a window still open, later a buffer.

    Several LazyTensors may share one.  When the last is gone, so is the Ref, and its end releases
    the buffer; nothing else holds a Ref strongly.
    """

    __slots__ = ("__weakref__", "at", "buffer", "gone", "index", "laid", "places", "window")

    def __init__(self, window: Any, index: int, places: Any, at: int):
        #: The open window that will compute it; None once it was dispatched.
        self.window = window
        self.index = index
        self.places = places
        self.at = at
        #: The runtime's buffer, once dispatched.
        self.buffer: Any = None
        #: (slice, axis) if ``pmap`` left it with one element a device along that axis.
        self.laid: Any = None
        #: Why it can no longer be used: released, or donated; empty while it can.
        self.gone = ""


#: Attributes of ``jax.Array`` that need the placed array; asking for one waits.
_NEEDS_ARRAY = frozenset(
    {
        "addressable_data",
        "addressable_shards",
        "committed",
        "copy_to_host_async",
        "device",
        "devices",
        "format",
        "global_shards",
        "is_fully_addressable",
        "is_fully_replicated",
        "layout",
        "on_device_size_in_bytes",
        "sharding",
        "traceback",
        "unsafe_buffer_pointer",
        "__cuda_array_interface__",
        "__dlpack_device__",
    }
)

_COMPARES_SHARDINGS = "flax.nnx.variablelib"


class LazyTensor(_jax.Tracer):  # type: ignore[misc]
    """An array of a Pathways program, computed in the background.

    It has the interface of ``jax.Array``.  ``.result(timeout)`` gives the ``jax.Array``, ``pw.fetch(x)`` NumPy,
    ``await x`` the ``jax.Array`` without blocking; ``.state``, ``.slice``, ``.source`` and ``.nbytes`` never wait.
    """

    __slots__ = ("_frontend", "_ref")

    def __init__(self, trace: Any, aval: Any, ref: Ref, frontend: Frontend):
        self._trace = trace
        self.aval = aval
        self._ref = ref
        self._frontend = frontend

    # --- never waits ---------------------------------------------------------------

    @property
    def state(self) -> str:
        """``recorded``, ``waiting``, ``queued``, ``running``, ``ready``, ``failed``, ``cancelled`` or ``released``."""
        return self._frontend.values.state_of(self._ref)

    @property
    def slice(self) -> Any:
        """The virtual slice that it lies on; None while that is not decided."""
        return self._frontend.values.slice_of(self._ref)

    @property
    def source(self) -> Any:
        """The cell and line that recorded it (:class:`pwlab.ids.Source`)."""
        return self._ref.places.source(self._ref.at)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole logical array."""
        return _jax.dim_bytes(self.aval)

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    def __repr__(self) -> str:
        return describe.as_text(self._frontend.values.describe(self))

    def _repr_html_(self) -> str:
        return describe.as_html(self._frontend.values.describe(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def is_ready(self) -> bool:
        """Whether the value is there; never waits."""
        return self.state == "ready"

    def is_deleted(self) -> bool:
        return bool(self._ref.gone)

    def release(self) -> None:
        """Gives the value back: its memory is freed once nothing recorded needs it; using it again is an error."""
        self._frontend.release(self._ref, f"released at {self._frontend.values.where_now()}")

    delete = release

    # --- waits -----------------------------------------------------------------------

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the value.

        Args:
          timeout: seconds; None waits until it is there.

        Returns:
          The ``jax.Array``, where its slice has it.

        Raises:
          WaitTimeout: it was not there in time; the program goes on.
          ComputationFailed: what computes it failed; says which computation, cell and line.
          BufferReleased: it was released or donated.
        """
        return self._frontend.values.value(self, "result()", timeout)

    def block_until_ready(self) -> LazyTensor:
        """Waits until the value is there and returns the tensor itself."""
        self._frontend.values.value(self, "block_until_ready()")
        return self

    def __await__(self) -> Generator[Any, None, Any]:
        return self._frontend.values.value_async(self).__await__()

    def _value(self, reason: str) -> Any:
        return self._frontend.values.value(self, reason)

    def full_lower(self) -> Any:
        """JAX's eval trace asks here for the value; a scope's trace never does."""
        if self._frontend.recording():
            return self
        return self._value("use in a plain cell")

    def to_concrete_value(self) -> Any:
        """The value if JAX insists (``core.concrete_or_error``), else None.

        Answering each caller made an ordinary training step wait 26 times: ``softmax``, ``x[i]``, ``x.at`` and
        Optax ask whether a value happens to be known, and take another way if it is.
        """
        caller = sys._getframe(1)
        if caller.f_code is _jax.CONCRETE_OR_ERROR_CODE:
            return self._value("a value that JAX needs while tracing")
        asking = caller.f_back and caller.f_back.f_back  # to_concrete_value ← is_concrete ← asking
        if asking is not None and asking.f_code in _jax.INDEX_CODES:
            return self._value("an index that decides a shape")
        return None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        value = np.asarray(self._value("np.asarray"))
        if copy:
            return np.array(value, dtype=dtype)
        return value if dtype is None else value.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        return bool(self._value("bool(x)"))

    def __int__(self) -> int:
        return int(self._value("int(x)"))

    def __float__(self) -> float:
        return float(self._value("float(x)"))

    def __complex__(self) -> complex:
        return complex(self._value("complex(x)"))

    def __index__(self) -> int:
        return self._value("operator.index(x)").__index__()

    def __hex__(self) -> str:
        return hex(self._value("hex(x)"))

    def __oct__(self) -> str:
        return oct(self._value("oct(x)"))

    def __format__(self, spec: str) -> str:
        return format(self._value(f"format(x, {spec!r})"), spec)

    def __str__(self) -> str:
        return str(self._value("str(x)"))

    def __round__(self, digits: int | None = None) -> Any:
        value = self._value("round(x)")
        return round(value) if digits is None else round(value, digits)

    def item(self, *args: int) -> Any:
        """The one element as a Python number; waits."""
        return self._value("item()").item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers; waits."""
        return self._value("tolist()").tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return np.asarray(self._value("tobytes()")).tobytes(order)  # type: ignore[arg-type]

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value("__dlpack__").__dlpack__(*args, **kwargs)

    def __reduce__(self) -> Any:
        return self._value("pickling").__reduce__()

    def __copy__(self) -> LazyTensor:
        return LazyTensor(self._trace, self.aval, self._ref, self._frontend)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyTensor:
        return self._frontend.copy(self)

    @property
    def sharding(self) -> Any:
        # Flax NNX only compares the shardings of the old and the new value of a variable, and takes None for unknown.
        if sys._getframe(1).f_globals.get("__name__") == _COMPARES_SHARDINGS and self._frontend.recording():
            return None
        return self._value(".sharding").sharding

    def copy_to_host_async(self) -> None:
        """Nothing to do: results are computed in the background anyway."""

    def check_usable(self) -> None:
        """Raises BufferReleased if it was released or donated."""
        if self._ref.gone:
            raise BufferReleased(gone_text(self))


def _needs_array(name: str) -> property:
    return property(lambda self: getattr(self._value(f".{name}"), name))


# The base class has some of these, and they raise; take them back.
for _name in _NEEDS_ARRAY:
    if _name not in vars(LazyTensor):
        setattr(LazyTensor, _name, _needs_array(_name))


def gone_text(tensor: LazyTensor) -> str:
    """What to tell of a tensor that was released or donated."""
    ref = tensor._ref
    made = ref.places.source(ref.at)
    return (
        f"this tensor, {_jax.short_dtype(tensor.aval)}[{','.join(map(str, tensor.aval.shape))}] made at {made}, "
        f"was {ref.gone}; keep a copy (`y = x.copy()`) before, or compute it again"
    )
