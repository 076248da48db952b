"""Accounts: bytes on one physical device, or of one client, and how many there may be.

What always holds: ``0 <= used <= capacity``, unless the capacity was lowered while bytes were held.
"""

from __future__ import annotations

#: The capacity of an account that nobody limits; more than any machine has.
UNLIMITED = 1 << 62


class Account:
    """Bytes now, the most ever, and how many may be."""

    __slots__ = ("ahead", "capacity", "crest", "future", "late", "name", "peak", "used")

    def __init__(self, name: str, capacity: int):
        #: For people: ``device 3``, ``client 'a'``.
        self.name = name
        self.capacity = capacity
        self.used = 0
        self.peak = 0
        # What ``memory.py`` plans with; bounds from above on what will be used:
        #: when all that is submitted has run, in order;
        self.future = 0
        #: at the highest point of that;
        self.crest = 0
        #: in addition, by what was launched out of order since the plan was made and is still held,
        self.ahead = 0
        #: and by the scratch of one node, the most of those of which it was learned since.
        self.late = 0

    @property
    def limited(self) -> bool:
        return self.capacity < UNLIMITED

    def __str__(self) -> str:
        return self.name
