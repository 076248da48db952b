"""Clients: several users of the same islands, each with a share, a priority and limits (Pathways §5.2).

    alice = pw.Client("alice", share=3)
    bob = pw.Client("bob", share=1)
    pw.session().policy = "proportional"
    with alice:
        ...                      # what is submitted here is alice's
    pw.session().clients()       # what each has had

Programs that are submitted outside of any client belong to the client ``main``.  A client may be used from several
threads, each inside a ``with`` of its own.  A program belongs to one client, so the client is entered before the scope:
``with alice, pw.lazy():``.

A name stands for one client: a second ``pw.Client("alice")`` is the same one with new settings, as when a cell is run
again, and closing either closes both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from . import checks
from .control import ClientUsage
from .errors import ClientError, SessionClosed, typed, unknown
from .events import ClientCancelled, ClientClosed, ClientOpened
from .lazy import active, current_owner
from .lazy.frontend import check_open
from .runtime import Owner
from .runtime.clock import now
from .session import Session, session

#: Who it was outside of each ``with client:`` that this thread or task is in; one client may be in several.
_before: ContextVar[tuple[Owner | None, ...]] = ContextVar("pwlab_clients_before", default=())


class Client:
    """A client of the current session.

    Args:
      name: in views and accounts; the client that is open already under this name, if any, gets the new settings.
      share: its part of the device time under the policy ``proportional``, relative to the others'.
      priority: under the policy ``priority``; the highest goes first.
      max_bytes: what its buffers may take on all devices together; None for no limit.
      max_in_flight: its launches in flight, over all islands; None for no limit.

    Raises:
      ClientError: a name that is no text, a share that is not positive and finite, or a limit below 1.
    """

    def __init__(
        self,
        name: str,
        share: float = 1.0,
        priority: int = 0,
        max_bytes: int | None = None,
        max_in_flight: int | None = None,
    ):
        who = f"client {checks.text('the name of a client', name, ClientError)!r}:"
        share = checks.real(f"{who} share", share, ClientError)
        priority = checks.whole(f"{who} priority", priority, ClientError)
        if max_bytes is not None:
            max_bytes = checks.size(f"{who} max_bytes", max_bytes, ClientError)
        if max_in_flight is not None:
            max_in_flight = checks.whole(f"{who} max_in_flight", max_in_flight, ClientError)
        self.name = name
        self._session: Session = session()
        self._session.driver.call(ClientOpened(now(), name, share, priority, max_bytes, max_in_flight))
        self._owner = self._session.frontend.owner(name)

    @property
    def closed(self) -> bool:
        """Whether it was closed, here or by another object of its name."""
        return self._owner.closed

    def __enter__(self) -> Client:
        """What is submitted in the block belongs to it.

        Raises:
          ClientError: it was closed, or a scope is open, whose program belongs to another client.
        """
        check_open(self._owner)
        if self._session.closed:
            raise SessionClosed(f"client {self.name!r} belongs to a session that was stopped; open it again")
        recorder = active.get()
        if recorder is not None and self._session.frontend.recording() and recorder.program.owner is not self._owner:
            raise ClientError(
                f"client {self.name!r} is entered inside a pathways scope, whose program belongs to client "
                f"{recorder.program.client!r} and to no other; enter the client before the scope: "
                f"`with client, pw.lazy():`, or `%%pathways -c {typed(self.name)}` at the top of the cell"
            )
        _enter(self._owner)
        return self

    def __exit__(self, *exc: object) -> None:
        _leave()

    def usage(self) -> ClientUsage:
        """Its settings and accounts: device-seconds, launches, bytes.

        Raises:
          ClientError: it was closed.
        """
        check_open(self._owner)
        return client_usage(self._session, self.name)

    def cancel(self, reason: str = "cancelled by the user") -> None:
        """Gives up all of its programs; what is launched ends, and the client stays open."""
        check_open(self._owner)
        self._session.driver.call(ClientCancelled(now(), self.name, reason))

    def close(self) -> None:
        """What it has not launched is cancelled, and all that it holds is freed.

        Raises:
          ClientError: it was closed before.
        """
        self._session.frontend.close_owner(self._owner)
        if not self._session.closed:
            self._session.driver.call(ClientClosed(now(), self.name))

    def __repr__(self) -> str:
        if self.closed:
            return f"Client({self.name!r}, closed)"
        if self._session.closed:
            return f"Client({self.name!r}, of a session that was stopped)"
        u = self.usage()
        return (
            f"Client({self.name!r}, share {u.share:g}, {u.launches:,} launches, {u.device_seconds:.3g} device-seconds)"
        )


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """What is submitted in the block belongs to an open client; ``with client:`` by its name.

    Raises:
      ClientError: no client of that name is open; the nearest name is suggested.
    """
    here = session()
    client_usage(here, name)
    _enter(here.frontend.owner(name))
    try:
        yield
    finally:
        _leave()


def _enter(owner: Owner) -> None:
    _before.set((*_before.get(), current_owner.get()))
    current_owner.set(owner)


def _leave() -> None:
    *rest, before = _before.get() or (None,)  # left in another context than it was entered in
    current_owner.set(before)
    _before.set(tuple(rest))


def client_usage(session: Session, name: str) -> ClientUsage:
    """The settings and accounts of one open client.

    Raises:
      ClientError: no client of that name is open; the nearest name is suggested.
    """
    usages = {u.name: u for u in session.clients()}
    if name not in usages:
        known = sorted(usages)
        raise ClientError(
            f"{unknown('client', name, known, 'Open are', 'None is open')}; make one with pw.Client(name, share=...)"
        )
    return usages[name]
