"""What a run said so far, encoded, for views that come late or come back.

The ring gives up old detail; a page that is loaded again wants the whole run.
Kept as columns a launch costs about 150 bytes, so a million facts take 30 MB.
Facts get numbers of this history's own, from 1 on without gaps; a view names
the last one it has, and gets what came after it.

Old facts stand in *sealed* chunks, encoded once.  The newest are kept as they
are and encoded for whoever is behind, which at ten times a second is little.
Above ``most`` bytes the oldest sealed chunks go, islands, slices and clients
stay, and ``lost`` counts what went.
"""

from __future__ import annotations

from ...events import ClientGone, ClientKnown, Fact, IslandKnown, SliceMapped, SliceUnmapped
from ...observe import FactRing
from .encode import Chunk, Encoder

#: Facts to a sealed chunk.
SEAL = 8_192

#: Facts that are read at once.
PIECE = 16_384

#: Bytes of encoded facts that are kept.
MOST = 64 << 20


class History:
    """Reads a ring and keeps it encoded.  Not safe for threads: its owner locks."""

    def __init__(self, ring: FactRing, seal: int = SEAL, most: int = MOST):
        self._ring = ring
        self._seal = seal
        self._most = most
        self._encoder = Encoder()
        self._sealed: list[Chunk] = []
        self._bytes = 0
        self._tail: list[Fact] = []
        self._lasting: dict[tuple[type, int | str], Fact] = {}
        #: Number in the ring of the last fact that was read.
        self.read = 0
        #: Number of the newest fact here.
        self.last = 0
        #: Facts that are no longer here, or that the ring lost before they were read.
        self.lost = 0
        #: Time of the first fact; views count from it.
        self.origin: float | None = None

    @property
    def strings(self) -> list[str]:
        return self._encoder.strings.all

    def catch_up(self, limit: int = PIECE) -> bool:
        """Reads at most ``limit`` facts; whether there may be more."""
        batch = self._ring.after(self.read, limit)
        self.read = batch.last
        self.lost += batch.missed
        for fact in batch.facts:
            if self.origin is None:
                self.origin = fact.time
            if isinstance(fact, IslandKnown):
                self._lasting[IslandKnown, fact.island.id] = fact
            elif isinstance(fact, ClientKnown):
                self._lasting[ClientKnown, fact.client] = fact
                self._lasting.pop((ClientGone, fact.client), None)  # it is open again
            elif isinstance(fact, ClientGone):
                self._lasting[ClientGone, fact.client] = fact
            elif isinstance(fact, SliceMapped | SliceUnmapped):
                self._lasting[type(fact), fact.slice] = fact
        self._tail += batch.facts
        self.last += len(batch.facts)
        while len(self._tail) >= 2 * self._seal:
            facts = self._tail[: self._seal]
            chunk = self._encoder.chunk(facts, self.last - len(self._tail) + 1)
            del self._tail[: self._seal]
            self._sealed.append(chunk)
            self._bytes += len(chunk.data)
        while self._bytes > self._most and len(self._sealed) > 1:
            gone = self._sealed.pop(0)
            self._bytes -= len(gone.data)
            self.lost += gone.last - gone.first + 1
        return len(batch.facts) >= limit

    def after(self, seen: int, budget: int = 4 << 20) -> list[Chunk]:
        """Chunks that hold what came after fact ``seen``, at least one and about ``budget`` bytes of them."""
        chunks: list[Chunk] = []
        first = self._sealed[0].first if self._sealed else self.last - len(self._tail) + 1
        if seen + 1 < first:
            chunks.append(self.lasting(first - 1))
        for chunk in self._sealed:
            if chunk.last > seen:
                chunks.append(chunk)
                budget -= len(chunk.data)
                if budget <= 0:
                    return chunks
        tail = self.last - len(self._tail) + 1
        if self._tail and seen < self.last:
            start = max(0, seen + 1 - tail)
            chunks.append(self._encoder.chunk(self._tail[start:], tail + start))
        return chunks

    def lasting(self, last: int) -> Chunk:
        """What lasts, in the place of facts 1 to ``last``; whoever has a part of those takes it all."""
        chunk = self._encoder.chunk(list(self._lasting.values()), 1)
        return Chunk(1, last, chunk.header | {"to": last, "whole": True}, chunk.data)
