"""Steering: the scheduler by hand, for lessons and for operators.

Change the policy while programs run, stop the scheduler and let it make one step, suspend one client and let the
others go on, move a slice to another island, and ask why something waits.  Every call is one event to the controller.
"""

from __future__ import annotations

from typing import Any

from . import checks
from .control import ClientUsage, Kind, MemoryUse, Policy, Why
from .errors import NotDispatched, PolicyError, SessionClosed, UnknownName, typed, unknown
from .events import (
    ClientCancelled,
    Dispatch,
    Fact,
    NodeEnded,
    NodeMoved,
    NodeState,
    Paused,
    ProgramCancelled,
    Resumed,
    ResumedEntity,
    SettingsChanged,
    SliceMoved,
    Stepped,
    Suspended,
)
from .ids import IslandId, NodeId
from .lazy import LazyTensor
from .programs import Programs
from .runtime import Driver
from .runtime.clock import now
from .slices import Slices


class Steering:
    """The controls of one session's scheduler."""

    def __init__(self, driver: Driver, slices: Slices, programs: Programs):
        self._driver = driver
        self._slices = slices
        self._programs = programs

    # --- policies (Pathways §4.4) ---------------------------------------------------------------

    @property
    def policy(self) -> str:
        """The scheduling policy: ``fifo``, ``proportional``, ``priority``, ``shortest``, or one of the user's own."""
        return self._driver.look(lambda controller: controller.policy)

    @policy.setter
    def policy(self, name: str) -> None:
        self._driver.call(SettingsChanged(now(), policy=checks.text("the name of a policy", name, PolicyError)))

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of all policies."""
        return self._driver.look(lambda controller: controller.policies)

    def register_policy(self, name: str, policy: Policy) -> None:
        """Adds a policy: a pure function from the lanes of the clients that could launch now to the one that shall.

        Raises:
          PolicyError: the name is empty, no text, or one of ours; or the policy is no function.
        """
        checks.text("the name of a policy", name, PolicyError)
        self._driver.look(lambda controller: controller.register(name, policy))

    def dispatch(self, mode: Dispatch, max_in_flight: int) -> None:
        """Sets how programs are dispatched (Pathways §4.5), and how many launches an island may have in flight.

        Raises:
          ValueError: less than one launch.
        """
        checks.at_least(1, "max_in_flight", max_in_flight)
        self._driver.call(SettingsChanged(now(), mode, max_in_flight))

    # --- by hand ----------------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        return self._driver.look(lambda controller: controller.paused)

    def pause(self) -> None:
        """Launches nothing more; what is launched ends."""
        self._driver.call(Paused(now()))

    def step(self, n: int = 1) -> tuple[str, ...]:
        """Launches the next ``n`` nodes and pauses again; tells those that were launched at once.

        Where fewer could be, the others follow as soon as they may.

        Raises:
          ValueError: less than one step.
        """
        n = checks.whole("the number of launches", n)
        if n < 1:
            raise ValueError(f"a step is at least 1 launch, not {n}")
        facts = self._driver.call(Stepped(now(), n))
        launched = [f.node for f in facts if isinstance(f, NodeMoved) and f.state is NodeState.LAUNCHED]
        with self._programs.recorder.reading() as (model, _):
            nodes = [model.nodes[id] for id in launched if id in model.nodes]
            return tuple(
                f"{node.spec.name} of {program.name} (client {program.client})"
                for node in nodes
                if (program := model.programs.get(node.program)) is not None
            )

    def resume(self, name: str | None = None) -> str:
        """Ends the pause, or the suspension of one client, program or slice; tells which."""
        if name is None:
            self._driver.call(Resumed(now()))
            return "all"
        what, entity = self._entity(name)
        self._driver.call(ResumedEntity(now(), **entity))
        return what

    def suspend(self, name: str) -> str:
        """One client, program or slice launches nothing until it is resumed; all others go on.  Tells which.

        Raises:
          UnknownName: nothing is called so.
        """
        what, entity = self._entity(name)
        self._driver.call(Suspended(now(), **entity))
        return what

    def cancel(self, program: str | None = None, client: str | None = None) -> int:
        """Gives up a program, or all programs of a client: what has not been launched never will be.

        Returns:
          How many computations will not run: 0 where all had been launched or had ended.

        Raises:
          UnknownName: no such program or client.
          NotDispatched: the program is held back.
          ValueError: nothing was named.
        """
        if program is None and client is None:
            raise ValueError(
                "name what to cancel: a program, as cancel('train'), or a client, as cancel(client='alice')"
            )
        facts: list[Fact] = []
        if client is not None:
            facts += self._driver.call(ClientCancelled(now(), client))
        if program is not None:
            record = self._programs.find(program)
            if record.held:
                raise NotDispatched(f"program {record.name!r} is held back: `%pw reset {typed(record.name)}` drops it")
            facts += self._driver.call(ProgramCancelled(now(), record.id))
        return sum(isinstance(fact, NodeEnded) and fact.state is NodeState.CANCELLED for fact in facts)

    def migrate(self, slice: Any, island: IslandId | None = None) -> None:
        """Moves a slice to other devices between launches; its programs do not notice (Pathways §4.1).

        Raises:
          PlacementError: no island can take it.
        """
        self._driver.call(SliceMoved(now(), self._slices.find(slice).id, island))

    def _entity(self, name: str) -> tuple[str, dict[str, Any]]:
        """What a name means: a client, else a slice, else a program."""
        checks.text("the name of a client, slice or program", name)
        clients = [usage.name for usage in self.clients()]
        if name in clients:
            return f"client {name}", {"client": name}
        slices = {s.name: s.id for s in self._slices}
        if name in slices:
            return f"slice {name}", {"slice": slices[name]}
        programs = self._programs.names()
        if name in programs:
            return f"program {name}", {"program": self._programs.find(name).id}
        known = [*clients, *slices, *programs]
        raise UnknownName(unknown("client, slice or program", name, known))

    # --- looking -------------------------------------------------------------------------------------

    def why(self, what: Any) -> Why:
        """Why a tensor, a program or a node is not done yet, and the chain of reasons to the root.

        Args:
          what: a LazyTensor; the name of a program, or of a node, the newest of that name that has not ended; or the
            number of a node.

        Raises:
          UnknownName: no such program or node.
          SessionClosed: the tensor is of another session, which was stopped.
        """
        if isinstance(what, LazyTensor):
            if what._frontend.driver is not self._driver:
                raise SessionClosed(what._frontend.values.closed_text(what))
            ref = what._ref
            if ref.window is not None:
                ref.window.recorder.frontend.flush(ref.window)
            what.check_usable()
            buffer: Any = ref.buffer
            return self._driver.look(lambda controller: controller.why(buffer=buffer.id))
        name = str(what)
        record = self._programs.known(name)
        if record is not None:
            return self._driver.look(lambda controller: controller.why(program=record.id))
        node = self._node(name)
        return self._driver.look(lambda controller: controller.why(node))

    def _node(self, name: str) -> NodeId:
        """The newest node of that name that has not ended, else the newest; or the one of that number."""
        number = NodeId(int(name)) if name.isdecimal() else None
        # Asked in any case: after the answer what was submitted before is in the record.
        known = self._driver.look(lambda controller: number is not None and controller.why(number).root.kind)
        if number is not None and known is not Kind.UNKNOWN:
            return number
        with self._programs.recorder.reading() as (model, _):
            nodes = [(node.spec.name, node.spec.id, node.state.ended) for node in reversed(model.nodes.values())]
        called = [(ended, id) for called, id, ended in nodes if called == name]
        if called:
            return next((id for ended, id in called if not ended), called[0][1])
        names = list(dict.fromkeys([*self._programs.names(), *(called for called, _, _ in nodes)]))
        raise UnknownName(unknown("program or computation", name, names, none="None has been recorded yet"))

    def clients(self) -> tuple[ClientUsage, ...]:
        """Settings and accounts of all open clients."""
        return self._driver.look(lambda controller: controller.clients())

    def memory(self) -> MemoryUse:
        """Bytes on every device, and who holds them."""
        return self._driver.look(lambda controller: controller.memory())
