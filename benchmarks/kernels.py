"""A kernel with a client that reads what dashboards send and answers as their page does, without a browser's work."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: Seconds between signs of life of a page, as in ``main.js``.
ACK = 4.0


class Kernel:
    """A kernel in a process of its own, on loopback; use :func:`kernel`."""

    def __init__(self, client: Any):
        self._client = client
        self._page = uuid.uuid4().hex
        self._answers: dict[str, queue.SimpleQueue[str | None]] = {}
        self._closing = False
        self._acked = 0.0
        #: Comm of the newest dashboard, and the number of the last fact that it sent.
        self._comm = ""
        self._to = self.last = 0
        self._news = threading.Condition()
        #: Batches of facts and their bytes so far.
        self.batches = self.bytes = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def run(self, code: str) -> str:
        """Runs a cell and gives what it printed.

        Raises:
          RuntimeError: it raised; with its traceback.
        """
        answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        with self._news:  # the answer must not come before it is known whose it is
            self._answers[self._client.execute(code, store_history=True)] = answers
        text = ""
        while (answer := answers.get(timeout=300)) is not None:
            text += answer
        if "Traceback" in text:
            raise RuntimeError(text)
        return text

    def look(self) -> None:
        """Says *ready* for the newest dashboard and waits until it has told all."""
        self._say("ready", seen=0, strings=0)
        with self._news:
            self._news.wait_for(lambda: self._to and self._to >= self.last, 60)

    def leave(self) -> None:
        """Says *bye*, as a page that is closed does."""
        self._say("bye")

    # --- the client's thread ------------------------------------------------------------------

    def _say(self, kind: str, **more: int) -> None:
        data = {"method": "custom", "content": {"kind": kind, "page": self._page, **more}}
        message = self._client.session.msg("comm_msg", {"comm_id": self._comm, "data": data})
        self._client.shell_channel.send(message)

    def _read(self) -> None:
        while not self._closing:
            try:
                message = self._client.get_iopub_msg(timeout=0.5)
            except queue.Empty:
                continue
            with self._news:
                answers = self._answers.get(message["parent_header"].get("msg_id", ""))
                self._hear(message, answers)
                self._news.notify_all()

    def _hear(self, message: dict[str, Any], answers: queue.SimpleQueue[str | None] | None) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "comm_open" and "_esm" in content["data"].get("state", {}):
            self._comm, self._to = content["comm_id"], 0
        elif kind == "comm_msg" and content["comm_id"] == self._comm and content["data"].get("method") == "custom":
            batch = content["data"]["content"]
            self.last = batch["last"]
            self._to = max([self._to, *(chunk["to"] for chunk in batch["chunks"])])
            self.batches += 1
            self.bytes += sum(map(len, message["buffers"]))
            if time.monotonic() - self._acked > ACK:
                self._acked = time.monotonic()
                self._say("ack")
        elif answers is not None and kind == "stream":
            answers.put(content["text"])
        elif answers is not None and kind == "error":
            answers.put("Traceback\n" + "\n".join(content["traceback"]))
        elif answers is not None and kind == "status" and content["execution_state"] == "idle":
            answers.put(None)

    def close(self) -> None:
        self._closing = True
        self._thread.join()


@contextmanager
def kernel() -> Iterator[Kernel]:
    """Starts a kernel that can import pwlab and the benchmarks, and ends it."""
    from jupyter_client.manager import KernelManager

    env = dict(os.environ, JAX_PLATFORMS="cpu", NPROC="16")
    env["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "magics", ROOT / "benchmarks", ROOT / "tests")))
    manager = KernelManager()
    manager.kernel_spec.argv[0] = sys.executable
    manager.start_kernel(env=env)
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        opened = Kernel(client)
        try:
            yield opened
        finally:
            opened.close()
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
