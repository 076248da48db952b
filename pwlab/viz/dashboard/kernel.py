"""What a dashboard needs of IPython: when cells run, and a way onto the main thread.

Everything here does nothing where there is no kernel, as in a script.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...runtime.clock import now


def shell() -> Any:
    """The IPython shell of a kernel, or None."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    found = get_ipython()
    return found if getattr(found, "kernel", None) is not None else None


def in_colab() -> bool:
    """Colab holds back what threads send until the main thread sends (colabtools#3373)."""
    return "google.colab" in sys.modules


class Cells:
    """Follows the cells of a kernel."""

    def __init__(self, after: Callable[[], None]):
        """``after()`` is called on the main thread after each cell."""
        self._shell = shell()
        self._after = after
        #: Since when no cell runs; None while one does.
        self._idle_since: float | None = now()
        if self._shell is not None:
            self._idle_since = None  # it is a cell that makes a dashboard
            self._shell.events.register("pre_run_cell", self._began)
            self._shell.events.register("post_run_cell", self._ended)

    def idle(self, at: float) -> float:
        """Seconds for which no cell has been running."""
        since = self._idle_since
        return 0.0 if since is None else max(0.0, at - since)

    def soon(self, call: Callable[[], None]) -> bool:
        """Calls ``call()`` on the main thread once it is free; False where that cannot be."""
        loop = getattr(getattr(self._shell, "kernel", None), "io_loop", None)
        if loop is None:
            return False
        loop.add_callback(call)
        return True

    def close(self) -> None:
        if self._shell is not None:
            for event, hook in (("pre_run_cell", self._began), ("post_run_cell", self._ended)):
                if hook in self._shell.events.callbacks[event]:
                    self._shell.events.unregister(event, hook)

    def _began(self, *_: Any) -> None:
        self._idle_since = None

    def _ended(self, *_: Any) -> None:
        self._idle_since = now()
        self._after()
