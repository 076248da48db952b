"""From the record to a program: pure functions, each with a result that can be printed.

``prune → place → group → transfer → coalesce → assign``

* *prune* drops what neither a live tensor nor an effect needs;
* *place* gives each operation a slice: the one that was asked for, else the one
  where most of its input bytes are, ties to the first argument, else the default;
* *group* joins neighbouring primitives of one slice, and with the same risks, into one computation;
* *transfer* puts a transfer node on every edge between two slices (Pathways §4.2);
* *coalesce* joins small neighbouring computations into one launch, so that a chain of small
  ones runs at the speed of a fused one and the scheduler still gets its turn (Pathways §5.1, -F);
* *assign* names the physical devices that a slice stands for.

Placement comes before grouping: a group must lie on one slice, and which slice an
operation lies on follows from its inputs alone.

Merging rests on levels.  A bin of merged nodes gets a level when it is opened, above
those of everything it reads; another node may join only if everything it reads lies in the
bin or on a lower level.  So every edge leads to a higher level, and no cycle can arise
however bins interleave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from ..errors import UnknownName, unknown
from ..ids import DeviceId, SliceId
from .graph import Graph, Node, OpKind, Program


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what is merged.

    Attributes:
      group_size: equations that one group of primitives may hold.
      coalesce_us: estimated device time that one launch may take; 0 keeps every computation apart.
      coalesce_size: equations that one launch of merged computations may hold.
    """

    group_size: int = 4000
    coalesce_us: float = 2000.0
    coalesce_size: int = 512


def prune(graph: Graph) -> Program:
    """One node a call, without those that nothing needs."""
    needed = {v for v in graph.live if v >= 0}
    kept: list[int] = []
    for index in range(len(graph.calls) - 1, -1, -1):
        call = graph.calls[index]
        if call.op.ordered or any(v in needed for v in call.outputs):
            kept.append(index)
            needed.update(v for v in call.inputs if v >= 0)
    nodes: list[Node] = []
    for index in reversed(kept):
        call = graph.calls[index]
        op = call.op
        params = tuple(dict.fromkeys(call.inputs))
        nodes.append(
            Node(
                name=op.name,
                kind=op.kind,
                slice=graph.default,
                spread=op.spread,
                calls=(index,),
                params=params,
                reads=params,
                writes=tuple(v for v in call.outputs if v in needed),
                level=0,
                cost_us=op.cost_us,
                size=op.size,
                ordered=op.ordered,
                donates=tuple(call.inputs[i] for i in op.donates),
                parts=(op.name,),
                at=call.at,
            )
        )
    return Program(graph, tuple(nodes))


def place(program: Program) -> Program:
    """Gives every node its slice, and whether it runs on all of it."""
    graph = program.graph
    #: Value → (slice or None, spread, bytes).
    where: dict[int, tuple[SliceId | None, bool, int]] = {
        ~i: (a.slice, a.spread, a.type.bytes) for i, a in enumerate(graph.arguments)
    }
    nodes: list[Node] = []
    for node in program.nodes:
        call = graph.calls[node.calls[0]]
        chosen = call.op.slice
        if chosen is None:
            weight: dict[SliceId, int] = {}
            for v in node.params:
                home, _, size = where[v]
                if home is not None:
                    weight[home] = weight.get(home, 0) + size
            chosen = max(weight, key=weight.__getitem__) if weight else graph.default
        spread = node.spread
        if node.kind not in (OpKind.TRANSFER, OpKind.HOST):
            spread = spread or any(where[v][1] and where[v][0] == chosen for v in node.params)
        origin = where[node.params[0]][0] if node.kind is OpKind.TRANSFER and node.params else None
        nodes.append(replace(node, slice=chosen, spread=spread, origin=origin))
        for v, result in zip(call.outputs, call.op.results, strict=True):
            where[v] = (chosen, spread, result.bytes)
    return replace(program, nodes=tuple(nodes))


def group(program: Program, limits: Limits) -> Program:
    """Joins primitives of one slice into computations."""

    def fits(bin: _Bin, node: Node) -> bool:
        return bin.size + node.size <= limits.group_size

    return _merge(program, lambda node: node.kind is OpKind.PRIMITIVE, fits)


