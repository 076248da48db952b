"""What two runs are compared by, of all their programs or of some: how long, how idle, how much memory, who got what.

Two runs of one program differ by what was changed, by what had to be compiled the first time, and by chance.  So what
had to wait for the compiler alone is told apart from the rest, and each run says by how much its own times vary where
nothing was changed: launches of equal computations on equally many devices differ, and their spread adds up over the
busiest device.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ..events import (
    BuffersRestored,
    Fact,
    NodeAdded,
    NodeEnded,
    NodeHeld,
    NodeMoved,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    SliceMapped,
)
from ..ids import DeviceId, ProgramId
from .intervals import Interval, IntervalSet, union_seconds
from .lives import Part
from .model import RunModel
from .run import Run
from .spans import Span, SpanKind, since, spans_of
from .totals import Totals, totals_of
from .usage import Usage
from .usage_view import UsageView

#: What runs on devices and hosts.
_RAN = (SpanKind.COMPUTE, SpanKind.TRANSFER, SpanKind.HOST)


@dataclass(frozen=True, slots=True)
class ClientMeasure:
    """What a client asked for and got, as parts of the device time that was given out while it had work, 0 to 1."""

    name: str
    asked: float
    got: float
    device_seconds: float
    #: When its last program ended, in seconds from the start.
    end: float


@dataclass(frozen=True, slots=True)
class Measures:
    """Times are seconds, sizes bytes."""

    totals: Totals
    #: In which a program was open and did not wait for the compiler alone.
    wall: float
    #: In which it did: something was compiled, and nothing ran.
    compiler: float
    #: From the first computation to the end of the last, the time for the compiler and pauses between programs aside.
    span: float
    #: Share, 0 to 1, of that time in which a device did not compute, of those that computed at all.
    idle: float
    #: The most bytes on a device, or on a chip that devices share, while a program was open.
    peak: int
    #: Launches that were held back for memory.
    held: int
    clients: tuple[ClientMeasure, ...]
    #: One standard deviation of what the busiest device computed, and of what all computed, by the spread of equal
    #: launches.
    spread: float
    device_spread: float


def measures_of(run: Run, programs: Collection[ProgramId] | None = None) -> Measures:
    """The measures of these programs of a run, or of all."""
    model = run.model
    wanted = None if programs is None else set(programs)
    spans = spans_of(model, wanted)
    devices = [device for island in model.islands.values() for device in island.devices]
    totals = totals_of(spans, devices, model.failed(wanted), run.whole_from)
    if run.whole_from is not None:
        spans = since(spans, run.whole_from)
    active = active_times(spans)
    wall = union_seconds(active)
    computed = [s for s in spans if s.kind is SpanKind.COMPUTE and s.devices]
    first, last = min((s.start for s in computed), default=0.0), max((s.end for s in computed), default=0.0)
    span = union_seconds((max(start, first), min(end, last)) for start, end in active)
    used = len({device for s in computed for device in s.devices})
    usage = run.stats.usage.view() if wanted is None else _usage(run, wanted)
    busiest, whole = _spread(computed, model)
    return Measures(
        totals,
        wall,
        max(0.0, union_seconds(_merged(spans, *_RAN, SpanKind.PROGRAM)) - wall),
        span,
        max(0.0, 1 - totals.device_seconds / (span * used)) if span else 0.0,
        max((row.peak for row in usage.memory), default=0) if wanted is None else _peak(run.facts, wanted),
        _held(run.facts, wanted, model),
        _clients(usage, model, wanted, min((s.start for s in spans if s.kind is not SpanKind.CONTROL), default=0.0)),
        busiest,
        whole,
    )


# --- time -------------------------------------------------------------------------------------


def active_times(spans: Iterable[Span]) -> list[Interval]:
    """When something ran, or a program was open and nothing was compiled; in order, and disjoint."""
    held = list(spans)
    found = [(span.start, span.end) for span in held if span.kind in _RAN]
    compiled = _merged(held, SpanKind.COMPILE)
    at = 0
    for start, end in _merged(held, SpanKind.PROGRAM):
        while at < len(compiled) and compiled[at][0] < end:
            low, high = compiled[at]
            if low > start:
                found.append((start, low))
            start = max(start, high)
            if high > end:
                break
            at += 1
        if start < end:
            found.append((start, end))
    return list(IntervalSet(sorted(found), keep=len(found) + 1))


def _merged(spans: Iterable[Span], *kinds: SpanKind) -> list[Interval]:
    times = sorted((span.start, span.end) for span in spans if span.kind in kinds)
    return list(IntervalSet(times, keep=len(times) + 1))


def _spread(computed: Iterable[Span], model: RunModel) -> tuple[float, float]:
    """Standard deviations of the busiest device's time and of all device time, in seconds."""
    alike: dict[tuple[str, int], list[Span]] = {}
    for span in computed:
        node = model.nodes.get(span.node) if span.node is not None else None
        key = node.spec.key if node is not None else ""
        alike.setdefault((key or span.name, len(span.devices)), []).append(span)
    busy: dict[DeviceId, float] = {}
    varies: dict[DeviceId, float] = {}
    whole = 0.0
    for (_, wide), spans in alike.items():
        variance = statistics.variance(span.seconds for span in spans) if len(spans) > 1 else 0.0
        whole += len(spans) * variance * wide**2
        for span in spans:
            for device in span.devices:
                busy[device] = busy.get(device, 0.0) + span.seconds
                varies[device] = varies.get(device, 0.0) + variance
    busiest = max(busy, key=lambda device: busy[device], default=None)
    return (0.0 if busiest is None else math.sqrt(varies[busiest])), math.sqrt(whole)


