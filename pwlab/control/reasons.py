"""Reasons: why something is not done yet, as data and as text.

:class:`Why` is what :meth:`Controller.why` answers: reasons, each about what the one before waits
for, down to the root.  They hold ids, names and numbers; :func:`text_of` and :func:`told` write
them for people, and a view may draw them instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Any

from ..ids import BufferId, IslandId, NodeId, ProgramId, SliceId, Source
from ..units import bytes_text as sized


class Kind(StrEnum):
    """What a thing waits for, or that it does not."""

    INPUT = "input"  #: a value that another node computes
    TRANSFER = "transfer"  #: a value that is brought from elsewhere
    ORDER = "order"  #: the end of a node that it must follow
    DONATION = "donation"  #: an earlier reader of what it will overwrite
    COMPILING = "compiling"
    BEHIND = "behind"  #: an earlier gang of its client
    BUSY = "busy"  #: the devices, or a place among the launches in flight
    MEMORY = "memory"  #: bytes that are not there
    RESERVED = "reserved"  #: bytes that are there, and that an older node needs
    LIMIT = "limit"  #: its client's launches in flight
    PAUSED = "paused"
    SUSPENDED = "suspended"
    MOVING = "moving"  #: its slice moves to other devices
    RUNNING = "running"
    PROGRAM = "program"  #: nodes of a program that have not ended
    OPEN = "open"  #: the rest of a program, which has not been submitted
    READY = "ready"
    AWAY = "away"  #: there, in host memory
    ENDED = "ended"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reason:
    """The present reason of one thing.

    Attributes:
      what: the name of the thing, for people.
      other, other_name: the node that it waits for, if it is one.
      detail: a name that belongs to the kind: a link, an account, what is suspended, an error.
      bytes: that move, or are missing.
      count: of launches in flight, or of nodes that have not ended.
    """

    kind: Kind
    what: str
    node: NodeId | None = None
    program: ProgramId | None = None
    client: str = ""
    buffer: BufferId | None = None
    slice: SliceId | None = None
    island: IslandId | None = None
    source: Source | None = None
    other: NodeId | None = None
    other_name: str = ""
    detail: str = ""
    bytes: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Why:
    """The reasons from what was asked about to the root; at least one."""

    reasons: tuple[Reason, ...]

    @property
    def root(self) -> Reason:
        """What everything before it waits for in the end."""
        return self.reasons[-1]

    def __str__(self) -> str:
        return told(self)

    def __repr__(self) -> str:
        n = len(self.reasons)
        return f"Why({n} reason{'s' * (n > 1)}, the root: {text_of(self.root)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The value of a cell in a terminal."""
        printer.text(told(self))

    def _repr_html_(self) -> str:
        return as_html(self)


def text_of(reason: Reason) -> str:
    """One line for people."""
    r = reason
    match r.kind:
        case Kind.INPUT:
            says = f"waits for its input from {r.other_name}"
        case Kind.TRANSFER:
            says = f"waits for the transfer of {sized(r.bytes)}{r.detail and ' over ' + r.detail} by {r.other_name}"
        case Kind.ORDER:
            says = f"must follow {r.other_name}, which has not ended"
        case Kind.DONATION:
            says = f"takes over a buffer that {r.other_name} has still to read"
        case Kind.COMPILING:
            says = "is being compiled"
        case Kind.BEHIND:
            says = f"is queued behind {r.other_name} of its client {r.client!r}"
        case Kind.BUSY if r.count:
            says = (
                f"waits for a place: {r.detail} has {r.count} launch{'es' * (r.count > 1)} in flight, as many as it "
                f"may; the first is {r.other_name}"
            )
        case Kind.BUSY:
            says = f"is launched, and {r.detail} is busy with {r.other_name}"
        case Kind.MEMORY:
            says = f"waits for memory: {r.detail} is short by {sized(r.bytes)}"
            says += f", and {r.other_name} holds most of it" if r.other_name else ""
        case Kind.RESERVED:
            says = f"waits for memory that is kept for {r.other_name}, which is older"
        case Kind.LIMIT:
            says = (
                f"waits for its client {r.client!r}, which has {r.count} launch{'es' * (r.count > 1)} in flight, as "
                "many as it may (max_in_flight)"
            )
        case Kind.PAUSED:
            says = "waits, because all launches are paused: step or resume"
        case Kind.SUSPENDED:
            says = f"waits, because {r.detail} is suspended: resume it"
            says += f"; {sized(r.bytes)} of what it reads lie in host memory" if r.bytes else ""
        case Kind.MOVING:
            says = f"waits, because its slice {r.detail} moves" + (
                f" when {r.other_name}, launched there, has ended" if r.other_name else ""
            )
        case Kind.RUNNING:
            says = "is running" + (f": it moves {sized(r.bytes)}{r.detail and ' over ' + r.detail}" if r.bytes else "")
        case Kind.PROGRAM:
            says = f"has {r.count} node{'s' * (r.count > 1)} that {'have' if r.count > 1 else 'has'} not ended"
        case Kind.OPEN:
            says = "has nothing to run now, and more of it will be submitted"
        case Kind.READY:
            says = "is there"
        case Kind.AWAY:
            says = f"is there, {sized(r.bytes)} in host memory: {r.detail}"
        case Kind.ENDED:
            says = "has ended"
        case Kind.FAILED:
            says = f"will never exist: {r.detail}"
        case Kind.UNKNOWN:
            says = "is not known: it was never submitted, or nobody holds it any more"
    where = f" ({r.source})" if r.source else ""
    return f"{r.what}{where} {says}"


def told(why: Why) -> str:
    """All reasons, one a line, each further in than the one before it."""
    return "\n".join("  " * depth + text_of(reason) for depth, reason in enumerate(why.reasons))


def _as_html(why: Why) -> str:
    return f"<pre>{escape(told(why))}</pre>"


#: How a :class:`Why` shows itself in a notebook; the package sets it to the view's function, which lies above.
as_html: Callable[[Why], str] = _as_html


def set_html(html: Callable[[Why], str]) -> None:
    """Says how a :class:`Why` shows itself in a notebook."""
    global as_html
    as_html = html