def transfer(program: Program) -> Program:
    """Inserts a transfer for each value that a node on another slice reads."""
    graph = program.graph
    where: dict[int, tuple[SliceId | None, bool]] = {~i: (a.slice, a.spread) for i, a in enumerate(graph.arguments)}
    fresh = sum(len(call.op.results) for call in graph.calls)
    copies: dict[int, int] = {}
    copied: dict[tuple[int, SliceId], int] = {}
    nodes: list[Node] = []
    for node in program.nodes:
        reads: list[int] = []
        for v in node.reads:
            home, spread = where[v]
            if home is None or home == node.slice or node.kind is OpKind.TRANSFER:
                reads.append(v)
                continue
            copy = copied.get((v, node.slice))
            if copy is None:
                copy = copied[v, node.slice] = fresh
                copies[copy] = v
                fresh += 1
                nodes.append(
                    Node(
                        name="transfer",
                        kind=OpKind.TRANSFER,
                        slice=node.slice,
                        spread=spread and node.spread,
                        calls=(),
                        params=(v,),
                        reads=(v,),
                        writes=(copy,),
                        level=0,
                        parts=("transfer",),
                        at=node.at,
                        origin=home,
                    )
                )
            reads.append(copy)
        # What was copied for this node may not be donated: the original is still somebody's.
        donates = tuple(v for v in node.donates if v in reads)
        nodes.append(replace(node, reads=tuple(reads), donates=donates))
        for v in node.writes:
            where[v] = (node.slice, node.spread)
    return _leveled(Program(graph, tuple(nodes), copies))


def coalesce(program: Program, limits: Limits) -> Program:
    """Joins small computations of one slice into one launch.

    What another slice or a host waits for ends its launch, and what waits for one begins its own, so that a
    pipeline over slices stays one.
    """
    small = limits.coalesce_us / 8
    elsewhere = [node for node in program.nodes if node.kind in (OpKind.TRANSFER, OpKind.HOST)]
    awaited = {v for node in elsewhere for v in node.reads}
    brought = {v for node in elsewhere for v in node.writes}

    def joins(node: Node) -> bool:
        return node.kind in (OpKind.PRIMITIVE, OpKind.COMPUTATION) and not node.ordered and node.cost_us <= small

    def fits(bin: _Bin, node: Node) -> bool:
        return bin.cost_us + node.cost_us <= limits.coalesce_us and bin.size + node.size <= limits.coalesce_size

    return _merge(
        program,
        joins,
        fits,
        opens=lambda node: not brought.isdisjoint(node.reads),
        closes=lambda node: not awaited.isdisjoint(node.writes),
    )


def assign(program: Program, devices: Mapping[SliceId, tuple[DeviceId, ...]]) -> Program:
    """Names the devices of each node: all of its slice, or the slice's first."""
    nodes = (
        replace(
            node,
            devices=() if node.kind is OpKind.HOST else devices[node.slice] if node.spread else devices[node.slice][:1],
        )
        for node in program.nodes
    )
    return replace(program, nodes=tuple(nodes))


# --- merging ---------------------------------------------------------------------


class _Bin:
    """Nodes that become one."""

    __slots__ = ("cost_us", "level", "nodes", "size")

    def __init__(self, node: Node, level: int):
        self.nodes = [node]
        self.level = level
        self.cost_us = node.cost_us
        self.size = node.size

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.cost_us += node.cost_us
        self.size += node.size


def _merge(
    program: Program,
    joins: Callable[[Node], bool],
    fits: Callable[[_Bin, Node], bool],
    opens: Callable[[Node], bool] = lambda node: False,
    closes: Callable[[Node], bool] = lambda node: False,
) -> Program:
    """Puts nodes that join and fit into one; a node that opens is the first of its own, one that closes the last."""
    bins: list[_Bin] = []
    made: dict[int, _Bin] = {}
    open_bins: dict[tuple[SliceId, bool, frozenset[int]], _Bin] = {}
    last_ordered: _Bin | None = None
    donated = {v for node in program.nodes for v in node.donates}
    #: Who reads what is donated later; the donor comes after them all.
    readers: dict[int, list[_Bin]] = {}
    for node, risk in zip(program.nodes, _risks(program), strict=True):
        sources = [made[v] for v in node.reads if v in made]
        for v in node.donates:
            sources += readers.get(v, ())
        if node.ordered and last_ordered is not None:
            sources.append(last_ordered)
        key = (node.slice, node.spread, risk)
        bin = open_bins.get(key)
        if (
            bin is not None
            and joins(node)
            and fits(bin, node)
            and not opens(node)
            and all(s is bin or s.level < bin.level for s in sources)
        ):
            bin.add(node)
        else:
            bin = _Bin(node, 1 + max((s.level for s in sources), default=-1))
            bins.append(bin)
            if joins(node):
                open_bins[key] = bin
        if closes(node) and open_bins.get(key) is bin:
            del open_bins[key]
        if node.ordered:
            last_ordered = bin
        for v in donated.intersection(node.reads) if donated else ():
            readers.setdefault(v, []).append(bin)
        for v in node.writes:
            made[v] = bin
    bins.sort(key=lambda b: b.level)  # stable: equal levels stay in the order of the cell
    read_by_others = _read_outside(bins)
    live = program.graph.live
    nodes = tuple(_join(b, read_by_others, live) for b in bins)
    return replace(program, nodes=nodes)


