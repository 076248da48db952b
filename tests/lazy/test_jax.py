"""All of JAX, in a scope and in a plain cell, with the values that JAX gives without pwlab."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import equal, settle
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import pwlab as pw

Case = Callable[[jax.Array], Any]


def sample() -> jax.Array:
    return jnp.arange(12.0).reshape(3, 4) / 8 - 0.4375  # exact in float32


def mesh(n: int = 4, first: int = 0) -> jax.sharding.Mesh:
    return jax.make_mesh((n,), ("d",), devices=jax.devices()[first : first + n], axis_types=(AxisType.Auto,))


def split_and_unpack(x: jax.Array) -> Any:
    k1, k2 = jax.random.split(jax.random.key(3))
    (a, b, c), k3 = x, jax.random.fold_in(k1, 5)
    return a + b * c, jax.random.normal(k1, (3,)), jax.random.permutation(k2, 7), jax.random.bernoulli(k3)


def custom_jvp(x: jax.Array) -> Any:
    @jax.custom_jvp
    def f(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * 3))
    return f(x), jax.grad(lambda x: f(x).sum())(x), jax.jvp(f, (x,), (x,))


def custom_vjp(x: jax.Array) -> Any:
    @jax.custom_vjp
    def f(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda residual, ct: (ct * 2 + residual,))
    return f(x), jax.grad(lambda x: f(x).sum())(x), jax.vmap(jax.grad(lambda r: f(r).sum()))(x)


def vjp(x: jax.Array) -> Any:
    y, back = jax.vjp(lambda a: jnp.tanh(a @ a.T), x)
    return y, back(jnp.ones_like(y)), back(y)


def linearize(x: jax.Array) -> Any:
    y, tangent = jax.linearize(jnp.cos, x)
    return y, tangent(x), tangent(x * 2)


def branches(x: jax.Array) -> Any:
    y = x * 2
    at = (x.sum() > 100).astype(int)
    return (
        lax.cond(x.sum() > 0, lambda: y, lambda: x),
        lax.cond(x[0, 0] > 0, lambda a: a + y, lambda a: a - y, x),
        lax.switch(at, [lambda: y + 1, lambda: x, lambda: y - 1]),
    )


def loops(x: jax.Array) -> Any:
    y = x * 0.5
    return (
        lax.scan(lambda c, row: (c + y[0] * row, c.sum()), x[0], x),
        lax.scan(lambda c, _: (c + y, None), x, None, length=3)[0],
        lax.while_loop(lambda c: (c + y).sum() < 100, lambda c: c * 2 + y * y, jnp.abs(x)),
        lax.fori_loop(0, 5, lambda i, c: c + i * y, x),
        lax.fori_loop(0, (x.sum() * 0 + 3).astype(int), lambda i, c: c + i * y, x),
        lax.map(lambda row: row @ y.T, x),
        lax.associative_scan(jnp.add, x),
    )


def scan_grad(x: jax.Array) -> Any:
    w = x[:, :3] * 1.5
    return jax.grad(lambda w: lax.scan(lambda c, _: (jnp.tanh(w @ c), c.sum()), x, None, length=4)[1].sum())(w)


def checkpointed(x: jax.Array) -> Any:
    f = jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)), policy=jax.checkpoint_policies.nothing_saveable)
    return jax.grad(lambda a: f(a).sum())(x), jax.jit(jax.grad(lambda a: f(a).sum()))(x)


def closures(x: jax.Array) -> Any:
    y = x * 3
    inner = jax.jit(lambda a: a + y)
    outer = jax.jit(lambda a: inner(a) * y.sum())
    return (
        inner(x),
        outer(x),
        jax.jit(jax.vmap(lambda row: row @ y[0]))(x),
        jax.grad(lambda a: outer(a).sum())(x),
    )


def static(x: jax.Array) -> Any:
    f = jax.jit(lambda a, n, *, mode: a * n if mode == "up" else a / n, static_argnums=1, static_argnames="mode")
    return f(x, 2, mode="up"), f(x, 3, mode="up"), f(x, 2, mode="down")


def pytrees(x: jax.Array) -> Any:
    f = jax.jit(lambda tree: {"b": tree["a"][0] + 1, "c": (tree["a"][1], None)})
    return f({"a": [x, x[0]]}), f({"a": [x[0], 3]})


def donated(x: jax.Array) -> Any:
    y = x + 0
    return jax.jit(lambda a, b: (a + b, b * 2), donate_argnums=0)(y, x)


def writing(x: jax.Array) -> Any:
    i = (x.sum() * 0 + 1).astype(int)
    return (
        x.at[0].set(1.0),
        x.at[i].add(x[2]),
        x.at[:, 1].multiply(3),
        x.at[jnp.array([0, 2]), jnp.array([1, 1])].max(0.5),
        x.at[x > 0.3].set(0),
        x.at[1, 2].get(),
        x.at[7, 7].get(mode="fill", fill_value=-1),
    )


def reading(x: jax.Array) -> Any:
    i = (x.sum() * 0 + 1).astype(int)
    return (
        [x[1], x[1, 2], x[-1], x[1:2], x[:, ::2], x[::-1], x[..., None], x[None, 1:, :3]],
        [x[i], x[i, i + 1], x[jnp.array([2, 0])], x[:, jnp.array([[0, 1], [3, 2]])], x[np.array([1])]],
        [lax.dynamic_slice(x, (i, i), (2, 2)), lax.dynamic_index_in_dim(x, i), jnp.take(x, i, axis=1)],
        lax.dynamic_update_slice(x, x[:1, :2], (i, 0)),
    )


def masks(x: jax.Array) -> Any:
    keep = x > 0.1
    return (
        x[keep],
        x[~keep].sum(),
        x[1][keep[1]],
        jnp.nonzero(keep),
        jnp.where(keep),
        jnp.where(keep, x, 0),
        jnp.argwhere(keep),
        jnp.unique(x.astype(int)),
        jnp.nonzero(keep, size=4),
        jnp.repeat(x[0], jnp.array([1, 2, 0, 1]), total_repeat_length=4),
        jnp.flatnonzero(keep),
        jnp.extract(keep, x),
        jnp.compress(keep[0], x, axis=1),
    )


def data_dependent(x: jax.Array) -> Any:
    n = (x.sum() * 0).astype(int) + 2
    y = x if x.sum() > 0 else -x
    while y.sum() < 20:
        y = y * 2
    return (
        x[:n],
        x[n:],
        jnp.arange(n),
        y,
        float(x[0, 1]),
        x[0].tolist(),
        x[2, 1].item(),
        [x * k for k in range(n)],
    )


def callbacks(x: jax.Array) -> Any:
    shape = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    double = lambda a: np.asarray(a) * 2  # noqa: E731
    return (
        jax.pure_callback(double, shape, x),
        jax.jit(lambda a: jax.pure_callback(double, shape, a) + 1)(x),
        jax.vmap(lambda r: jax.pure_callback(double, shape.update(shape=(4,)), r, vmap_method="expand_dims"))(x),
        lax.cond(x[0, 0] < 9, lambda: jax.pure_callback(double, shape, x + 1), lambda: x),
    )


def io_callbacks(x: jax.Array) -> Any:
    seen: list[float] = []

    def add(a: Any) -> np.ndarray:
        seen.append(float(np.asarray(a).sum().round(3)))
        return np.float32(len(seen))

    shape = jax.ShapeDtypeStruct((), jnp.float32)
    call = partial(jax.experimental.io_callback, add, shape, ordered=True)
    first = call(x)
    call(x * 2)  # nobody needs its result, yet it runs
    rest = jax.jit(lambda a: call(a * 3) + call(a * 4))(x)
    last = call(x * 5)
    return [float(v) for v in (first, rest, last)], list(seen)


def refs(x: jax.Array) -> Any:
    ref = jax.new_ref(x)
    before = ref[0] * 1
    ref[0] = ref[1] + 1
    jax.jit(lambda r: r.__setitem__(2, r[0] * 2))(ref)
    ref[1, 1:3] = x[0, :2]
    ref[...] += 1
    middle = ref[...]
    jax.jit(lambda r, a: r.__setitem__(..., r[...] + a))(ref, x)
    lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(i, ref[i] * 2), None)
    return before, middle, ref[...], ref[2], jax.ref.freeze(ref)


def compiled(x: jax.Array) -> Any:
    f = jax.jit(lambda a, *, k: {"out": a @ a.T, "k": k + 1})
    run = f.lower(jax.ShapeDtypeStruct((3, 4), jnp.float32), k=jax.ShapeDtypeStruct((), jnp.float32)).compile()
    return run(x, k=x[0, 0]), run(x * 2, k=x.sum())["out"] + 1


def mapped_over_devices(x: jax.Array) -> Any:
    on = mesh()
    body = lambda a: a * 2 + lax.psum(a, "d")  # noqa: E731
    f = jax.shard_map(body, mesh=on, in_specs=P(None, "d"), out_specs=P(None, "d"))
    reduce = jax.shard_map(lambda a: lax.psum(a, "d"), mesh=on, in_specs=P(None, "d"), out_specs=P(None, None))
    return (
        f(x),
        jax.jit(f)(x),
        reduce(x),
        jax.jit(lambda a: reduce(a) * 2)(x),
        jax.grad(lambda a: f(a).sum())(x),
    )


def mesh_in_force(x: jax.Array) -> Any:
    with jax.set_mesh(mesh()):
        y = jax.jit(lambda a: lax.with_sharding_constraint(a * 2, P(None, "d")))(x)
        z = jax.jit(jax.shard_map(lambda a: lax.psum(a, "d"), in_specs=P(None, "d"), out_specs=P()))(x)
        return y, z, jax.sharding.get_mesh().axis_names


def placed(x: jax.Array) -> Any:
    devices = jax.devices()
    cut = NamedSharding(mesh(4, 4), P(None, "d"))
    return (
        jax.device_put(x, devices[5]) * 2,
        jax.device_put(x, cut) + 1,
        jax.jit(lambda a: lax.with_sharding_constraint(a * 3, cut))(jax.device_put(x, cut)),
    )


def x64(x: jax.Array) -> Any:
    with jax.enable_x64(True):
        y = x.astype(jnp.float64) * 1.1
        return y, jnp.arange(3), jnp.sin(y) + 1, jax.jit(lambda a: a * 2)(y)


def keys(x: jax.Array) -> Any:
    many = jax.random.split(jax.random.key(0), (2, 3))
    return (
        many,
        many[0],
        many.reshape(6)[1:3],
        jax.random.key_data(many),
        jax.random.wrap_key_data(jax.random.key_data(many[0, 0])),
        jax.vmap(jax.random.normal)(many[0]),
        jax.random.clone(many[1]),
        [jax.random.uniform(k) for k in many[0]],
        lax.scan(lambda k, _: (jax.random.split(k)[0], jax.random.normal(k)), many[0, 0], None, length=3),
    )


def old_keys(x: jax.Array) -> Any:
    key = jax.random.PRNGKey(2)
    a, b = jax.random.split(key)
    return key, a, jax.random.normal(b, (2,))


def weak_types(x: jax.Array) -> Any:
    half = x.astype(jnp.bfloat16)
    n = jnp.asarray(3)
    return (
        half * 2,
        half * 2.5,
        2 * n,
        n * 2.0,
        x * True,
        x**2,
        x**2.5,
        1 / x,
        x + 1j,
        -x,
        abs(x),
        x % 3,
        x // 2,
    )


def numpy_mixed(x: jax.Array) -> Any:
    a = np.ones((3, 4), np.float32)
    return (
        x + a,
        a + x,
        a @ x.T,
        np.float32(2) * x,
        x * np.float64(2),
        x + np.int8(1),
        jnp.dot(x, a[0]),
        x == a,
    )


def control_of_rounding(x: jax.Array) -> Any:
    return x.round(1), jnp.clip(x, -1, 1), x.astype(int), x.view(jnp.int32), lax.reduce_precision(x, 8, 7)


def methods(x: jax.Array) -> Any:
    return (
        [x.T, x.mT, x.real, x.imag, x.flatten(), x.ravel(), x.reshape(2, -1), x.transpose(1, 0), x.squeeze()],
        [
            x.sum(0),
            x.mean(),
            x.std(axis=1),
            x.var(),
            x.min(),
            x.max(),
            x.prod(),
            x.cumsum(1),
            x.argmax(),
            x.argmin(0),
        ],
        [
            x.any(),
            x.all(),
            x.copy(),
            x.dot(x.T),
            x.sort(),
            x.argsort(1),
            x.take(1),
            x.trace(),
            x.swapaxes(0, 1),
        ],
        [
            x.conj(),
            x.clip(0, 1),
            x.diagonal(),
            x.nonzero(),
            x.repeat(2),
            x.searchsorted(0.1) if x.ndim == 1 else None,
        ],
        [len(x), x.shape, x.ndim, x.size, x.dtype, x.nbytes, x.itemsize],
    )


def python_protocols(x: jax.Array) -> Any:
    total, n = x.sum(), (x.sum() * 0).astype(int) + 3
    return [
        bool(total > 0),
        int(n),
        float(total),
        complex(total),
        [10, 20, 30, 40][n],
        round(float(total), 2),
        f"{n:03d}",
        str(n),
        divmod(n, 2),
        list(range(n)),
        n in (3, 4),
        [float(v) for v in x[0]],
        {"a": float(total)},
        int(x.shape[0]),
        list(reversed(x[0, :2])),
        0.5 in x[0],
        np.asarray(x).sum(),
        np.sum(x),
        np.float32(total),
        hex(n),
        min(x[0]),
        sum(x),
    ]


CASES: dict[str, Case] = {
    "arithmetic": lambda x: (x + x) * 2 - x / 3,
    "unary": lambda x: [
        jnp.exp(x),
        jnp.log1p(jnp.abs(x)),
        jnp.sqrt(jnp.abs(x)),
        lax.erf(x),
        jnp.sign(x),
        lax.rsqrt(x + 2),
    ],
    "reductions": lambda x: [
        x.sum(),
        jnp.logaddexp.reduce(x),
        jnp.median(x),
        jnp.cumprod(x, 1),
        jnp.percentile(x, 30.0),
    ],
    "nn": lambda x: [
        jax.nn.relu(x),
        jax.nn.gelu(x),
        jax.nn.softmax(x),
        jax.nn.log_softmax(x, 0),
        jax.nn.logsumexp(x),
        jax.nn.one_hot(jnp.array([0, 2]), 3),
        jax.nn.standardize(x),
        jax.nn.silu(x),
    ],
    "linalg": lambda x: [
        jnp.linalg.inv(jnp.eye(3) + x @ x.T),
        jnp.linalg.norm(x),
        jnp.linalg.det(x @ x.T + jnp.eye(3)),
        jnp.linalg.solve(jnp.eye(3) * 2 + x @ x.T, x),
        jnp.linalg.cholesky(jnp.eye(3) + x @ x.T),
        jnp.linalg.svd(x, compute_uv=False),
        jnp.linalg.eigvalsh(x @ x.T),
    ],
    "einsum": lambda x: [
        jnp.einsum("ij,kj->ik", x, x * 2),
        jnp.einsum("ij->", x),
        jnp.tensordot(x, x),
        jnp.outer(x[0], x[1]),
    ],
    "fft": lambda x: [jnp.fft.fft(x), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.fft.fft2(x)],
    "sort": lambda x: [
        jnp.sort(-x),
        jnp.argsort(-x),
        lax.top_k(x, 2),
        lax.sort([x[0], -x[1]], num_keys=1),
        jnp.lexsort(x),
    ],
    "conv": lambda x: lax.conv_general_dilated(x[None, None], jnp.ones((2, 1, 2, 2)), (1, 1), "SAME"),
    "joining": lambda x: [
        jnp.concatenate([x, x]),
        jnp.stack([x, x], -1),
        jnp.split(x, 2, 1),
        jnp.pad(x, 1),
        jnp.roll(x, 1),
        jnp.tile(x, 2),
        jnp.array([x[0, 0], 1.0, 2]),
        jnp.meshgrid(x[0], x[1]),
        jnp.array([x, x]),
    ],
    "making": lambda x: [
        jnp.zeros(3),
        jnp.arange(5) * 2,
        jnp.eye(2),
        jnp.linspace(0, 1, 5),
        jnp.full_like(x, 2),
        jnp.asarray(3),
    ],
    "split_and_unpack": split_and_unpack,
    "grad": lambda x: jax.grad(lambda a: (jnp.sin(a) ** 2).sum())(x),
    "value_and_grad": lambda x: jax.value_and_grad(lambda a: ((a**2).sum(), a[0]), has_aux=True)(x),
    "grad of grad": lambda x: jax.vmap(jax.grad(jax.grad(jnp.tanh)))(x[0]),
    "hessian": lambda x: jax.hessian(lambda a: (a**3).sum() * a[0])(x[0]),
    "jacobians": lambda x: [jax.jacfwd(jnp.cumsum)(x[0]), jax.jacrev(lambda a: a @ x)(x[:, 0])],
    "jvp": lambda x: jax.jvp(lambda a: jnp.sin(a) @ a.T, (x,), (x * 2,)),
    "vjp": vjp,
    "linearize": linearize,
    "vmap": lambda x: [jax.vmap(lambda r: r @ r)(x), jax.vmap(jnp.dot, (0, None))(x, x[0]), jax.vmap(jnp.sin, 1, 1)(x)],
    "vmap with collective": lambda x: jax.vmap(lambda r: r - lax.pmean(r, "i"), axis_name="i")(x),
    "vmap of jit of grad": lambda x: jax.vmap(jax.jit(jax.grad(lambda r: (r**3).sum())))(x),
    "branches": branches,
    "loops": loops,
    "gradient of a scan": scan_grad,
    "custom_jvp": custom_jvp,
    "custom_vjp": custom_vjp,
    "checkpoint": checkpointed,
    "jit": lambda x: [jax.jit(lambda a: a * 2 + 1)(x), jax.jit(jnp.sin)(x), jax.jit(lambda: jnp.ones(3))()],
    "nested jits closing over tensors": closures,
    "static arguments": static,
    "trees": pytrees,
    "donation": donated,
    "at": writing,
    "indexing": reading,
    "masks": masks,
    "data-dependent Python": data_dependent,
    "callbacks": callbacks,
    "ordered io_callback": io_callbacks,
    "refs": refs,
    "ahead-of-time compiled": compiled,
    "shard_map": mapped_over_devices,
    "set_mesh": mesh_in_force,
    "device_put": placed,
    "out_shardings": lambda x: jax.jit(lambda a: a + 1, out_shardings=NamedSharding(mesh(4, 4), P(None, "d")))(x),
    "x64": x64,
    "key arrays": keys,
    "raw keys": old_keys,
    "weak types": weak_types,
    "numpy": numpy_mixed,
    "rounding": control_of_rounding,
    "methods": methods,
    "python protocols": python_protocols,
    "sampling": lambda x: [
        jax.random.categorical(jax.random.key(1), x),
        jax.random.truncated_normal(jax.random.key(2), -1, 1),
        jax.random.choice(jax.random.key(3), x[0], (2,), replace=False),
        jax.random.gamma(jax.random.key(4), 2.0),
    ],
    "dtypes": lambda x: [
        x.astype(d) for d in ("float16", "bfloat16", "int8", "uint32", "bool", "complex64", "float8_e4m3fn")
    ],
    "bits": lambda x: [
        lax.bitcast_convert_type(x, jnp.int32) ^ 5,
        jnp.left_shift(jnp.arange(4), 2),
        lax.population_count(jnp.arange(4)),
    ],
    "eval_shape": lambda x: jax.eval_shape(lambda a: a @ a.T, x).shape,
    "make_jaxpr": lambda x: str(jax.make_jaxpr(lambda a: jnp.sin(a) * 2)(x)),
    "named_call and scope": lambda x: jax.named_call(lambda a: a + 1, name="plus")(x),
    "default precision": lambda x: jnp.matmul(x, x.T, precision="highest", preferred_element_type=jnp.float32),
    "tree utilities": lambda x: jax.tree.map(jnp.add, {"a": x, "b": [x]}, {"a": x, "b": [x * 2]}),
    "vectorize": lambda x: jnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, x[0]),
    "apply_along_axis": lambda x: jnp.apply_along_axis(jnp.sort, 1, x),
    "polynomials": lambda x: [
        jnp.polyval(x[0], x[1]),
        jnp.interp(x[0], jnp.sort(x[1]), x[2]),
        jnp.convolve(x[0], x[1]),
    ],
    "segment_sum": lambda x: jax.ops.segment_sum(x, jnp.array([0, 1, 0]), 2),
    "scipy": lambda x: [
        jax.scipy.special.logsumexp(x),
        jax.scipy.stats.norm.logpdf(x),
        jax.scipy.linalg.expm(x @ x.T * 0.1),
    ],
    "optimization_barrier": lambda x: lax.optimization_barrier((x, x * 2)),
    "stop_gradient": lambda x: jax.grad(lambda a: (a * lax.stop_gradient(a)).sum())(x),
    "scalar loop variable": lambda x: [x * i + 0.5 * i for i in range(3)],
}


#: These name a mesh of several devices.  What a scope made lies on one device of its slice, and JAX itself
#: refuses to mix the two in a plain cell.
ON_OTHER_DEVICES = {"shard_map", "set_mesh", "out_shardings"}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "_"))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_scope_gives_what_jax_gives(session: pw.Session, name: str) -> None:
    case, expected = CASES[name], plain(name)
    settle(session)
    with pw.lazy():
        found = case(sample() * 1)
    equal(expected, results(found))
    settle(session)


def test_a_plain_cell_takes_what_a_scope_made(session: pw.Session, name: str) -> None:
    case, expected = CASES[name], plain(name)
    with pw.lazy():
        x = sample() * 1
    if name in ON_OTHER_DEVICES:
        with pytest.raises(ValueError, match="incompatible devices"):
            case(x)
        return
    found = case(x)
    assert not any(isinstance(leaf, pw.LazyTensor) for leaf in jax.tree.leaves(found) if leaf is not x)
    equal(expected, results(found))


@cache
def plain(name: str) -> Any:
    """What JAX alone gives."""
    return CASES[name](sample())


def results(tree: Any) -> Any:
    """The arrays in place of the tensors."""
    return jax.tree.map(lambda leaf: leaf.result() if isinstance(leaf, pw.LazyTensor) else leaf, tree)
