"""A two-stage pipeline over two islands, written as a plain loop.

    python examples/pipeline.py

Each island holds one stage of a model.  Micro-batches go through both; the controller inserts the transfers over
DCN and lets one island work on a micro-batch while the other has the next.
"""

import jax
import jax.numpy as jnp

import pwlab as pw
from pwlab.events import Link, NodeAdded

MICRO_BATCHES, WIDTH = 8, 256


def main() -> float:
    session = pw.start(islands=2, devices_per_island=4)
    slices = pw.make_virtual_device_set()
    first = slices.add_slice(tpu_devices=4, island=0, name="stage0")
    second = slices.add_slice(tpu_devices=4, island=1, name="stage1")

    @pw.jit
    def layer(w, x):
        return jnp.tanh(x @ w)

    def loss_of(w0, w1, x):
        with pw.on(first):
            hidden = layer(w0, x)
        with pw.on(second):
            return jnp.mean(layer(w1, hidden) ** 2)

    keys = jax.random.split(jax.random.key(0), 3)
    w0, w1 = (jax.random.normal(k, (WIDTH, WIDTH)) * WIDTH**-0.5 for k in keys[:2])
    x = jax.random.normal(keys[2], (MICRO_BATCHES, 64, WIDTH))

    before = session.ring.last
    with pw.lazy("pipeline"):
        total = (jnp.zeros_like(w0), jnp.zeros_like(w1))
        for i in range(MICRO_BATCHES):
            # The gradient runs backwards through the islands: each part where its forward part ran.
            grads = jax.grad(loss_of, argnums=(0, 1))(w0, w1, x[i])
            total = jax.tree.map(jnp.add, total, grads)
    norm = float(jnp.sqrt(sum(jnp.sum(g**2) for g in pw.fetch(total))))

    added = [f.node for f in session.ring.after(before).facts if isinstance(f, NodeAdded)]
    crossed = [node for node in added if node.link is Link.DCN]
    print(f"{len(added)} nodes, {len(crossed)} transfers between the islands, gradient norm {norm:.4f}")
    return norm


if __name__ == "__main__":
    main()
