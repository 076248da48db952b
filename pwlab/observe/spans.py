"""What was going on when: a run as spans of time, from which timelines, traces and totals are made.

A :class:`Span` is one thing that took time: a computation or a transfer on its devices, a function on a host, a
compilation, a wait of the user's thread, the controller at work, the life of a program.  Spans say what was
*measured*: where two on one device overlap (two slices share a chip, a transfer arrives while its device computes),
both are given in full.  Who draws them puts those on sub-tracks, found by :func:`lanes`, and who counts them takes
the union.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ..events import ControllerWorked, Link, NodeKind, NodeState, Waited
from ..ids import DeviceId, IslandId, NodeId, ProgramId, Source
from .model import NodeView, ProgramView, RunModel


class SpanKind(StrEnum):
    """What took the time."""

    COMPUTE = "compute"
    TRANSFER = "transfer"
    HOST = "host"  #: a Python function on an island's host
    COMPILE = "compile"
    WAIT = "wait"  #: the user's thread needed a value
    CONTROL = "control"  #: the controller took events and gave instructions
    PROGRAM = "program"  #: from a program's first window to its last result


_OF_NODE = {
    NodeKind.COMPUTE: SpanKind.COMPUTE,
    NodeKind.TRANSFER: SpanKind.TRANSFER,
    NodeKind.HOST: SpanKind.HOST,
}


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took from ``start`` to ``end``, in seconds on the clock of the run."""

    kind: SpanKind
    name: str
    start: float
    end: float
    #: It had not ended when the newest fact came; ``end`` is that moment.
    open: bool = False
    #: How its node stands, or how its program ended; done for waits and compilations.
    state: NodeState = NodeState.DONE
    node: NodeId | None = None
    program: ProgramId | None = None
    client: str = ""
    source: Source | None = None
    #: Where it ran; None and empty for what ran in the user's process.
    island: IslandId | None = None
    devices: tuple[DeviceId, ...] = ()
    #: Computations merged into this launch.
    parts: int = 1
    #: Of the controller: seconds in which it was at work, events that it took, and what it launched.
    busy: float = 0.0
    events: int = 0
    launches: int = 0
    #: Of a transfer.
    bytes: int = 0
    link: Link | None = None
    error: str = ""

    @property
    def seconds(self) -> float:
        return self.end - self.start


def spans_of(model: RunModel, programs: Collection[ProgramId] | None = None) -> list[Span]:
    """Everything that took time, by start.

    Args:
      programs: only what belongs to these.  A wait belongs to the program whose value it needed, or else to
        those that it names; the controller's work to those during which it began.
    """
    wanted = None if programs is None else set(programs)
    spans: list[Span] = []
    for program in model.programs.values():
        if wanted is None or program.id in wanted:
            spans.append(_program(program, model))
    for node in model.nodes.values():
        if wanted is None or node.program in wanted:
            spans += _node(node, model)
    going_on = [Waited(w.time, math.inf, w.reason, w.source, w.buffer) for w in model.waiting.values()]
    for wait in (*model.waits, *going_on):
        program = _waited_for(wait, model)
        if wanted is None or program in wanted or (program is None and _names(wait, wanted, model)):
            end = wait.time + wait.seconds
            spans.append(
                Span(SpanKind.WAIT, wait.reason, wait.time, min(end, model.now), end > model.now, program=program,
                     client=_client(model, program), source=wait.source)
            )  # fmt: skip
    lives = None if wanted is None else [_life(program, model) for id in wanted if (program := model.programs.get(id))]
    works = (work for work in model.control if lives is None or any(a <= work.time <= b for a, b in lives))
    spans += [_control(work, model.now) for work in works]
    return sorted(spans, key=lambda span: (span.start, span.end))


def since(spans: Iterable[Span], moment: float) -> list[Span]:
    """What there is of these spans after a moment."""
    return [_part(span, max(span.start, moment), span.end) for span in spans if span.end > moment]


def lanes(times: Iterable[tuple[float, float]]) -> list[int]:
    """For spans in order of start, the lowest lane on which each overlaps none before it.

    A span may begin where another ends.  Of n spans at once, n lanes are used.
    """
    ends: list[float] = []
    found: list[int] = []
    for start, end in times:
        lane = next((i for i, until in enumerate(ends) if until <= start), len(ends))
        ends[lane : lane + 1] = [end]
        found.append(lane)
    return found


def gaps(spans: Sequence[Span]) -> list[tuple[float, float]]:
    """The times between the first and the last span in which nothing was going on; spans in order of start."""
    found: list[tuple[float, float]] = []
    until = spans[0].end if spans else 0.0
    for span in spans:
        if span.start > until:
            found.append((until, span.start))
        until = max(until, span.end)
    return found


# --- inside -------------------------------------------------------------------------------


def _life(program: ProgramView, model: RunModel) -> tuple[float, float]:
    return program.opened, max(program.opened, program.until(model.now))


def _control(work: ControllerWorked, now: float) -> Span:
    end = work.time + work.seconds
    whole = Span(SpanKind.CONTROL, "controller", work.time, end, busy=work.busy, events=work.events,
                 launches=work.launches)  # fmt: skip
    # How much of it was done by then nobody knows.
    return whole if end <= now else replace(_part(whole, work.time, now), open=True, events=0, launches=0)


def _part(span: Span, start: float, end: float) -> Span:
    share = (end - start) / span.seconds if span.seconds > 0 else 1.0
    return replace(span, start=start, end=end, busy=span.busy * share)


def _program(program: ProgramView, model: RunModel) -> Span:
    return Span(
        SpanKind.PROGRAM,
        program.name,
        *_life(program, model),
        open=program.ended is None,
        state=program.state or NodeState.LAUNCHED,
        program=program.id,
        client=program.client,
        source=program.source,
    )


def _node(node: NodeView, model: RunModel) -> list[Span]:
    spec, client = node.spec, _client(model, node.program)
    spans: list[Span] = []
    prepared = node.times.get(NodeState.PREPARED)
    if prepared is not None and node.compile_seconds > 0:
        spans.append(
            Span(SpanKind.COMPILE, spec.name, prepared - node.compile_seconds, prepared, node=spec.id,
                 program=node.program, client=client, source=spec.source, island=node.island)
        )  # fmt: skip
    if node.start is None:
        return spans
    open = node.end is None
    spans.append(
        Span(
            _OF_NODE[spec.kind],
            spec.name,
            node.start,
            max(node.start, model.now) if node.end is None else node.end,
            open=open,
            state=node.state,
            node=spec.id,
            program=node.program,
            client=client,
            source=spec.source,
            island=model.island_of(node),
            devices=() if spec.kind is NodeKind.HOST else node.devices,
            parts=spec.parts,
            bytes=spec.bytes_in,
            link=spec.link,
            error=node.error,
        )
    )
    return spans


def _client(model: RunModel, program: ProgramId | None) -> str:
    view = model.programs.get(program) if program is not None else None
    return view.client if view else ""


def _waited_for(wait: Waited, model: RunModel) -> ProgramId | None:
    writer = model.producer.get(wait.buffer) if wait.buffer is not None else None
    node = model.nodes.get(writer) if writer is not None else None
    return node.program if node else None


def _names(wait: Waited, wanted: set[ProgramId], model: RunModel) -> bool:
    """Whether ``pw.wait`` by name or for all waited for one of these, while it lived."""
    for id in wanted:
        program = model.programs.get(id)
        if program is None or wait.reason not in (f"wait for {program.name}", "wait for all"):
            continue
        if wait.time <= (program.ended or model.now) and wait.time + wait.seconds >= program.opened:
            return True
    return False
