"""Cells of the notebooks that browser tests run."""

from __future__ import annotations

START = """import time, jax, jax.numpy as jnp
import pwlab as pw
%load_ext pwlab
pw.start(islands=2, devices_per_island=4)
step = jax.jit(lambda x: jnp.tanh(x @ x) * 0.5)
def work(name="train"):
    with pw.session().programs.scope(name):
        y = step(step(jnp.ones((32, 32))))
    float(y.sum())"""

SHOW = """from pwlab.viz.dashboard import Dashboard
dashboard = Dashboard(pw.session(), explain=True)
dashboard.show()"""

#: Programs run on a thread while the cell's own sleeps.
SLEEP = """import threading
thread = threading.Thread(target=lambda: [(work(), time.sleep(0.05)) for _ in range(40)])
thread.start()
time.sleep(3)
thread.join()"""

COMPUTE = """end = time.time() + 4
while time.time() < end:
    work()
    sum(i * i for i in range(20_000))"""

FAIL = """def boom(v):
    raise ValueError("no data in <b>here</b>")
evil = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1> 'q' 🙂" + "x" * 10_000
with pw.session().programs.scope(evil):
    z = step(jax.pure_callback(boom, jax.ShapeDtypeStruct((32, 32), "float32"), step(jnp.ones((32, 32)))))"""

NAMES = [f"client {i}" for i in range(11)] + [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "\"double\" 'single' `back` &amp; </style></textarea>",
    "🙂👩‍🔬 \u202ereversed",
    "n" * 10_000,
]

#: Sixteen clients, each on a thread of its own; names that try to do harm are also those of their functions.
CROWD = f"""from threading import Thread
NAMES = {NAMES!r}
x = jnp.ones((256, 256))
def computation(name):
    def f(x):
        return jnp.tanh(x @ x)
    f.__name__ = f.__qualname__ = name
    return jax.jit(f)
def submit(client):
    run = computation(client.name)
    with client:
        for _ in range(4):
            with pw.session().programs.scope(f"program of {{client.name}}"):
                y = run(x)
            float(y.sum())
pw.session().policy = "proportional"
clients = [pw.Client(name, share=1 + i % 4) for i, name in enumerate(NAMES)]
threads = [Thread(target=submit, args=[client]) for client in clients]
[thread.start() for thread in threads]
[thread.join() for thread in threads];"""
