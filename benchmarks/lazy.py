"""What recording costs: against JAX's own dispatch, over loops and cells, in time and memory.

    python benchmarks/lazy.py --json

Every ratio is measured pair by pair in one run.  Figures that need a fresh process run in one.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from measure import Figure, ratio, report, resident_mb, seconds

HERE = os.path.abspath(__file__)


def main() -> int:
    if "--in" in sys.argv:  # one figure in a process of its own
        print(repr(IN_A_PROCESS[sys.argv[sys.argv.index("--in") + 1]]()))
        return 0
    figures = [record_vs_eager(), *rerun_vs_jax(), *structures(), import_overhead()]
    latency, grown = apart("first_launch")
    figures.append(Figure("first_launch_ms", latency, 50, "ms", note="first of 100,000 jitted calls in one cell"))
    figures.append(Figure("loop_memory_mb", grown, 200, "MB", note="growth over those 100,000 calls"))
    thousand, ten_thousand = apart("cells_1000"), apart("cells_10000")
    figures.append(
        Figure(
            "cells_memory_mb",
            ten_thousand - thousand,
            20,
            "MB",
            note="10,000 cells `x = x + 1` over 1,000 such",
        )
    )
    return report(figures)


# --- ratios ------------------------------------------------------------------------------------


def record_vs_eager(n: int = 2000) -> Figure:
    """Recording one primitive against JAX dispatching it: ``x * 1.0001``, 2,000 times."""
    import jax.numpy as jnp

    import pwlab as pw

    pw.start(islands=2, devices_per_island=4)
    x = jnp.ones((8, 128))

    def eager() -> None:
        y = x
        for _ in range(n):
            y = y * 1.0001

    def record() -> None:
        with open_scope():
            y = x
            for _ in range(n):
                y = y * 1.0001

    eager(), record()
    value, ours, theirs = ratio(record, eager)
    return Figure("record_vs_eager", value, 2.2, note=f"{ours / n * 1e6:.1f} µs against {theirs / n * 1e6:.1f} µs")


def open_scope() -> Any:
    """A scope whose record is dropped: recording alone, nothing dispatched."""
    from contextlib import contextmanager

    import pwlab as pw
    from pwlab.lazy import Scope

    @contextmanager
    def scope() -> Any:
        s = Scope(pw.session().frontend, "record", windows=False)
        s.__enter__()
        try:
            yield s
        finally:
            s.leave(dispatch=False)

    return scope()


def rerun_vs_jax() -> list[Figure]:
    """A cell of 200 jitted calls, run again, from recording to results, against plain JAX."""
    import jax
    import jax.numpy as jnp

    import pwlab as pw

    session = pw.start(islands=2, devices_per_island=4)
    figures: list[Figure] = []

    def chained(turns: int) -> Callable[[Any], Any]:
        @jax.jit
        def millisecond(x: Any) -> Any:
            for _ in range(turns):
                x = jnp.tanh(x @ x * 0.01)
            return x

        return millisecond

    millisecond = chained(about_a_millisecond(chained, jnp.full((200, 200), 0.5)))

    @jax.jit
    def trivial(x: Any) -> Any:
        return x * 1.0001

    for name, f, shape, limit in (
        ("rerun_vs_jax", millisecond, (200, 200), 1.1),
        ("rerun_trivial_vs_jax", trivial, (8, 128), 4.0),
    ):
        x = jnp.full(shape, 0.5)

        def plain(f: Callable[..., Any] = f, x: Any = x) -> Any:
            for _ in range(200):
                x = f(x)
            return x.block_until_ready()

        def cell(f: Callable[..., Any] = f, x: Any = x) -> Any:
            with pw.lazy("cell"):
                for _ in range(200):
                    x = f(x)
            return x.result()

        plain(), cell(), cell()
        before = session.backend.compilations
        value, ours, theirs = ratio(cell, plain)
        note = f"{ours * 1e3:.2f} ms against {theirs * 1e3:.2f} ms"
        figures.append(Figure(name, value, limit, note=note))
        figures.append(Figure(f"{name}_compilations", session.backend.compilations - before, 0))
    return figures


def about_a_millisecond(chained: Callable[[int], Callable[[Any], Any]], x: Any) -> int:
    """How many turns make a call of about 1 ms, calls being made back to back."""
    f = chained(10)
    f(x).block_until_ready()

    def calls() -> None:
        y = x
        for _ in range(100):
            y = f(y)
        y.block_until_ready()

    ten = min(seconds(calls) for _ in range(5)) / 100
    return max(1, round(10 * 1e-3 / ten))


def structures(steps: int = 1000) -> list[Figure]:
    """Distinct plans in 1,000 steps of an un-jitted Equinox and Optax training loop in one cell, and its waits."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    import pwlab as pw
    from pwlab.events import Waited

    session = pw.start(islands=2, devices_per_island=4)
    key = jax.random.key(0)
    x = jax.random.normal(key, (256, 16))
    y = (x.sum(1) > 0).astype(jnp.int32)
    model = eqx.nn.MLP(16, 2, 32, 2, key=key)
    optimiser = optax.adam(1e-2)
    state = optimiser.init(eqx.filter(model, eqx.is_array))

    def loss_of(model: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y).mean()

    before = session.ring.last
    with pw.lazy("training") as scope:
        for _ in range(steps):
            loss, grads = eqx.filter_value_and_grad(loss_of)(model, x, y)
            updates, state = optimiser.update(grads, state, eqx.filter(model, eqx.is_array))
            model = eqx.apply_updates(model, updates)
    waits = sum(isinstance(f, Waited) for f in session.ring.after(before).facts)
    final = float(loss)
    if not final < 0.05:
        raise AssertionError(f"the training loop did not learn: loss {final}")
    assert scope.program is not None
    return [
        Figure(
            "structures",
            len(scope.program.plans),
            3,
            note=f"distinct plans in {steps} steps; final loss {final:.1e}",
        ),
        Figure("structures_waits", waits, 0),
    ]


