"""How numbers, names and states are written, the same in every view.

Names come from users: they may hold tags, line ends, direction marks or ten
thousand characters.  :func:`one_line` makes a name fit for a label;
:func:`escape` makes a text fit for HTML and SVG, and is the only way in.
"""

from __future__ import annotations

import html
from typing import NamedTuple

from ..events import NodeState
from ..ids import Source
from ..observe import ProgramView
from ..units import BIDI, CONTROL
from ..units import one_line as one_line
from ..units import seconds_text as seconds_text
from ..units import width as width


class StateStyle(NamedTuple):
    """What a state looks like where there is no colour, and with which colour where there is."""

    word: str
    glyph: str
    #: A style of rich.
    colour: str


#: The states in the order of a node's life, which is the order of every legend.
STATES: dict[NodeState, StateStyle] = {
    NodeState.WAITING: StateStyle("waiting", "○", "bright_black"),
    NodeState.PREPARED: StateStyle("prepared", "◔", "bright_black"),
    NodeState.QUEUED: StateStyle("queued", "◑", "yellow"),
    NodeState.LAUNCHED: StateStyle("running", "▶", "blue"),
    NodeState.DONE: StateStyle("done", "✓", "green"),
    NodeState.FAILED: StateStyle("failed", "✗", "red"),
    NodeState.CANCELLED: StateStyle("cancelled", "⊘", "magenta"),
}

_CUT = StateStyle("cut off", "┆", "yellow")


def state_style(state: NodeState, cut: bool = False) -> StateStyle:
    """How a state is shown; ``cut``: where the record is damaged, and what ran is not known to have ended."""
    return _CUT if cut and state is NodeState.LAUNCHED else STATES[state]


#: The state that a group of nodes shows: the first of these that one of them has.
LOUDEST = (
    NodeState.FAILED,
    NodeState.LAUNCHED,
    NodeState.QUEUED,
    NodeState.PREPARED,
    NodeState.WAITING,
    NodeState.CANCELLED,
    NodeState.DONE,
)


def escape(text: str, limit: int = 1000) -> str:
    """``text`` for HTML and SVG, content or quoted attribute; control characters go, ``limit`` bounds it."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return html.escape(BIDI.sub("", CONTROL.sub("", short)), quote=True)


def percent(share: float) -> str:
    """``42%``; ``<1%`` for what is little but not nothing, ``>99%`` for what is not quite all."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{int(share * 100 + 0.5)}%"


def count_text(count: int, one: str, many: str | None = None) -> str:
    """``1 node``, ``12,000 nodes``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def nodes_text(program: ProgramView) -> str:
    """``40``, or ``12 of 40`` where not all are done; of a program whose detail is gone, that it is."""
    if program.partial:
        return f"{program.nodes:,} known" if program.nodes else "detail gone"
    done = program.counts.get(NodeState.DONE, 0)
    return f"{done:,}" if done == program.nodes else f"{done:,} of {program.nodes:,}"


def source_text(source: Source | None, columns: int = 24) -> str:
    """``Cell In[4]:3``; of a path in a script, its end."""
    if source is None:
        return ""
    cell = source.cell
    if not cell.startswith("Cell "):
        cell = cell.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{one_line(cell, columns)}:{source.line}"


def ranges_text(numbers: tuple[int, ...], most: int = 4) -> str:
    """``(0, 1, 2, 3, 8)`` as ``0–3, 8``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{a}" if a == b else f"{a}–{b}" for a, b in runs]
    return ", ".join(texts[:most]) + (" …" if len(texts) > most else "")
