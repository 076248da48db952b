"""The dataflow graph as plain data, from which SVG, text and the widget are drawn.

:func:`picture` is a pure function from a :class:`~pwlab.observe.RunModel` to a
:class:`GraphPicture`: where everything stands, in pixels, and what is written
on it.  Tests compare this form.

How to read a picture: an *island* is a band from top to bottom, a *slice* a
lane in it.  A node is a rectangle in the lane of its slice; a transfer is a
pill in the lane of the slice that receives.  Data flows downwards.

A person cannot read 2,000 rectangles.  Above ``limit`` nodes of one cell on
one slice become one group, and if those are still too many, all nodes of a
slice do; ``note`` says so.  Whoever asks gets groups by cell, slice or client.
A script has no cells: there its lines are meant.  Groups may feed each other
both ways; such an edge is drawn once, downwards, with ``both`` set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from .. import checks
from ..events import Link, NodeKind, NodeState
from ..ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId
from ..observe import NodeView, RunModel, doubts_of
from ..units import bytes_text
from .format import LOUDEST, STATES, count_text, one_line, ranges_text, seconds_text, source_text, width
from .layout import GAP, Item, Placed, place

#: Above so many nodes a picture shows groups.
LIMIT = 2_000

#: What nodes of one slice have in common to be shown as one.
Grouping = Literal["cell", "slice", "client"]


@dataclass(frozen=True, slots=True)
class PictureNode:
    """One rectangle: a node, or a group of ``count`` nodes.  ``x, y`` is its top left corner, in pixels."""

    key: str
    label: str
    #: Second line: where it was written, its shape if known, how long it ran.
    sub: str
    state: NodeState
    kind: NodeKind
    x: float
    y: float
    w: float
    h: float
    island: IslandId | None
    slice: SliceId
    devices: tuple[DeviceId, ...] = ()
    #: Computations that were merged into this launch.
    parts: int = 1
    count: int = 1
    #: Of a group: how many nodes are in which state.
    counts: tuple[tuple[NodeState, int], ...] = ()
    #: One line for people, on the node that failed and on those it took with it.
    error: str = ""
    #: All there is to know, for a tooltip; a few lines.
    about: str = ""


@dataclass(frozen=True, slots=True)
class PictureEdge:
    """Data, or order alone where ``bytes`` is 0, from one node down to another."""

    source: str
    target: str
    bytes: int
    #: The network it crosses, for the edges of a transfer.
    link: Link | None
    #: What flows: ``f32[8,128]`` of one value, else how many there are; empty where nobody knows.
    shape: str
    #: From the bottom of the source through the gaps between rows to the top of the target.
    points: tuple[tuple[float, float], ...]
    both: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """A slice (a box) or an island (a band)."""

    key: int | None
    name: str
    about: str
    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """A laid-out graph.  Equal models give equal pictures."""

    title: str
    bands: tuple[Lane, ...]
    slices: tuple[Lane, ...]
    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...]
    width: float
    height: float
    #: How many nodes (not groups) are in which state, in the order of a node's life.
    counts: tuple[tuple[NodeState, int], ...] = ()
    #: What a reader must know: that nodes were grouped, that older ones were forgotten.
    note: str = ""


@dataclass(slots=True)
class _Group:
    """What becomes one rectangle."""

    nodes: list[NodeView]
    lane: tuple[IslandId | None, SliceId]
    index: int


def picture(
    model: RunModel,
    programs: ProgramId | Iterable[ProgramId] | None = None,
    *,
    by: Grouping | None = None,
    limit: int = LIMIT,
    details: Mapping[NodeId, str] | None = None,
) -> GraphPicture:
    """Lays out the graph of one program, some, or all.

    Args:
      model: what is known of the run.
      programs: which to draw; None draws all.
      by: groups the nodes of a slice by this; None groups only what is too much to read.
      limit: above so many nodes they are grouped by cell and slice.
      details: a word for some nodes, such as ``f32[8,128]``.

    Raises:
      UnknownName: nodes are not grouped by that; the nearest is suggested.
    """
    if by is not None:
        checks.choice("grouping", by, get_args(Grouping))
    chosen = _chosen(model, programs)
    nodes = [n for n in model.nodes.values() if chosen is None or n.program in chosen]
    groups, how = _grouped(model, nodes, by, limit)
    owner = {node.spec.id: group for group in groups for node in group.nodes}
    edges = _edges(model, groups, owner)
    faces = [_face(model, group, how, details or {}) for group in groups]
    lanes = sorted({g.lane for g in groups}, key=lambda lane: (lane[0] is None, lane[0] or 0, lane[1]))
    heads = [_slice_head(model, lane) for lane in lanes]
    column = {lane: i for i, lane in enumerate(lanes)}
    placed = place(
        [Item(column[g.lane], face.w, face.h) for g, face in zip(groups, faces, strict=True)],
        [(a, b) for a, b in edges],
        [7.0 * width(name) + 6.0 * width(about) + 40 for name, about in heads],
        [0 if i == 0 or lane[0] == lanes[i - 1][0] else 1 for i, lane in enumerate(lanes)],
    )
    return GraphPicture(
        title=_title(model, chosen),
        bands=_bands(model, lanes, placed),
        slices=tuple(
            Lane(lane[1], *heads[i], x, placed.top, w, placed.height - placed.top - GAP)
            for i, (lane, (x, w)) in enumerate(zip(lanes, placed.lanes, strict=True))
        ),
        nodes=tuple(face.at(*placed.at[g.index]) for g, face in zip(groups, faces, strict=True)),
        edges=tuple(
            PictureEdge(faces[a].key, faces[b].key, e.bytes, e.link, e.shape, placed.paths[a, b], e.both)
            for (a, b), e in edges.items()
        ),
        width=placed.width,
        height=placed.height,
        counts=_counts(nodes),
        note=_note(model, chosen, nodes, len(groups), how),
    )


# --- what is drawn -----------------------------------------------------------------


def _chosen(model: RunModel, programs: ProgramId | Iterable[ProgramId] | None) -> set[ProgramId] | None:
    if programs is None:
        return None
    return {ProgramId(programs)} if isinstance(programs, int) else set(programs)


def _grouped(
    model: RunModel, nodes: list[NodeView], by: Grouping | None, limit: int
) -> tuple[list[_Group], Grouping | None]:
    """One group a node; or as many nodes to a group as was asked for, or as it takes to stay below the limit."""
    if by is None and len(nodes) <= limit:
        lanes = [(model.island_of(n), n.spec.slice) for n in nodes]
        return [_Group([n], lane, i) for i, (n, lane) in enumerate(zip(nodes, lanes, strict=True))], None
    how = by or "cell"
    groups = _by(model, nodes, _COMMON[how])
    if len(groups) > limit:
        groups, how = _by(model, nodes, _COMMON["slice"]), "slice"
    return groups, how


def _client(model: RunModel, node: NodeView) -> str:
    program = model.programs.get(node.program)
    return program.client if program else ""


def _in_cell(node: NodeView) -> bool:
    return node.spec.source is not None and node.spec.source.cell.startswith("Cell ")


def _cell(_: RunModel, node: NodeView) -> str:
    """The cell; of a script, the line, for its file would tell nothing."""
    source = node.spec.source
    if source is None:
        return ""
    return source.cell if _in_cell(node) else f"{source.cell}:{source.line}"


#: What the nodes of a group have in common beside their slice.
_COMMON: dict[Grouping, Callable[[RunModel, NodeView], str]] = {
    "cell": _cell,
    "slice": lambda _, node: "",
    "client": _client,
}


#: How a group is called that has none of it.
_NOTHING: dict[Grouping, str] = {"cell": "no cell", "slice": "all of the slice", "client": "no client"}


def _called(model: RunModel, node: NodeView, how: Grouping) -> str:
    """What a group is called, by one of its nodes."""
    if how == "cell" and node.spec.source is not None and not _in_cell(node):
        return source_text(node.spec.source)
    return one_line(_COMMON[how](model, node) or _NOTHING[how], 26)


def _by(model: RunModel, nodes: list[NodeView], common: Callable[[RunModel, NodeView], str]) -> list[_Group]:
    # Transfers go with what their slice computes: alone they would make a group of their own for each cell.
    groups: dict[tuple[object, ...], _Group] = {}
    for node in nodes:
        lane = (model.island_of(node), node.spec.slice)
        key = (lane, common(model, node))
        if key not in groups:
            groups[key] = _Group([], lane, len(groups))
        groups[key].nodes.append(node)
    return list(groups.values())


@dataclass(slots=True)
class _Edge:
    bytes: int = 0
    link: Link | None = None
    both: bool = False
    seen: set[BufferId] = field(default_factory=set[BufferId])
    #: The shape of the one value that flows, if it is one.
    first: str = ""

    @property
    def shape(self) -> str:
        return self.first if len(self.seen) == 1 else f"{len(self.seen):,} values" if self.seen else ""


def _edges(model: RunModel, groups: list[_Group], owner: dict[NodeId, _Group]) -> dict[tuple[int, int], _Edge]:
    """Edges between groups by (source, target), the source always the earlier group."""
    edges: dict[tuple[int, int], _Edge] = {}

    def join(a: _Group, b: _Group) -> _Edge:
        back = a.index > b.index
        edge = edges.setdefault((b.index, a.index) if back else (a.index, b.index), _Edge())
        edge.both = edge.both or (back and len(b.nodes) + len(a.nodes) > 2)
        return edge

    for group in groups:
        for node in group.nodes:
            spec = node.spec
            for buffer in dict.fromkeys(spec.inputs):
                writer = model.producer.get(buffer)
                before = owner.get(writer) if writer is not None else None
                if writer is None or before is None or before is group:
                    continue
                edge = join(before, group)
                # A buffer that many nodes of a group read is one arrow's worth of data.
                if buffer not in edge.seen:
                    edge.seen.add(buffer)
                    edge.bytes += model.bytes.get(buffer, 0)
                    edge.first = edge.first or _shape(model.nodes[writer], buffer)
                edge.link = edge.link or spec.link or model.nodes[writer].spec.link
            for earlier in spec.after:
                before = owner.get(earlier)
                if before is not None and before is not group:
                    join(before, group)
    return edges


def _shape(writer: NodeView, buffer: BufferId) -> str:
    return next((output.shape for output in writer.spec.outputs if output.buffer == buffer), "")


# --- what is written on it -----------------------------------------------------------


@dataclass(slots=True)
class _Face:
    """A rectangle that has no place yet."""

    key: str
    label: str
    sub: str
    group: _Group
    state: NodeState
    kind: NodeKind
    w: float
    h: float
    error: str
    about: str

    def at(self, x: float, y: float) -> PictureNode:
        nodes, first = self.group.nodes, self.group.nodes[0]
        return PictureNode(
            self.key,
            self.label,
            self.sub,
            self.state,
            self.kind,
            x,
            y,
            self.w,
            self.h,
            *self.group.lane,
            devices=first.devices if len(nodes) == 1 else (),
            parts=sum(n.spec.parts for n in nodes),
            count=len(nodes),
            counts=_counts(nodes) if len(nodes) > 1 else (),
            error=self.error,
            about=self.about,
        )


def _face(model: RunModel, group: _Group, how: Grouping | None, details: Mapping[NodeId, str]) -> _Face:
    nodes = group.nodes
    first = nodes[0]
    spec = first.spec
    if len(nodes) > 1:
        have = {n.state for n in nodes}
        state = next(s for s in LOUDEST if s in have)
        label = _called(model, first, how or "cell")
        seconds = sum(n.seconds or 0.0 for n in nodes)
        told = [*_name(nodes), count_text(len(nodes), "node"), *_apart(nodes)]
        sub = ", ".join(told) + (f" · {seconds_text(seconds)}" if seconds else "")
        # What failed of its own, not what could not be done because of it.
        bad = next((n for n in nodes if n.state is NodeState.FAILED and n.cause in (None, n.spec.id)), None)
        error = f"{one_line(bad.spec.name, 26)}: {bad.error}" if bad else ""
        about = "\n".join((label, sub, *(f"{n} {s.value}" for s, n in _counts(nodes)), error)).rstrip()
        return _Face(f"g{spec.id}", label, sub, group, state, NodeKind.COMPUTE, *_size(label, sub, error, 12),
                     error, about)  # fmt: skip
    where = source_text(spec.source)
    took = "" if first.seconds is None else seconds_text(first.seconds)
    about = "\n".join(_about(first, details.get(spec.id, "")))
    if spec.kind is NodeKind.TRANSFER and not first.error:
        label = f"{spec.link.value if spec.link else 'move'} {bytes_text(spec.bytes_in)}"
        w, h = 7.4 * width(label) + (6.4 * width(took) + 8 if took else 0) + 34, 24.0
        return _Face(f"n{spec.id}", label, took, group, first.state, spec.kind, w, h, "", about)
    label = one_line(spec.name, 26)
    sub = " · ".join(part for part in (where, one_line(details.get(spec.id, ""), 22), took) if part)
    error = first.error
    if error and first.cause is not None and first.cause != spec.id and first.cause in model.nodes:
        error = f"after {model.nodes[first.cause].spec.name} failed"
    w, h = _size(label + "  " * (spec.parts > 1) + "000" * (spec.parts > 1), sub, error, 0)
    return _Face(f"n{spec.id}", label, sub, group, first.state, spec.kind, w, h, error, about)


def _size(label: str, sub: str, error: str, more: float) -> tuple[float, float]:
    """Width and height of a rectangle that holds these texts."""
    widest = max(7.7 * width(label) + 30, 6.0 * width(sub) + 10, 7.0 * width(one_line(error, 44)) + 10)
    height = (46.0 if sub else 32.0) + (16.0 if error else 0.0) + more
    return max(96.0, widest + 14), height


def _about(node: NodeView, detail: str) -> list[str]:
    spec = node.spec
    lines = [one_line(spec.name, 200), f"{spec.kind.value}, {node.state.value}"]
    if spec.source:
        lines.append(f"{spec.source}: {one_line(spec.source.text, 100)}".rstrip(": "))
    if detail:
        lines.append(one_line(detail, 100))
    if node.devices:
        lines.append(f"devices {ranges_text(node.devices)}")
    if spec.parts > 1:
        lines.append(f"{spec.parts} computations in one launch")
    if spec.link:
        lines.append(f"{bytes_text(spec.bytes_in)} over {spec.link.value}")
    if node.seconds is not None:
        lines.append(f"ran {seconds_text(node.seconds)}")
    if node.compile_seconds:
        lines.append(f"compiled in {seconds_text(node.compile_seconds)}")
    if node.error:
        lines.append(one_line(node.error, 500))
    return lines


def _counts(nodes: Iterable[NodeView]) -> tuple[tuple[NodeState, int], ...]:
    counts: dict[NodeState, int] = {}
    for node in nodes:
        counts[node.state] = counts.get(node.state, 0) + 1
    return tuple((state, counts[state]) for state in NodeState if state in counts)


def _name(nodes: list[NodeView]) -> list[str]:
    """The name of what a group computes, if it is one alone."""
    names = {n.spec.name for n in nodes if n.spec.kind is not NodeKind.TRANSFER}
    return [one_line(names.pop(), 20)] if len(names) == 1 else []


def _apart(nodes: list[NodeView]) -> list[str]:
    """How many nodes of a group are not what most of it is: ``["3 cancelled"]``; nothing where all are alike."""
    counts = _counts(nodes)
    most = max(counts, key=lambda pair: pair[1])
    return [f"{count:,} {STATES[state].word}" for state, count in counts if (state, count) != most]


def _slice_head(model: RunModel, lane: tuple[IslandId | None, SliceId]) -> tuple[str, str]:
    view = model.slices.get(lane[1])
    if view is None:
        return f"slice {lane[1]}", ""
    where = ranges_text(view.devices) if view.island == lane[0] else ""
    many = "devices" if len(view.devices) != 1 else "device"
    return f"slice {one_line(view.name, 20)}", f"{many} {where}" if where else ""


def _bands(model: RunModel, lanes: list[tuple[IslandId | None, SliceId]], placed: Placed) -> tuple[Lane, ...]:
    bands: list[Lane] = []
    for island in dict.fromkeys(lane[0] for lane in lanes):
        mine = [placed.lanes[i] for i, lane in enumerate(lanes) if lane[0] == island]
        left = mine[0][0] - GAP
        wide = mine[-1][0] + mine[-1][1] + GAP - left
        spec = model.islands.get(island) if island is not None else None
        name = one_line(spec.name, 24) if spec else "not placed yet" if island is None else f"island {island}"
        about = f"{len(spec.devices)} × {one_line(spec.chip, 10)}" if spec else ""
        bands.append(Lane(island, name, about, left, 0.0, wide, placed.height))
    return tuple(bands)


def _title(model: RunModel, chosen: set[ProgramId] | None) -> str:
    if chosen is not None and len(chosen) == 1:
        program = model.programs.get(next(iter(chosen)))
        if program is not None:
            return one_line(program.name, 60)
    shown = len(model.programs) if chosen is None else len(chosen)
    return count_text(shown, "program")


def _note(
    model: RunModel, chosen: set[ProgramId] | None, nodes: list[NodeView], groups: int, how: Grouping | None
) -> str:
    notes = [told for told in (doubts_of(model, chosen),) if told]
    if how is not None:
        common = "line" if how == "cell" and nodes and not any(map(_in_cell, nodes)) else how
        words = how if how == "slice" else f"{common} and slice"
        notes.append(f"{count_text(len(nodes), 'node')} shown as {count_text(groups, 'group')}, by {words}")
    return "; ".join(notes)
