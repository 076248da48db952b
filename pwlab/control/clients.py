"""Clients: who submits programs, what each may have, and what each has had (Pathways §5.2).

A client's record is shared by all that it submitted.  Closing takes the record out of the
table at once, so the name is free again, and the record lives on only as long as something
that the client launched has not ended: devices are not preempted (§4.4).  From then on
nothing refers to it, and so nothing of it is left.

Whoever submits without having been opened is opened with the defaults: a notebook alone
needs no ceremony.

Rejected: to keep closed clients in the table for their accounts (a server with a client a
request would grow for ever; who wants them asks before closing), and to count a client's
bytes by walking its buffers (an event costs what it changes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import ClientError, UnknownName, unknown
from ..events import ClientOpened
from .accounts import UNLIMITED, Account


class Client:
    """One client, and its accounts."""

    __slots__ = (
        "closed",
        "device_seconds",
        "in_flight",
        "launches",
        "max_in_flight",
        "memory",
        "name",
        "priority",
        "queued",
        "share",
        "suspended",
        "waited",
    )

    def __init__(self, name: str):
        self.name = name
        #: Part of the device time, relative to other clients; positive and finite.
        self.share = 1.0
        self.priority = 0
        #: Launches in flight over all islands, or None for no limit of its own.
        self.max_in_flight: int | None = None
        #: Bytes of its buffers on all devices together.
        self.memory = Account(f"client {name!r}", UNLIMITED)
        self.closed = False
        self.suspended = False
        #: Gangs that are launched and have not ended.
        self.in_flight = 0
        #: Nodes that are submitted and neither launched nor ended.
        self.queued = 0
        #: Gangs that were launched, and the time they took: seconds times devices.
        self.launches = 0
        self.device_seconds = 0.0
        #: Seconds for which its gangs could have been launched and were not, in sum.
        self.waited = 0.0

    @property
    def full(self) -> bool:
        """Whether as many launches are in flight as it may have."""
        return self.max_in_flight is not None and self.in_flight >= self.max_in_flight


@dataclass(frozen=True, slots=True)
class ClientUsage:
    """A client's settings and accounts at one moment, for ``%pw clients``.

    ``device_seconds`` are seconds times devices of what has ended; ``waited`` the seconds for which its gangs could
    have been launched and were not; ``bytes`` what its buffers take on devices, ``peak_bytes`` the most they ever did.
    """

    name: str
    share: float
    priority: int
    max_bytes: int | None
    max_in_flight: int | None
    suspended: bool
    device_seconds: float
    launches: int
    waited: float
    in_flight: int
    queued: int
    bytes: int
    peak_bytes: int


class Clients:
    """The clients that are open, in the order in which they came."""

    def __init__(self) -> None:
        self.table: dict[str, Client] = {}

    def open(self, event: ClientOpened) -> Client:
        """Opens a client, or changes the settings of one that is open.

        Raises:
          ClientError: its share is not positive and finite, or a limit is too small.
        """
        who = f"client {event.client!r}"
        if not event.client:
            raise ClientError("a client needs a name: one or more characters")
        if not (event.share > 0 and math.isfinite(event.share)):
            raise ClientError(
                f"{who} asks for share={event.share}: a share is a positive finite number, such as 1 or 2.5"
            )
        if event.max_bytes is not None and event.max_bytes < 1:
            raise ClientError(
                f"{who} asks for max_bytes={event.max_bytes}: allow at least 1 byte, or None for no limit"
            )
        if event.max_in_flight is not None and event.max_in_flight < 1:
            raise ClientError(
                f"{who} asks for max_in_flight={event.max_in_flight}: allow at least 1 launch, or None for no limit"
            )
        client = self.named(event.client)
        client.share, client.priority = float(event.share), event.priority
        client.max_in_flight = event.max_in_flight
        client.memory.capacity = UNLIMITED if event.max_bytes is None else event.max_bytes
        return client

    def named(self, name: str) -> Client:
        """The client of that name, opened with the defaults if there is none."""
        client = self.table.get(name)
        if client is None:
            client = self.table[name] = Client(name)
        return client

    def find(self, name: str) -> Client:
        """The client of that name.

        Raises:
          UnknownName: it was never opened, or is closed.
        """
        client = self.table.get(name)
        if client is None:
            raise UnknownName(unknown("client", name, self.table, "Open are", "None is open"))
        return client

    def close(self, name: str) -> Client:
        """Takes a client out.

        Raises:
          UnknownName: it was never opened, or is closed.
        """
        client = self.find(name)
        del self.table[name]
        client.closed, client.suspended = True, False
        return client

    def usage(self) -> tuple[ClientUsage, ...]:
        """Settings and accounts of all that are open."""
        return tuple(
            ClientUsage(
                client.name,
                client.share,
                client.priority,
                None if client.memory.capacity == UNLIMITED else client.memory.capacity,
                client.max_in_flight,
                client.suspended,
                client.device_seconds,
                client.launches,
                client.waited,
                client.in_flight,
                client.queued,
                client.memory.used,
                client.memory.peak,
            )
            for client in self.table.values()
        )
