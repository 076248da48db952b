"""A run in one block of bytes, for the state of a widget or a page of its own.

    deflate( length of the JSON, 4 bytes little-endian · JSON · the chunks' bytes, one after the other )

The JSON is what a batch of the pump says, and the length of each chunk.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence

from ...observe import Run
from .encode import Chunk, Encoder
from .feed import Feed
from .history import SEAL

#: Bytes of columns in a snapshot; they deflate to about a quarter.
MOST = 3 << 20


def snapshot(feed: Feed, most: int = MOST) -> bytes:
    """The newest ``most`` bytes of a run."""
    chunks, left_out = feed.snapshot(most)
    return _packed(chunks, feed.history.strings, feed.history.origin or 0.0, left_out)


def snapshot_of(run: Run) -> bytes:
    """All of a run."""
    encoder, facts = Encoder(), run.mended
    chunks = [encoder.chunk(facts[i : i + SEAL], i + 1) for i in range(0, len(facts), SEAL)]
    return _packed(chunks, encoder.strings.all, run.start, run.missing, about(run))


def about(run: Run) -> dict[str, object]:
    """What the page must know of a recording."""
    known: dict[str, object] = {"doubts": run.doubts, "cut": bool(run.damage)}
    if run.whole_from is not None:
        # Times in the page are whole microseconds: what ended then has ended.
        known["since"] = run.whole_from - run.start + 1e-6
    return known


def _packed(
    chunks: Sequence[Chunk], strings: list[str], origin: float, left_out: int, more: Mapping[str, object] = {}
) -> bytes:
    head = {
        "kind": "facts",
        "chunks": [chunk.header | {"bytes": len(chunk.data)} for chunk in chunks],
        "strings": strings,
        "strings_from": 0,
        "now": origin,
        "origin": origin,
        "last": chunks[-1].last if chunks else 0,
        "lost": left_out,
        "running": False,
        "closed": True,
        **more,
    }
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    return zlib.compress(b"".join((len(text).to_bytes(4, "little"), text, *(c.data for c in chunks))), 6)
