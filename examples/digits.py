"""Trains a classifier of handwritten digits: data preparation on one island, the model on the other.

    python examples/digits.py

The host function loads batches in the background, the ``data`` slice augments them, the ``model`` slice trains.
The loop records all of it and returns; nothing waits until a loss is printed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pwlab as pw

STEPS, BATCH = 400, 128


def main() -> float:
    pw.start(islands=2, devices_per_island=4)
    slices = pw.make_virtual_device_set()
    data = slices.add_slice(tpu_devices=4, island=0, name="data")
    model = slices.add_slice(tpu_devices=4, island=1, name="model")

    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        digits.images.astype(np.float32), digits.target.astype(np.int32), test_size=0.25, random_state=0
    )

    @pw.host
    def load(step: int) -> tuple[np.ndarray, np.ndarray]:
        picked = np.random.default_rng(step).integers(len(train_x), size=BATCH)
        return train_x[picked], train_y[picked]

    @pw.jit
    def augment(images, key):
        """Brightens or dims each picture a little and adds noise; scales to about 0…1."""
        light, grain = jax.random.split(key)
        flat = images.reshape(len(images), -1) / 16.0
        flat = flat * jax.random.uniform(light, (len(flat), 1), minval=0.8, maxval=1.2)
        return flat + 0.05 * jax.random.normal(grain, flat.shape)

    def init(key, sizes=(64, 128, 10)):
        keys = jax.random.split(key, len(sizes))
        return [
            (jax.random.normal(k, (m, n)) * (2 / m) ** 0.5, jnp.zeros(n))
            for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=False)
        ]

    def logits(params, x):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    @pw.jit
    def train(params, momentum, x, y, rate):
        def loss_of(params):
            return -jnp.mean(jax.nn.log_softmax(logits(params, x))[jnp.arange(len(y)), y])

        loss, grads = jax.value_and_grad(loss_of)(params)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return jax.tree.map(lambda p, m: p - rate * m, params, momentum), momentum, loss

    @pw.jit
    def accuracy(params, x, y):
        return jnp.mean(logits(params, x).argmax(1) == y)

    with pw.lazy("train", slice=model):
        params = init(jax.random.key(0))
        momentum = jax.tree.map(jnp.zeros_like, params)
        for step in range(STEPS):
            with pw.on(data):
                images, labels = load(step)
                x = augment(images, jax.random.key(step))
            params, momentum, loss = train(params, momentum, x, labels, 0.05)
    print("recorded:", repr(loss))

    with pw.lazy("test", slice=model):
        right = accuracy(params, test_x.reshape(-1, 64) / 16.0, test_y)
    print(f"loss {float(loss):.3f}, accuracy on unseen digits {float(right):.1%}")
    return float(right)


if __name__ == "__main__":
    main()
