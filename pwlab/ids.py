"""The names by which everything in a run is known.

Every layer speaks of programs, nodes, buffers, slices, islands and devices by
small integers, never by live handles (see ``docs/design.md``).  A counter is
handed from one place, so ids are unique in a session and grow in the order in
which things were made.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NewType

ProgramId = NewType("ProgramId", int)
#: One node of the dataflow graph: one computation, whatever its shards (Pathways §3).
NodeId = NewType("NodeId", int)
#: One logical, possibly sharded, buffer (Pathways §4.2).
BufferId = NewType("BufferId", int)
#: A virtual slice, as the user asked for it (Pathways §4.1).
SliceId = NewType("SliceId", int)
IslandId = NewType("IslandId", int)
#: A physical device; numbered through all islands of a session.
DeviceId = NewType("DeviceId", int)


@dataclass(slots=True)
class IdCounters:
    """Hands out ids; one instance a session.  ``itertools.count`` is atomic under the GIL."""

    _programs: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _nodes: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _buffers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _slices: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def program(self) -> ProgramId:
        return ProgramId(next(self._programs))

    def node(self) -> NodeId:
        return NodeId(next(self._nodes))

    def buffer(self) -> BufferId:
        return BufferId(next(self._buffers))

    def slice(self) -> SliceId:
        return SliceId(next(self._slices))


@dataclass(frozen=True, slots=True)
class Source:
    """Where the user wrote something: ``Cell In[4]``, line 3, and the text of that line.

    ``cell`` is what a traceback would print for the file: ``Cell In[4]`` in IPython, a path in a script.
    """

    cell: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.cell}, line {self.line}"
