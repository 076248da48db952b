"""Policies: which client's gang an island launches next (Pathways §4.4).

A policy is a pure function from what an island could launch now to what it
shall launch next.  It sees one *lane* a client and picks a lane; the gangs of a
lane go out in the order of submission.  So a policy compares as many things as
there are clients, however many gangs are queued, and cannot break what must
always hold: a lane holds only gangs that may go, whichever is picked.

The paper ships FIFO and names the rest future work.  Each policy ranks lanes by
one number, and ties by the order of submission:

- ``fifo``: nothing but that order;
- ``proportional`` (§5.2, Fig. 9): device time given so far over share, the least first;
- ``priority``: the client's, the highest first, one more for every
  :data:`AGEING` gangs of others by which the lane was passed;
- ``shortest``: the time that the first gang is expected to take.  What was never
  measured counts as nothing, so that it is measured; and a lane counts half as
  long for every :data:`AGEING` gangs by which it was passed.

So none of them starves a lane: what ages passes everything in the end.

A policy of one's own is about that long.  This one runs what takes longest first::

    def longest(lanes):
        return max(lanes, key=lambda lane: (lane.expected or 0.0, -lane.order))

Rejected: a policy that reorders the whole queue (a scan for each launch), one
that is called back when things happen (a policy with a state of its own cannot
be compared with another on the same trace), and one heap with a key per policy
(a client's share changes with every launch, which would re-key all of its gangs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, TypeVar

from ..errors import UnknownName, unknown
from .lanes import ClientLane, Lane

#: A policy of the user's: one :class:`Lane` a client that could launch now, there is one at least, to one of them.
Policy: TypeAlias = Callable[[Sequence[Lane]], Lane]
#: One of ours; it looks at the scheduler's own lanes, which need no copies.
Ranking: TypeAlias = Callable[[Iterable[ClientLane]], ClientLane]

#: By how many gangs of others a lane may be passed before it counts one priority more, or half as long.
AGEING = 32

_order = attrgetter("order")


def fifo(lanes: Iterable[ClientLane]) -> ClientLane:
    """First come, first served, over all clients."""
    return min(lanes, key=_order)


def proportional(lanes: Iterable[ClientLane]) -> ClientLane:
    """Device time in proportion to the clients' shares."""
    return min(lanes, key=lambda lane: (lane.tally.virtual, lane.order))


def priority(lanes: Iterable[ClientLane]) -> ClientLane:
    """The highest priority first, and what waited long before that."""
    return min(lanes, key=lambda lane: (-lane.owner.priority - lane.passed // AGEING, lane.order))


def shortest(lanes: Iterable[ClientLane]) -> ClientLane:
    """What is expected to take the least time first, what is unknown before that."""
    return min(lanes, key=lambda lane: ((lane.expected or 0.0) * 0.5 ** (lane.passed // AGEING), lane.order))


POLICIES: dict[str, Ranking] = {
    "fifo": fifo,
    "proportional": proportional,
    "priority": priority,
    "shortest": shortest,
}


P = TypeVar("P")


def policy_named(name: str, policies: Mapping[str, P]) -> P:
    """The one of that name.

    Raises:
      UnknownName: there is none; the nearest name is suggested.
    """
    policy = policies.get(name)
    if policy is None:
        raise UnknownName(unknown("scheduling policy", name, policies, "Policies"))
    return policy
