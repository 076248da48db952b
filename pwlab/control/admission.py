"""What a window of a program must fulfil before anything of it is taken in.

A window is checked whole, first, so that a refused one leaves no trace.  Every
refusal here is a bug of the caller: the runtime names slices that are mapped
and nodes in topological order, whatever the user wrote.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from ..errors import InternalError
from ..events import NodesSubmitted
from ..ids import BufferId, NodeId, SliceId
from .records import Placement, Program


def check_window(
    event: NodesSubmitted,
    program: Program | None,
    places: Mapping[SliceId, Placement],
    nodes: Container[NodeId],
    buffers: Container[BufferId],
    newest: NodeId,
) -> NodeId:
    """Checks a window against its program, the mapped slices, and the known nodes and buffers.

    Returns the highest id of a node seen so far, ``newest`` being that before.

    Raises:
      InternalError: the program is closed; a slice is unknown; a node or a buffer comes twice; a
        node stands before one that it reads from or must follow; or ``pinned`` or ``donates`` name
        buffers that are not its own.
    """
    if program is not None and program.closed:
        raise InternalError(f"program {program.id} {program.name!r} is closed, and {len(event.nodes)} more nodes came")
    later = {spec.id for spec in event.nodes}
    unwritten = {output.buffer for spec in event.nodes for output in spec.outputs}
    if len(later) < len(event.nodes):
        raise InternalError(f"program {event.program} {event.name!r} submits a node twice")
    for spec in event.nodes:
        name = f"node {spec.id} {spec.name!r}"
        if spec.id in nodes:
            raise InternalError(f"{name} was submitted twice")
        if spec.slice not in places:
            raise InternalError(f"{name} is placed on slice {spec.slice}, which is not mapped")
        for id in spec.inputs:
            if id in unwritten:
                raise InternalError(f"{name} reads buffer {id}, which is written only after it")
        newest = max(newest, spec.id)
        for id in spec.after:
            if id in later or id > newest:
                raise InternalError(f"{name} comes after node {id}, which was not submitted before it")
        for output in spec.outputs:
            if output.buffer in buffers or output.buffer not in unwritten:
                raise InternalError(f"{name} writes buffer {output.buffer}, which is known already")
            unwritten.discard(output.buffer)
        later.discard(spec.id)
        if spec.pinned and not {output.buffer for output in spec.outputs}.issuperset(spec.pinned):
            raise InternalError(f"{name} pins {spec.pinned}, which are not all outputs of it")
        if spec.donates and not set(spec.inputs).issuperset(spec.donates):
            raise InternalError(f"{name} takes {spec.donates} over, which are not all inputs of it")
    return newest
