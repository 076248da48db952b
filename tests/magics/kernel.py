"""A real ipykernel, and what each of its cells put out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

_ROOT = Path(__file__).parents[2]
#: Seconds after which a kernel that says nothing is given up.
_LONG = 60.0


class Cell:
    """The outputs of one cell, whenever they came."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.idle = False

    def add(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "status":
            self.idle = self.idle or content["execution_state"] == "idle"
        elif kind in ("stream", "display_data", "update_display_data", "execute_result", "error"):
            self.outputs.append({"kind": kind, **content})

    @property
    def text(self) -> str:
        """What streams said."""
        return "".join(out["text"] for out in self.outputs if out["kind"] == "stream")

    @property
    def errors(self) -> list[dict[str, Any]]:
        return [out for out in self.outputs if out["kind"] == "error"]

    def data(self, kind: str = "execute_result") -> dict[str, str]:
        """The MIME bundle of the one output of a kind."""
        [out] = [out for out in self.outputs if out["kind"] == kind]
        return out["data"]


class Kernel:
    """A kernel; cells run in it one after the other."""

    def __enter__(self) -> Kernel:
        env = dict(os.environ, JAX_PLATFORMS="cpu", IPYTHONDIR=os.devnull, JPY_SESSION_NAME="")
        env["PYTHONPATH"] = os.pathsep.join([str(_ROOT), str(_ROOT / "magics"), env.get("PYTHONPATH", "")])
        env.pop("PWLAB_NONINTERACTIVE", None)
        self.env = env
        self._manager = KernelManager()
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--quiet"]
        self._manager._kernel_spec = KernelSpec(argv=command, display_name="pwlab", language="python")
        self._manager.start_kernel(env=env)
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(_LONG)
        self._cells: dict[str, Cell] = {}
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        self._client.context.destroy(linger=0)

    def start(self, text: str) -> Cell:
        """Sends a cell, and does not wait for it."""
        cell = self._cells[self._client.execute(text)] = Cell()
        return cell

    def until(self, ready: Callable[[], bool]) -> None:
        """Takes what the kernel says until ``ready()``."""
        while not ready():
            message = self._client.get_iopub_msg(timeout=_LONG)
            cell = self._cells.get(message["parent_header"].get("msg_id", ""))
            if cell is not None:
                cell.add(message["msg_type"], message["content"])

    def run(self, text: str) -> Cell:
        """Runs a cell to its end."""
        cell = self.start(text)
        self.until(lambda: cell.idle)
        return cell

    def ok(self, text: str) -> Cell:
        """Runs a cell that must succeed."""
        cell = self.run(text)
        assert not cell.errors, cell.errors
        return cell

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._manager.interrupt_kernel()
