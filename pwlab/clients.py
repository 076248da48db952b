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

from contextvars import Token

from .control import ClientUsage
from .errors import ClientError, nearest
from .events import ClientCancelled, ClientClosed, ClientOpened
from .lazy import client_name
from .runtime.clock import now
from .session import Session, session


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
        self._tokens: list[Token[str]] = []
        self._session.driver.call(ClientOpened(now(), name, share, priority, max_bytes, max_in_flight))

    def __enter__(self) -> Client:
        self._check()
        self._tokens.append(client_name.set(self.name))
        return self

    def __exit__(self, *exc: object) -> None:
        client_name.reset(self._tokens.pop())

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
        u = self.usage()
        return (
            f"Client({self.name!r}, share {u.share:g}, {u.launches:,} launches, {u.device_seconds:.3g} device-seconds)"
        )


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
