"""The registry: policies by name, the users' own too, and what becomes of one that misbehaves.

A policy of the user's is not trusted: one that raises, answers nothing or something that it
was not shown is removed, FIFO takes over from that very launch on, and the user is told
once.  So a mistake in ten lines costs a note and never a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..errors import PolicyError
from .lanes import Lane
from .policies import POLICIES, Policy, fifo, policy_named


class Registry:
    """The policies that there are, and the one that decides."""

    def __init__(self, name: str):
        self._own: dict[str, Policy] = {}
        #: What the user shall be told.
        self.notes: list[str] = []
        self.policy: Policy = fifo
        self.name = "fifo"
        self.use(name)

    @property
    def names(self) -> tuple[str, ...]:
        return (*POLICIES, *self._own)

    def register(self, name: str, policy: Policy) -> None:
        """Adds a policy; one of the user's own that has the name already is replaced.

        Raises:
          PolicyError: the name is empty or that of one of ours, or the policy cannot be called.
        """
        if not name:
            raise PolicyError("a policy needs a name: one or more characters")
        if name in POLICIES:
            raise PolicyError(f"the policy {name!r} is built in and stays as it is: register yours under another name")
        if not callable(policy):
            raise PolicyError(f"the policy {name!r} is a function from lanes to a lane, not {policy!r}")
        self._own[name] = policy
        if self.name == name:
            self.policy = policy

    def use(self, name: str) -> None:
        """Lets a policy decide from now on.

        Raises:
          UnknownName: there is none of that name.
        """
        self.policy, self.name = self.find(name), name

    def find(self, name: str) -> Policy:
        """The policy of that name.

        Raises:
          UnknownName: there is none.
        """
        return policy_named(name, {**POLICIES, **self._own})

    def choose(self, lanes: Sequence[Lane]) -> Lane:
        """The lane whose first gang goes next; ``lanes`` has one at least."""
        try:
            lane = cast(object, self.policy(lanes))  # it is a user's, and may be wrong
        except Exception as error:
            return self._dismiss(lanes, f"raised {type(error).__name__}: {error}")
        for shown in lanes:
            if shown is lane:
                return shown
        answered = "nothing" if lane is None else f"a {type(lane).__name__}"
        return self._dismiss(lanes, f"answered {answered}, which is none of the lanes it was shown")

    def _dismiss(self, lanes: Sequence[Lane], why: str) -> Lane:
        first = next(iter(why.splitlines()))[:500]
        self.notes.append(
            f"the scheduling policy {self.name!r} {first}; it was removed and fifo took over: "
            "mend it and register it again"
        )
        self._own.pop(self.name, None)
        self.use("fifo")
        return fifo(lanes)