def _risks(program: Program) -> list[frozenset[int]]:
    """What each node stands or falls with: host functions upstream, which may raise, and arguments that have failed.

    Only nodes with the same risks are merged, so a failure reaches what depends on it and nothing else, and a step
    of a training loop waits for its own batch alone.
    """
    none: frozenset[int] = frozenset()
    of_value = {~i: frozenset({~i}) for i, a in enumerate(program.graph.arguments) if a.failed}
    risks: list[frozenset[int]] = []
    for i, node in enumerate(program.nodes):
        found = none
        for v in node.reads:
            risk = of_value.get(v, none)
            if risk is not found and not risk <= found:
                found = found | risk
        risks.append(found)
        # Numbers of nodes and of arguments do not meet: those of arguments are negative.
        passed_on = found | {i} if node.kind is OpKind.HOST else found
        if passed_on:
            of_value.update(dict.fromkeys(node.writes, passed_on))
    return risks


def _read_outside(bins: Iterable[_Bin]) -> set[int]:
    """Values that a bin reads and does not write itself."""
    outside: set[int] = set()
    for b in bins:
        own = {v for node in b.nodes for v in node.writes}
        outside.update(v for node in b.nodes for v in node.reads if v not in own)
    return outside


def _join(bin: _Bin, read_by_others: set[int], live: frozenset[int]) -> Node:
    first = bin.nodes[0]
    if len(bin.nodes) == 1:
        return replace(first, level=bin.level)
    own = {v for node in bin.nodes for v in node.writes}
    outside: dict[int, int] = {}
    for node in bin.nodes:
        for param, read in zip(node.params, node.reads, strict=True):
            if read not in own:
                outside.setdefault(param, read)
    parts = tuple(p for node in bin.nodes for p in node.parts)
    return replace(
        first,
        name=_name(parts),
        kind=OpKind.COMPUTATION if any(n.kind is OpKind.COMPUTATION for n in bin.nodes) else OpKind.PRIMITIVE,
        calls=tuple(sorted(c for node in bin.nodes for c in node.calls)),
        params=tuple(outside),
        reads=tuple(outside.values()),
        writes=tuple(v for node in bin.nodes for v in node.writes if v in live or v in read_by_others),
        level=bin.level,
        cost_us=bin.cost_us,
        size=bin.size,
        ordered=any(n.ordered for n in bin.nodes),
        donates=tuple(v for node in bin.nodes for v in node.donates if v not in own),
        parts=parts,
    )


#: Operations that move data about; they name a group only where it has no others.
_PLUMBING = frozenset(
    {"asarray", "broadcast_in_dim", "convert_element_type", "copy", "dynamic_slice", "iota", "random_unwrap"}
    | {"random_wrap", "reshape", "slice", "squeeze", "stop_gradient", "transpose"}
)


def _name(parts: tuple[str, ...]) -> str:
    """A short name for merged operations: the distinct names in their order, plumbing left out."""
    telling = [p for p in parts if p not in _PLUMBING] or parts
    counts: dict[str, int] = {}
    for part in telling:
        counts[part] = counts.get(part, 0) + 1
    shown = [f"{n}×{c}" if c > 1 else n for n, c in list(counts.items())[:3]]
    return "+".join(shown) + ("+…" if len(counts) > 3 else "")


def _leveled(program: Program) -> Program:
    """The program with levels along its longest paths; order is kept."""
    level: dict[int, int] = {}
    nodes: list[Node] = []
    for node in program.nodes:
        at = 1 + max((level[v] for v in node.reads if v in level), default=-1)
        for v in node.writes:
            level[v] = at
        nodes.append(replace(node, level=at))
    return replace(program, nodes=tuple(nodes))


# --- the pipeline ------------------------------------------------------------------

#: The names that ``pw.dump(program, after=...)`` takes, in order.
PASSES = ("prune", "place", "group", "transfer", "coalesce", "assign")


def lower(
    graph: Graph,
    devices: Mapping[SliceId, tuple[DeviceId, ...]],
    limits: Limits | None = None,
    after: str = "assign",
) -> Program:
    """Runs the passes up to and with the one named ``after``.

    Raises:
      UnknownName: no pass has that name.
    """
    limits = limits or Limits()
    if after not in PASSES:
        raise UnknownName(unknown("pass", after, PASSES, "The passes are"))
    stages: dict[str, Callable[[Program], Program]] = {
        "place": place,
        "group": lambda p: group(p, limits),
        "transfer": transfer,
        "coalesce": lambda p: coalesce(p, limits),
        "assign": lambda p: assign(p, devices),
    }
    program = prune(graph)
    for name in PASSES[1 : PASSES.index(after) + 1]:
        program = stages[name](program)
    return program
