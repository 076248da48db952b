"""The controller: one event in; orders for the backend and facts for observers out.

It wires machines, each of which decides one thing and knows nothing of the others
but what it is handed: ``resources`` where, ``programs`` what and whether,
``scheduler`` when, ``store`` for how long, ``memory`` whether there is room,
``clients`` for whom.  It calls nobody back, reads no clock
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
from dataclasses import replace
from typing import Any

from ..errors import InternalError, UnknownName
from ..events import (
    BuffersReleased,
    ClientCancelled,
    ClientClosed,
    ClientGone,
    ClientKnown,
    ClientOpened,
    Dispatch,
    Event,
    Fact,
    Instruction,
    IslandJoined,
    IslandKnown,
    NodeBroke,
    NodeCompleted,
    NodeHeld,
    NodePrepared,
    NodesSubmitted,
    Noted,
    Paused,
    ProgramCancelled,
    Resumed,
    ResumedEntity,
    SettingsChanged,
    SettingsKnown,
    SliceMoved,
    SliceReleased,
    SliceRequested,
    SliceUnmapped,
    Stepped,
    Suspended,
)
from ..ids import BufferId, IslandId, NodeId, ProgramId
from .clients import Clients, ClientUsage
from .explain import Explainer
from .memory import Memory
from .migration import Migration
from .policies import Policy
from .programs import Programs
from .reasons import Why
from .records import Answer, Node
from .registry import Registry
from .resources import Resources
from .scheduler import Scheduler
from .snapshots import MemoryUse, memory_use
from .standstill import hopeless
from .store import Store
from .suspension import Suspension


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
        nodes: dict[NodeId, Node] = {}
        self._clients = Clients()
        self._resources = Resources()
        self._registry = Registry(policy)
        self._store = Store()
        self._memory = Memory(self._store, nodes, self._clients.table)
        self._scheduler = Scheduler(self._registry, self._memory)
        self._scheduler.limit(max_in_flight)
        #: What observers know of the settings.
        self._settings: SettingsKnown | None = None
        self._programs = Programs(nodes, self._store, self._memory, self._scheduler)
        self._suspension = Suspension(self._store, self._memory, self._scheduler)
        self._migration = Migration(self._resources, self._programs, self._scheduler, self._store, self._memory)
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
            SliceMoved: self._migration.request,
            ClientOpened: self._open_client,
            ClientClosed: self._close_client,
            ClientCancelled: self._cancel_client,
            Paused: self._pause,
            Stepped: self._step,
            Resumed: self._resume,
            Suspended: self._suspend,
            ResumedEntity: self._suspend,
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
          UnknownName: an event names a policy, client, program or slice that does not exist.
          ClientError: :class:`ClientOpened` asks for what a client cannot have.
          PlacementError: :class:`SliceMoved` asks for what no island can give.
        """
        handler = self._handlers.get(type(event))
        if handler is None:
            raise InternalError(f"{type(event).__name__} is no event")
        answer = Answer(event.time)
        handler(event, answer)
        scheduler, programs, time = self._scheduler, self._programs, event.time
        if self._resources.moving:
            self._migration.proceed(answer)
        store = self._store
        if store.revised or store.rested:
            self._suspension.leave(answer)
        while True:
            while (node := scheduler.take(time)) is not None:
                programs.launch(node, answer)
            short = scheduler.short
            stuck = hopeless(programs.nodes.values(), scheduler, self._memory, store) if short else None
            if stuck is None:
                break
            programs.give_up(*stuck, answer)
        if store.away:
            self._suspension.come_back(answer)
        if scheduler.short:
            answer.facts += [NodeHeld(time, node, account, bytes) for node, account, bytes in scheduler.lacking()]
        if self._registry.notes:
            answer.facts += [Noted(time, text) for text in self._registry.notes]
            self._registry.notes.clear()
            self._tell_settings(answer)
        store.flush(answer)
        return answer.instructions, answer.facts

    # --- to look at; nothing of it changes anything ---------------------------------

    @property
    def policy(self) -> str:
        """The name of the policy that decides now."""
        return self._registry.name

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of all policies, the users' own last."""
        return self._registry.names

    @property
    def asking(self) -> int:
        """A number for the question that a policy of the user's is answering at this moment; 0 if none is.

        The only thing here that other threads may look at.
        """
        return self._registry.asking

    @property
    def paused(self) -> bool:
        return self._scheduler.paused

    def register(self, name: str, policy: Policy) -> None:
        """Adds a scheduling policy, to be chosen by :class:`~pwlab.events.SettingsChanged`; see ``policies.py``.

        Raises:
          PolicyError: the name is empty or that of one of ours, or the policy cannot be called.
        """
        self._registry.register(name, policy)

    def clients(self) -> tuple[ClientUsage, ...]:
        """Settings and accounts of all open clients, for ``%pw clients``."""
        return self._clients.usage()

    def memory(self) -> MemoryUse:
        """Bytes on every device and who holds them, for ``%pw memory``."""
        return memory_use(self._store, self._memory, self._resources.islands.values())

    def why(
        self, node: NodeId | None = None, *, buffer: BufferId | None = None, program: ProgramId | None = None
    ) -> Why:
        """Why a node, a buffer or a program is not done yet: the present reason, and what is behind it, to the root."""
        explainer = Explainer(self._programs, self._scheduler, self._store, self._memory, self._resources)
        if node is not None:
            return explainer.node(node)
        if buffer is not None:
            return explainer.buffer(buffer)
        if program is not None:
            return explainer.program(program)
        raise InternalError("why() was asked about nothing: name a node, a buffer or a program")

    def sizes(self) -> dict[str, int]:
        """How many of each thing are remembered now."""
        return {
            "islands": len(self._resources.islands),
            "slices": len(self._resources.slices),
            "programs": len(self._programs.programs),
            "nodes": len(self._programs.nodes),
            "buffers": len(self._store.buffers),
            "clients": len(self._clients.table),
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
        self._store.validate(self._programs.nodes.values())
        self._memory.validate()
        self._suspension.validate()
        for queue in self._scheduler.queues.values():
            assert all(self._clients.table.get(client.name) is client for client in queue.tallies)
        for client in {node.client for node in self._programs.nodes.values()}:
            assert client.closed or self._clients.table[client.name] is client
        for client in self._clients.table.values():
            live = sum(node.client is client for node in self._programs.nodes.values())
            assert client.in_flight + client.queued <= live, f"client {client.name!r} counts nodes that have ended"

    def _join(self, event: IslandJoined, answer: Answer) -> None:
        self._resources.join(event.island)
        self._scheduler.join(event.island)
        self._store.join(event.island.id)
        self._memory.join(event.island)
        answer.facts.append(IslandKnown(event.time, event.island))
        self._tell_settings(answer)

    def _request(self, event: SliceRequested, answer: Answer) -> None:
        answer.facts.append(self._resources.request(event))

    def _release_slice(self, event: SliceReleased, answer: Answer) -> None:
        if self._resources.release(event.slice):
            self._store.revised = True
            self._memory.revise()
            self._scheduler.revise()
            answer.facts.append(SliceUnmapped(event.time, event.slice))

    def _submit(self, event: NodesSubmitted, answer: Answer) -> None:
        self._programs.submit(event, self._resources.slices, self._clients, self._dispatch, answer)

    def _release_buffers(self, event: BuffersReleased, answer: Answer) -> None:
        self._store.release(event.buffers)

    def _set(self, event: SettingsChanged, answer: Answer) -> None:
        """Dispatch holds for what is submitted from now on; limit and policy at once."""
        if event.policy is not None:
            self._registry.check(event.policy)
        if event.max_in_flight is not None:
            self._scheduler.limit(event.max_in_flight)
        if event.policy is not None:
            self._registry.use(event.policy)
        self._dispatch = event.dispatch or self._dispatch
        self._tell_settings(answer)

    def _tell_settings(self, answer: Answer) -> None:
        """Tells the settings if they are not known, or no longer right."""
        known = self._settings
        settings = SettingsKnown(answer.time, self._registry.name, self._dispatch, self._scheduler.max_in_flight)
        if known is None or replace(settings, time=known.time) != known:
            self._settings = settings
            answer.facts.append(settings)

    def _open_client(self, event: ClientOpened, answer: Answer) -> None:
        client = self._clients.open(event)
        self._memory.limit_changed()
        self._scheduler.stir()
        answer.facts.append(
            ClientKnown(event.time, client.name, client.share, client.priority, event.max_bytes, client.max_in_flight)
        )

    def _close_client(self, event: ClientClosed, answer: Answer) -> None:
        client = self._clients.close(event.client)
        self._programs.cancel_client(client, f"client {client.name!r} was closed", answer)
        self._store.disown(client)
        self._store.revised = self._store.revised or bool(self._store.away)
        self._scheduler.forget(client)
        answer.facts.append(ClientGone(event.time, client.name))

    def _cancel_client(self, event: ClientCancelled, answer: Answer) -> None:
        self._programs.cancel_client(self._clients.find(event.client), event.reason, answer)

    def _pause(self, event: Paused, answer: Answer) -> None:
        self._scheduler.pause(True)

    def _step(self, event: Stepped, answer: Answer) -> None:
        self._scheduler.step(event.n)

    def _resume(self, event: Resumed, answer: Answer) -> None:
        self._scheduler.pause(False)

    def _suspend(self, event: Suspended | ResumedEntity, answer: Answer) -> None:
        """Suspends, or lets go on, whatever the event names."""
        named = sum(entity is not None for entity in (event.client, event.program, event.slice))
        if named != 1:
            raise InternalError(f"{type(event).__name__} names {named} of a client, a program and a slice, not one")
        suspended = isinstance(event, Suspended)
        if event.client is not None:
            self._clients.find(event.client).suspended = suspended
        elif event.program is not None:
            program = self._programs.programs.get(event.program)
            if program is None:
                raise UnknownName(f"program {event.program} has ended, or never was: there is nothing of it to hold")
            program.suspended = suspended
        elif event.slice is not None:
            place = self._resources.slices.get(event.slice)
            if place is None:
                raise UnknownName(f"slice {event.slice} is not mapped: there is nothing of it to hold")
            place.suspended = suspended
        self._store.revised = True
        self._memory.revise()
        self._scheduler.revise()
