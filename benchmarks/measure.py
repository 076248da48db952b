"""Shared by the benchmarks: medians, ratios measured side by side, memory, and one JSON object at the end."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure with what is asked of it."""

    name: str
    value: float
    limit: float
    unit: str = ""
    #: ``"<="`` or ``">="``.
    sense: str = "<="
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.value <= self.limit if self.sense == "<=" else self.value >= self.limit


def seconds(fn: Callable[[], Any]) -> float:
    """Wall seconds of one call, without garbage of earlier ones being collected in it."""
    gc.collect()
    began = time.perf_counter()
    fn()
    return time.perf_counter() - began


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int = 9) -> tuple[float, float, float]:
    """(median of ours/theirs pair by pair, median seconds of ours, of theirs), run in turn."""
    a: list[float] = []
    b: list[float] = []
    for i in range(pairs):
        first, second = (ours, theirs) if i % 2 else (theirs, ours)
        x, y = seconds(first), seconds(second)
        a.append(x if first is ours else y)
        b.append(y if first is ours else x)
    return (
        statistics.median(x / y for x, y in zip(a, b, strict=True)),
        statistics.median(a),
        statistics.median(b),
    )


def resident_mb() -> float:
    """Resident memory of this process, MB."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def report(figures: list[Figure]) -> int:
    """Prints the figures, and with ``--json`` one JSON object last.  The exit status tells whether all hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    args, _ = parser.parse_known_args()
    width = max(len(f.name) for f in figures)
    for f in figures:
        mark = "ok  " if f.holds else "MISS"
        print(
            f"{mark} {f.name:<{width}} {f.value:10.4g} {f.unit:<3} {f.sense} {f.limit:g}   {f.note}",
            file=sys.stderr,
        )
    if args.json:
        print(
            json.dumps(
                {
                    "machine": _machine(),
                    "figures": {f.name: f.value for f in figures},
                    "notes": {f.name: f.note for f in figures if f.note},
                }
            )
        )
    return 0 if all(f.holds for f in figures) else 1


def _machine() -> dict[str, Any]:
    import jax

    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "cores": os.cpu_count(),
        "arch": platform.machine(),
    }
