"""Where things run: slices, placement, transfers, sharding, pmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import nodes
from jax.sharding import PartitionSpec as P

import pwlab as pw
from pwlab.errors import PlacementError, UnknownName
from pwlab.events import Link, NodeKind


def devices_of(x: Any) -> list[int]:
    return sorted(d.id for d in x.result().devices())


def where(session: pw.Session, name: str) -> list[str]:
    """The slices of the submitted nodes in whose names ``name`` stands."""
    names = session.slices.names
    return [names[n.slice] for n in nodes(session) if name in n.name]


@pytest.fixture
def two(session: pw.Session) -> tuple[pw.VirtualSlice, pw.VirtualSlice]:
    """Slices ``left`` of two devices on island 0 and ``right`` of two on island 1."""
    made = pw.make_virtual_device_set()
    return made.add_slice(2, island=0, name="left"), made.add_slice(2, island="island1", name="right")


# --- placement -----------------------------------------------------------------------------------------


def test_without_a_word_it_runs_on_the_first_island(session: pw.Session) -> None:
    with pw.lazy():
        x = jnp.arange(4.0) + 1
    assert x.slice is session.slices.default
    assert x.slice.name == "island0"
    assert devices_of(x) == [0]


PLACES: dict[str, Callable[[Any], Any]] = {
    "slice": lambda right: right,
    "tpus": lambda right: right.tpus,
    "name": lambda right: "right",
}


@pytest.mark.parametrize("how", PLACES)
@pytest.mark.parametrize("call", ["on", "lazy", "program", "jit"])
def test_a_slice_is_named_in_many_ways(session: pw.Session, two: Any, how: str, call: str) -> None:
    place = PLACES[how](two[1])
    f = jnp.sin
    if call == "on":
        with pw.lazy(), pw.on(place):
            x = f(jnp.arange(4.0))
    elif call == "lazy":
        with pw.lazy(slice=place):
            x = f(jnp.arange(4.0))
    elif call == "program":
        x = pw.program(slice=place)(lambda: f(jnp.arange(4.0)))()
    else:
        x = pw.jit(lambda a: f(a), devices=place)(jnp.arange(4.0))
    assert x.slice is two[1]
    assert devices_of(x) == [min(two[1].devices)]
    assert set(two[1].devices) <= {4, 5, 6, 7}


def test_a_physical_device_means_the_slice_of_its_island(session: pw.Session) -> None:
    with pw.lazy(), pw.on(jax.devices()[5]):
        x = jnp.arange(4.0) + 1
    assert x.slice.name == "island1"


def test_a_device_that_is_not_the_sessions_is_refused() -> None:
    pw.shutdown()
    pw.start(islands=1, devices_per_island=2)
    try:
        with pytest.raises(PlacementError, match=r"is no slice of this session; use pw.on\(slice\) with a slice from"):
            pw.on(jax.devices()[5])
        with pw.lazy():
            x = jnp.ones(2) + 1
        assert x.tolist() == [2, 2]
    finally:
        pw.shutdown()


def test_work_follows_most_of_its_bytes(session: pw.Session, two: Any) -> None:
    left, right = two
    with pw.lazy():
        with pw.on(left):
            small = jnp.ones(8)
        with pw.on(right):
            large = jnp.ones((8, 8))
            same = jnp.ones(8)
        first = jax.jit(lambda a, b: a @ b)(large, small)
        second = jax.jit(lambda a, b: a + b)(small, same)
        third = jax.jit(lambda a, b: a + b)(same, small)
    assert [v.result() is not None and v.slice.name for v in (first, second, third)] == ["right", "left", "right"]
    assert first.tolist() == [8] * 8


def test_tensors_of_earlier_cells_and_arrays_on_devices_count(session: pw.Session, two: Any) -> None:
    with pw.lazy(slice=two[1]):
        x = jnp.ones(8)
    committed = jax.device_put(jnp.ones(4), jax.devices()[6])
    with pw.lazy():
        y, z, free = x * 2, committed * 2, jnp.ones(2) * 2
    assert [v.result() is not None and v.slice.name for v in (y, z, free)] == ["right", "island1", "island0"]


def test_derivatives_run_where_their_primal_ran(session: pw.Session, two: Any) -> None:
    left, right = two

    @jax.jit
    def encode(w: Any, x: Any) -> Any:
        return jnp.tanh(x @ w)

    @jax.jit
    def decode(w: Any, x: Any) -> Any:
        return (x @ w).sum()

    def loss(params: Any, x: Any) -> Any:
        with pw.on(left):
            h = encode(params[0], x)
        with pw.on(right):
            return decode(params[1], h)

    params, x = (jnp.ones((4, 3)) / 4, jnp.ones((3, 2)) / 3), jnp.ones((5, 4))
    with pw.lazy():
        value, grads = jax.value_and_grad(loss)(params, x)
    assert [g.result() is not None and g.slice.name for g in grads] == ["left", "right"]
    expected = jax.value_and_grad(lambda p: decode(p[1], encode(p[0], x)))(params)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), pw.fetch((value, grads)), expected)
    assert set(where(session, "encode")) == {"left"}
    assert set(where(session, "decode")) == {"right"}
    names = session.slices.names
    moves = [
        (names[n.slice], n.link) for n in nodes(session) if n.kind is NodeKind.TRANSFER and n.link is not Link.PCIE
    ]
    assert ("right", Link.DCN) in moves
    assert ("left", Link.DCN) in moves


# --- transfers -----------------------------------------------------------------------------------------


def test_an_edge_between_slices_is_a_transfer_with_link_and_bytes(session: pw.Session) -> None:
    made = pw.make_virtual_device_set()
    a, b = made.add_slice(1, island=0, name="a"), made.add_slice(1, island=0, name="b")
    c = made.add_slice(1, island=1, name="c")
    with pw.lazy():
        with pw.on(a):
            x = jnp.ones((8, 8))
        with pw.on(b):
            y = x + 1
        with pw.on(c):
            z = y + x
    assert z.tolist() == [[3] * 8] * 8
    names = session.slices.names
    moves = {(names[n.slice], n.link, n.bytes_in) for n in nodes(session) if n.kind is NodeKind.TRANSFER}
    assert moves == {("b", Link.ICI, 256), ("c", Link.DCN, 256)}
    assert sum(n.kind is NodeKind.TRANSFER for n in nodes(session)) == 3
    assert len({tuple(devices_of(v)) for v in (x, y, z)}) == 3


def test_a_value_is_moved_once_for_all_who_read_it(session: pw.Session, two: Any) -> None:
    with pw.lazy():
        with pw.on(two[0]):
            x = jnp.ones(4)
        with pw.on(two[1]):
            ys = [jax.jit(lambda a, i=i: a + i)(x) for i in range(4)]
    pw.wait(ys)
    assert sum(n.kind is NodeKind.TRANSFER for n in nodes(session)) == 1


# --- sharding ------------------------------------------------------------------------------------------


def shards(x: Any) -> list[tuple[int, ...]]:
    return sorted(tuple(s.data.shape) for s in x.addressable_shards)


@pytest.mark.parametrize(
    ("spec", "shape", "parts"),
    [
        (P("d"), (8, 2), [(2, 2)] * 4),
        (P(None, "d"), (2, 8), [(2, 2)] * 4),
        (P(), (3,), [(3,)] * 4),
        ("d", (4,), [(1,)] * 4),
        (None, (5,), [(5,)] * 4),
    ],
    ids=str,
)
@pytest.mark.parametrize("inside", [True, False], ids=["scope", "plain"])
def test_shard(session: pw.Session, spec: Any, shape: Any, parts: Any, inside: bool) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    if inside:
        with pw.lazy():
            y = pw.shard(x, spec)
            z = jax.jit(lambda a: a * 2)(y)
    else:
        y = pw.shard(x, spec)
        z = pw.jit(lambda a: a * 2)(y)
    assert shards(y) == parts
    np.testing.assert_array_equal(np.asarray(z), x * 2)
    assert len(z.result().devices()) == 4
    assert y.slice is session.slices.default


def test_shard_of_a_tree_on_a_slice(session: pw.Session, two: Any) -> None:
    tree = pw.shard({"a": np.ones(4), "b": [jnp.ones((2, 2))]}, P("d"), slice="right")
    assert [v.slice.name for v in jax.tree.leaves(tree)] == ["right", "right"]
    assert shards(tree["a"]) == [(2,)] * 2


def test_shard_stays_where_its_argument_is(session: pw.Session, two: Any) -> None:
    with pw.lazy(slice=two[1]):
        x = jnp.ones(4)
    pw.wait(x)
    assert pw.shard(x, P("d")).slice is two[1]
    with pw.lazy(), pw.on(two[0]):
        assert pw.shard(x, P("d")).result() is not None


def test_shard_over_named_axes(session: pw.Session) -> None:
    whole = session.slices.default
    mesh = whole.mesh("x", "y")
    assert dict(mesh.shape) == {"x": 2, "y": 2}
    y = pw.shard(np.arange(16.0).reshape(4, 4), P("x", "y"))
    assert shards(y) == [(2, 2)] * 4
    z = pw.shard(np.arange(16.0).reshape(4, 4), P(("x", "y")))
    assert shards(z) == [(1, 4)] * 4


def test_sharding_differentiates_and_maps(session: pw.Session) -> None:
    with pw.lazy():
        g = jax.grad(lambda a: (pw.shard(a, P("d")) ** 2).sum())(jnp.arange(4.0))
        m = jax.vmap(lambda row: pw.shard(row, P("d")) * 2)(jnp.ones((3, 4)))
    assert g.tolist() == [0, 2, 4, 6]
    assert shards(m) == [(3, 1)] * 4


@pytest.mark.parametrize(
    ("shape", "spec", "text"),
    [
        ((6,), P("d"), r"axis 0 of float32\[6\] cannot be cut into 4 equal parts over slice 'island0'; "
                       r"pad it to a multiple of 4, or leave that axis whole"),
        ((4,), P(None, "d"), r"\(None, 'd'\) has 2 parts, the array float32\[4\] has 1 axes"),
        ((4,), P("model"), r"slice 'island0' has no mesh with axis 'model'; its axes are d. Name one first: "
                           r"island0.mesh\('model'\)"),
    ],
    ids=["divisible", "rank", "axis"],
)  # fmt: skip
def test_what_cannot_be_sharded(session: pw.Session, shape: Any, spec: Any, text: str) -> None:
    with pytest.raises(PlacementError, match=text):
        pw.shard(np.ones(shape, np.float32), spec)


# --- meshes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("place", ["left", "right", None])
def test_shard_map_over_the_mesh_of_a_slice(session: pw.Session, two: Any, place: str | None, jitted: bool) -> None:
    slice = session.slices.named(place) if place else session.slices.default
    f = jax.shard_map(
        lambda a: a + jax.lax.psum(a, "d"), mesh=slice.mesh("d"), in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
    f = jax.jit(f) if jitted else f
    x = jnp.arange(4.0)
    with pw.lazy(), pw.on(slice):
        y = f(x)
        z = jax.grad(lambda a: (f(a) * a).sum())(x)
    n = len(slice)
    parts = np.arange(4.0).reshape(n, -1)
    np.testing.assert_array_equal(np.asarray(y), (parts + parts.sum(0)).ravel())
    assert y.slice is slice
    assert len(y.result().devices()) == n
    assert z.shape == (4,)
    assert np.isfinite(np.asarray(z)).all()


def test_mesh_shapes(session: pw.Session) -> None:
    whole = session.slices.default
    assert dict(whole.mesh().shape) == {"d": 4}
    assert dict(whole.mesh("a", "b", "c").shape) == {"a": 2, "b": 2, "c": 1}
    assert dict(whole.mesh("a", "b", shape=(1, 4)).shape) == {"a": 1, "b": 4}
    for names, shape in ((("a",), (3,)), (("a", "b"), (4,)), (("a",), (2, 2))):
        with pytest.raises(PlacementError, match=r"does not fit slice 'island0', which has 4 devices"):
            whole.mesh(*names, shape=shape)


# --- slices --------------------------------------------------------------------------------------------


def test_slices_say_what_they_are(session: pw.Session, two: Any) -> None:
    assert repr(two[0]) == "VirtualSlice('left', 2 devices on island0)"
    assert repr(two[1].tpus) == "right.tpus (2)"
    assert (len(two[0]), len(two[0].tpus), list(two[0].tpus)) == (2, 2, ["left:0", "left:1"])
    assert [s.name for s in session.slices] == ["island0", "island1", "left", "right"]
    auto = pw.make_virtual_device_set().add_slice(1)
    assert auto.name == "a"
    assert auto == auto
    assert auto != pw.make_virtual_device_set().add_slice(1)


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "too large": (
        lambda: pw.make_virtual_device_set().add_slice(tpu_devices=5),
        PlacementError,
        "5 devices|no island",
    ),
    "empty": (
        lambda: pw.make_virtual_device_set().add_slice(0),
        PlacementError,
        "a slice has at least 1 device, not 0",
    ),
    "no island": (
        lambda: pw.make_virtual_device_set().add_slice(1, island="iland1"),
        UnknownName,
        r"no island is called 'iland1'; did you mean 'island1'\? There are: island0, island1 \(0 to 1\)",
    ),
    "no island of that number": (
        lambda: pw.make_virtual_device_set().add_slice(1, island=7),
        UnknownName,
        r"no island is called 7\. There are",
    ),
    "taken": (
        lambda: pw.make_virtual_device_set().add_slice(1, name="island0"),
        PlacementError,
        "a slice called 'island0' exists already; take another name",
    ),
    "unknown": (
        lambda: pw.on("iland0"),
        UnknownName,
        r"no slice is called 'iland0'; did you mean 'island0'\? There are",
    ),
    "unlike any": (
        lambda: pw.on("zzz"),
        UnknownName,
        r"no slice is called 'zzz'\. There are: island0, island1; make one",
    ),
    "no slice at all": (lambda: pw.on(3.5), PlacementError, r"3.5 is no slice of this session; use pw.on\(slice\)"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD)
def test_bad_slices(session: pw.Session, name: str) -> None:
    call, error, text = BAD[name]
    with pytest.raises(error, match=text):
        call()
    with pw.lazy():
        x = jnp.ones(2) + 1
    assert x.tolist() == [2, 2]


def test_a_slice_of_a_stopped_session_is_refused(session: pw.Session, two: Any) -> None:
    pw.shutdown()
    pw.start(islands=2, devices_per_island=4)
    with pytest.raises(PlacementError, match="slice 'left' belongs to a session that was stopped, or was removed"):
        pw.on(two[0])


def test_a_removed_slice_is_refused_and_its_tensors_stay(session: pw.Session, two: Any) -> None:
    with pw.lazy(slice=two[1]):
        x = jnp.ones(3) + 1
    session.remove_slice("right")
    assert x.tolist() == [2, 2, 2]
    assert "right" not in [s.name for s in session.slices]
    with pytest.raises(PlacementError, match="slice 'right' belongs to a session that was stopped, or was removed"):
        pw.on(two[1])
    with pw.lazy():
        y = x * 2
    assert y.tolist() == [4, 4, 4]
    with pytest.raises(PlacementError, match="is the session's default and stays"):
        session.remove_slice("island0")


def test_meshes_of_two_slices_do_not_mix(session: pw.Session, two: Any) -> None:
    """A computation with a mesh of one slice cannot take another's by accident: its size is wrong, and says so."""
    f = jax.shard_map(lambda a: a * 2, mesh=session.slices.default.mesh("d"), in_specs=P("d"), out_specs=P("d"))
    with pw.lazy(), pw.on(two[0]):
        y = f(jnp.ones(4))
    with pytest.raises(pw.errors.PwlabError, match=r"2|4|devices|mesh"):
        y.result()


