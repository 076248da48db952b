"""Partition specs as people write them: ``--shard d``, ``--shard d,None``, ``--shard "P('d', None)"``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import PartitionSpec

from .slices import VirtualSlice


def parse_spec(text: str) -> PartitionSpec:
    """A PartitionSpec from text; nothing is evaluated.

    One part an axis, with commas between: the name of a mesh axis, ``None``, or a tuple of names.  ``P(...)`` around
    them and quotes are fine and not needed.

    Raises:
      ValueError: the text is none; says what one looks like.
    """
    hint = f"{text!r} is no partition spec; write one like d, None,d or P('d', None)"
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(hint) from None
    parts: list[ast.expr] = [tree]
    if isinstance(tree, ast.Call):
        called = tree.func.attr if isinstance(tree.func, ast.Attribute) else getattr(tree.func, "id", "")
        if called not in ("P", "PartitionSpec") or tree.keywords:
            raise ValueError(hint)
        parts = tree.args
    elif isinstance(tree, ast.Tuple):
        parts = tree.elts

    def part(node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(part(one) for one in node.elts)
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
            return node.value
        raise ValueError(hint)

    return PartitionSpec(*map(part, parts))


def cutter(spec: PartitionSpec, where: VirtualSlice) -> Callable[[Any], dict[str, Any] | None]:
    """What ``--shard`` does with a concrete array: parameters of the transfer that cuts it up, or None.

    An array is cut where it has the axes that ``spec`` names and each divides evenly; any other stays whole.

    Raises:
      PlacementError: the slice has no such axis.
    """
    size = dict(zip(*where.mesh_for(spec), strict=True))
    cuts: list[int] = []
    for part in spec:
        cut = 1
        for name in part if isinstance(part, tuple) else (part,) if part is not None else ():
            cut *= size[name]
        cuts.append(cut)
    params = {"slice": int(where.id), "spec": spec}

    def cut_up(array: Any) -> dict[str, Any] | None:
        shape = array.shape
        fits = len(shape) >= len(cuts) and all(n and n % cut == 0 for n, cut in zip(shape, cuts, strict=False))
        return params if fits and not jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended) else None

    return cut_up
