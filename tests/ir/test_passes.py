"""Each pass by itself, on graphs made by hand; then all of them on random ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.errors import UnknownName
from pwlab.ids import SliceId
from pwlab.ir import PASSES, Graph, Limits, Node, OpKind, Program, lower

from .graphs import DEVICES, A, B, Builder, C, tensor

#: Nothing is merged.
APART = Limits(group_size=1, coalesce_us=0)


def run(graph: Graph, after: str = "assign", limits: Limits | None = None) -> Program:
    program = lower(graph, DEVICES, limits, after)
    program.validate()
    return program


def names(program: Program) -> list[str]:
    return [node.name for node in program.nodes]


def slices(program: Program) -> list[SliceId]:
    return [node.slice for node in program.nodes]


# --- prune ---------------------------------------------------------------------------------------------


def test_what_nothing_needs_is_dropped() -> None:
    g = Builder()
    x = g.argument()
    y = g.call("needed", x)
    g.call("dead", y)
    g.call("also dead", g.call("feeds the dead", x))
    z = g.call("live", y)
    assert names(run(g.graph(z), "prune")) == ["needed", "live"]


def test_effects_are_kept_with_what_they_read() -> None:
    g = Builder()
    y = g.call("feeds", g.argument())
    g.call("print", y, kind=OpKind.HOST, ordered=True, results=())
    g.call("dead", y)
    assert names(run(g.graph(), "prune")) == ["feeds", "print"]


def test_of_several_results_the_needed_are_written() -> None:
    g = Builder()
    first = g.call("split", g.argument(), results=(tensor(1), tensor(2), tensor(3)))
    [node] = run(g.graph(first + 2), "prune").nodes
    assert node.writes == (first + 2,)


def test_an_empty_window() -> None:
    for after in PASSES:
        assert run(Builder().graph(), after).nodes == ()


# --- place -----------------------------------------------------------------------------------------------


def by_default(g: Builder) -> int:
    return g.call("f", g.argument())


def by_most_bytes(g: Builder) -> int:
    small, large = g.argument(A, type=tensor(10)), g.argument(B, type=tensor(11))
    return g.call("f", small, large)


def by_sum_of_bytes(g: Builder) -> int:
    parts = [g.argument(where, type=tensor(size)) for where, size in ((A, 10), (B, 6), (B, 6))]
    return g.call("f", *parts)


def ties_to_the_first(g: Builder) -> int:
    return g.call("f", g.argument(C), g.argument(B))


def asked_for(g: Builder) -> int:
    return g.call("f", g.argument(B), slice=C)


def follows_its_producer(g: Builder) -> int:
    return g.call("f", g.call("g", g.argument(), slice=B))


def after_a_transfer(g: Builder) -> int:
    return g.call("f", g.move(g.argument(A), C))


def arguments_without_a_home_do_not_count(g: Builder) -> int:
    return g.call("f", g.argument(None, type=tensor(1000)), g.argument(B, type=tensor(1)))


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (by_default, A),
        (by_most_bytes, B),
        (by_sum_of_bytes, B),
        (ties_to_the_first, C),
        (asked_for, C),
        (follows_its_producer, B),
        (after_a_transfer, C),
        (arguments_without_a_home_do_not_count, B),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_placement(make: Callable[[Builder], int], where: SliceId) -> None:
    g = Builder()
    y = make(g)
    assert run(g.graph(y), "place").nodes[-1].slice == where


def test_without_inputs_the_default_slice() -> None:
    g = Builder(default=C)
    assert slices(run(g.graph(g.call("iota")), "place")) == [C]


def test_a_sharded_input_spreads_what_runs_on_its_slice_alone() -> None:
    g = Builder()
    whole, cut = g.argument(A, type=tensor(9)), g.argument(A, spread=True)
    other = g.argument(B, spread=True, type=tensor(1))
    values = [g.call("f", whole), g.call("g", cut), g.call("h", whole, cut), g.call("k", whole, other)]
    values.append(g.call("next", values[1]))
    spread = {node.name: node.spread for node in run(g.graph(*values), "place").nodes}
    assert spread == {"f": False, "g": True, "h": True, "k": False, "next": True}


# --- group -----------------------------------------------------------------------------------------------


def test_primitives_of_one_slice_become_one_computation() -> None:
    g = Builder()
    x = g.argument(A)
    y = g.call("sin", x)
    z = g.call("add", y, x)
    w = g.call("add", z, y)
    [node] = run(g.graph(w), "group").nodes
    assert (node.name, node.parts) == ("sin+add×2", ("sin", "add", "add"))
    assert (node.params, node.writes) == ((x,), (w,))
    assert node.kind is OpKind.PRIMITIVE


def test_a_jit_of_the_users_stays_a_node_of_its_own() -> None:
    g = Builder()
    y = g.jit("layer", g.call("sin", g.argument(A)))
    z = g.call("cos", y)
    assert names(run(g.graph(z), "group")) == ["sin", "layer", "cos"]


def test_groups_are_bounded() -> None:
    g = Builder()
    x = g.argument(A)
    for _ in range(10):
        x = g.call("add", x)
    program = run(g.graph(x), "group", Limits(group_size=4))
    assert [node.size for node in program.nodes] == [4, 4, 2]


def test_interleaved_slices_make_no_cycle() -> None:
    """a → b → a: the second part of a may not join the first."""
    g = Builder()
    x = g.call("first", g.argument(A), slice=A)
    y = g.call("there", x, slice=B)
    z = g.call("back", y, slice=A)
    w = g.call("beside", g.argument(A), slice=A)
    program = run(g.graph(x, z, w), "group")
    parts = [(n.slice, n.parts) for n in program.nodes]
    assert parts == [(A, ("first",)), (B, ("there",)), (A, ("back", "beside"))]


# --- transfer --------------------------------------------------------------------------------------------


def test_an_edge_between_slices_gets_a_transfer_once() -> None:
    g = Builder()
    x = g.jit("make", g.argument(A), slice=A)
    y, z = g.jit("left", x, slice=B), g.jit("right", x, slice=B)
    w = g.jit("far", x, slice=C)
    program = run(g.graph(y, z, w), "transfer")
    assert sorted(names(program)) == ["far", "left", "make", "right", "transfer", "transfer"]
    moves = [n for n in program.nodes if n.kind is OpKind.TRANSFER]
    assert [(n.origin, n.slice, n.params) for n in moves] == [(A, B, (x,)), (A, C, (x,))]
    left = next(n for n in program.nodes if n.name == "left")
    assert left.params == (x,)
    assert left.reads == moves[0].writes
    assert program.type(moves[0].writes[0]) == tensor(2)


def test_what_has_no_home_needs_no_transfer() -> None:
    g = Builder()
    y = g.jit("f", g.argument(None), slice=B)
    assert names(run(g.graph(y))) == ["f"]


def test_an_explicit_transfer_is_not_doubled() -> None:
    g = Builder()
    y = g.call("f", g.move(g.argument(A), B))
    assert names(run(g.graph(y), "transfer")) == ["transfer", "f"]


def test_a_sharded_value_stays_sharded_where_its_reader_is() -> None:
    g = Builder()
    y = g.jit("f", g.argument(A, spread=True), slice=B, spread=True)
    z = g.jit("g", g.argument(A, spread=True), slice=B)
    moves = [n.spread for n in run(g.graph(y, z), "transfer").nodes if n.kind is OpKind.TRANSFER]
    assert moves == [True, False]


def test_a_copy_is_not_donated_in_the_place_of_its_original() -> None:
    g = Builder()
    x = g.argument(A)
    y = g.jit("eat", x, slice=B, donates=(0,))
    z = g.jit("here", x, slice=A, donates=(0,))
    program = run(g.graph(y, z), "assign", APART)
    donates = {n.name: n.donates for n in program.nodes}
    assert donates["eat"] == ()
    assert donates["here"] == (x,)


# --- donation --------------------------------------------------------------------------------------------


def test_a_donor_comes_after_all_who_read_before() -> None:
    g = Builder()
    x = g.argument(A)
    deep = g.argument(A)
    for i in range(4):
        deep = g.jit(f"deep{i}", deep)
    y = g.jit("reader", deep, x)
    z = g.jit("donor", x, donates=(0,))
    program = run(g.graph(y, z), "assign", APART)
    assert names(program)[-2:] == ["reader", "donor"]
    levels = {n.name: n.level for n in program.nodes}
    assert levels["donor"] > levels["reader"]


# --- coalesce -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("costs", "limit", "launches"),
    [
        ([10] * 20, 2000.0, [20]),
        ([10] * 20, 80.0, [8, 8, 4]),
        ([10] * 4, 0.0, [1, 1, 1, 1]),
        ([10, 300, 10], 2000.0, [1, 1, 1]),  # over an eighth of a quantum a computation is no small one
        ([10, 250, 10], 2000.0, [3]),
    ],
)
def test_small_computations_share_a_launch(costs: list[int], limit: float, launches: list[int]) -> None:
    g = Builder()
    x = g.argument(A)
    for i, cost in enumerate(costs):
        x = g.jit(f"f{i}", x, cost_us=float(cost))
    program = run(g.graph(x), "coalesce", Limits(coalesce_us=limit))
    assert [len(n.parts) for n in program.nodes] == launches
    assert sum((n.parts for n in program.nodes), ()) == tuple(f"f{i}" for i in range(len(costs)))


def test_a_launch_is_bounded_in_size() -> None:
    g = Builder()
    x = g.argument(A)
    for _ in range(10):
        x = g.jit("f", x, size=100)
    program = run(g.graph(x), "coalesce", Limits(coalesce_size=512))
    assert [n.size for n in program.nodes] == [500, 500]


def test_effects_and_hosts_are_launches_of_their_own_and_keep_their_order() -> None:
    g = Builder()
    x = g.argument(A)
    for i in range(3):
        x = g.jit(f"f{i}", x)
        g.call(f"print{i}", x, kind=OpKind.HOST, ordered=True, results=())
        g.jit(f"send{i}", x, ordered=True)
    program = run(g.graph(x), "coalesce")
    effects = [n.name for n in program.nodes if n.ordered]
    assert effects == ["print0", "send0", "print1", "send1", "print2", "send2"]
    assert all(len(n.parts) == 1 for n in program.nodes if n.ordered)


def test_names_of_merged_computations() -> None:
    g = Builder()
    x = g.argument(A)
    for name in ("a", "b", "b", "c", "d"):
        x = g.jit(name, x)
    assert names(run(g.graph(x))) == ["a+b×2+c+…"]


# --- assign -------------------------------------------------------------------------------------------------


def test_devices_are_all_of_the_slice_or_its_first() -> None:
    g = Builder()
    values = [
        g.jit("one", g.argument(B)),
        g.jit("all", g.argument(A, spread=True)),
        g.call("host", g.argument(A), kind=OpKind.HOST),
    ]
    devices = {n.name: n.devices for n in run(g.graph(*values), "assign", APART).nodes}
    assert devices == {"one": DEVICES[B][:1], "all": DEVICES[A], "host": ()}


def test_an_unknown_pass_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        lower(Builder().graph(), DEVICES, after="plce")
    assert str(caught.value) == (
        "no pass is called 'plce'; did you mean 'place'? "
        "The passes are: prune, place, group, transfer, coalesce, assign"
    )


# --- everything, on random graphs ---------------------------------------------------------------------------

STEP = st.tuples(
    st.sampled_from([*OpKind, OpKind.PRIMITIVE, OpKind.PRIMITIVE, OpKind.COMPUTATION]),
    st.lists(st.integers(0, 30), max_size=3),
    st.sampled_from([None, None, A, B, C]),
    st.booleans(),  # spread
    st.integers(0, 9).map(lambda n: n == 0),  # ordered
    st.sampled_from([1.0, 100.0, 5000.0]),
    st.integers(1, 3),  # results
    st.integers(0, 9).map(lambda n: n < 2),  # donates its first input
)
LIMITS = st.builds(
    Limits, st.sampled_from([1, 3, 4000]), st.sampled_from([0.0, 150.0, 2000.0]), st.sampled_from([2, 8, 512])
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    g = Builder(draw(st.sampled_from([A, B])))
    pool = [
        g.argument(slice, spread) for slice, spread in ((None, False), (A, False), (A, True), (B, False), (C, True))
    ]
    for kind, picks, where, spread, ordered, cost, results, donates in draw(st.lists(STEP, max_size=25)):
        inputs = [pool[i % len(pool)] for i in picks] if pool else []
        if kind is OpKind.TRANSFER:
            if not inputs:
                continue
            inputs, results, where, ordered = inputs[:1], 1, where or A, False
        gives = donates and inputs and kind is OpKind.COMPUTATION and inputs.count(inputs[0]) == 1
        first = g.call(
            f"{kind}{len(g.calls)}", *inputs, kind=kind, slice=where, cost_us=cost, ordered=ordered,
            spread=spread and kind is not OpKind.HOST, results=(tensor(2),) * results, donates=(0,) if gives else (),
        )  # fmt: skip
        if gives:
            pool.remove(inputs[0])
        pool += range(first, first + results)
    live = draw(st.sets(st.sampled_from(pool))) if pool else set()
    return g.graph(*(v for v in live if v >= 0))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(graph=graphs(), limits=LIMITS)
def test_every_pass_keeps_what_must_hold(graph: Graph, limits: Limits) -> None:
    needed = {n.calls[0] for n in run(graph, "prune").nodes}
    effects = [i for i, call in enumerate(graph.calls) if call.op.ordered]
    for after in PASSES:
        program = run(graph, after, limits)
        # Each needed call is in one node, in the order of the cell within it.
        calls = [c for n in program.nodes for c in n.calls]
        assert sorted(calls) == sorted(needed)
        assert all(list(n.calls) == sorted(n.calls) for n in program.nodes)
        # What is live is written, by the call that makes it.
        writers = {v: n for n in program.nodes for v in n.writes}
        assert all(v in writers for v in graph.live)
        # Effects keep their order.
        assert [c for c in calls if graph.calls[c].op.ordered] == effects
        # Nobody reads what was given away before.
        gone: set[int] = set()
        for n in program.nodes:
            assert not gone.intersection(n.reads), f"{n.name} reads what was donated"
            gone.update(n.donates)
            assert set(n.donates) <= set(n.reads)
        if after in ("transfer", "coalesce", "assign"):
            check_homes(program)
        if after in ("group", "coalesce"):
            assert all(merged_within(n, limits) for n in program.nodes if len(n.calls) > 1)
        if after == "coalesce":
            check_levels(program)


def check_homes(program: Program) -> None:
    """Everything that a computation reads lies on its slice, or has no home."""
    home = {~i: a.slice for i, a in enumerate(program.graph.arguments)}
    for node in program.nodes:
        if node.kind is not OpKind.TRANSFER:
            assert all(home[v] in (None, node.slice) for v in node.reads), node.name
        home.update(dict.fromkeys(node.writes, node.slice))


def check_levels(program: Program) -> None:
    for producer, consumer, _ in program.edges():
        assert program.nodes[producer].level < program.nodes[consumer].level


def merged_within(node: Node, limits: Limits) -> bool:
    return node.size <= max(limits.group_size, limits.coalesce_size)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(graph=graphs(), limits=LIMITS)
def test_passes_are_pure(graph: Graph, limits: Limits) -> None:
    program = run(graph, "assign", limits)
    assert run(replace(graph), "assign", limits) == program
    if any(c.op.ordered for c in graph.calls) or graph.live:
        assert program.nodes or not graph.live