def test_a_computation_over_devices_of_two_islands(session: pw.Session) -> None:
    """No slice spans islands, so no slice can run it; what is recorded beside it is not lost."""
    mesh = jax.make_mesh((4,), ("d",), devices=jax.devices()[2:6], axis_types=(jax.sharding.AxisType.Auto,))
    f = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "d"), mesh=mesh, in_specs=P("d"), out_specs=P()))
    with pw.lazy():
        z = jnp.ones(2) + 1
        with pytest.raises(PlacementError, match=r"has a mesh of devices 2, 3, 4, 5, which are of several islands"):
            f(jnp.ones(4))
    assert z.tolist() == [2, 2]


def test_a_mesh_of_physical_devices_means_the_slice_of_their_island(session: pw.Session) -> None:
    mesh = jax.make_mesh((2,), ("d",), devices=jax.devices()[5:7], axis_types=(jax.sharding.AxisType.Auto,))
    f = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "d"), mesh=mesh, in_specs=P("d"), out_specs=P()))
    with pw.lazy():
        y = f(jnp.ones(4))
    assert y.tolist() == [2, 2]
    assert y.slice.name == "island1"
    assert devices_of(y) == [5, 6]


# --- pmap ----------------------------------------------------------------------------------------------


def test_the_program_of_the_papers_fig_2(session: pw.Session, capsys: pytest.CaptureFixture[str]) -> None:
    def get_devices(n: int) -> Any:
        """Allocates `n` virtual TPU devices on an island."""
        device_set = pw.make_virtual_device_set()
        return device_set.add_slice(tpu_devices=n).tpus

    a = pw.pmap(lambda x: x * 2.0, devices=get_devices(2))
    b = pw.pmap(lambda x: x + 1.0, devices=get_devices(2))
    c = pw.pmap(lambda x: x / 2.0, devices=get_devices(2))

    @pw.program  # Program tracing (optional)
    def f(v: Any) -> Any:
        x = a(v)
        y = b(x)
        z = a(c(x))
        return (y, z)

    print(pw.fetch(f(np.array([1.0, 2.0]))))
    y, z = f(np.array([1.0, 2.0]))
    assert (y.tolist(), z.tolist()) == ([3, 5], [2, 4])
    assert capsys.readouterr().out.startswith("(array([3., 5.], dtype=float32), array([2., 4.], dtype=float32))")
    assert [len(v.result().devices()) for v in (y, z)] == [2, 2]
    assert len({v.slice.name for v in (y, z)}) == 2


