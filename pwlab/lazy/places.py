"""Where the user is: cells, lines, and which frames are the user's own.

A recorded operation keeps only the frame's instruction offset, an integer; the line and its text are
looked up when somebody asks.  Walking the stack for each operation would cost more than recording it.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType

from ..ids import Source
from .ops import _LIBRARY_PATHS

#: Turns a code object's file name into what the user calls it; the magics add IPython's cells.
CellNamer = Callable[[str], str | None]
_namers: list[CellNamer] = []


def add_cell_namer(namer: CellNamer) -> None:
    """``namer(filename)`` answers ``"Cell In[4]"`` for the file of a cell, or None."""
    if namer not in _namers:
        _namers.append(namer)


def remove_cell_namer(namer: CellNamer) -> None:
    if namer in _namers:
        _namers.remove(namer)


def cell_name(filename: str) -> str:
    """What a person calls this file: ``Cell In[4]``, or the base name of a path."""
    for namer in _namers:
        name = namer(filename)
        if name is not None:
            return name
    return os.path.basename(filename)


_places: dict[tuple[str, CodeType], Places] = {}


def places_of(code: CodeType) -> Places:
    """The places of a code object; a function that is run again finds those of its last run."""
    name = cell_name(code.co_filename)  # equal text of two cells is equal code
    found = _places.get((name, code))
    if found is None:
        if len(_places) >= 1000:
            _places.clear()
        found = _places[name, code] = Places(name, code)
    return found


_users: dict[str, bool] = {}
#: Folders of other packages whose frames are never the user's, such as that of the magics.
_libraries: list[str] = []


def add_library(folder: str) -> None:
    """Frames of code below ``folder`` are never the user's."""
    if (path := os.path.realpath(folder) + os.sep) not in _libraries:
        _libraries.append(path)
        _users.clear()


def is_user_file(filename: str) -> bool:
    """Whether code in this file is the user's: no library, no part of Python, no part of pwlab."""
    known = _users.get(filename)
    if known is None:
        known = _users[filename] = not (
            filename.startswith("<frozen") or os.path.realpath(filename).startswith((*_LIBRARY_PATHS, *_libraries))
        )
    return known


class Places:
    """Lines of one code object, by instruction offset."""

    __slots__ = ("_found", "code", "name")

    def __init__(self, name: str, code: CodeType):
        self.name = name
        self.code = code
        self._found: dict[int, Source] = {}

    def source(self, lasti: int) -> Source:
        """The cell, line and text at an instruction offset; -1 is the beginning."""
        found = self._found.get(lasti)
        if found is None:
            line = self.code.co_firstlineno
            for start, end, number in self.code.co_lines():
                if number is not None and start <= max(lasti, 0) < end:
                    line = number
                    break
            text = linecache.getline(self.code.co_filename, line).strip()
            found = self._found[lasti] = Source(self.name, line, text)
        return found


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame of the user's own code."""
    frame = frame or sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def here() -> Source | None:
    """The user's line that is running now."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return None
    line = frame.f_lineno
    filename = frame.f_code.co_filename
    return Source(cell_name(filename), line, linecache.getline(filename, line).strip())


def user_chain(base: FrameType) -> list[tuple[FrameType, int]]:
    """The frames that ``base`` is calling through, outermost first, each with its instruction offset.

    The chain ends with the first frame that is not the user's; that one is in it, as what was called.
    """
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not base:
        frames.append(frame)
        frame = frame.f_back
    if frame is None:
        return []
    chain = [(base, base.f_lasti)]
    for frame in reversed(frames):
        chain.append((frame, frame.f_lasti))
        if not is_user_file(frame.f_code.co_filename):
            break
    return chain


def turned(before: list[tuple[FrameType, int]], now: list[tuple[FrameType, int]]) -> tuple[CodeType, int] | None:
    """Where a loop of the user's turned between two such chains, or None if none did.

    A loop turned in a frame if its offset went back, or if it stands where it stood and calls anew.
    """
    for depth in range(min(len(before), len(now))):
        frame, was = before[depth]
        same, at = now[depth]
        if frame is not same:
            return None
        if depth and not is_user_file(frame.f_code.co_filename):
            return None
        if at < was:
            return frame.f_code, at
        if at > was:
            return None
        if depth + 1 < len(before) and depth + 1 < len(now) and before[depth + 1][0] is not now[depth + 1][0]:
            return frame.f_code, at
    return None
