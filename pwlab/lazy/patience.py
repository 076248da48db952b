"""Waiting on the user's thread, and telling if a person must act before the wait can end."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..control import Kind, Reason, Why, text_of
from ..errors import SessionClosed
from ..runtime import Driver
from ..runtime.clock import now

#: Seconds between two looks at what it waits for, at the least.
_LOOK = 0.2

#: What only a person ends, and how.
_BY_HAND = {Kind.PAUSED: "%pw resume", Kind.SUSPENDED: "%pw resume NAME"}


def wait_for(
    driver: Driver,
    over: Callable[[], bool],
    what: str,
    why: Callable[[Any], Why],
    after: float,
    timeout: float | None = None,
) -> bool:
    """Waits until ``over()`` holds; False if ``timeout`` seconds passed.

    Says so once, on standard error, if it is the scheduler that was paused, or something suspended.

    Args:
      what: what waits, for people.
      why: asks the controller for the reason.
      after: seconds that pass before it says anything.
    """
    deadline = math.inf if timeout is None else now() + timeout
    pause = max(after, _LOOK)
    while not driver.signal.wait_for(over, min(pause, deadline - now())):
        if now() >= deadline:
            return False
        root = _root(driver, over, why, deadline - now())
        if root is not None and root.kind in _BY_HAND:
            pause = math.inf
            print(
                f"pwlab: {what} waits. {text_of(root)}. Interrupt this (Ctrl-C) and use `{_BY_HAND[root.kind]}`, or "
                "resume from another thread",
                file=sys.stderr,
            )
    return True


def _root(driver: Driver, over: Callable[[], bool], why: Callable[[Any], Why], timeout: float) -> Reason | None:
    """The root of the present reasons; None if the wait was over before the answer came."""
    with suppress(SessionClosed):
        asked = driver.ask(why)
        if driver.signal.wait_for(lambda: over() or asked.done(), timeout) and asked.done():
            return asked.result().root
    return None