# --- in processes of their own --------------------------------------------------------------------


def apart(name: str) -> Any:
    out = subprocess.run([sys.executable, HERE, "--in", name], capture_output=True, text=True, check=False)
    if out.returncode:
        raise RuntimeError(f"{name} failed:\n{out.stderr}")
    return eval(out.stdout.splitlines()[-1], {"__builtins__": {}})


def import_overhead() -> Figure:
    """Seconds of ``import pwlab`` beyond ``import jax``."""

    def once(statement: str) -> float:
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    once("import jax, pwlab")
    pairs = [(once("import jax, pwlab"), once("import jax")) for _ in range(7)]
    value = statistics.median(a - b for a, b in pairs)
    return Figure(
        "import_overhead_s",
        value,
        0.3,
        "s",
        note=f"import jax alone {statistics.median(b for _, b in pairs):.2f} s",
    )


def first_launch() -> tuple[float, float]:
    """(ms from the first call to the first launch, MB grown) of 100,000 jitted calls in one cell."""
    import jax
    import jax.numpy as jnp

    import pwlab as pw
    from pwlab.events import NodeMoved, NodeState

    session = pw.start(islands=2, devices_per_island=4)

    @jax.jit
    def f(x: Any) -> Any:
        return x * 1.0001

    x = jnp.ones((8, 128))

    def cell(n: int, x: Any) -> Any:
        with pw.lazy("loop"):
            for _ in range(n):
                x = f(x)
        return x

    cell(2000, x).result()  # warm
    cell(2000, x).result()
    before, memory = session.ring.last, resident_mb()
    began = time.perf_counter()
    y = cell(100_000, x)
    grown = resident_mb() - memory
    y.result()
    launches = [
        f.time for f in session.ring.after(before).facts if isinstance(f, NodeMoved) and f.state is NodeState.LAUNCHED
    ]
    return (launches[0] - began) * 1e3, max(grown, resident_mb() - memory)


def cells(n: int) -> float:
    """MB of the process after ``n`` cells that each replace ``x`` by ``x + 1``."""
    import gc

    import jax.numpy as jnp

    import pwlab as pw

    pw.start(islands=2, devices_per_island=4)
    x: Any = jnp.zeros(())
    for _ in range(n):
        with pw.lazy("cell"):
            x = x + 1
    if float(x) != n:
        raise AssertionError(f"{float(x)} instead of {n}")
    gc.collect()
    return resident_mb()


IN_A_PROCESS: dict[str, Callable[[], Any]] = {
    "first_launch": first_launch,
    "cells_1000": lambda: cells(1000),
    "cells_10000": lambda: cells(10_000),
}

if __name__ == "__main__":
    sys.exit(main())
