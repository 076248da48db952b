"""Several clients on one island (Pathways §5.2, Figs. 8, 9 and 11), on eight emulated devices.

    python benchmarks/tenancy.py --json

The computation is the paper's: an AllReduce of a scalar, then an add; and a variant of about 0.33 ms.  All runs with
pwlab's defaults, which merge a program's small computations into fewer launches (the paper's Chained against JAX's
OpByOp).  What the figures are with ``coalesce_ms=0``, each computation a launch of its own, is told in the notes.

Eight emulated devices share the cores with the Python that drives them, so whatever a launch costs the host is time
that the devices do not have; on real accelerators it is hidden behind what is in flight.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from measure import Figure, report

import pwlab as pw
from pwlab.control import Controller
from pwlab.events import (
    ClientOpened,
    IslandJoined,
    IslandSpec,
    Launch,
    NodeCompleted,
    NodeKind,
    NodePrepared,
    NodeSpec,
    NodesSubmitted,
    OutputSpec,
    Prepare,
    SliceRequested,
)
from pwlab.ids import BufferId, DeviceId, IslandId, NodeId, ProgramId, SliceId

DEVICES = 8
CHAIN = 16  # computations a program


def main() -> int:
    by_itself = decide()  # before there is a session, whose threads would take turns with it
    session = pw.start(islands=1, devices_per_island=DEVICES)
    small = allreduce_add(session, work=0)
    third = allreduce_add(session, work=calibrated(session, 0.33e-3))
    figures = [
        aggregate_vs_jax(session, small),
        share_error(session, small),
        utilisation(session, third),
        switch_cost(session, third),
        *by_itself,
    ]
    pw.shutdown()
    return report(figures)


@contextmanager
def each_a_launch(session: pw.Session) -> Iterator[None]:
    """Without merging: each computation is a launch of its own."""
    before = session.config.coalesce_ms
    session.configure("coalesce_ms", 0)
    try:
        yield
    finally:
        session.configure("coalesce_ms", before)


# --- the computation --------------------------------------------------------------------------------


def allreduce_add(session: pw.Session, work: int) -> Callable[[Any], Any]:
    """AllReduce of a scalar over all devices, then an add; with ``work`` turns of a loop on each device before."""

    def body(x: Any) -> Any:
        if work:
            x = jax.lax.fori_loop(0, work, lambda _, v: v * 1.0001 + 1e-6, x)
        return jax.lax.psum(x, "i") * (1 / DEVICES) + 1.0

    return pw.pmap(body, axis_name="i", devices=session.slices.default)


def start_value() -> np.ndarray[Any, Any]:
    return np.zeros(DEVICES, np.float32)


def program(f: Callable[[Any], Any], n: int = CHAIN) -> Any:
    """One program: a chain of computations; returns at once."""
    x: Any = start_value()
    with pw.lazy("chain"):
        for _ in range(n):
            x = f(x)
    return x


def calibrated(session: pw.Session, seconds: float) -> int:
    """Turns of the loop that make one computation take about so long."""
    turns, took = 1000, 0.0
    for _ in range(8):
        took = alone(allreduce_add(session, turns))
        if abs(took / seconds - 1) < 0.05:
            break
        turns = max(10, int(turns * (seconds / took) ** 1.5))  # part of the time is no turns of the loop
    return turns


def alone(f: Callable[[Any], Any], n: int = 200) -> float:
    """Seconds a computation takes by itself, back to back in plain JAX: the yardstick."""
    pw.session().programs.recorder.catch_up()  # what the session would do meanwhile
    plain = plain_of(f)
    x = jax.device_put(start_value(), plain.sharding)
    x = plain(x)
    x.block_until_ready()
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        for i in range(n):
            x = plain(x)
            if i % 16 == 15:
                x.block_until_ready()  # JAX up to 0.11 aborts with too many collectives in flight
        x.block_until_ready()
        times.append((time.perf_counter() - began) / n)
    return statistics.median(times)


class Plain:
    """The same computation as plain JAX runs it, on a mesh of all devices."""

    def __init__(self, body: Callable[[Any], Any]):
        mesh = jax.make_mesh((DEVICES,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
        self.sharding = jax.sharding.NamedSharding(mesh, jax.P("d"))
        self._call = jax.jit(jax.vmap(body, axis_name="i"), in_shardings=self.sharding, out_shardings=self.sharding)

    def __call__(self, x: Any) -> Any:
        return self._call(x)


def plain_of(f: Any) -> Plain:
    return Plain(f.__wrapped__)


# --- running clients ----------------------------------------------------------------------------------


def drive(clients: list[pw.Client], f: Callable[[Any], Any], seconds: float, ahead: int = 6) -> tuple[list[int], float]:
    """Every client submits programs from a thread of its own; (computations each completed, seconds).

    Completions are counted by the client's thread as it gets its results, not by the scheduler.
    """
    counts = [0] * len(clients)
    stop = threading.Event()

    def client_loop(i: int) -> None:
        with clients[i]:
            waiting: deque[Any] = deque()
            while not stop.is_set():
                waiting.append(program(f))
                if len(waiting) > ahead:
                    waiting.popleft().result()
                    counts[i] += CHAIN
            for left in waiting:
                left.result()

    threads = [threading.Thread(target=client_loop, args=(i,)) for i in range(len(clients))]
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    first, began = list(counts), time.perf_counter()
    time.sleep(seconds)
    last, took = list(counts), time.perf_counter() - began
    stop.set()
    for thread in threads:
        thread.join()
    return [b - a for a, b in zip(first, last, strict=True)], took


def opened(shares: list[float]) -> list[pw.Client]:
    return [pw.Client(f"client{i}", share=share) for i, share in enumerate(shares)]


def closed(clients: list[pw.Client]) -> None:
    for client in clients:
        client.close()


# --- figures ---------------------------------------------------------------------------------------------


def share_error(session: pw.Session, f: Callable[[Any], Any]) -> Figure:
    session.policy = "proportional"
    worst, note = shares_got(f)
    with each_a_launch(session):
        apart, _ = shares_got(f)
    session.policy = "fifo"
    return Figure("share_error", worst, 0.03, note=f"{note}; each computation a launch: {apart:.3f}")


def shares_got(f: Callable[[Any], Any]) -> tuple[float, str]:
    """(largest relative error, what each client got) of completed computations, for two divisions."""
    worst, notes = 0.0, []
    for shares in ([1, 1, 1, 1], [1, 2, 4, 8]):
        clients = opened([float(s) for s in shares])
        counts, _ = drive(clients, f, 12.0)  # so that one program more or less is under 1 % of the smallest share
        closed(clients)
        total, whole = sum(counts), sum(shares)
        errors = [abs(c / total / (s / whole) - 1) for c, s in zip(counts, shares, strict=True)]
        worst = max(worst, *errors)
        notes.append(f"{':'.join(map(str, shares))} got {':'.join(f'{c / total * whole:.2f}' for c in counts)}")
    return worst, "; ".join(notes)


def aggregate_vs_jax(session: pw.Session, f: Callable[[Any], Any]) -> Figure:
    """Four clients against four Python threads in plain JAX, in turn."""
    ratios, ours, theirs = [], 0.0, 0.0
    for _ in range(3):
        clients = opened([1.0] * 4)
        counts, took = drive(clients, f, 1.5)
        closed(clients)
        ours = sum(counts) / took
        theirs = jax_threads(f, 4, 1.5)
        ratios.append(ours / theirs)
    return Figure(
        "aggregate_vs_jax", statistics.median(ratios), 1.0, sense=">=", note=f"{ours:,.0f}/s against {theirs:,.0f}/s"
    )


def jax_threads(f: Callable[[Any], Any], n: int, seconds: float) -> float:
    """Computations a second of plain JAX driven by threads."""
    plain, lock, stop = plain_of(f), threading.Lock(), threading.Event()
    counts = [0] * n
    ordered = tuple(map(int, jax.__version__.split(".")[:2])) <= (0, 11)

    def loop(i: int) -> None:
        x = jax.device_put(start_value(), plain.sharding)
        while not stop.is_set():
            for _ in range(4):
                if ordered:
                    with lock:
                        x = plain(x)
                else:
                    x = plain(x)
            x.block_until_ready()
            counts[i] += 4

    plain(jax.device_put(start_value(), plain.sharding)).block_until_ready()
    threads = [threading.Thread(target=loop, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    first, began = sum(counts), time.perf_counter()
    time.sleep(seconds)
    rate = (sum(counts) - first) / (time.perf_counter() - began)
    stop.set()
    for thread in threads:
        thread.join()
    return rate


def utilisation(session: pw.Session, f: Callable[[Any], Any]) -> Figure:
    """Time that the completed computations take by themselves, over the time that has passed."""
    one, sixteen = busy(f, 1), busy(f, 16)
    with each_a_launch(session):
        apart = busy(f, 16)
    note = f"{alone(f) * 1e3:.2f} ms a computation alone; one client {one:.2f}; each computation a launch: {apart:.2f}"
    return Figure("utilisation_16", sixteen, 0.95, sense=">=", note=note)


def busy(f: Callable[[Any], Any], n: int) -> float:
    ratios: list[float] = []
    for _ in range(3):
        before = alone(f)
        clients = opened([1.0] * n)
        counts, took = drive(clients, f, 2.0, ahead=2)
        closed(clients)
        ratios.append(sum(counts) * (before + alone(f)) / 2 / took)
    return statistics.median(ratios)


def switch_cost(session: pw.Session, f: Callable[[Any], Any]) -> Figure:
    """Eight clients against one that sends as much."""
    ratios: list[float] = []
    for _ in range(3):
        rates: dict[int, float] = {}
        for n in (8, 1):
            clients = opened([1.0] * n)
            counts, took = drive(clients, f, 1.5, ahead=16 // n)
            closed(clients)
            rates[n] = sum(counts) / took
        ratios.append(rates[8] / rates[1])
    return Figure("switch_cost", statistics.median(ratios), 0.95, sense=">=")


# --- the controller by itself ------------------------------------------------------------------------------


def decide() -> list[Figure]:
    """Controller time of all events of one launch, with eight clients queued; and how it grows with a program."""
    micros = min(controller_seconds(1024, 8) for _ in range(3)) / 1024 * 1e6
    thousand = min(controller_seconds(1_000, 1) for _ in range(3))
    ten = min(controller_seconds(10_000, 1) for _ in range(3))
    return [
        Figure("decide_us", micros, 25, "us", note="submission, preparation, launch, completion, release"),
        Figure("decide_growth", ten / thousand, 12, note="10,000 nodes in one program / 1,000"),
    ]


def controller_seconds(nodes: int, clients: int) -> float:
    """Seconds the controller takes for chains of ``nodes`` nodes in all, submitted by so many clients."""
    controller = Controller(policy="proportional")
    devices = tuple(DeviceId(i) for i in range(DEVICES))
    controller.handle(IslandJoined(0.0, IslandSpec(IslandId(0), "island0", devices)))
    controller.handle(SliceRequested(0.0, SliceId(1), "a", DEVICES))
    events: list[Any] = []
    each, node = nodes // clients, 0
    for c in range(clients):
        controller.handle(ClientOpened(0.0, f"c{c}"))
        specs = []
        for k in range(each):
            node += 1
            reads = (BufferId(node - 1),) if k else ()
            output = OutputSpec(BufferId(node), 4)
            specs.append(NodeSpec(NodeId(node), "f", NodeKind.COMPUTE, SliceId(1), reads, (output,), spread=True))
        events.append(NodesSubmitted(0.0, ProgramId(c + 1), "chain", tuple(specs), client=f"c{c}"))
    began = time.perf_counter()
    queue: deque[Any] = deque(events)
    clock = 0.0
    while queue:
        instructions, _ = controller.handle(queue.popleft())
        for i in instructions:
            if isinstance(i, Prepare):
                queue.append(NodePrepared(clock, i.node))
            elif isinstance(i, Launch):
                clock += 1e-3
                queue.append(NodeCompleted(clock, i.node, clock - 1e-3, clock))
    took = time.perf_counter() - began
    if controller.sizes()["nodes"]:
        raise AssertionError(f"{controller.sizes()['nodes']} nodes never ended")
    return took


if __name__ == "__main__":
    sys.exit(main())
