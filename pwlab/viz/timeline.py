"""The timeline as plain data, from which SVG, text and reports are drawn: who did what, where, when.

How to read it: above, the user's own process, with a row a client for its programs, and rows for the controller,
compilation and waits.  Below, a band an island with a row a device.  A launch is a box on the rows of its devices, a
gang one tall box; colours stand for computations, or for clients.  Transfers are thin boxes where they arrive, and
arrows from where the value was written.  Times are seconds from the start of the axis; nothing here is in pixels, so
one picture serves a page, a terminal and a comparison on a common axis.

What overlaps on a device is drawn in lanes of its row, with its true times.  Above 16 devices in an island, those
that did the same share a row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from .. import checks
from ..events import Link, NodeKind, NodeState
from ..ids import NodeId, ProgramId
from ..observe import RunModel, Span, SpanKind, Totals, doubts_of, lanes, spans_of, totals_of
from ..units import bytes_text
from .axis import Axis, axis_of
from .format import count_text, one_line, percent, ranges_text, seconds_text, source_text
from .palette import Colours
from .timeline_rows import Counted, Row, bands_of

#: Lanes of one row, arrows, entries of the legend.
MOST_LANES, MOST_ARROWS, MOST_KEYS = 4, 300, 12

Colour = Literal["computation", "client"]


@dataclass(frozen=True, slots=True)
class Band:
    """Rows that belong together: an island's, or the user's own."""

    name: str
    about: str
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class Box:
    """Something that took from ``start`` to ``end``, on ``rows`` rows from ``row`` on."""

    row: int
    lane: int
    start: float
    end: float
    label: str
    kind: SpanKind
    state: NodeState
    about: str
    #: Which entry of the palette; -1 where it has no name of its own.
    colour: int = -1
    rows: int = 1
    open: bool = False
    link: Link | None = None
    #: How many boxes were too narrow to be told apart.
    count: int = 1


@dataclass(frozen=True, slots=True)
class Arrow:
    """A transfer: from the row where the value was written to the row where it arrived."""

    source: int
    target: int
    start: float
    end: float
    link: Link | None
    about: str


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend; ``seconds`` is device time."""

    name: str
    colour: int
    seconds: float
    launches: int


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """A timeline.  Equal models give equal pictures."""

    title: str
    axis: Axis
    bands: tuple[Band, ...]
    rows: tuple[Row, ...]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    keys: tuple[Key, ...]
    totals: Totals
    colour: Colour = "computation"
    #: What a reader must know: what is not shown, that older nodes were forgotten.
    note: str = ""


def timeline(
    model: RunModel,
    programs: ProgramId | Iterable[ProgramId] | None = None,
    *,
    colour: Colour = "computation",
    title: str = "",
    axis: Axis | None = None,
    colours: Mapping[str, int] | None = None,
    brief: bool = False,
) -> TimelinePicture:
    """Draws one program, some, or all, as plain data.

    Args:
      model: what is known of the run.
      programs: which to draw; None draws all.
      colour: whether boxes are coloured by computation or by client.
      title: above the picture; the program's name, or how many there are, if not given.
      axis: of times from the first moment that is drawn; made to fit, long pauses cut, if not given.
      colours: names that have a colour already; see :class:`~pwlab.viz.palette.Colours`.
      brief: of the host, show programs and compilation alone, and devices that did the same in one row.

    Raises:
      UnknownName: boxes are not coloured by that; the nearest is suggested.
    """
    checks.choice("colouring", colour, get_args(Colour))
    chosen = None if programs is None else {ProgramId(programs)} if isinstance(programs, int) else set(programs)
    shown = _shown_spans(model, chosen)
    devices = [device for island in model.islands.values() for device in island.devices]
    totals = totals_of(shown, devices, model.failed(chosen), model.whole_from)
    spans, start = _from_0(shown)
    counted = Counted(totals, -math.inf if model.whole_from is None else model.whole_from - start)
    if colours is None:
        colours = Colours(named(model, chosen, colour)).of
    rows: list[Row] = []
    bands: list[Band] = []
    boxes: list[Box] = []
    #: Where arrows begin and end.
    at: dict[NodeId, int] = {}
    notes = [told for told in (doubts_of(model, chosen),) if told]
    for name, about, tracks in bands_of(model, spans, notes, counted, brief):
        bands.append(Band(name, about, len(rows), len(tracks)))
        first = len(rows)
        for row, held in tracks:
            number = len(rows)
            found = [min(lane, MOST_LANES - 1) for lane in lanes((s.start, s.end) for s in held)]
            rows.append(replace(row, lanes=max(found, default=0) + 1))
            for span, lane in zip(held, found, strict=True):
                boxes.append(_box(span, number, lane, colour, colours, model))
                if span.node is not None and span.kind is not SpanKind.COMPILE:
                    at.setdefault(span.node, number)
        boxes = boxes[: len(boxes) - sum(len(h) for _, h in tracks)] + _gangs(
            boxes[len(boxes) - sum(len(h) for _, h in tracks) :], rows, first
        )
    arrows = _arrows(model, spans, at)
    if len(arrows) > MOST_ARROWS:
        notes.append(f"{MOST_ARROWS} of {count_text(len(arrows), 'arrow')} shown, of the longest transfers")
        arrows = sorted(arrows, key=lambda arrow: arrow.start - arrow.end)[:MOST_ARROWS]
    return TimelinePicture(
        title=one_line(title or _title(model, chosen), 60),
        axis=axis_of(drawn_times(spans)) if axis is None else axis,
        bands=tuple(bands),
        rows=tuple(rows),
        boxes=tuple(boxes),
        arrows=tuple(arrows),
        keys=_keys(spans, colour, colours, counted),
        totals=totals,
        colour=colour,
        note="; ".join(notes),
    )