def test_pmap_runs_one_element_a_device(session: pw.Session, two: Any) -> None:
    total = pw.pmap(lambda x, k: (x - jax.lax.psum(x, "i")) * k, "i", devices=two[0], in_axes=(0, None))
    y = total(np.array([1.0, 2.0]), 10.0)
    assert y.tolist() == [-20, -10]
    assert shards(y) == [(1,)] * 2
    tree = pw.pmap(lambda t: t["a"] + t["b"], devices=two[1])({"a": np.ones(2), "b": jnp.ones(2)})
    assert tree.tolist() == [2, 2]


def test_pmap_in_a_scope_and_its_gradient(session: pw.Session) -> None:
    square = pw.pmap(lambda x: x**2)
    with pw.lazy():
        g = jax.grad(lambda v: square(v).sum())(jnp.arange(4.0))
    assert g.tolist() == [0, 2, 4, 6]


def test_pmap_of_another_size(session: pw.Session, two: Any) -> None:
    f = pw.pmap(lambda x: x, devices=two[0])
    text = (
        r"<lambda> is mapped over 2 devices of slice 'left', its argument has 3 elements along axis 0 \(float32\[3\]\)"
    )
    with pytest.raises(PlacementError, match=text):
        f(np.ones(3, np.float32))


# --- programs and calls ---------------------------------------------------------------------------------


