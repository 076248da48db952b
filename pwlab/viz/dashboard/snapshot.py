"""A run in one block of bytes, for the state of a widget or a page of its own.

    deflate( length of the JSON, 4 bytes little-endian · JSON · the chunks' bytes, one after the other )

The JSON is what a batch of the pump says, and the length of each chunk.
"""

from __future__ import annotations

import json
import zlib

from ...runtime.clock import now
from .feed import Feed

#: Bytes of columns in a snapshot; they deflate to about a quarter.
MOST = 3 << 20


def snapshot(feed: Feed, most: int = MOST) -> bytes:
    """The newest ``most`` bytes of a run."""
    chunks, left_out = feed.snapshot(most)
    history = feed.history
    head = {
        "kind": "facts",
        "chunks": [chunk.header | {"bytes": len(chunk.data)} for chunk in chunks],
        "strings": history.strings,
        "strings_from": 0,
        "now": now(),
        "origin": history.origin or 0.0,
        "last": history.last,
        "lost": left_out,
        "running": False,
        "closed": True,
        "shares": feed.shares,
    }
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    return zlib.compress(b"".join((len(text).to_bytes(4, "little"), text, *(c.data for c in chunks))), 6)
