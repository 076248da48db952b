"""The registry: policies by name, the users' own too, and what becomes of one that misbehaves.

A policy of the user's is not trusted: it is shown copies, and one that raises anything at all, answers nothing or
something that it was not shown is removed, FIFO takes over from that very launch on, and the user is told
once.  So a mistake in ten lines costs a note and never a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..errors import PolicyError
from .lanes import ClientLane
from .policies import POLICIES, Policy, Ranking, fifo, policy_named


class Registry:
    """The policies that there are, and the one that decides."""

    def __init__(self, name: str):
        self._own: dict[str, Policy] = {}
        #: What the user shall be told.
        self.notes: list[str] = []
        self.name = "fifo"
        #: One of ours that decides, or that would if the user's did not.
        self._ranking: Ranking = fifo
        self._policy: Policy | None = None
        #: A number for the question that a policy of the user's is answering at this moment; 0 if none is.
        self.asking = 0
        self._questions = 0
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
            self._policy = policy

    def use(self, name: str) -> None:
        """Lets a policy decide from now on.

        Raises:
          UnknownName: there is none of that name.
        """
        self.check(name)
        self._policy = self._own.get(name)
        self._ranking = POLICIES.get(name, fifo)
        self.name = name

    def check(self, name: str) -> None:
        """Does nothing if there is a policy of that name.

        Raises:
          UnknownName: there is none.
        """
        policy_named(name, {**POLICIES, **self._own})

    def choose(self, lanes: Sequence[ClientLane]) -> ClientLane:
        """The lane whose first gang goes next; ``lanes`` has one at least."""
        return self._ranking(lanes) if self._policy is None else self._ask(self._policy, lanes)

    def _ask(self, policy: Policy, lanes: Sequence[ClientLane]) -> ClientLane:
        shown = tuple(lane.shown() for lane in lanes)
        try:
            self._questions = self.asking = self._questions + 1
            chosen = cast(object, policy(shown))  # it is a user's, and may be wrong
        except BaseException as error:  # SystemExit too: it is this decision alone that ends
            return self._dismiss(lanes, f"raised {_told(error)}")
        finally:
            self.asking = 0
        for view, lane in zip(shown, lanes, strict=True):
            if view is chosen:
                return lane
        answered = "nothing" if chosen is None else f"a {type(chosen).__name__}"
        return self._dismiss(lanes, f"answered {answered}, which is none of the lanes it was shown")

    def _dismiss(self, lanes: Sequence[ClientLane], why: str) -> ClientLane:
        first = next(iter(why.splitlines()))[:500]
        self.notes.append(
            f"the scheduling policy {self.name!r} {first}; it was removed and fifo took over: "
            "mend it and register it again"
        )
        self._own.pop(self.name, None)
        self.use("fifo")
        return fifo(lanes)


def _told(error: BaseException) -> str:
    """An error as one line, whatever its own text does."""
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be had)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
