"""GPipe against 1F1B, side by side; then sequential against parallel dispatch.

    python examples/schedules.py    # and leaves schedules.html

GPipe sends all micro-batches through the stages, then all back, so each stage keeps eight activations.  1F1B turns
round as early as it can: stage s keeps 4 - s.  Either way a stage idles 3 of 11 turns, and 1F1B waits for transfers in
between, so it is no faster.  It saves memory, of which there is so little that GPipe is held back.  A laptop cannot run
four stages at once, so they sleep for as long as real ones take: order, overlap, idle time and memory are real, speed
is not.  Nor can the ways of dispatch be told apart: a launch costs the controller a tenth of a millisecond.
"""

import time
from collections import deque

import jax
import jax.numpy as jnp
import numpy as np

import pwlab as pw

STAGES, MICRO_BATCHES, ROWS, WIDTH = 4, 8, 2048, 64
FORWARD, BACKWARD = 15e-3, 30e-3  # seconds that a stage takes


def paced(x, seconds):
    def sleep(x):
        time.sleep(seconds)
        return np.asarray(x)

    return jax.lax.fori_loop(0, 1, lambda _, x: jax.pure_callback(sleep, x, x), x)


@pw.jit
def forward(w, x, turn):  # a stage's launches hand on its turn, which keeps them in the order of the schedule
    return paced(jnp.tanh(x @ w), FORWARD), turn + 1


@pw.jit
def backward(w, x, g, grad, turn):
    g = g * (1 - jnp.tanh(x @ w) ** 2)
    return paced(g @ w.T, BACKWARD), grad + x.T @ g, turn + 1


SCHEDULES = {  # what a stage does, by the number of stages that are ahead of it
    "GPipe": lambda ahead: "F" * MICRO_BATCHES + "B" * MICRO_BATCHES,
    "1F1B": lambda ahead: "F" * ahead + "FB" * (MICRO_BATCHES - ahead) + "B" * ahead,
}


def step(name, schedule, weights, batches, dispatch="parallel"):
    """The gradients of one training step."""
    todo, kept = [SCHEDULES[schedule](STAGES - 1 - s) for s in range(STAGES)], [deque() for _ in range(STAGES)]
    # What waits for each stage.  The loss is |y|²/2, so the last activation is also the first gradient.
    activations = [deque(batches), *(deque() for _ in range(STAGES))]
    gradients = [*(deque() for _ in range(STAGES)), activations[STAGES]]
    grads, turns = [np.zeros((WIDTH, WIDTH), np.float32)] * STAGES, [np.int32(0)] * STAGES
    with pw.lazy(name, dispatch=dispatch):
        while any(todo):
            for s in range(STAGES):
                with pw.on(f"island{s}"):
                    if todo[s][:1] == "F" and activations[s]:
                        kept[s].append(activations[s].popleft())
                        y, turns[s] = forward(weights[s], kept[s][-1], turns[s])
                        activations[s + 1].append(y)
                        todo[s] = todo[s][1:]
                    elif todo[s][:1] == "B" and gradients[s + 1]:
                        x, g = kept[s].popleft(), gradients[s + 1].popleft()
                        g, grads[s], turns[s] = backward(weights[s], x, g, grads[s], turns[s])
                        gradients[s].append(g)
                        todo[s] = todo[s][1:]
    return pw.fetch(grads)


def main(page=None):
    pw.start(islands=STAGES, devices_per_island=1, hbm_bytes=10 << 20, coalesce_ms=0, max_in_flight=2)
    chance = np.random.default_rng(0)
    weights = chance.normal(size=(STAGES, WIDTH, WIDTH)).astype(np.float32) / WIDTH**0.5
    batches = chance.normal(size=(MICRO_BATCHES, ROWS, WIDTH)).astype(np.float32)
    step("warm up", "1F1B", weights, batches)  # compiles all, so that nothing below waits for it
    results = [step(name, name, weights, batches) for name in SCHEDULES]
    step("1F1B, sequential", "1F1B", weights, batches, "sequential")
    schedules = pw.compare("GPipe", "1F1B")
    print(schedules, pw.compare("1F1B, sequential", "1F1B"), sep="\n\n")
    if page:
        schedules.save(page)
    return schedules, results


if __name__ == "__main__":
    main("schedules.html")
