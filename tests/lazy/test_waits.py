"""What waits and what records: every wait is told once, with its place; an ordinary training step has none."""

from __future__ import annotations

import io
import itertools
import operator
import pickle
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from harness import LONG, gate, line_of, nodes, waits

import pwlab as pw
from pwlab.errors import SyncForbidden, WaitTimeout


def vector() -> Any:
    return jnp.arange(4.0) * 1


def number() -> Any:
    return jnp.arange(4.0).sum() / 2


def integer() -> Any:
    return jnp.arange(3).sum()


#: name → (what is given, the call that needs its value, what the wait is called)
WAITING: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], str]] = {
    "bool": (number, bool, "bool(x)"),
    "if": (number, lambda x: 1 if x > 0 else 2, "bool(x)"),
    "int": (number, int, "int(x)"),
    "float": (number, float, "float(x)"),
    "complex": (number, complex, "complex(x)"),
    "index": (integer, operator.index, "operator.index(x)"),
    "list index": (integer, lambda x: [0, 1, 2, 3][x], "operator.index(x)"),
    "range": (integer, range, "operator.index(x)"),
    "hex": (integer, hex, "operator.index(x)"),
    "oct": (integer, oct, "operator.index(x)"),
    "round": (number, lambda x: round(x, 1), "round(x)"),
    "np.asarray": (vector, np.asarray, "np.asarray"),
    "np.array with dtype": (vector, lambda x: np.array(x, np.float64), "np.asarray"),
    "np.float32": (number, np.float32, "np.asarray"),
    "str": (vector, str, "str(x)"),
    "format": (number, lambda x: f"{x:.3f}", "format(x, '.3f')"),
    "plain format": (number, lambda x: f"{x}", "format(x, '')"),
    "print": (vector, lambda x: print(x), "str(x)"),
    "percent": (number, lambda x: "%.2f" % x, "float(x)"),  # noqa: UP031
    "item": (number, lambda x: x.item(), "item()"),
    "tolist": (vector, lambda x: x.tolist(), "tolist()"),
    "tobytes": (vector, lambda x: x.tobytes(), "tobytes()"),
    "pickle": (vector, pickle.dumps, "pickling"),
    "mask": (vector, lambda x: x[x > 1], "an index that decides a shape"),
    "nonzero": (vector, lambda x: jnp.nonzero(x), "a value that JAX needs while tracing"),
    "where": (vector, lambda x: jnp.where(x > 1), "a value that JAX needs while tracing"),
    "unique": (vector, lambda x: jnp.unique(x), "a value that JAX needs while tracing"),
    "slice bound": (integer, lambda n: jnp.arange(8)[:n], "an index that decides a shape"),
    "shape": (integer, lambda n: jnp.zeros(n), "operator.index(x)"),
    "dlpack": (vector, np.from_dlpack, "__dlpack__"),
    "sharding": (vector, lambda x: x.sharding, ".sharding"),
    "device": (vector, lambda x: x.device, ".device"),
    "devices": (vector, lambda x: x.devices(), ".devices"),
    "committed": (vector, lambda x: x.committed, ".committed"),
    "addressable_shards": (vector, lambda x: x.addressable_shards, ".addressable_shards"),
    "is_fully_replicated": (vector, lambda x: x.is_fully_replicated, ".is_fully_replicated"),
    "unsafe_buffer_pointer": (vector, lambda x: x.unsafe_buffer_pointer(), ".unsafe_buffer_pointer"),
    "block_until_ready": (vector, lambda x: x.block_until_ready(), "block_until_ready()"),
    "jax.block_until_ready": (vector, jax.block_until_ready, "block_until_ready()"),
    "device_get": (vector, jax.device_get, "jax.device_get"),
    "result": (vector, lambda x: x.result(), "result()"),
    "fetch": (vector, pw.fetch, "pw.fetch"),
    "wait": (vector, pw.wait, "pw.wait"),
    "np.testing": (vector, lambda x: np.testing.assert_allclose(x, x), "np.asarray"),
    "math": (number, lambda x: __import__("math").sqrt(x), "float(x)"),
    "in": (vector, lambda x: bool(jnp.any(x == 2)), "bool(x)"),
}


