"""Programs: the life of every node (Pathways §3, §4.5).

    waiting → prepared → queued → launched → done
        └─────────┴────────┴─────────┴──────→ failed
        └──────────────────┴────────────────→ cancelled
    waiting ←────────── queued, when its slice moves

One table, ``Programs._LIFE``, holds every step that there is, with what a node
does on taking it; any other step is a bug of ours and is refused.

Under *parallel* dispatch a node is prepared when it is submitted, with all of
its program.  Under *sequential* dispatch it is prepared when it misses nothing
more, which is when its predecessors have been enqueued; §4.5 measures that cost.
Either way it is queued when it is prepared, and offered to the scheduler when,
besides, it misses nothing (see ``edges.py``).

A node that fails fails all that reads from it, directly or not, in the order
in which they are found, breadth first; each is told of the one cause.  A reader
that is launched already is only marked: the backend will report it broken, and
then it ends with the cause with which it was marked, unless that report comes
before the one of the cause, when it is a cause itself.  Other programs go on.

A program that is given up ends what it has not launched and all that reads from
it; what is launched is let finish, for devices are not preempted (§4.4).

Rejected: a class for each state (seven classes to say what a table of nine lines
says), and to cancel a program's launched nodes by ignoring their ends (their
memory would be given away while devices still write to it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import ClassVar

from ..errors import InternalError
from ..events import (
    Abandon,
    Dispatch,
    DispatchChanged,
    Launch,
    NodeAdded,
    NodeBroke,
    NodeCompleted,
    NodeEnded,
    NodeMoved,
    NodePrepared,
    NodesSubmitted,
    NodeState,
    Prepare,
    ProgramCancelled,
    ProgramEnded,
    ProgramOpened,
)
from ..ids import NodeId, ProgramId, SliceId
from .admission import check_window
from .clients import Client, Clients
from .durations import Durations
from .edges import recount, wire
from .memory import Memory
from .records import LIFE, Answer, Failure, Node, Placement, Program
from .scheduler import Scheduler
from .store import Store


class Programs:
    """Leads every node from its submission to its end."""

    def __init__(self, nodes: dict[NodeId, Node], store: Store, memory: Memory, scheduler: Scheduler):
        self.programs: dict[ProgramId, Program] = {}
        #: The nodes that have not ended, in the order of submission.
        self.nodes = nodes
        self.durations = Durations()
        self._store = store
        self._memory = memory
        self._scheduler = scheduler
        self._order = count()
        #: The highest id seen: an id above it was never submitted, one below may have been forgotten.
        self._newest = NodeId(0)

    # --- events -----------------------------------------------------------------

    def submit(
        self,
        event: NodesSubmitted,
        places: Mapping[SliceId, Placement],
        clients: Clients,
        dispatch: Dispatch,
        answer: Answer,
    ) -> None:
        """Takes in a window of a program.  ``dispatch`` holds where the program names none.

        Raises:
          InternalError: the window is not what :class:`~pwlab.events.NodesSubmitted` promises.
        """
        program = self.programs.get(event.program)
        self._newest = check_window(event, program, places, self.nodes, self._store.buffers, self._newest)
        if program is None:
            program = Program(event.program, event.name, clients.named(event.client))
            self.programs[event.program] = program
            answer.facts.append(ProgramOpened(event.time, event.program, event.name, event.client, event.source))
        program.dispatch = event.dispatch or program.dispatch
        chosen = program.dispatch or dispatch
        if event.nodes and chosen is not program.dispatched:
            program.dispatched = chosen
            answer.facts.append(DispatchChanged(event.time, program.id, chosen))
        at_once = chosen is Dispatch.PARALLEL
        nodes = [Node(spec, program, places[spec.slice], next(self._order), self.durations) for spec in event.nodes]
        program.client.queued += len(nodes)
        for node in nodes:
            self.nodes[node.id] = program.live[node.id] = node
            answer.facts.append(NodeAdded(event.time, program.id, node.spec))
            wire(node, self.nodes, self._store, self._memory)
        # Only now: the end of a lost node drops buffers, which the rest of its window may name.
        lost = [node for node in nodes if node.failure is not None]
        for node in nodes:
            if node.failure is None and (at_once or not node.missing):
                self._ask(node, answer)
        self._abandon(lost, answer)
        self._memory.submitted(node for node in nodes if not node.state.ended)
        program.closed = event.last
        self._close(program, answer)

    def prepared(self, event: NodePrepared, answer: Answer) -> None:
        """A node is compiled.  Ignored if it has ended: it may be abandoned while it compiles.

        Raises:
          InternalError: the node was never submitted, or this was not asked or is told twice.
        """
        node = self._find(event)
        if node is None:
            return
        if not node.asked:
            raise InternalError(f"{node} was prepared, but nobody asked for that yet")
        if node.asked > 1:  # for devices from which its slice has moved
            node.asked -= 1
            return
        if self._memory.learn(node, event.scratch, event.written) and (never := self._memory.impossible(node)):
            self.give_up(node, never, answer)
            return
        self._move(node, NodeState.PREPARED, answer, 0.0, event.seconds)
        self._move(node, NodeState.QUEUED, answer)

    def launch(self, node: Node, answer: Answer) -> None:
        """The scheduler chose this node."""
        self._move(node, NodeState.LAUNCHED, answer)

    def completed(self, event: NodeCompleted, answer: Answer) -> None:
        """A launched node's outputs exist.

        Raises:
          InternalError: the node was never submitted, is not launched, or has ended.
        """
        node = self._find(event)
        if node is None:
            raise InternalError(f"node {event.node} completed, but it has ended already")
        self._move(node, NodeState.DONE, answer, event.start, event.end)

    def broke(self, event: NodeBroke, answer: Answer) -> None:
        """A node cannot be prepared or run.  Ignored if it has ended, as for :meth:`prepared`.

        Raises:
          InternalError: the node was never submitted.
        """
        node = self._find(event)
        if node is None:
            return
        if node.failure is None:
            node.failure = Failure.of(node, event.error)
        self._abandon([node], answer, event.start, event.end)

    def give_up(self, node: Node, error: str, answer: Answer) -> None:
        """A node that is not launched never will be."""
        node.failure = Failure.of(node, error)
        self._abandon([node], answer)

    def cancel(self, event: ProgramCancelled, answer: Answer) -> None:
        """Gives a program up.  Ignored if it has ended, which the user could not know."""
        program = self.programs.get(event.program)
        if program is not None:
            self._give_up_all([program], event.reason, answer)

    def cancel_client(self, client: Client, reason: str, answer: Answer) -> None:
        """Gives up all programs of a client."""
        self._give_up_all([p for p in self.programs.values() if p.client is client], reason, answer)

    def relocate(self, place: Placement, answer: Answer) -> None:
        """A slice has moved: its nodes that are not launched are prepared anew, for its new devices."""
        nodes = [node for node in self.nodes.values() if node.place is place and not node.launched]
        for node in nodes:
            node.settle()
            self._memory.settle(node)
        for node in nodes:
            if node.host or not node.asked:
                continue
            if node.state is NodeState.QUEUED:
                self._move(node, NodeState.WAITING, answer)
            else:
                self._ask(node, answer)

    def submitted(self, node: NodeId) -> bool:
        """Whether a node of this id, or of a higher one, was ever submitted."""
        return node <= self._newest

    def validate(self) -> None:
        """Recounts what every node misses, and checks that each is where it should be."""
        missing = recount(self.nodes.values(), self._store)
        for id, node in self.nodes.items():
            assert node.state in LIFE and node.program.live[id] is node, f"{node} is kept"
            assert node.state not in (NodeState.PREPARED, NodeState.DONE), f"{node} is stuck"
            assert node.launched == (node.state is NodeState.LAUNCHED)
            assert node.launched or node.failure is None, f"{node} is lost and was not ended"
            assert node.missing == missing[id], f"{node} misses {missing[id]}, not {node.missing}"
            assert not (node.launched and node.missing), f"{node} was launched too early"
            assert node.place.target is None or not node.launched or node.place.flying
            assert node.asked or (node.missing and node.state is NodeState.WAITING), f"{node} is forgotten"
        for place in {node.place for node in self.nodes.values()}:
            flying = sum(node.launched and node.place is place for node in self.nodes.values())
            assert place.flying == flying, f"slice {place.name!r} counts {place.flying} launches, not {flying}"
        for program in self.programs.values():
            assert program.live or not program.closed, f"program {program.id} has ended and is kept"
            assert all(self.nodes[id] is node for id, node in program.live.items())

    def _find(self, event: NodePrepared | NodeCompleted | NodeBroke) -> Node | None:
        """The node that an event is about, or None if it has ended."""
        node = self.nodes.get(event.node)
        if node is None and event.node > self._newest:
            raise InternalError(f"{type(event).__name__} is about node {event.node}, which was never submitted")
        return node

    # --- transitions --------------------------------------------------------------

    def _move(self, node: Node, to: NodeState, answer: Answer, start: float = 0.0, end: float = 0.0) -> None:
        """Takes one step of :attr:`_LIFE`; ``start`` and ``end`` say what it took, in seconds."""
        step = self._LIFE.get((node.state, to))
        if step is None:
            raise InternalError(f"{node} cannot become {to}: so far it was {node.story()}")
        node.last, node.state = node.state, to
        step(self, node, answer, start, end)

    def _become_prepared(self, node: Node, answer: Answer, start: float, end: float) -> None:
        answer.facts.append(NodeMoved(answer.time, node.id, NodeState.PREPARED, node.island, node.devices, end - start))

    def _enter_queue(self, node: Node, answer: Answer, start: float, end: float) -> None:
        answer.facts.append(NodeMoved(answer.time, node.id, NodeState.QUEUED, node.island, node.devices))
        if not node.missing:
            self._scheduler.offer(node, answer.time)

    def _go_back(self, node: Node, answer: Answer, start: float, end: float) -> None:
        answer.facts.append(NodeMoved(answer.time, node.id, NodeState.WAITING, node.island, node.devices))
        node.asked = 0
        self._ask(node, answer)

    def _go(self, node: Node, answer: Answer, start: float, end: float) -> None:
        self._memory.launched(node)
        if not node.host and self._store.away:
            self._store.restore([b for id in node.reads if (b := self._store.away.get(id)) is not None], answer)
        node.launched = True
        answer.instructions.append(Launch(node.id, node.island, node.devices))
        answer.facts.append(
            NodeMoved(answer.time, node.id, NodeState.LAUNCHED, node.island, node.devices, 0.0, node.scratch, node.laid)
        )
        node.client.queued -= 1
        node.place.flying += 1
        self._store.launch(node)
        for output in node.spec.outputs:
            for reader in self._store.readers(output.buffer):
                self._arrive(reader, answer)
        if node.on_launch is not None:
            waiting, node.on_launch = node.on_launch, None
            self._serve(waiting, answer)

    def _finish(self, node: Node, answer: Answer, start: float, end: float) -> None:
        node.failure = None  # it was marked, but could do without
        self._scheduler.end(node, end - start)
        answer.facts.append(NodeEnded(answer.time, node.id, NodeState.DONE, start, end, node.island, node.devices))
        self._leave(node, answer)

    def _break_off(self, node: Node, answer: Answer, start: float, end: float) -> None:
        self._scheduler.end(node, end - start if end > start else None)
        self._give_up(node, answer, start, end)

    def _withdraw(self, node: Node, answer: Answer, start: float, end: float) -> None:
        self._scheduler.withdraw(node)
        self._give_up(node, answer, start, end)

    def _give_up(self, node: Node, answer: Answer, start: float, end: float) -> None:
        failure = node.failure
        assert failure is not None
        error = failure.told_to(node)
        devices = node.devices if node.launched else ()
        answer.instructions.append(Abandon(node.id, error, failure.cause, failure.cancelled))
        answer.facts.append(
            NodeEnded(answer.time, node.id, node.state, start, end, node.island, devices, error, failure.cause)
        )
        if failure.cancelled:
            node.program.any_cancelled = True
        else:
            node.program.any_failed = True
        self._leave(node, answer)

    #: Every step of a life, and what a node does on taking it.
    _LIFE: ClassVar[dict[tuple[NodeState, NodeState], Callable[[Programs, Node, Answer, float, float], None]]] = {
        (NodeState.WAITING, NodeState.PREPARED): _become_prepared,
        (NodeState.PREPARED, NodeState.QUEUED): _enter_queue,
        (NodeState.QUEUED, NodeState.LAUNCHED): _go,
        (NodeState.QUEUED, NodeState.WAITING): _go_back,
        (NodeState.LAUNCHED, NodeState.DONE): _finish,
        (NodeState.WAITING, NodeState.FAILED): _give_up,
        (NodeState.QUEUED, NodeState.FAILED): _withdraw,
        (NodeState.LAUNCHED, NodeState.FAILED): _break_off,
        (NodeState.WAITING, NodeState.CANCELLED): _give_up,
        (NodeState.QUEUED, NodeState.CANCELLED): _withdraw,
    }

    def _ask(self, node: Node, answer: Answer) -> None:
        node.asked += 1
        answer.instructions.append(Prepare(node.id, node.devices))

    def _arrive(self, node: Node, answer: Answer) -> None:
        """One thing that ``node`` missed has happened."""
        node.missing -= 1
        if node.missing or node.failure is not None:
            return
        if node.state is NodeState.QUEUED:
            self._scheduler.offer(node, answer.time)
        elif not node.asked:
            self._ask(node, answer)

    def _serve(self, waiting: list[Node], answer: Answer) -> None:
        for node in waiting:
            self._arrive(node, answer)

    def _leave(self, node: Node, answer: Answer) -> None:
        """``node`` has ended, whichever way."""
        program = node.program
        del self.nodes[node.id], program.live[node.id]
        self._store.end(node)
        if node.launched:
            if node.early:
                self._memory.ended(node)
            node.place.flying -= 1
        else:
            node.client.queued -= 1
            self._memory.dropped(node)
        for waiting in (node.on_launch, node.on_end):
            if waiting is not None:
                self._serve(waiting, answer)
        node.on_launch = node.on_end = None
        self._close(program, answer)

    def _close(self, program: Program, answer: Answer) -> None:
        if program.closed and not program.live:
            del self.programs[program.id]
            if program.suspended:  # nobody could name it any more
                program.suspended = False
                self._store.revised = True
            answer.facts.append(ProgramEnded(answer.time, program.id, program.verdict))

    def _give_up_all(self, programs: list[Program], reason: str, answer: Answer) -> None:
        doomed: list[Node] = []
        for program in programs:
            program.given_up = reason
            doomed += [node for node in program.live.values() if not node.launched]
        for node in doomed:
            node.failure = Failure.of(node, reason, cancelled=True)
        self._abandon(doomed, answer)

    def _abandon(self, doomed: list[Node], answer: Answer, start: float = 0.0, end: float = 0.0) -> None:
        """Ends ``doomed``, each with its failure, and all that reads from them and is not launched.

        ``start`` and ``end`` say when the first of them ran, in seconds; 0 if it did not.
        """
        roots = len(doomed)
        for node in doomed:  # grows while it is read: breadth first
            for output in node.spec.outputs:
                for reader in self._store.readers(output.buffer):
                    if reader.failure is None:
                        reader.failure = node.failure
                        doomed.append(reader)
        for i, node in enumerate(doomed):
            if i < roots or not node.launched:
                assert node.failure is not None
                to = NodeState.CANCELLED if node.failure.cancelled else NodeState.FAILED
                self._move(node, to, answer, *((0.0, 0.0) if i else (start, end)))
