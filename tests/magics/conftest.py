"""A shell of IPython's in this process, with pwlab loaded; and a real kernel, for what only a kernel does."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import pwlab as pw

from .kernel import Kernel


@dataclass(frozen=True)
class Ran:
    """What became of a cell."""

    out: str
    err: str
    value: Any
    error: BaseException | None

    @property
    def text(self) -> str:
        return self.out + self.err


class Shell:
    """An IPython shell whose cells a test runs."""

    def __init__(self, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]):
        self.shell = shell
        self._capsys = capsys

    def run(self, text: str) -> Ran:
        """Runs a cell, as if it had been typed."""
        self._capsys.readouterr()
        result = self.shell.run_cell(text, store_history=True)
        out, err = self._capsys.readouterr()
        return Ran(out, err, result.result, result.error_before_exec or result.error_in_exec)

    def ok(self, text: str) -> Ran:
        """Runs a cell that must succeed."""
        ran = self.run(text)
        assert ran.error is None, ran.text
        return ran

    def misuse(self, text: str) -> str:
        """Runs a cell that must be refused in one line, and gives that line."""
        ran = self.run(text)
        assert type(ran.error).__name__ == "UsageError", ran.text
        assert len(ran.err.strip().splitlines()) == 1
        return str(ran.error)

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.shell.user_ns[name] = value


@pytest.fixture
def bare(session: pw.Session, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A shell without pwlab."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    yield Shell(shell, capsys)
    shell.extension_manager.unload_extension("pwlab")
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()
    InteractiveShell.clear_instance()


@pytest.fixture
def ip(bare: Shell) -> Shell:
    """A shell with pwlab; its cells are numbered from 1."""
    bare.shell.extension_manager.load_extension("pwlab")
    bare.shell.push({"pw": pw, "jnp": __import__("jax.numpy").numpy})
    return bare


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """A real kernel in which a session of two islands of two devices runs."""
    with Kernel() as kernel:
        kernel.ok("%load_ext pwlab\n%pw start --islands 2 --devices 2")
        kernel.ok("import threading, jax, jax.numpy as jnp, numpy as np")
        kernel.ok(
            "gate = threading.Event()\n"
            "def held(x):\n"
            "    def hold(v):\n"
            "        assert gate.wait(60)\n"
            "        return np.asarray(v)\n"
            "    return jax.pure_callback(hold, jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), x)"
        )
        yield kernel