@pytest.mark.parametrize("name", WAITING)
def test_a_need_for_the_value_waits_once_and_says_where(session: pw.Session, name: str) -> None:
    make, use, reason = WAITING[name]

    def cell() -> None:
        with pw.lazy(), gate() as hold:
            x = hold(make())  # through a host, so that it is not there before somebody waits
            hold.open()
            use(x)  # here

    cell()
    told = waits(session)
    assert [w.reason for w in told][:1] == [reason]
    assert len(told) <= (2 if name in ("np.testing", "unique") else 1)
    source = told[0].source
    assert source is not None
    mine = getattr(use, "__code__", None)  # the user's innermost line: a lambda of the table, or the cell's
    line = mine.co_firstlineno if mine is not None and mine.co_filename == __file__ else line_of("# here", cell)
    assert (source.cell, source.line) == ("test_waits.py", line)


NEVER_WAIT: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "html": lambda x: x._repr_html_(),
    "shape": lambda x: (x.shape, x.ndim, x.size, len(x)),
    "dtype": lambda x: (x.dtype, x.weak_type, x.itemsize, x.nbytes, x.aval),
    "state": lambda x: x.state,
    "slice": lambda x: x.slice,
    "source": lambda x: x.source,
    "is_ready": lambda x: x.is_ready(),
    "is_deleted": lambda x: x.is_deleted(),
    "dir": dir,
    "isinstance": lambda x: (isinstance(x, jax.Array), isinstance(x, pw.LazyTensor)),
    "hash by identity": id,
    "hasattr": lambda x: hasattr(x, "no_such_name"),
    "eval_shape": lambda x: jax.eval_shape(jnp.sin, x),
    "tree": lambda x: jax.tree.structure([x]),
}


@pytest.mark.parametrize("name", NEVER_WAIT)
def test_looking_at_a_tensor_neither_waits_nor_dispatches(session: pw.Session, name: str) -> None:
    look = NEVER_WAIT[name]
    with gate() as hold:
        with pw.lazy():
            x = hold(vector())
            look(x)
            assert x.state == "recorded"
            assert not nodes(session)
        look(x)
        assert x.state in ("waiting", "queued", "running")
        hold.open()
        x.result()
        look(x)
    assert [w.reason for w in waits(session)] == ["result()"]


RECORDED: dict[str, Callable[[Any], Any]] = {
    "unpack": lambda x: [*x],
    "iterate": lambda x: [row * 2 for row in x],
    "split": lambda x: jax.random.split(jax.random.key(0)),
    "softmax": jax.nn.softmax,
    "index": lambda x: x[1],
    "index by tensor": lambda x: x[x.argmax()],
    "at": lambda x: x.at[0].set(x[1]),
    "where": lambda x: jnp.where(x > 0, x, 0),
    "cond": lambda x: jax.lax.cond(x[0] > 0, lambda: x, lambda: -x),
    "while": lambda x: jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x),
    "clip": lambda x: jnp.clip(x, x[0], x[1]),
    "dynamic slice": lambda x: jax.lax.dynamic_slice(x, (x.argmax(),), (1,)),
    "sum of list": lambda x: sum([x, x, x]),
    "max": lambda x: jnp.maximum(x, 0).max(),
    "comparison": lambda x: (x == x, x != x, x <= x),
    "sized nonzero": lambda x: jnp.nonzero(x, size=2),
    "random": lambda x: jax.random.normal(jax.random.key(1), x.shape),
    "take": lambda x: jnp.take(x, jnp.array([0, 1])),
    "callback": lambda x: jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((4,), jnp.float32), x),
    "debug print": lambda x: jax.debug.print("{}", x),
    "ref": lambda x: jax.new_ref(x)[...],
    "optax": lambda x: optax.adam(1e-3).update(x, optax.adam(1e-3).init(x), x),
    "clip by norm": lambda x: optax.clip_by_global_norm(1.0).update(x, optax.EmptyState()),
    "tree_map": lambda x: jax.tree.map(jnp.add, x, x),
    "device_put": lambda x: jax.device_put(x),
    "copy": lambda x: jnp.array(x, copy=True),
    "asarray": jnp.asarray,
    "reduce": lambda x: jnp.linalg.norm(x),
    "compare with None": lambda x: (x is None, x is not None),
    "deepcopy": lambda x: __import__("copy").deepcopy(x),
}


