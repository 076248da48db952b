"""Ctrl-C and the moments in which it may not come."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Holds a Ctrl-C back until the block is over, so that what is half done is finished.

    Only the main thread gets interrupts, so elsewhere nothing is to be done.  For short, bounded work
    alone: never around a wait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    before = signal.getsignal(signal.SIGINT)
    if before is None:  # set by something other than Python
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            if callable(before):
                before(*came[0])
            elif before == signal.SIG_DFL:
                raise KeyboardInterrupt
