"""Settings of a session, each with its unit, its default and what it is for.

``%pw config NAME=VALUE`` and ``pw.session().config`` change them while a session runs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Literal, get_args, get_origin, get_type_hints

from .checks import at_least, real
from .errors import UnknownName, unknown

SyncMode = Literal["log", "warn", "error"]

#: The smallest values of settings that cannot be 0.
_LEAST = {"max_in_flight": 1}


@dataclass(slots=True)
class Config:
    """The settings of one session."""

    #: What an implicit wait inside a cell does: ``log`` it, ``warn`` too, or raise an ``error``.
    sync: SyncMode = "log"
    #: Cut a window of a long cell at the next turn of its loop after this many recorded operations.
    window_nodes: int = 256
    #: ... or after this many milliseconds.
    window_ms: float = 10.0
    #: Launches that cells may record ahead of the devices before recording pauses.
    max_ahead: int = 1024
    #: Bytes of results that cells may record ahead of the devices before recording pauses.
    max_ahead_bytes: int = 1 << 30
    #: Launches in flight on one island; more would only take control away from the scheduler.
    max_in_flight: int = 16
    #: Merge neighbouring computations on one slice whose estimated time adds up to at most this (ms); 0: never.
    coalesce_ms: float = 2.0
    #: ``parallel`` or ``sequential`` dispatch (Pathways §4.5).
    dispatch: Literal["parallel", "sequential"] = "parallel"
    #: Seconds after which a blocking wait shows its progress.
    progress_after: float = 2.0
    #: Whether the terminal's prompt has a line below it that says what runs.
    toolbar: Literal["on", "off"] = "on"
    #: How many facts of the run are kept; above it the oldest detail goes first.  A million take some 35 MB.
    keep_facts: int = 1_000_000

    def set(self, name: str, value: str | float | int) -> None:
        """Sets one setting from text or number.

        Raises:
          UnknownName: no such setting; the nearest name is suggested.
          ValueError: the text is no value of the setting's type.
        """
        known = [f.name for f in fields(self)]
        if name not in known:
            raise UnknownName(unknown("setting", name, known, "Settings"))
        hint = get_type_hints(type(self))[name]
        if get_origin(hint) is Literal:
            choices = get_args(hint)
            if value not in choices:
                raise ValueError(f"{name} is one of {', '.join(choices)}, not {value!r}")
            setattr(self, name, value)
            return
        if isinstance(value, str):
            try:
                value = hint(value)
            except ValueError:
                raise ValueError(f"{name} takes a number ({hint.__name__}), not {value!r}") from None
        if hint is int:
            number = at_least(_LEAST.get(name, 0), name, value)
        else:
            number = real(name, value)
            if not number >= 0:
                raise ValueError(f"{name} is {value}; it is at least 0")
        setattr(self, name, number)


def noninteractive() -> bool:
    """Whether ``PWLAB_NONINTERACTIVE=1`` asks for no live output (batch runs, CI)."""
    return os.environ.get("PWLAB_NONINTERACTIVE", "") not in ("", "0")
