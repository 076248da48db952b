"""Every example runs, in a process of its own, and what it computes is right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

#: What ``main()`` of each example returns, as a predicate on it written in Python.
CHECKS = {
    "fig2": "np.array_equal(result[0], [3, 5]) and np.array_equal(result[1], [2, 4])",
    "digits": "result > 0.95",
    "pipeline": "abs(result - norm_in_plain_jax()) < 1e-4",
    "schedules": "same_gradients(*result[1]) and half_the_memory(result[0])",
}

HELPERS = """
def same_gradients(gpipe, one_f_one_b):
    return all(np.allclose(a, b, rtol=1e-4) and np.abs(a).max() > 1 for a, b in zip(gpipe, one_f_one_b, strict=True))

def half_the_memory(view):
    [(gpipe, one_f_one_b)] = [figure.values for figure in view.figures if figure.name == "most memory of a device"]
    return gpipe > 16 * 2**19 and one_f_one_b < 12 * 2**19  # GPipe's last stage keeps sixteen activations of 512 KB

def norm_in_plain_jax():
    import jax, jax.numpy as jnp
    keys = jax.random.split(jax.random.key(0), 3)
    w0, w1 = (jax.random.normal(k, (256, 256)) * 256**-0.5 for k in keys[:2])
    x = jax.random.normal(keys[2], (8, 64, 256))
    loss = lambda w0, w1, x: jnp.mean(jnp.tanh(jnp.tanh(x @ w0) @ w1) ** 2)
    total = [sum(gs) for gs in zip(*(jax.grad(loss, argnums=(0, 1))(w0, w1, x[i]) for i in range(8)))]
    return float(jnp.sqrt(sum(jnp.sum(g**2) for g in total)))
"""


def test_every_example_is_checked() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_example(name: str) -> None:
    code = f"import numpy as np, {name}\n{HELPERS}\nresult = {name}.main()\nassert {CHECKS[name]}, result"
    path = os.pathsep.join(map(str, (EXAMPLES, ROOT, ROOT / "magics")))
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=280,
    )
    assert run.returncode == 0, run.stdout + run.stderr
