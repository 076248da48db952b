"""A run as a table, a row a node, by columns: what pandas, Arrow and spreadsheets take.

Plain lists under plain names; :func:`pwlab.facts` makes a data frame or an Arrow table of them.
"""

from __future__ import annotations

from ..events import NodeState
from .model import NodeView, RunModel

#: Columns in order, each with what stands in it.
COLUMNS: dict[str, str] = {
    "program": "name of its program",
    "program_id": "number of its program",
    "client": "who submitted it",
    "node": "its number",
    "name": "as the user named it",
    "kind": "compute, transfer or host",
    "slice": "name of its virtual slice",
    "island": "name of its island",
    "devices": "numbers of its devices, in a list",
    "submitted": "seconds from the first fact of the run; missing where it was not reached, as below",
    "prepared": "compiled, buffers known",
    "queued": "in its island's order",
    "launched": "handed to the devices",
    "start": "began on its devices",
    "end": "ended there",
    "compile_seconds": "0 where it was cached",
    "state": "waiting, prepared, queued, launched, done, failed or cancelled",
    "error": "one line, or nothing",
    "parts": "computations merged into this launch",
    "bytes": "of what it writes; of a transfer, what it moves",
    "link": "of a transfer: ICI, DCN or PCIe",
    "cell": "where the user wrote it",
    "line": "and on which line",
}


def node_columns(model: RunModel, start: float = 0.0) -> dict[str, list[object]]:
    """A list a column, all of one length; ``start`` is taken from every time."""
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for node in model.nodes.values():
        for name, value in zip(COLUMNS, _row(node, model, start), strict=True):
            columns[name].append(value)
    return columns


def _row(node: NodeView, model: RunModel, start: float) -> tuple[object, ...]:
    spec = node.spec
    program = model.programs.get(node.program)
    where = model.slices.get(spec.slice)
    home = model.island_of(node)
    island = model.islands.get(home) if home is not None else None

    def after(time: float | None) -> float | None:
        return None if time is None else time - start

    return (
        program.name if program else None,
        int(node.program),
        program.client if program else None,
        int(spec.id),
        spec.name,
        spec.kind.value,
        where.name if where else None,
        island.name if island else None,
        [int(device) for device in node.devices],
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
        spec.source.cell if spec.source else None,
        spec.source.line if spec.source else None,
    )