@pytest.mark.parametrize("name", RECORDED)
def test_ordinary_jax_in_a_scope_only_records(session: pw.Session, name: str) -> None:
    with pw.lazy():
        RECORDED[name](vector())
    assert not waits(session)


@pytest.mark.parametrize("name", ["bool", "float", "np.asarray", "mask", "nonzero", "format", "item", "pickle"])
def test_sync_error_forbids_to_wait_in_a_scope_alone(session: pw.Session, name: str) -> None:
    make, use, reason = WAITING[name]
    session.configure("sync", "error")
    with pw.lazy():
        x = make()
        with pytest.raises(SyncForbidden) as caught:
            use(x)
        y = x + 1
    assert str(caught.value).startswith(f"{reason} at test_waits.py, line ")
    assert str(caught.value).endswith(
        "needs a value inside a pathways cell, and sync=error forbids to wait; use jnp.where or jax.lax.cond, "
        "move the line to a plain cell, or `%pw config sync=log`"
    )
    use(make())
    assert pw.fetch(y) is not None  # what was recorded is not lost


def test_sync_error_lets_explicit_waits_through(session: pw.Session) -> None:
    session.configure("sync", "error")
    with pw.lazy():
        x = vector()
        pw.wait(x)
        pw.fetch(x)
        x.result()
        x.block_until_ready()
    assert [w.reason for w in waits(session)] == ["pw.wait"]  # the others found it there


def test_sync_warn_warns(session: pw.Session) -> None:
    session.configure("sync", "warn")
    with pw.lazy():
        x = number()
        with pytest.warns(UserWarning, match=r"float\(x\) at test_waits.py, line \d+ waits for the devices"):
            float(x)


def test_a_value_that_is_there_is_no_wait(session: pw.Session) -> None:
    with pw.lazy():
        x = number()
    pw.wait(x)
    since = session.ring.last
    with pw.lazy():
        float(x)
        y = x + 1
        str(x)
    float(x)
    assert not waits(session, since)
    assert float(y) == 4.0


def test_timeouts_say_what_is_waited_for(session: pw.Session) -> None:
    with gate() as hold:
        with pw.lazy():
            x = hold(vector())  # here
            y = x + 1
        assert hold.reached.wait(LONG)
        line = line_of("# here", test_timeouts_say_what_is_waited_for)
        text = rf"f32\[4\] from test_waits.py, line {line} is not there after 0.01 s: it is \w+; the program goes on"
        with pytest.raises(WaitTimeout, match=text):
            x.result(timeout=0.01)
        with pytest.raises(TimeoutError):
            pw.fetch([y, x], timeout=0.01)
        with pytest.raises(WaitTimeout, match=r"\(the timeout of 0.01 s is for all tensors together\)|after 0.01 s"):
            pw.wait({"a": x, "b": y}, timeout=0.01)
        hold.open()
        assert pw.fetch(y, timeout=LONG).tolist() == [1, 2, 3, 4]


# --- training -------------------------------------------------------------------------------------------

FEATURES = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
LABELS = (FEATURES.sum(1) > 0).astype(np.int32)
Train = Callable[[int, bool], Any]