def drawn_spans(model: RunModel, programs: Collection[ProgramId] | None = None) -> list[Span]:
    """What a timeline of these programs shows, in seconds from the first of it."""
    return _from_0(_shown_spans(model, programs))[0]


def _shown_spans(model: RunModel, programs: Collection[ProgramId] | None) -> list[Span]:
    spans = spans_of(model, programs)
    # Before its first program the controller has made the session alone.
    first = min((span.start for span in spans if span.kind is SpanKind.PROGRAM), default=math.inf)
    return [span for span in spans if span.kind is not SpanKind.CONTROL or span.start >= first]


def _from_0(spans: list[Span]) -> tuple[list[Span], float]:
    """The spans in seconds from the first, and when that was."""
    start = min((span.start for span in spans), default=0.0)
    return [replace(span, start=span.start - start, end=span.end - start) for span in spans], start


def drawn_times(spans: Iterable[Span]) -> Iterable[tuple[float, float]]:
    """The times that an axis is made for: a stretch of the controller in a pause is no reason to draw the pause."""
    return ((span.start, span.end) for span in spans if span.kind is not SpanKind.CONTROL)


def named(
    model: RunModel, programs: Collection[ProgramId] | None = None, colour: Colour = "computation"
) -> Iterable[str]:
    """Names that have a colour, in the order in which they were recorded, as the live timeline gives colours."""
    if colour == "client":
        return (p.client for p in model.programs.values() if programs is None or p.id in programs)
    nodes = model.nodes.values()
    return (
        node.spec.name
        for node in nodes
        if node.spec.kind is not NodeKind.TRANSFER and (programs is None or node.program in programs)
    )


def totals_text(totals: Totals) -> list[str]:
    """The totals in short pieces, the most telling first; what is none is left out."""
    if totals.gone:
        return ["no detail is left"]
    pieces = [f"{seconds_text(totals.wall)} wall", f"devices computing {percent(totals.busy)}"]
    launches = count_text(totals.launches, "launch", "launches")
    merged = f" of {totals.computations:,} computations" if totals.computations > totals.launches else ""
    pieces.append(launches + merged)
    if totals.transfers:
        pieces.append(f"{count_text(totals.transfers, 'transfer')}, {bytes_text(totals.bytes_moved)}")
    if totals.waits:
        pieces.append(f"{count_text(totals.waits, 'wait')}, {seconds_text(totals.wait_seconds)}")
    if totals.compilations:
        pieces.append(f"{totals.compilations:,} compiled in {seconds_text(totals.compile_seconds)}")
    if totals.control_seconds and totals.wall:
        pieces.append(f"controller busy {percent(min(1.0, totals.control_seconds / totals.wall))}")
    if totals.failed:
        pieces.append(f"{totals.failed:,} failed")
    return pieces


# --- boxes and arrows ------------------------------------------------------------------------


def _named(span: Span, colour: Colour) -> str | None:
    """What gives the box its colour, or None."""
    if span.kind in (SpanKind.COMPUTE, SpanKind.HOST):
        return span.name if colour == "computation" else span.client
    return span.client if span.kind is SpanKind.PROGRAM and colour == "client" else None


def _box(span: Span, row: int, lane: int, colour: Colour, colours: Mapping[str, int], model: RunModel) -> Box:
    name = _named(span, colour)
    label = one_line(span.name, 40)
    if span.kind is SpanKind.TRANSFER:
        label = f"{span.link.value if span.link else 'move'} {bytes_text(span.bytes)}"
    elif span.kind is SpanKind.WAIT and span.source:
        label = f"{label} at {source_text(span.source)}"
    elif span.kind is SpanKind.CONTROL and span.open:
        label = "at work"
    elif span.kind is SpanKind.CONTROL:
        label = count_text(span.launches, "launch", "launches") if span.launches else count_text(span.events, "event")
    if span.parts > 1:
        label += f" ×{span.parts}"
    return Box(row, lane, span.start, span.end, label, span.kind, span.state, _about(span, model),
               -1 if name is None else colours.get(name, -1), open=span.open, link=span.link)  # fmt: skip


