"""Whether facts can be true: times that are times, and an order in which they can have been told.

Several threads tell facts, and the controller takes events later than they happen when it is busy.  So times that run
back a little, even some seconds, are no fault; a node that ends before it is there is one.
"""

from __future__ import annotations

import math
from operator import attrgetter

from ..events import Fact, NodeAdded, NodeEnded, NodeMoved
from ..ids import NodeId
from ..units import seconds_text
from .codec import FACTS
from .window import told

#: A clock is no exacter between threads than this; and no thread is so late with what it tells.  Seconds.
NEAR, LATE = 1.0, 60.0

_TIMES = ("time", "seconds", "busy", "start", "end")
#: By kind of fact: the names of its times, and what gives them.
_OF = {
    kind: (names, attrgetter("time", *names))
    for kind in FACTS.values()
    for names in [tuple(name for name in _TIMES if name in kind.__dataclass_fields__)]
}


class Soundness:
    """Looks at the facts of a run, one after the other."""

    def __init__(self) -> None:
        self._newest = -math.inf
        #: Nodes that moved or ended and had not been added.
        self._early: set[NodeId] = set()
        self._known: set[NodeId] = set()

    def untrue(self, fact: Fact) -> str:
        """Why the fact cannot be; nothing where it can."""
        names, values = _OF[type(fact)]
        for name, value in zip(names, values(fact)[1:], strict=True):
            if not math.isfinite(value):
                return f"{type(fact).__name__}.{name} is {value}, which is no time"
            if value < 0 and name in ("seconds", "busy"):
                return f"{type(fact).__name__}.{name} is {value}, and nothing lasts less than 0 seconds"
        if isinstance(fact, NodeEnded):
            if fact.end < fact.start:
                return f"node {fact.node} ends {seconds_text(fact.start - fact.end)} before it starts"
            if fact.end > fact.time + NEAR:
                return f"node {fact.node} ends {seconds_text(fact.end - fact.time)} after it was told to have ended"
        return ""

    def misplaced(self, fact: Fact) -> str:
        """Why the fact cannot stand here; nothing where it can.  Each is to be asked about, in order."""
        before, self._newest = self._newest, max(self._newest, told(fact))
        if before - told(fact) > LATE:
            return f"time runs back by {seconds_text(before - told(fact))}: lines are out of order"
        if isinstance(fact, NodeAdded):
            self._known.add(fact.node.id)
            if fact.node.id in self._early:
                return f"node {fact.node.id} is added after it moved or ended: lines are out of order"
        elif isinstance(fact, NodeMoved | NodeEnded) and fact.node not in self._known:
            self._early.add(fact.node)
        return ""
