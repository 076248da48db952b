"""The collector of garbage, and facts."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Generator[None]:
    """No collection starts by itself meanwhile, in no thread.

    Facts and what is made of them hold no cycles, but each few hundred of them make the collector look for some, and
    it walks the whole heap twenty times while a million are unpacked: that takes longer than all else.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
