"""Facts as columns of numbers and a table of strings: what goes over the wire to a browser.

A :class:`Chunk` is a run of consecutive facts: a small JSON header, and one
block of bytes with a column for each field of each kind of fact.  Ten thousand
launches are 1.4 MB of columns and deflate to a fifth of that; as JSON they were
eleven times as much, and ``JSON.parse`` took longer than a frame.

* Texts are numbers into a table of strings that grows for ever; 0 is the empty one.
* Times are microseconds from the chunk's ``base``, in 32 bits where they fit.
* Lists of varying length (inputs, outputs) are tables of their own, with a count a row in the table they belong to.
* Every row holds the number of its fact, so a reader that has seen a part of a chunk skips that part.

``pwlab/viz/js/src/decode.js`` is the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...events import (
    BuffersFreed,
    BuffersOffloaded,
    BuffersRestored,
    ClientGone,
    ClientKnown,
    ControllerWorked,
    Fact,
    IslandKnown,
    Link,
    NodeAdded,
    NodeEnded,
    NodeHeld,
    NodeKind,
    NodeMoved,
    NodeState,
    Noted,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
    SliceRefused,
    SliceUnmapped,
    WaitBegan,
    Waited,
)
from ...ids import Source

#: Longer texts are cut; a name may be megabytes long.
LONGEST = 2_000

STATE = {state: i for i, state in enumerate(NodeState)}
KIND = {kind: i for i, kind in enumerate(NodeKind)}
LINK: dict[Link | None, int] = {None: 0} | {link: i for i, link in enumerate(Link, 1)}

_Buffers = BuffersFreed | BuffersOffloaded | BuffersRestored

Numbered = list[tuple[int, Any]]


class Strings:
    """Texts by number, in order of their first use."""

    def __init__(self) -> None:
        self.all = [""]
        self._at = {"": 0}

    def __call__(self, text: str) -> int:
        if len(text) > LONGEST:
            text = text[: LONGEST - 1] + "…"
        number = self._at.get(text)
        if number is None:
            number = self._at[text] = len(self.all)
            self.all.append(text.encode("utf-8", "replace").decode())  # half a surrogate pair is no text for JSON
        return number


@dataclass(frozen=True, slots=True)
class Chunk:
    """Facts ``first`` to ``last``, encoded."""

    first: int
    last: int
    header: dict[str, Any]
    data: bytes


@dataclass(slots=True)
class _Writer:
    """Puts columns one after the other, each at a multiple of eight bytes."""

    base: float
    tables: dict[str, Any] = field(default_factory=dict[str, Any])
    parts: list[bytes] = field(default_factory=list[bytes])
    size: int = 0

    def table(self, name: str, rows: int, /, **columns: Any) -> None:
        if rows:
            self.tables[name] = {"rows": rows, "cols": {key: self._column(c) for key, c in columns.items()}}

    def times(self, values: list[float]) -> Any:
        exact = (np.asarray(values, np.float64) - self.base) * 1e6
        whole = np.rint(exact)
        return whole.astype(np.int32) if not len(whole) or np.abs(whole).max() < 2**31 else whole

    def _column(self, values: Any) -> list[Any]:
        data = np.ascontiguousarray(values)
        at = self.size
        raw = data.tobytes()
        pad = -len(raw) % 8
        self.parts.append(raw + bytes(pad))
        self.size += len(raw) + pad
        return [data.dtype.kind + str(data.dtype.itemsize), at]


def _u1(values: Iterable[int]) -> Any:
    return np.fromiter(values, np.uint8)


def _u2(values: Iterable[int]) -> Any:
    return np.fromiter(values, np.uint16)


def _u4(values: Iterable[int]) -> Any:
    return np.fromiter(values, np.uint32)


def _f8(values: Iterable[float]) -> Any:
    return np.fromiter(values, np.float64)


class Encoder:
    """Turns facts into chunks.  One a history: chunks share its strings."""

    def __init__(self) -> None:
        self.strings = Strings()
        self._device_sets: dict[tuple[int, ...], int] = {(): 0}

    def chunk(self, facts: Sequence[Fact], first: int) -> Chunk:
        """Encodes facts whose numbers are ``first``, ``first + 1``, …; at most 65,536 of them."""
        kinds: dict[type, Numbered] = {}
        for i, fact in enumerate(facts):
            kinds.setdefault(type(fact), []).append((i, fact))
        writer = _Writer(facts[0].time if facts else 0.0)
        for kind, write in self._writers.items():
            rows = kinds.get(kind)
            if rows:
                write(self, writer, _u2(i for i, _ in rows), [fact for _, fact in rows])
        last = first + len(facts) - 1
        header = {"from": first, "to": last, "base": writer.base, "tables": writer.tables}
        return Chunk(first, last, header, b"".join(writer.parts))

    # --- one method a kind of fact ------------------------------------------------------

    def _islands(self, out: _Writer, no: Any, facts: list[IslandKnown]) -> None:
        s = self.strings
        out.table(
            "joins",
            len(facts),
            no=no,
            id=_u4(f.island.id for f in facts),
            name=_u4(s(f.island.name) for f in facts),
            chip=_u4(s(f.island.chip) for f in facts),
            gang=_u4(self._devices(f.island.devices) for f in facts),
            chips=_u4(self._devices(f.island.chips) for f in facts),
            hbm=_f8(-1 if f.island.hbm_bytes is None else f.island.hbm_bytes for f in facts),
        )

    def _clients(self, out: _Writer, no: Any, facts: list[ClientKnown]) -> None:
        out.table(
            "clients",
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            name=_u4(self.strings(f.client) for f in facts),
            share=_f8(f.share for f in facts),
            priority=_f8(f.priority for f in facts),
            most=_f8(-1 if f.max_bytes is None else f.max_bytes for f in facts),
        )

    def _gone(self, out: _Writer, no: Any, facts: list[ClientGone]) -> None:
        out.table(
            "gone",
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            name=_u4(self.strings(f.client) for f in facts),
        )

    def _slices(self, out: _Writer, no: Any, facts: list[SliceMapped]) -> None:
        out.table(
            "slices",
            len(facts),
            no=no,
            id=_u4(f.slice for f in facts),
            time=out.times([f.time for f in facts]),
            name=_u4(self.strings(f.name) for f in facts),
            island=_u4(f.island + 1 for f in facts),
            gang=_u4(self._devices(f.devices) for f in facts),
        )

    def _unmapped(self, out: _Writer, no: Any, facts: list[SliceUnmapped]) -> None:
        out.table("unmapped", len(facts), no=no, id=_u4(f.slice for f in facts))

    def _refused(self, out: _Writer, no: Any, facts: list[SliceRefused]) -> None:
        out.table(
            "notes",
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            text=_u4(self.strings(f"slice {f.name} was refused: {f.reason}") for f in facts),
        )

    def _programs(self, out: _Writer, no: Any, facts: list[ProgramOpened]) -> None:
        s = self.strings
        out.table(
            "begins",
            len(facts),
            no=no,
            id=_u4(f.program for f in facts),
            time=out.times([f.time for f in facts]),
            name=_u4(s(f.name) for f in facts),
            client=_u4(s(f.client) for f in facts),
            **self._sources([f.source for f in facts]),
        )

    def _programs_ended(self, out: _Writer, no: Any, facts: list[ProgramEnded]) -> None:
        out.table(
            "programs_ended",
            len(facts),
            no=no,
            id=_u4(f.program for f in facts),
            time=out.times([f.time for f in facts]),
            state=_u1(STATE[f.state] for f in facts),
        )

    def _nodes(self, out: _Writer, no: Any, facts: list[NodeAdded]) -> None:
        s, specs = self.strings, [f.node for f in facts]
        out.table(
            "adds",
            len(facts),
            no=no,
            id=_u4(n.id for n in specs),
            time=out.times([f.time for f in facts]),
            program=_u4(f.program for f in facts),
            name=_u4(s(n.name) for n in specs),
            kind=_u1(KIND[n.kind] for n in specs),
            slice=_u4(n.slice for n in specs),
            parts=_u4(n.parts for n in specs),
            spread=_u1(n.spread for n in specs),
            link=_u1(LINK[n.link] for n in specs),
            moved=_f8(n.bytes_in for n in specs),
            inputs=_u4(len(n.inputs) for n in specs),
            outputs=_u4(len(n.outputs) for n in specs),
            after=_u4(len(n.after) for n in specs),
            **self._sources([n.source for n in specs]),
        )
        inputs = _u4(b for n in specs for b in n.inputs)
        out.table("inputs", len(inputs), buffer=inputs)
        outputs = [o for n in specs for o in n.outputs]
        out.table(
            "outputs",
            len(outputs),
            buffer=_u4(o.buffer for o in outputs),
            bytes=_f8(o.bytes for o in outputs),
            each=_f8(-1 if o.per_device is None else o.per_device for o in outputs),
            shape=_u4(s(o.shape) for o in outputs),
        )
        after = _u4(b for n in specs for b in n.after)
        out.table("after", len(after), node=after)

    def _moves(self, out: _Writer, no: Any, facts: list[NodeMoved]) -> None:
        out.table(
            "moves",
            len(facts),
            no=no,
            id=_u4(f.node for f in facts),
            time=out.times([f.time for f in facts]),
            state=_u1(STATE[f.state] for f in facts),
            island=_u4(0 if f.island is None else f.island + 1 for f in facts),
            gang=_u4(self._devices(f.devices) for f in facts),
            seconds=np.fromiter((f.seconds for f in facts), np.float32),
            scratch=_f8(f.scratch for f in facts),
            written=_u4(len(f.written) for f in facts),
        )
        written = _f8(share for f in facts for share in f.written)
        out.table("written", len(written), bytes=written)

    def _holds(self, out: _Writer, no: Any, facts: list[NodeHeld]) -> None:
        out.table(
            "holds",
            len(facts),
            no=no,
            id=_u4(f.node for f in facts),
            time=out.times([f.time for f in facts]),
            account=_u4(self.strings(f.account) for f in facts),
            bytes=_f8(f.bytes for f in facts),
        )

    def _ends(self, out: _Writer, no: Any, facts: list[NodeEnded]) -> None:
        ran = [f.end > f.start for f in facts]
        out.table(
            "ends",
            len(facts),
            no=no,
            id=_u4(f.node for f in facts),
            time=out.times([f.time for f in facts]),
            # What never ran starts and ends when it was given up.
            start=out.times([f.start if r else f.time for f, r in zip(facts, ran, strict=True)]),
            end=out.times([f.end if r else f.time for f, r in zip(facts, ran, strict=True)]),
            state=_u1(STATE[f.state] for f in facts),
            island=_u4(0 if f.island is None else f.island + 1 for f in facts),
            gang=_u4(self._devices(f.devices) for f in facts),
            error=_u4(self.strings(f.error) for f in facts),
            cause=_u4(f.cause or 0 for f in facts),
        )

    def _freed(self, out: _Writer, no: Any, facts: list[BuffersFreed]) -> None:
        self._lists(out, "freed", no, facts)

    def _offloaded(self, out: _Writer, no: Any, facts: list[BuffersOffloaded]) -> None:
        self._lists(out, "offloaded", no, facts)

    def _restored(self, out: _Writer, no: Any, facts: list[BuffersRestored]) -> None:
        self._lists(out, "restored", no, facts)

    def _lists(self, out: _Writer, name: str, no: Any, facts: Sequence[_Buffers]) -> None:
        out.table(
            name,
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            buffers=_u4(len(f.buffers) for f in facts),
        )
        buffers = _u4(b for f in facts for b in f.buffers)
        out.table(f"{name}_buffers", len(buffers), buffer=buffers)

    def _waiting(self, out: _Writer, no: Any, facts: list[WaitBegan]) -> None:
        self._waits_of(out, "waiting", no, facts)

    def _waits(self, out: _Writer, no: Any, facts: list[Waited]) -> None:
        self._waits_of(out, "waits", no, facts, seconds=_f8(f.seconds for f in facts))

    def _waits_of(self, out: _Writer, name: str, no: Any, facts: Sequence[WaitBegan | Waited], **more: Any) -> None:
        out.table(
            name,
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            reason=_u4(self.strings(f.reason) for f in facts),
            buffer=_u4(f.buffer or 0 for f in facts),
            **self._sources([f.source for f in facts]),
            **more,
        )

    def _works(self, out: _Writer, no: Any, facts: list[ControllerWorked]) -> None:
        out.table(
            "works",
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            seconds=_f8(f.seconds for f in facts),
            busy=_f8(f.busy for f in facts),
            events=_u4(f.events for f in facts),
            launches=_u4(f.launches for f in facts),
        )

    def _notes(self, out: _Writer, no: Any, facts: list[Noted]) -> None:
        out.table(
            "notes2" if "notes" in out.tables else "notes",
            len(facts),
            no=no,
            time=out.times([f.time for f in facts]),
            text=_u4(self.strings(f.text) for f in facts),
        )

    _writers: dict[type, Callable[[Encoder, _Writer, Any, list[Any]], None]] = {
        IslandKnown: _islands,
        SliceMapped: _slices,
        SliceUnmapped: _unmapped,
        SliceRefused: _refused,
        ClientKnown: _clients,
        ClientGone: _gone,
        ProgramOpened: _programs,
        ProgramEnded: _programs_ended,
        NodeAdded: _nodes,
        NodeMoved: _moves,
        NodeHeld: _holds,
        NodeEnded: _ends,
        BuffersFreed: _freed,
        BuffersOffloaded: _offloaded,
        BuffersRestored: _restored,
        WaitBegan: _waiting,
        Waited: _waits,
        ControllerWorked: _works,
        Noted: _notes,
    }

    # --- pieces -----------------------------------------------------------------------------

    def _sources(self, sources: list[Source | None]) -> dict[str, Any]:
        s = self.strings
        return {
            "cell": _u4(0 if x is None else s(x.cell) for x in sources),
            "line": _u4(0 if x is None else max(0, x.line) for x in sources),
            "text": _u4(0 if x is None else s(x.text) for x in sources),
        }

    def _devices(self, devices: tuple[int, ...]) -> int:
        found = self._device_sets.get(devices)
        if found is None:
            text = " ".join(map(str, devices))
            # A set of thousands of devices must not be cut.
            found = self._device_sets[devices] = len(self.strings.all)
            self.strings.all.append(text)
        return found
