"""The controller: one event in; orders for the backend and facts for observers out.

It wires four machines, each of which decides one thing and knows nothing of the
others but what it is handed: ``resources`` where, ``programs`` what and whether,
``scheduler`` when, ``store`` for how long.  It calls nobody back, reads no clock
and starts no thread, so that the same events give the same answers, on a laptop,
on a pod, on Ray and in the simulator, and so that a recorded run can be replayed.

After every event the scheduler is asked until nothing more can go, and what the
store let go of is told in one instruction.  The order of an answer counts: a
backend carries its instructions out one after another.

What is over is forgotten: a node at its end, a program with its last node, a
buffer when nobody can read it again.  The tables hold what goes on now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InternalError
from ..events import (
    BuffersReleased,
    Dispatch,
    Event,
    Fact,
    Instruction,
    IslandJoined,
    IslandKnown,
    NodeBroke,
    NodeCompleted,
    NodePrepared,
    NodesSubmitted,
    ProgramCancelled,
    SettingsChanged,
    SliceReleased,
    SliceRequested,
    SliceUnmapped,
)
from ..ids import IslandId, NodeId
from .policies import policy_named
from .programs import Programs
from .records import Answer
from .resources import Resources
from .scheduler import Scheduler
from .store import Store


class Controller:
    """Decides everything that is decided in a session (Pathways §4).

    Args:
      dispatch: how nodes are dispatched whose program does not say.
      max_in_flight: launches in flight on an island.
      policy: the name of a scheduling policy, see :data:`~pwlab.control.POLICIES`.

    Raises:
      UnknownName: there is no such policy.
      InternalError: ``max_in_flight`` is less than 1.
    """

    def __init__(
        self,
        dispatch: Dispatch = Dispatch.PARALLEL,
        max_in_flight: int = 16,
        policy: str = "fifo",
    ):
        self._dispatch = dispatch
        self._resources = Resources()
        self._scheduler = Scheduler(policy_named(policy))
        self._scheduler.limit(max_in_flight)
        self._store = Store()
        self._programs = Programs(self._store, self._scheduler)
        self._handlers: dict[type, Callable[[Any, Answer], None]] = {
            IslandJoined: self._join,
            SliceRequested: self._request,
            SliceReleased: self._release_slice,
            NodesSubmitted: self._submit,
            NodePrepared: self._programs.prepared,
            NodeCompleted: self._programs.completed,
            NodeBroke: self._programs.broke,
            BuffersReleased: self._release_buffers,
            ProgramCancelled: self._programs.cancel,
            SettingsChanged: self._set,
        }

    def handle(self, event: Event) -> tuple[list[Instruction], list[Fact]]:
        """Takes one event; answers with what to do and what happened, each in order.

        Events may race, and what comes too late is ignored: a :class:`NodePrepared` or
        :class:`NodeBroke` of a node that has ended (it was abandoned while the backend worked on
        it), a :class:`BuffersReleased` of unknown buffers, a :class:`ProgramCancelled` of a program
        that has ended, a :class:`SliceReleased` of a slice that is not mapped.

        Raises:
          InternalError: an event that cannot be: it names what was never submitted, mapped or
            asked for, or tells a thing twice.  It has changed nothing.
          UnknownName: :class:`SettingsChanged` names a policy that does not exist.
        """
        handler = self._handlers.get(type(event))
        if handler is None:
            raise InternalError(f"{type(event).__name__} is no event")
        answer = Answer(event.time)
        handler(event, answer)
        scheduler, programs = self._scheduler, self._programs
        while (node := scheduler.take()) is not None:
            programs.launch(node, answer)
        self._store.flush(answer)
        return answer.instructions, answer.facts

    def sizes(self) -> dict[str, int]:
        """How many of each thing are remembered now."""
        return {
            "islands": len(self._resources.islands),
            "slices": len(self._resources.slices),
            "programs": len(self._programs.programs),
            "nodes": len(self._programs.nodes),
            "buffers": len(self._store.buffers),
        }

    def bytes(self, island: IslandId) -> tuple[int, int]:
        """Bytes of the buffers on an island: now, and the most there ever were."""
        return self._store.present[island], self._store.peak[island]

    def story(self, node: NodeId) -> str:
        """The states a node has been in, as ``waiting → prepared → queued``; empty once it has ended."""
        known = self._programs.nodes.get(node)
        return known.story() if known else ""

    def validate(self) -> None:
        """Checks every invariant of every machine; for tests, it looks at everything.

        Raises:
          AssertionError: one does not hold.
        """
        self._resources.validate()
        self._programs.validate()
        self._scheduler.validate(self._programs.nodes.values())
        self._store.validate()

    def _join(self, event: IslandJoined, answer: Answer) -> None:
        self._resources.join(event.island)
        self._scheduler.join(event.island.id)
        self._store.join(event.island.id)
        answer.facts.append(IslandKnown(event.time, event.island))

    def _request(self, event: SliceRequested, answer: Answer) -> None:
        answer.facts.append(self._resources.request(event))

    def _release_slice(self, event: SliceReleased, answer: Answer) -> None:
        if self._resources.release(event.slice):
            answer.facts.append(SliceUnmapped(event.time, event.slice))

    def _submit(self, event: NodesSubmitted, answer: Answer) -> None:
        self._programs.submit(event, self._resources.slices, self._dispatch, answer)

    def _release_buffers(self, event: BuffersReleased, answer: Answer) -> None:
        self._store.release(event.buffers)

    def _set(self, event: SettingsChanged, answer: Answer) -> None:
        """Dispatch holds for what is submitted from now on; limit and policy at once."""
        policy = policy_named(event.policy) if event.policy is not None else None
        if event.max_in_flight is not None:
            self._scheduler.limit(event.max_in_flight)
        self._dispatch = event.dispatch or self._dispatch
        self._scheduler.policy = policy or self._scheduler.policy
