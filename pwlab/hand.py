"""The scheduler by hand, as functions: stop it and let it make steps, suspend, cancel, move, and ask why.

Each is a method of the current session's :class:`~pwlab.steering.Steering`, and raises SessionClosed where none runs.
"""

from __future__ import annotations

from typing import Any

from .control import Policy, Why
from .errors import SessionClosed
from .functions import Where
from .lazy import LazyTensor
from .session import Session, running


def _session() -> Session:
    session = running()
    if session is None:
        raise SessionClosed("no session is running; pw.start() or `%pw start` starts one")
    return session


def pause() -> None:
    """Launches nothing more until :func:`resume`; what is launched ends, and :func:`step` makes single launches."""
    _session().steering.pause()


def step(n: int = 1) -> tuple[str, ...]:
    """Launches the next ``n`` nodes and pauses again; tells those that were launched at once.

    Raises:
      ValueError: less than one step.
    """
    return _session().steering.step(n)


def resume(name: str | None = None) -> str:
    """Ends the pause; or the suspension of the client, slice or program of that name.  Tells which.

    Raises:
      UnknownName: nothing is called so.
    """
    return _session().steering.resume(name)


def suspend(name: str) -> str:
    """Lets one client, slice or program launch nothing until it is resumed; all others go on.  Tells which.

    Raises:
      UnknownName: nothing is called so.
    """
    return _session().steering.suspend(name)


def cancel(program: str | None = None, client: str | None = None) -> int:
    """Gives up a program, or all programs of a client; tells how many computations will not run.

    What has been launched ends: devices are not preempted (Pathways §4.4).

    Raises:
      UnknownName: no such program or client.
      NotDispatched: the program is held back.
      ValueError: nothing was named.
    """
    return _session().steering.cancel(program, client)


def register_policy(name: str, policy: Policy) -> None:
    """Adds a scheduling policy; ``pw.session().policy = name`` lets it decide.

        pw.register_policy("turns", lambda lanes: min(lanes, key=lambda lane: lane.launches))

    Args:
      policy: a pure function from the lanes (:class:`pwlab.Lane`) of the clients that could launch now to one of them.

    Raises:
      PolicyError: the name is empty, no text, or one of ours; or the policy is no function.
    """
    _session().steering.register_policy(name, policy)


def migrate(slice: Where, island: int | str | None = None) -> None:
    """Moves a slice, and what lies on it, to other devices; its programs do not notice (Pathways §4.1).

    It moves between launches: what runs on it ends first, what waits is compiled anew for the new devices.

    Args:
      island: number or name; whichever is best if not given.

    Raises:
      PlacementError: no island can take it.
      UnknownName: no such slice or island.
    """
    session = _session()
    session.steering.migrate(slice, session.island_id(island))


def remove_slice(slice: Where) -> None:
    """Gives a slice back: its devices are free for others.  What was submitted to it still runs.

    Raises:
      PlacementError: it is the session's default, or was removed before.
      UnknownName: no slice of that name.
    """
    _session().remove_slice(slice)


def why(what: LazyTensor | str | int) -> Why:
    """Why a tensor, a program or a node is not done yet: the present reason, and what is behind it, to the root.

        print(pw.why(loss))

    Args:
      what: a LazyTensor; the name of a program, or of a node, the newest of that name that has not ended; or the
        number of a node.

    Raises:
      UnknownName: no such program or node.
      SessionClosed: no session is running, or the tensor is of one that was stopped.
    """
    held: Any = what
    if running() is None and isinstance(held, LazyTensor):
        raise SessionClosed(held._frontend.values.closed_text(held))
    return _session().steering.why(what)