def test_a_program_is_one_run_and_returns_at_once(session: pw.Session) -> None:
    @pw.program(name="double")
    def f(x: Any, *, k: float = 2.0) -> Any:
        """Doubles."""
        y = x * k
        return {"y": y, "sum": y.sum(), "n": 3}

    before = len(session.frontend.programs)
    out = f(jnp.arange(3.0), k=3.0)
    assert isinstance(out["y"], pw.LazyTensor)
    assert out["n"] == 3
    assert f.__doc__ == "Doubles."
    assert len(session.frontend.programs) == before + 1
    assert next(reversed(session.frontend.programs.values())).name == "double"
    assert pw.fetch(out)["sum"] == 9
    with pw.lazy("outer"):
        f(jnp.arange(3.0))
    assert next(reversed(session.frontend.programs.values())).name == "outer"


def test_a_jit_outside_a_scope_is_a_program_of_one_node(session: pw.Session) -> None:
    f = pw.jit(lambda a, n: a * n, devices="island1", static_argnums=1)
    y = f(jnp.arange(3.0), 4)
    assert isinstance(y, pw.LazyTensor)
    assert y.tolist() == [0, 4, 8]
    computations = [n for n in nodes(session) if n.kind is NodeKind.COMPUTE]
    assert len(computations) == 1
    assert y.slice.name == "island1"
    assert f(y, 2).tolist() == [0, 8, 16]
    assert pw.jit(lambda a: a + 1, donate_argnums=0)(jnp.ones(2)).tolist() == [2, 2]


