"""The contest for the devices: what each client's share came to while it had work, and what it got.

Clients come and go, so a share says something only among those that want devices at the same time.  Device time is
given out launch by launch; as each ends, all clients that have work are entitled to their parts of it.
``pwlab/viz/js/src/contest.js`` is the same in the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..events import ClientKnown
from .lives import COUNTED, Part


@dataclass(slots=True)
class Contender:
    """A client, from its opening on; one that is opened again begins anew."""

    share: float = 1.0
    priority: int = 0
    max_bytes: int | None = None
    open: bool = True
    #: Device seconds by :class:`Part`.
    parts: list[float] = field(default_factory=lambda: [0.0] * COUNTED)
    launches: int = 0
    failed: int = 0
    #: Nodes that have not ended.
    work: int = 0
    #: Device seconds that were given out while it had work, and its part of them by share, until it last came to work.
    contested: float = 0.0
    entitled: float = 0.0
    #: Of the contest, when it last came to work: device seconds given out, in all and for a share of one.
    since: tuple[float, float] = (0.0, 0.0)


class Contest:
    """The clients by name, in the order in which they came; what a client that is closed has launched may end later."""

    def __init__(self) -> None:
        self.clients: dict[str, Contender] = {}
        #: Shares of those that have work.
        self._asked = 0.0
        self._given = 0.0
        self._level = 0.0

    def of(self, name: str) -> Contender:
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = Contender()
        return client

    def known(self, fact: ClientKnown) -> None:
        """A client was opened, or has other settings."""
        if not self.of(fact.client).open:
            self.clients[fact.client] = Contender()
        client = self.clients[fact.client]
        work = client.work
        self.changed(client, -work)
        client.share, client.priority, client.max_bytes = fact.share, fact.priority, fact.max_bytes
        self.changed(client, work)

    def gone(self, name: str) -> None:
        self.of(name).open = False

    def changed(self, client: Contender, by: int) -> None:
        """So many nodes were submitted for a client, or have ended."""
        if not by:
            return
        if not client.work:
            client.since = self._given, self._level
            self._asked += client.share
        client.work += by
        if not client.work:
            client.contested, client.entitled = self._until_now(client)
            self._asked -= client.share

    def ran(self, device_seconds: float) -> None:
        """A launch took so much; its client has work still."""
        self._given += device_seconds
        self._level += device_seconds / self._asked

    def divided(self, client: Contender) -> tuple[float, float]:
        """Of the device time that was given out while it had work, the part that it asked for, and what it got.

        Before any was given out, the part that it asks for now.
        """
        contested, entitled = self._until_now(client) if client.work else (client.contested, client.entitled)
        if contested:
            return entitled / contested, client.parts[Part.COMPUTING] / contested
        return (client.share / self._asked if client.work else 0.0), 0.0

    def _until_now(self, client: Contender) -> tuple[float, float]:
        given, level = client.since
        return client.contested + self._given - given, client.entitled + (self._level - level) * client.share
