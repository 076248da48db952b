"""A run as two tables, by columns: a row a node, which most people want, and a row a fact, which is all there is.

Plain lists under plain names, each column with what stands in it; :func:`pwlab.nodes` and :func:`pwlab.facts` make data
frames or Arrow tables of them.  A column has one type whatever the run, so that tables of two runs fit together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from ..events import Fact, IslandKnown, NodeAdded, NodeEnded, NodeState
from ..ids import IslandId, NodeId, ProgramId, SliceId, Source
from .codec import KIND, encode
from .model import NodeView, RunModel
from .run import Run


class Kind(Enum):
    """What stands in a column; any of it may be missing."""

    TEXT = "text"
    WHOLE = "whole number"
    WHOLES = "list of whole numbers"
    SECONDS = "seconds"


class Column(NamedTuple):
    """A column: its type, and what stands in it."""

    kind: Kind
    about: str


NODE_COLUMNS: Mapping[str, Column] = {
    "program": Column(Kind.TEXT, "name of its program"),
    "program_id": Column(Kind.WHOLE, "number of its program"),
    "client": Column(Kind.TEXT, "who submitted it"),
    "node": Column(Kind.WHOLE, "its number"),
    "name": Column(Kind.TEXT, "as the user named it"),
    "kind": Column(Kind.TEXT, "compute, transfer or host"),
    "slice": Column(Kind.TEXT, "name of its virtual slice"),
    "island": Column(Kind.TEXT, "name of its island"),
    "devices": Column(Kind.WHOLES, "numbers of its devices"),
    "submitted": Column(Kind.SECONDS, "from the first fact of the run; missing where it was not reached, as below"),
    "prepared": Column(Kind.SECONDS, "compiled, buffers known"),
    "queued": Column(Kind.SECONDS, "in its island's order"),
    "launched": Column(Kind.SECONDS, "handed to the devices"),
    "start": Column(Kind.SECONDS, "began on its devices"),
    "end": Column(Kind.SECONDS, "ended there"),
    "compile_seconds": Column(Kind.SECONDS, "0 where it was cached"),
    "state": Column(Kind.TEXT, "waiting, prepared, queued, launched, done, failed or cancelled"),
    "error": Column(Kind.TEXT, "one line"),
    "parts": Column(Kind.WHOLE, "computations merged into this launch"),
    "bytes": Column(Kind.WHOLE, "of what it writes; of a transfer, what it moves"),
    "link": Column(Kind.TEXT, "of a transfer: ICI, DCN or PCIe"),
    "cell": Column(Kind.TEXT, "where the user wrote it"),
    "line": Column(Kind.WHOLE, "and on which line"),
}

FACT_COLUMNS: Mapping[str, Column] = {
    "fact": Column(Kind.TEXT, "its kind, such as NodeEnded; see pwlab/events.py"),
    "time": Column(Kind.SECONDS, "from the first fact of the run; of what lasts, when it began"),
    "seconds": Column(Kind.SECONDS, "how long it lasted: a wait, the controller's work, a compilation"),
    "start": Column(Kind.SECONDS, "of a node that ended: when it began on its devices, as time"),
    "end": Column(Kind.SECONDS, "and ended there"),
    "program": Column(Kind.TEXT, "name of the program, also of that of a node"),
    "program_id": Column(Kind.WHOLE, "its number"),
    "client": Column(Kind.TEXT, "and its client; or the client that the fact is about"),
    "node": Column(Kind.WHOLE, "number of the node"),
    "name": Column(Kind.TEXT, "and its name"),
    "state": Column(Kind.TEXT, "which the node or the program entered"),
    "slice": Column(Kind.TEXT, "name of the slice"),
    "island": Column(Kind.TEXT, "name of the island"),
    "devices": Column(Kind.WHOLES, "numbers of the devices"),
    "buffers": Column(Kind.WHOLES, "numbers of the buffers"),
    "bytes": Column(Kind.WHOLE, "how many the fact is about"),
    "text": Column(Kind.TEXT, "an error, a reason, a note"),
    "cell": Column(Kind.TEXT, "where the user wrote it"),
    "line": Column(Kind.WHOLE, "and on which line"),
    "more": Column(Kind.TEXT, "what else the fact says, as JSON, as in a run file"),
}

#: Fields of facts that have a column.
_TOLD = frozenset({
    KIND, "time", "seconds", "start", "end", "program", "client", "state", "slice", "island", "devices", "buffers",
    "buffer", "bytes", "text", "reason", "error", "source",
})  # fmt: skip


def node_columns(run: Run) -> dict[str, list[Any]]:
    """A row a node, in the order in which they were added: a list a column, all of one length."""
    return _columns(NODE_COLUMNS, (_node(node, run.model, run.start) for node in run.model.nodes.values()))


def fact_columns(run: Run) -> dict[str, list[Any]]:
    """A row a fact, in their order: a list a column, all of one length."""
    return _columns(FACT_COLUMNS, (_fact(fact, run.model, run.start) for fact in run.facts))


def _columns(names: Mapping[str, Column], rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in names}
    add = [column.append for column in columns.values()]
    for row in rows:
        for put, value in zip(add, row, strict=True):
            # A name may hold half a character, which no table can.
            put(value.encode("utf-8", "replace").decode() if isinstance(value, str) else value)
    return columns


def _node(node: NodeView, model: RunModel, start: float) -> tuple[Any, ...]:
    spec = node.spec

    def after(time: float | None) -> float | None:
        return None if time is None else time - start

    return (
        *_program(node.program, model),
        int(spec.id),
        spec.name,
        spec.kind.value,
        _slice(spec.slice, model),
        _island(model.island_of(node), model),
        [*map(int, node.devices)],
        node.added - start,
        after(node.times.get(NodeState.PREPARED)),
        after(node.times.get(NodeState.QUEUED)),
        after(node.times.get(NodeState.LAUNCHED)),
        after(node.start),
        after(node.end),
        node.compile_seconds,
        node.state.value,
        node.error or None,
        spec.parts,
        spec.bytes_in if spec.link is not None else sum(output.bytes for output in spec.outputs),
        spec.link.value if spec.link else None,
        *_source(spec.source),
    )


def _fact(fact: Fact, model: RunModel, start: float) -> tuple[Any, ...]:
    said: Any = fact
    spec = fact.node if isinstance(fact, NodeAdded) else None
    number: NodeId | None = spec.id if spec else getattr(said, "node", None)
    view = model.nodes.get(number) if number is not None else None
    spec = spec or (view.spec if view else None)
    program, program_id, client = _program(getattr(said, "program", view.program if view else None), model)
    ran = isinstance(fact, NodeEnded) and fact.end > fact.start
    state: NodeState | None = getattr(said, "state", None)
    slice_id: SliceId | None = getattr(said, "slice", spec.slice if spec else None)
    island = fact.island.id if isinstance(fact, IslandKnown) else getattr(said, "island", None)
    # An island and a node are objects, of which a column has the name alone.
    plain: dict[str, object] = {key: value for key, value in encode(fact).items() if _is_more(key, value)}
    buffers = getattr(said, "buffers", ()) or filter(None, [getattr(said, "buffer", None)])
    return (
        type(fact).__name__,
        fact.time - start,
        getattr(said, "seconds", None),
        said.start - start if ran else None,
        said.end - start if ran else None,
        program,
        program_id,
        getattr(said, "client", client),
        None if number is None else int(number),
        spec.name if spec else getattr(said, "name", None),
        state.value if state else None,
        _slice(slice_id, model),
        _island(island, model),
        [*map(int, getattr(said, "devices", ()))],
        [*map(int, buffers)],
        getattr(said, "bytes", None),
        getattr(said, "error", "") or getattr(said, "reason", "") or getattr(said, "text", "") or None,
        *_source(getattr(said, "source", spec.source if spec else None)),
        json.dumps(plain, separators=(",", ":")) if plain else None,
    )


def _is_more(key: str, value: object) -> bool:
    return key not in _TOLD or (key in ("island", "node") and isinstance(value, dict))


def _program(id: ProgramId | None, model: RunModel) -> tuple[str | None, int | None, str | None]:
    """Its name, its number, its client."""
    program = model.programs.get(id) if id is not None else None
    return program.name if program else None, None if id is None else int(id), program.client if program else None


def _slice(id: SliceId | None, model: RunModel) -> str | None:
    where = model.slices.get(id) if id is not None else None
    return where.name if where else None


def _island(id: IslandId | None, model: RunModel) -> str | None:
    island = model.islands.get(id) if id is not None else None
    return island.name if island else None


def _source(source: Source | None) -> tuple[str | None, int | None]:
    return (source.cell, source.line) if source else (None, None)
