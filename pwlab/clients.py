"""Clients: several users of the same islands, each with a share, a priority and limits (Pathways §5.2).

    alice = pw.Client("alice", share=3)
    bob = pw.Client("bob", share=1)
    pw.session().policy = "proportional"
    with alice:
        ...                      # what is submitted here is alice's
    pw.session().clients()       # what each has had

Programs that are submitted outside of any client belong to the client ``main``.  A client may be used from several
threads, each inside a ``with`` of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .control import ClientUsage
from .errors import ClientError, SessionClosed, nearest
from .events import ClientCancelled, ClientClosed, ClientOpened
from .lazy import client_name
from .runtime.clock import now
from .session import Session, session

#: Who it was outside of each ``with client:`` that this thread or task is in; one client may be in several.
_before: ContextVar[tuple[str, ...]] = ContextVar("pwlab_clients_before", default=())


class Client:
    """A client of the current session.

    Args:
      name: in views and accounts; a client that is open already under this name gets the new settings.
      share: its part of the device time under the policy ``proportional``, relative to the others'.
      priority: under the policy ``priority``; the highest goes first.
      max_bytes: what its buffers may take on all devices together.
      max_in_flight: its launches in flight, over all islands.

    Raises:
      ClientError: a share that is not positive and finite, or a limit below 1.
    """

    def __init__(
        self,
        name: str,
        share: float = 1.0,
        priority: int = 0,
        max_bytes: int | None = None,
        max_in_flight: int | None = None,
    ):
        self.name = name
        self.closed = False
        self._session: Session = session()
        self._session.driver.call(ClientOpened(now(), name, share, priority, max_bytes, max_in_flight))

    def __enter__(self) -> Client:
        self._check()
        if self._session.closed:
            raise SessionClosed(f"client {self.name!r} belongs to a session that was stopped; open it again")
        _enter(self.name)
        return self

    def __exit__(self, *exc: object) -> None:
        _leave()

    def usage(self) -> ClientUsage:
        """Its settings and accounts: device-seconds, launches, bytes.

        Raises:
          ClientError: it was closed.
        """
        self._check()
        return client_usage(self._session, self.name)

    def cancel(self, reason: str = "cancelled by the user") -> None:
        """Gives up all of its programs; what is launched ends, and the client stays open."""
        self._check()
        self._session.driver.call(ClientCancelled(now(), self.name, reason))

    def close(self) -> None:
        """What it has not launched is cancelled, and all that it holds is freed.

        Raises:
          ClientError: it was closed before.
        """
        self._check()
        self.closed = True
        if not self._session.closed:
            self._session.driver.call(ClientClosed(now(), self.name))

    def _check(self) -> None:
        if self.closed:
            raise ClientError(f"client {self.name!r} was closed; open a new one with pw.Client({self.name!r}, ...)")

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
    client_usage(session(), name)
    _enter(name)
    try:
        yield
    finally:
        _leave()


def _enter(name: str) -> None:
    _before.set((*_before.get(), client_name.get()))
    client_name.set(name)


def _leave() -> None:
    *rest, before = _before.get() or ("main",)  # left in another context than it was entered in
    client_name.set(before)
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
            f"no client is called {name!r}{nearest(name, known) or '.'} Open are: {', '.join(known) or 'none'}; "
            "make one with pw.Client(name, share=...)"
        )
    return usages[name]
