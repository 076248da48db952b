"""The colours of every picture, still or live, light and dark: one source, which the JavaScript is written from.

    npm run palette --prefix pwlab/viz/js

States, networks and names each have a colour *and* a pattern.  Names have eight hues, none of them red, which means
failure; then the same hues striped, then dotted.  Which of them a name gets is told by its text alone where that is
free (:class:`Colours`), so it keeps it from view to view and from run to run.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from ..events import Link, NodeState


class Tone(NamedTuple):
    """What fills a shape, its outline and sign, and the pattern over the fill."""

    fill: str
    line: str
    mark: str = "none"


class Mark(NamedTuple):
    """A pattern: the side of its tile in pixels, its path, and the width of the stroke; 0 fills the path."""

    size: int
    path: str
    stroke: float
    opacity: float = 1.0


class Palette(NamedTuple):
    """All colours of one theme."""

    states: dict[NodeState, Tone]
    #: Blue, green, amber, violet, teal, rose, lime, brown.
    hues: tuple[Tone, ...]
    #: An edge or a transfer that crosses no network, then those that cross one.
    move: str
    links: dict[Link, str]
    wait: str
    compile: str
    control: str
    program: str
    failed: str
    paper: str
    #: What time was spent on, in the order of :class:`~pwlab.observe.Part`.
    parts: tuple[str, ...]


LIGHT = Palette(
    states={
        NodeState.WAITING: Tone("#ffffff", "#8b95a3"),
        NodeState.PREPARED: Tone("#f3f5f8", "#727d8c"),
        NodeState.QUEUED: Tone("#fff7e0", "#a87400", "#e9cf8d"),
        NodeState.LAUNCHED: Tone("#e3efff", "#1f6feb", "#bcd7ff"),
        NodeState.DONE: Tone("#e7f6ec", "#1e8449"),
        NodeState.FAILED: Tone("#fdebea", "#c92a2a", "#f6c9c6"),
        NodeState.CANCELLED: Tone("#f6f1f9", "#8e6aa8", "#ebe0f2"),
    },
    hues=(
        Tone("#cfe2ff", "#2563c4"),
        Tone("#c9ecd3", "#1f8a4c"),
        Tone("#ffe3ae", "#b06f00"),
        Tone("#e4d6fb", "#7a45c9"),
        Tone("#c0ebee", "#0b7f8a"),
        Tone("#fbd3e6", "#b83a7d"),
        Tone("#e3edb4", "#6f8311"),
        Tone("#ecd9cb", "#93572d"),
    ),
    move="#8d97a5",
    links={Link.ICI: "#0b7fab", Link.DCN: "#c2570c", Link.PCIE: "#7a6a00"},
    wait="#8a5a00",
    compile="#6b7686",
    control="#4a5fa5",
    program="#9aa5b4",
    failed="#c92a2a",
    paper="#ffffff",
    parts=("#1f8a4c", "#77828f", "#e0a92e", "#c2570c", "#8d5bd6", "#0b7f8a", "#e3e8ee"),
)
DARK = Palette(
    states={
        NodeState.WAITING: Tone("#1b1f27", "#7d8794"),
        NodeState.PREPARED: Tone("#262b35", "#9aa4b2"),
        NodeState.QUEUED: Tone("#332910", "#e3b341", "#5d4a1a"),
        NodeState.LAUNCHED: Tone("#12294a", "#6cb0ff", "#21426f"),
        NodeState.DONE: Tone("#12311f", "#4cc27a"),
        NodeState.FAILED: Tone("#3d1618", "#ff8078", "#662628"),
        NodeState.CANCELLED: Tone("#2b2233", "#c39fdc", "#3a2d45"),
    },
    hues=(
        Tone("#1d3b6b", "#78aefc"),
        Tone("#1b4a2f", "#5ecb89"),
        Tone("#553d0c", "#ecb64c"),
        Tone("#40296b", "#b894f5"),
        Tone("#124950", "#4fc8d4"),
        Tone("#5b2342", "#f08abf"),
        Tone("#434d12", "#bdd153"),
        Tone("#50331f", "#d69d74"),
    ),
    move="#7b8695",
    links={Link.ICI: "#4cc3ee", Link.DCN: "#ff9d57", Link.PCIE: "#d6c14a"},
    wait="#e3b341",
    compile="#9aa4b2",
    control="#8fa3ea",
    program="#5f6b7b",
    failed="#ff8078",
    paper="#14171d",
    parts=("#4cb97a", "#808a98", "#dfb04a", "#f0873f", "#b18cf0", "#43b3c0", "#2b313b"),
)

#: What is drawn over the fill of a state.
STATE_MARKS = {
    NodeState.QUEUED: Mark(8, "M1 2h2M5 6h2", 2),
    NodeState.LAUNCHED: Mark(8, "M-2 2L2 -2M0 8L8 0M6 10L10 6", 2.4),
    NodeState.FAILED: Mark(8, "M0 0L8 8M8 0L0 8", 1.2),
    NodeState.CANCELLED: Mark(8, "M0 4H8", 1.2),
}
#: What is drawn over boxes of the timeline: over names beyond the eighth and the sixteenth, and by kind.
BOX_MARKS = {
    "stripes": Mark(6, "M-1 1L1 -1M0 6L6 0M5 7L7 5", 1, 0.55),
    "dots": Mark(5, "M1 2a1 1 0 1 0 2 0a1 1 0 1 0 -2 0", 0, 0.6),
    "wait": Mark(6, "M-1 1L1 -1M0 6L6 0M5 7L7 5", 1.4, 0.5),
    "compile": Mark(6, "M1.9 3a1.1 1.1 0 1 0 2.2 0a1.1 1.1 0 1 0 -2.2 0", 0, 0.6),
    "control": Mark(4, "M0 1H4", 1.6, 0.45),
    "failed": Mark(8, "M0 0L8 8M8 0L0 8", 1.1),
    "move": Mark(4, "M1 0V4", 1.4),
}

#: The mark over each part of the time, drawn in the colour of the paper.
PART_MARKS = ("", "compile", "stripes", "move", "failed", "dots", "")

#: Hues, and names that can be told apart.
HUES, NAMES = len(LIGHT.hues), 3 * len(LIGHT.hues)


class Colours:
    """Gives numbers below :data:`NAMES` to names, the first of a run each another."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.of: dict[str, int] = {}
        self._used: set[int] = set()
        for name in names:
            self.add(name)

    def add(self, name: str) -> int:
        """The number of a name; a new name gets one."""
        known = self.of.get(name)
        if known is not None:
            return known
        index = zlib.crc32(name.encode("utf-8", "replace")) % HUES
        # The plain hues first, then the patterned ones; when all are taken they are shared.
        free = next((i for i in (index, *range(NAMES)) if i not in self._used), index)
        self.of[name] = free
        self._used.add(free)
        return free


def javascript() -> str:
    """The palette as the module ``pwlab/viz/js/src/palette.js``."""
    themes = {
        name: {
            "states": [[*tone] for tone in theme.states.values()],
            "hues": [[tone.fill, tone.line] for tone in theme.hues],
            "links": [theme.move, *theme.links.values()],
            "wait": theme.wait,
            "compile": theme.compile,
            "control": theme.control,
            "program": theme.program,
            "failed": theme.failed,
            "paper": theme.paper,
            "parts": [*theme.parts],
        }
        for name, theme in (("LIGHT", LIGHT), ("DARK", DARK))
    }
    marks = {
        "STATE_MARKS": [[*STATE_MARKS[state]] if state in STATE_MARKS else None for state in NodeState],
        "BOX_MARKS": {name: [*mark] for name, mark in BOX_MARKS.items()},
        "PART_MARKS": [*PART_MARKS],
    }
    lines = [f"export const {name} = {json.dumps(value)};" for name, value in {**themes, **marks}.items()]
    head = "// Written by `npm run palette` from pwlab/viz/palette.py; change that, not this."
    return "\n".join([head, *lines, ""])