_WORDS = {
    SpanKind.WAIT: "waited for",
    SpanKind.COMPILE: "compiled",
    SpanKind.PROGRAM: "program",
}


def _about(span: Span, model: RunModel) -> str:
    """All there is to know, for a tooltip; a few lines."""
    word = _WORDS.get(span.kind)
    lines = [f"{word} {one_line(span.name, 200)}" if word else one_line(span.name, 200)]
    lines.append(f"{seconds_text(span.seconds)}{' so far' if span.open else ''}, from {seconds_text(span.start)}")
    if span.source:
        lines.append(f"{one_line(str(span.source), 80)}: {one_line(span.source.text, 100)}".rstrip(": "))
    program = model.programs.get(span.program) if span.program is not None else None
    if program is not None and span.kind is not SpanKind.PROGRAM:
        lines.append(f"in {one_line(program.name, 60)}" + (f", client {one_line(span.client, 30)}"))
    if span.devices:
        lines.append(f"{'device' if len(span.devices) == 1 else 'devices'} {ranges_text(span.devices)}")
    if span.kind is SpanKind.CONTROL:
        took, gave = count_text(span.events, "event"), count_text(span.launches, "launch", "launches")
        lines.append(f"{'' if span.open else f'took {took}, gave {gave}; '}at work {seconds_text(span.busy)} of it")
    if span.parts > 1:
        lines.append(f"{span.parts} computations in one launch")
    if span.link:
        lines.append(f"{bytes_text(span.bytes)} over {span.link.value}")
    if span.error:
        lines.append(one_line(span.error, 300))
    return "\n".join(lines)


def _gangs(boxes: list[Box], rows: list[Row], first: int) -> list[Box]:
    """Boxes of one launch on neighbouring rows become one, where no row is split in lanes."""
    tall: dict[tuple[object, ...], int] = {}
    out: list[Box] = []
    for box in boxes:
        key = (box.kind, box.start, box.end, box.about)
        above = tall.get(key)
        if above is not None and rows[box.row].kind == "device" and rows[box.row].lanes == 1:
            held = out[above]
            if held.row + held.rows == box.row and rows[held.row].lanes == 1 and rows[held.row].kind == "device":
                out[above] = replace(held, rows=held.rows + 1)
                continue
        tall[key] = len(out)
        out.append(box)
    return out


def _arrows(model: RunModel, spans: list[Span], at: Mapping[NodeId, int]) -> list[Arrow]:
    arrows: list[Arrow] = []
    for span in spans:
        node = model.nodes.get(span.node) if span.node is not None else None
        if span.kind is not SpanKind.TRANSFER or node is None or node.spec.id not in at:
            continue
        writers = [model.producer.get(buffer) for buffer in node.spec.inputs]
        source = next((at[writer] for writer in writers if writer is not None and writer in at), None)
        if source is not None and source != at[node.spec.id]:
            about = f"{bytes_text(span.bytes)} over {span.link.value if span.link else 'a link'}"
            about += f", {seconds_text(span.seconds)}"
            arrows.append(Arrow(source, at[node.spec.id], span.start, span.end, span.link, about))
    return arrows


def _keys(spans: list[Span], colour: Colour, colours: Mapping[str, int], counted: Counted) -> tuple[Key, ...]:
    held: dict[str, list[Span]] = {name: [] for span in spans if (name := _named(span, colour)) is not None}
    for span in counted.of(spans):
        name = _named(span, colour)
        if name is not None and span.kind is not SpanKind.PROGRAM:
            held[name].append(span)
    keys = [
        Key(
            one_line(name, 28) or "(no name)",
            colours.get(name, -1),
            sum(s.seconds * max(1, len(s.devices)) for s in mine),
            len(mine),
        )
        for name, mine in held.items()
    ]
    keys.sort(key=lambda key: (-key.seconds, key.name))
    if len(keys) > MOST_KEYS:
        rest = keys[MOST_KEYS - 1 :]
        more = Key(f"{len(rest)} others", -1, sum(k.seconds for k in rest), sum(k.launches for k in rest))
        keys = [*keys[: MOST_KEYS - 1], more]
    return tuple(keys)


def _title(model: RunModel, chosen: set[ProgramId] | None) -> str:
    if chosen is not None and len(chosen) == 1:
        program = model.programs.get(next(iter(chosen)))
        if program is not None:
            return program.name
    return count_text(len(model.programs) if chosen is None else len(chosen), "program")