def test_a_jit_names_its_computation(session: pw.Session) -> None:
    def layer(x: Any) -> Any:
        return x + 1

    pw.jit(layer)(jnp.ones(2)).result()
    assert "layer" in nodes(session)[-1].name


# --- blocks and removal ------------------------------------------------------------------------------------


def test_a_slice_has_the_shape_of_its_block() -> None:
    pw.shutdown()
    session = pw.start(islands=[{"shape": (2, 4)}])
    try:
        devices = pw.make_virtual_device_set()
        square, row, plain = devices.add_slice(shape=(2, 2)), devices.add_slice(shape=(4,)), devices.add_slice(4)
        assert (square.shape, square.axis_names) == ((2, 2), ("x", "y"))
        assert (row.shape, row.axis_names) == ((4,), ("x",))
        assert (plain.shape, plain.axis_names) == ((4,), ("d",))
        # A mesh is over ``d`` unless axes are named, and so are specs and pmap.
        assert (square.mesh().axis_names, square.mesh().axis_sizes) == (("d",), (4,))
        assert square.mesh_for(P("d")) == (("d",), (4,)) and square.mesh_for(P("y", "x")) == (("x", "y"), (2, 2))
        y = pw.pmap(lambda x: x * 2, devices=square)(np.arange(4.0, dtype=np.float32))
        assert y.tolist() == [0, 2, 4, 6] and devices_of(y) == sorted(square.devices)
        assert [s.name for s in devices.slices] == [s.name for s in (square, row, plain)] and len(
            list(session.slices)
        ) == 4
    finally:
        pw.shutdown()


def test_a_slice_is_given_back(session: pw.Session) -> None:
    devices = pw.make_virtual_device_set()
    first, third = devices.add_slice(2, name="first"), devices.add_slice(2, name="third")
    devices.add_slice(2, name="second")
    known = session.driver.look(lambda controller: controller.sizes()["slices"])
    devices.remove_slice(first)
    pw.remove_slice("second")
    assert devices.slices == [third]
    assert session.driver.look(lambda controller: controller.sizes()["slices"]) == known - 2
    with pytest.raises(PlacementError, match="slice 'first' belongs to a session that was stopped, or was removed"):
        pw.remove_slice(first)
    with pytest.raises(UnknownName, match="no slice is called 'second'"):
        devices.remove_slice("second")
    with pytest.raises(PlacementError, match="slice 'island0' is the session's default and stays"):
        pw.remove_slice("island0")
