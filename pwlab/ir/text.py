"""A program as text: a line a node, with slice, types, bytes, and the cell and line that recorded it.

program fig2 · 5 nodes · after transfer
  %3 = a(%-1)            on a · f32[2] · Cell In[2], line 7
  %9 = transfer(%3)      a → b · 8 B
"""

from __future__ import annotations

from collections.abc import Mapping

from ..ids import SliceId
from ..units import bytes_text
from .graph import Node, OpKind, Program, SourceMap


def dump(
    program: Program,
    name: str,
    after: str,
    slices: Mapping[SliceId, str],
    sources: SourceMap = (),
) -> str:
    """The text form.  ``slices`` names the slices; ``sources`` maps a call to its place in the cell."""
    lines = [f"program {name} · {_count(len(program.nodes), 'node')} · after {after}"]
    lefts = [_left(node) for node in program.nodes]
    width = min(max(map(len, lefts), default=0), 48)
    placed = after not in ("prune",)
    for node, left in zip(program.nodes, lefts, strict=True):
        parts = [_where(node, slices)] if placed else []
        parts.append(" ".join(str(program.type(v)) for v in node.writes) or "no result")
        parts.append(bytes_text(sum(program.type(v).bytes for v in node.writes)))
        if len(node.parts) > 1:
            parts.append(f"{len(node.parts)} merged")
        if node.devices:
            parts.append(f"devices {','.join(map(str, node.devices))}")
        if 0 <= node.at < len(sources) and sources[node.at] is not None:
            parts.append(str(sources[node.at]))
        lines.append(f"  {left:<{width}}  {' · '.join(parts)}")
    return "\n".join(lines)


def _left(node: Node) -> str:
    results = ", ".join(f"%{v}" for v in node.writes)
    reads = ", ".join(f"%{v}" if v >= 0 else f"arg{~v}" for v in node.reads)
    call = f"{node.name}({reads})"
    return f"{results} = {call}" if results else call


def _where(node: Node, slices: Mapping[SliceId, str]) -> str:
    here = slices.get(node.slice, f"slice {node.slice}")
    if node.kind is OpKind.TRANSFER:
        origin = slices.get(node.origin, "?") if node.origin is not None else "host"
        return f"{origin} → {here}"
    if node.kind is OpKind.HOST:
        return f"host of {here}"
    return f"on {here}" + (" (all devices)" if node.spread else "")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")
