"""A run as a trace in Chrome's JSON format, for https://ui.perfetto.dev, ``chrome://tracing`` and TensorBoard.

What a reader finds: a *process* an island with a *thread* a device, and one process for the host, with tracks for
programs, the controller, waits and compilation.  Arrows lead from what wrote a value over its transfer to who read
it; counters show the bytes of results held.

Perfetto accepts no two slices on a track that overlap: it drops the second, counting
``slice_drop_overlapping_complete_event``.  Cutting slices to fit would show times that nobody measured.  So a slice
that overlaps goes to a sub-track, "device 3 (2)", with its true times; there is one as long as nothing overlaps.

Times become whole nanoseconds before sub-tracks are found, so rounding cannot make two slices overlap; they count
from the first fact of the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..events import BuffersFreed, Fact, NodeEnded, NodeState
from ..ids import BufferId, IslandId, NodeId, Source
from .files import write_whole
from .run import Run
from .spans import Span, SpanKind, lanes, spans_of

Event = dict[str, Any]

#: Process of what runs in the user's own process; islands follow it in order.
_USER = 1

_TRACKS = {
    SpanKind.PROGRAM: "programs",
    SpanKind.CONTROL: "controller",
    SpanKind.WAIT: "waits",
    SpanKind.COMPILE: "compilation",
    SpanKind.HOST: "host",
}
#: What has a track in the user's process.
_USERS = (SpanKind.PROGRAM, SpanKind.CONTROL, SpanKind.WAIT, SpanKind.COMPILE)


@dataclass(slots=True)
class _Track:
    """One row before overlaps are told apart: its process, its name, and what is on it."""

    process: int
    name: str
    #: (start, end) in nanoseconds, and what it is.
    slices: list[tuple[int, int, Span]] = field(default_factory=list[tuple[int, int, Span]])


def trace_of(run: Run) -> dict[str, Any]:
    """The trace as what :func:`json.dumps` takes; times inside are microseconds, as the format demands."""
    model, start = run.model, run.start
    events: list[Event] = []
    threads: list[Event] = []
    processes = {id: _USER + 1 + i for i, id in enumerate(model.islands)}
    #: Where each node's slices are: (process, thread, start, end), its first device first.
    at: dict[NodeId, tuple[int, int, int, int]] = {}
    spans = spans_of(model)
    thread = 1
    for track in _tracks(run, spans, processes):
        track.slices.sort(key=lambda one: one[:2])
        found = lanes((low, high) for low, high, _ in track.slices)
        for (low, high, span), lane in zip(track.slices, found, strict=True):
            events.append(_slice(span, track.process, thread + lane, low, high, run))
            if span.node is not None and span.kind is not SpanKind.COMPILE:
                at.setdefault(span.node, (track.process, thread + lane, low, high))
        for lane in range(max(found, default=0) + 1):
            name = track.name + (f" ({lane + 1})" if lane else "")
            threads.append(_named("thread_name", track.process, thread + lane, name=name))
            threads.append(_named("thread_sort_index", track.process, thread + lane, sort_index=thread + lane))
        thread += max(found, default=0) + 1
    events += _flows(run, spans, at)
    events += _counters(run, processes, start)
    # Perfetto closes a slice when the next begins at its end, so order in time is order in the file.
    events.sort(key=lambda event: (event["ns"], _ORDER[event["ph"]]))
    heads = [_named("process_name", _USER, 0, name="host"), _named("process_sort_index", _USER, 0, sort_index=0)]
    for id, process in processes.items():
        island = model.islands[id]
        label = f"{_label(island.name)} ({len(island.devices)} × {_label(island.chip)})"
        heads += [
            _named("process_name", process, 0, name=label),
            _named("process_sort_index", process, 0, sort_index=process),
        ]
    return {
        "displayTimeUnit": "ms",
        "traceEvents": [*heads, *threads, *map(_timed, events)],
        "otherData": {key: value for key, value in run.about.items() if isinstance(value, str | int)} | _doubts(run),
    }


def write_trace(path: str | os.PathLike[str], run: Run) -> Path:
    """Writes the trace; see :func:`trace_of`.  A file of that name is replaced at once or, on an error, not at all.

    Raises:
      ValueError: the path is none.
      OSError: it cannot be written; says why.
    """
    # Perfetto shows \\u00d7 in the name of a process as it stands, so characters are written as they are; half a
    # character (a lone surrogate) has no UTF-8 and becomes "?".
    text = json.dumps(trace_of(run), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return write_whole(path, (text,), errors="replace")


def _doubts(run: Run) -> dict[str, str | float]:
    """What a reader must know first; of a moment, microseconds as in the events."""
    if not run.doubts:
        return {}
    whole = {} if run.whole_from is None else {"whole_from_us": (run.whole_from - run.start) * 1e6}
    return {"note": run.doubts, **whole}


# --- slices -----------------------------------------------------------------------------------


def _tracks(run: Run, spans: Sequence[Span], processes: dict[IslandId, int]) -> list[_Track]:
    """The tracks in the order in which they are shown; those of devices are there even when nothing ran on them."""
    rows: dict[tuple[int, object], _Track] = {(_USER, kind): _Track(_USER, _TRACKS[kind]) for kind in _USERS}
    for id, island in run.model.islands.items():
        process = processes[id]
        rows[process, SpanKind.HOST] = _Track(process, _TRACKS[SpanKind.HOST])
        for device in island.devices:
            rows[process, device] = _Track(process, f"device {device}")
    for span in spans:
        low, high = _ns(span.start - run.start), _ns(span.end - run.start)
        process = processes.get(span.island, _USER) if span.island is not None else _USER
        if span.kind in _USERS:
            keys: list[tuple[int, object]] = [(_USER, span.kind)]
        elif span.kind is SpanKind.HOST or not span.devices:
            keys = [(process, SpanKind.HOST)]
        else:
            keys = [(process, device) for device in span.devices]
        for key in keys:
            name = _TRACKS[SpanKind.HOST] if key[1] is SpanKind.HOST else f"device {key[1]}"
            rows.setdefault(key, _Track(key[0], name)).slices.append((low, high, span))
    return [track for key, track in rows.items() if track.slices or key[1] is not SpanKind.HOST]


def _slice(span: Span, process: int, thread: int, low: int, high: int, run: Run) -> Event:
    program = run.model.programs.get(span.program) if span.program is not None else None
    about: dict[str, Any] = {
        "program": program.name if program else None,
        "client": span.client or None,
        "cell": span.source.cell if span.source else None,
        "line": span.source.line if span.source else None,
        "source": _line(span.source),
        "node": span.node,
        "gang": len(span.devices) if len(span.devices) > 1 else None,
        "computations": span.parts if span.parts > 1 else None,
        "events": span.events or None,
        "launches": span.launches or None,
        "busy": f"{span.busy * 1e6:.1f} µs" if span.kind is SpanKind.CONTROL else None,
        "bytes": span.bytes if span.kind is SpanKind.TRANSFER else None,
        "link": span.link.value if span.link else None,
        "state": span.state.value if span.state is not NodeState.DONE else None,
        "error": span.error or None,
        "still": ("cut off" if run.damage else "running when the trace was written") if span.open else None,
    }
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "ns": low,
        "dur_ns": high - low,
        "name": _label(span.name),
        "cat": span.kind.value,
        "args": {key: value for key, value in about.items() if value is not None},
    }


def _line(source: Source | None) -> str | None:
    return source.text.strip() or None if source else None


# --- arrows and counters -------------------------------------------------------------------------


def _flows(run: Run, spans: Sequence[Span], at: dict[NodeId, tuple[int, int, int, int]]) -> list[Event]:
    """An arrow from the writer of a value to its transfer, and one from the transfer to each reader."""
    model = run.model
    out: list[Event] = []
    moves = {span.node for span in spans if span.node is not None and span.kind is SpanKind.TRANSFER}
    number = 0
    for node in model.nodes.values():
        for buffer in dict.fromkeys(node.spec.inputs):
            writer = model.producer.get(buffer)
            if writer is None or writer not in at or node.spec.id not in at:
                continue
            if writer not in moves and node.spec.id not in moves:
                continue
            process, thread, low, high = at[writer]
            other, row, begins, ends = at[node.spec.id]
            # An arrow belongs to the slice that is open at its time: it leaves in the last moment of one, or when the
            # other begins, if that is sooner, and arrives in the first moment of the other.
            leaves = min(max(low, high - 1), max(low, begins))
            arrives = max(leaves, begins)
            if arrives > ends:
                continue
            number += 1
            arrow: Event = {"id": number, "cat": "transfer", "name": "transfer"}
            out.append({"ph": "s", "pid": process, "tid": thread, "ns": leaves, **arrow})
            out.append({"ph": "f", "bp": "e", "pid": other, "tid": row, "ns": arrives, **arrow})
    return out


def _counters(run: Run, processes: dict[IslandId, int], start: float) -> list[Event]:
    """Bytes of results that an island holds: from the end of what wrote them until they are freed."""
    model = run.model
    held = dict.fromkeys(processes, 0)
    where: dict[BufferId, tuple[IslandId, int]] = {}
    out: list[Event] = []
    for fact in _in_time(run.facts):
        touched: set[IslandId] = set()
        if isinstance(fact, NodeEnded):
            node = model.nodes.get(fact.node)
            home = model.island_of(node) if node else None
            if node is None or home is None or home not in held or fact.state is not NodeState.DONE:
                continue
            for output in node.spec.outputs:
                where[output.buffer] = (home, output.bytes)
                held[home] += output.bytes
                touched.add(home)
        elif isinstance(fact, BuffersFreed):
            for buffer in fact.buffers:
                if buffer in where:
                    home, count = where.pop(buffer)
                    held[home] -= count
                    touched.add(home)
        for home in sorted(touched):
            out.append({"ph": "C", "pid": processes[home], "tid": 0, "ns": _ns(fact.time - start),
                        "name": "bytes held", "args": {"bytes": held[home]}})  # fmt: skip
    return out


def _in_time(facts: Iterable[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: fact.time)


# --- the format -----------------------------------------------------------------------------------

#: At one moment slices come first, so that arrows find them.
_ORDER = {"X": 0, "s": 1, "f": 2, "C": 3}


def _label(name: str) -> str:
    """A name for Perfetto, which would show a line end as ``\\n``."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split()) or "(no name)"


def _ns(seconds: float) -> int:
    return max(0, round(seconds * 1e9))


def _timed(event: Event) -> Event:
    """The event with its times in microseconds; three decimals are exact to the nanosecond for a month."""
    out = {key: value for key, value in event.items() if key not in ("ns", "dur_ns")}
    out["ts"] = event["ns"] / 1000
    if "dur_ns" in event:
        out["dur"] = event["dur_ns"] / 1000
    return out


def _named(what: str, process: int, thread: int, **args: object) -> Event:
    return {"ph": "M", "pid": process, "tid": thread, "ts": 0, "name": what, "args": args}
