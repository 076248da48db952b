"""Policies: which client's gang an island launches next (Pathways §4.4).

A policy is a pure function from what an island could launch now to what it
shall launch next.  It sees one *lane* a client and picks a lane; the gangs of a
lane go out in the order of submission.  So a policy compares as many things as
there are clients, however many gangs are queued, and cannot break what must
always hold: a lane holds only gangs that may go, whichever is picked.

The paper ships FIFO and names the rest future work.  Proportional share (§5.2),
priority and shortest-first are functions of the same shape; each adds to
:class:`Lane` the number that it ranks by, the device time a client has used or
what its next gang is expected to take.

Rejected: a policy that reorders the whole queue (a scan for each launch), one
that is called back when things happen (a policy with a state of its own cannot
be compared with another on the same trace), and one heap with a key per policy
(a client's share changes with every launch, which would re-key all of its gangs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeAlias

from ..errors import UnknownName, nearest
from .records import Node


@dataclass(slots=True, eq=False)
class Lane:
    """The gangs that one client could launch on one island now; at least one."""

    client: str
    #: Submission order of its first gang.
    order: int = 0
    #: A heap of (order, node); its first may go, later ones may have been withdrawn.
    gangs: list[tuple[int, Node]] = field(default_factory=list[tuple[int, Node]])


Policy: TypeAlias = Callable[[Iterable[Lane]], Lane]

_order = attrgetter("order")


def fifo(lanes: Iterable[Lane]) -> Lane:
    """First come, first served, over all clients."""
    return min(lanes, key=_order)


POLICIES: dict[str, Policy] = {"fifo": fifo}


def policy_named(name: str) -> Policy:
    """The policy of that name.

    Raises:
      UnknownName: there is none; the nearest name is suggested.
    """
    policy = POLICIES.get(name)
    if policy is None:
        known = list(POLICIES)
        hint = nearest(name, known) or "."
        raise UnknownName(f"no scheduling policy is called {name!r}{hint} Policies: {', '.join(known)}")
    return policy
