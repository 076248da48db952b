"""A fold: facts go in one after the other, each to the method that takes its kind; what they come to can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from ..events import Fact

S = TypeVar("S")
F = TypeVar("F")

_time = attrgetter("time")


def takes(kind: type[F]) -> Callable[[Callable[[S, F], None]], Callable[[S, F], None]]:
    """Marks the method of a :class:`Fold` that takes the facts of a kind."""

    def mark(method: Callable[[S, F], None]) -> Callable[[S, F], None]:
        method.takes_kind = kind  # type: ignore[attr-defined]
        return method

    return mark


class Fold:
    """Takes facts one by one or many at once, with the same result.  A kind that no method takes passes by."""

    __slots__ = ()

    #: Time of the newest fact.
    now: float
    #: By kind of fact.
    methods: ClassVar[dict[type, Callable[[Any, Any], None]]]

    def __init_subclass__(cls) -> None:
        marked = [member for member in vars(cls).values() if hasattr(member, "takes_kind")]
        cls.methods = {method.takes_kind: method for method in marked}

    def add(self, fact: Fact) -> None:
        """Takes one fact; each must be given once."""
        self.extend((fact,))

    def extend(self, facts: Sequence[Fact]) -> None:
        """Takes facts in order; each must be given once."""
        methods = self.methods
        for fact in facts:
            take = methods.get(type(fact))
            if take is not None:
                take(self, fact)
        self.now = max(self.now, max(map(_time, facts), default=self.now))