# --- memory and clients ---------------------------------------------------------------------------


def _peak(facts: Iterable[Fact], wanted: set[ProgramId]) -> int:
    """The most on a device while one of these programs was open, whoever held it."""
    usage = Usage()
    rooms = usage.holdings.rooms
    peak, moment = 0, -math.inf
    open: set[ProgramId] = set()
    #: Where it may have grown at this moment; what comes and goes at one moment is not counted.
    grown: set[DeviceId] = set()
    for fact in facts:
        if fact.time > moment:
            moment = fact.time
            peak = max(peak, max((rooms[device].level.now for device in grown), default=0))
            grown.clear()
        usage.add(fact)
        if isinstance(fact, ProgramOpened) and fact.program in wanted:
            open.add(fact.program)
            grown.update(rooms)
        elif isinstance(fact, ProgramEnded):
            open.discard(fact.program)
        elif open and isinstance(fact, NodeMoved) and fact.state is NodeState.LAUNCHED:
            grown.update(rooms.keys() & set(fact.devices))
        elif open and isinstance(fact, BuffersRestored | SliceMapped):
            grown.update(rooms)
    return max(peak, max((rooms[device].level.now for device in grown), default=0))


def _held(facts: Iterable[Fact], wanted: set[ProgramId] | None, model: RunModel) -> int:
    held = {fact.node for fact in facts if isinstance(fact, NodeHeld)}
    return sum(wanted is None or ((node := model.nodes.get(id)) is not None and node.program in wanted) for id in held)


def _usage(run: Run, wanted: set[ProgramId]) -> UsageView:
    """The usage of these programs, as if there had been no others."""
    nodes = {fact.node.id for fact in run.facts if isinstance(fact, NodeAdded) and fact.program in wanted}

    def mine(fact: Fact) -> bool:
        if isinstance(fact, ProgramOpened | ProgramEnded | NodeAdded):
            return fact.program in wanted
        return not isinstance(fact, NodeMoved | NodeHeld | NodeEnded) or fact.node in nodes

    return replace(run, facts=tuple(filter(mine, run.facts))).stats.usage.view()


def _clients(
    usage: UsageView, model: RunModel, wanted: set[ProgramId] | None, start: float
) -> tuple[ClientMeasure, ...]:
    """Those that had programs, in the order in which they came."""
    ends: dict[str, float] = {}
    for program in model.programs.values():
        if wanted is None or program.id in wanted:
            end = program.until(model.now)
            ends[program.client] = max(ends.get(program.client, end), end)
    rows = {row.name: row for row in usage.clients}
    return tuple(
        ClientMeasure(name, row.asked, row.got, row.spent.parts[Part.COMPUTING], end - start)
        for name, end in ends.items()
        if (row := rows.get(name)) is not None
    )