def cross_entropy(logits: Any, labels: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def equinox_step(jitted: bool) -> Callable[[int], list[Any]]:
    optimiser = optax.adam(1e-2)

    def step(model: Any, state: Any, x: Any, y: Any) -> Any:
        loss, grads = eqx.filter_value_and_grad(lambda m: cross_entropy(jax.vmap(m)(x), y))(model)
        updates, state = optimiser.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss

    run = eqx.filter_jit(step) if jitted else step
    model = eqx.nn.MLP(8, 2, 16, 1, key=jax.random.key(0))  # made in a plain cell
    state = optimiser.init(eqx.filter(model, eqx.is_array))
    x, y = jnp.asarray(FEATURES), jnp.asarray(LABELS)

    def train(steps: int) -> list[Any]:
        nonlocal model, state
        losses = []
        for _ in range(steps):
            model, state, loss = run(model, state, x, y)
            losses.append(loss)
        return losses

    return train


def nnx_step(jitted: bool) -> Callable[[int], list[Any]]:
    class Model(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.first = nnx.Linear(8, 16, rngs=rngs)
            self.norm = nnx.BatchNorm(16, rngs=rngs)
            self.drop = nnx.Dropout(0.1, rngs=rngs)
            self.last = nnx.Linear(16, 2, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))

    def step(model: Any, optimiser: Any, x: Any, y: Any) -> Any:
        loss, grads = nnx.value_and_grad(lambda m: cross_entropy(m(x), y))(model)
        optimiser.update(model, grads)
        return loss

    run = nnx.jit(step) if jitted else step
    model = Model(nnx.Rngs(0))  # made in a plain cell
    optimiser = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x, y = jnp.asarray(FEATURES), jnp.asarray(LABELS)
    return lambda steps: [run(model, optimiser, x, y) for _ in range(steps)]


def jax_step(jitted: bool) -> Callable[[int], list[Any]]:
    def step(w: Any, x: Any, y: Any, rate: float) -> Any:
        loss, grads = jax.value_and_grad(lambda w: cross_entropy(jnp.tanh(x @ w["a"]) @ w["b"], y))(w)
        return jax.tree.map(lambda p, g: p - rate * g, w, grads), loss

    run = jax.jit(step, donate_argnums=0) if jitted else step
    keys = jax.random.split(jax.random.key(0))
    w = {"a": jax.random.normal(keys[0], (8, 16)), "b": jax.random.normal(keys[1], (16, 2))}
    x, y = jnp.asarray(FEATURES), jnp.asarray(LABELS)

    turn = itertools.count()

    def train(steps: int) -> list[Any]:
        nonlocal w
        losses = []
        for i in itertools.islice(turn, steps):
            at = slice(i * 8 % 64, i * 8 % 64 + 8)
            w, loss = run(w, x[at], y[at], 0.1 / (i + 1))
            losses.append(loss)
        return losses

    return train


TRAINING = {"equinox": equinox_step, "nnx": nnx_step, "jax": jax_step}


@pytest.mark.filterwarnings("ignore:'mode' is deprecated:DeprecationWarning")
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
@pytest.mark.parametrize("library", TRAINING)
def test_training_in_a_scope_never_waits_and_learns_the_same(session: pw.Session, library: str, jitted: bool) -> None:
    expected = [float(v) for v in TRAINING[library](jitted)(6)]
    train = TRAINING[library](jitted)
    since = session.ring.last
    with pw.lazy():
        losses = train(4)
    assert not waits(session, since)
    with pw.lazy():  # and goes on in another cell
        losses += train(1)
    losses += train(1)  # and in a plain one
    np.testing.assert_allclose([float(v) for v in losses], expected, rtol=2e-4)


@pytest.mark.parametrize("library", ["equinox", "nnx"])
def test_a_model_made_in_a_scope_trains_in_a_plain_cell(session: pw.Session, library: str) -> None:
    expected = [float(v) for v in TRAINING[library](False)(2)]
    with pw.lazy():
        train = TRAINING[library](False)
    losses = train(2)
    assert not any(isinstance(v, pw.LazyTensor) for v in losses)
    np.testing.assert_allclose([float(v) for v in losses], expected, rtol=2e-4)


def test_losses_are_given_to_what_draws_them(session: pw.Session) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pandas, tqdm = pytest.importorskip("pandas"), pytest.importorskip("tqdm")
    matplotlib.use("agg")
    from matplotlib import pyplot

    with pw.lazy():
        losses = [jnp.float32(1) / (i + 1) for i in range(4)]
        curve = jnp.stack(losses)
    figure, axes = pyplot.subplots()
    [line] = axes.plot(losses)
    axes.plot(curve)
    axes.scatter(range(4), losses)
    figure.canvas.draw()
    pyplot.close(figure)
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), [1, 1 / 2, 1 / 3, 1 / 4], rtol=1e-6)
    frame = pandas.DataFrame({"loss": [float(v) for v in losses], "curve": np.asarray(curve)})
    assert frame["loss"].max() == 1.0
    assert pandas.Series(curve).iloc[1] == 0.5
    with tqdm.tqdm(losses, file=io.StringIO()) as bar:
        for loss in bar:
            bar.set_postfix(loss=loss)
            bar.set_description(f"{loss:.2f}")
    assert "0.25" in str(bar)
