"""A part of a run: what it was at a moment, and what is counted from a moment on.

Facts are told when something happened, and of what lasts (a wait, the controller at work) when it was over, with the
time at which it began.  Whoever cuts a run in time must therefore cut what lasted across it.

Where the oldest detail of a run is gone, the outline (programs, failures) is kept: programs count for longer than the
launches that are known, and every share would come out too small.  So :func:`stats_since` counts only what came after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..events import (
    ControllerWorked,
    Fact,
    NodeAdded,
    NodeEnded,
    NodeHeld,
    NodeMoved,
    NodeState,
    ProgramEnded,
    ProgramOpened,
    Waited,
)
from .fold import Fold
from .stats import RunStats


def told(fact: Fact) -> float:
    """When it was told, in seconds on the clock of the run."""
    return fact.time + fact.seconds if isinstance(fact, Waited | ControllerWorked) else fact.time


def until(facts: Sequence[Fact], moment: float) -> Iterator[Fact]:
    """What had happened by a moment; what lasted then is cut there."""
    for fact in facts:
        if fact.time <= moment:
            if isinstance(fact, Waited | ControllerWorked) and told(fact) > moment:
                yield _lasting(fact, fact.time, moment)
            else:
                yield fact


def stats_since(facts: Sequence[Fact], moment: float) -> RunStats:
    """The numbers of what came after a moment; what had begun before counts from then on.

    Values that are held then are held, and what failed before has failed.
    """
    over = {fact.node for fact in facts if isinstance(fact, NodeEnded) and _over(fact) <= moment
            and fact.state is not NodeState.FAILED}  # fmt: skip
    closed = {fact.program for fact in facts if isinstance(fact, ProgramEnded) and fact.time <= moment}

    def counts(fact: Fact) -> bool:
        match fact:
            case NodeAdded():
                return fact.node.id not in over
            case NodeEnded():
                return fact.node not in over
            case ProgramOpened():
                return fact.program not in closed
            case Waited() | ControllerWorked():
                return told(fact) > moment
            case _:
                return True

    stats = RunStats(since=moment)
    cut = [_from(fact, moment) for fact in facts]
    stats.usage.extend(cut)
    Fold.extend(stats, [late for fact, late in zip(facts, cut, strict=True) if counts(fact)])
    return stats


def _over(fact: NodeEnded) -> float:
    return fact.end if fact.end > fact.start else fact.time


def _from(fact: Fact, moment: float) -> Fact:
    """The fact as if the run had begun at a moment."""
    match fact:
        case NodeEnded() if fact.start < moment:
            start, end, time = (max(at, moment) for at in (fact.start, fact.end, fact.time))
            return replace(fact, time=time, start=start, end=end)
        case NodeMoved() if fact.time - fact.seconds < moment:
            return replace(fact, time=max(fact.time, moment), seconds=max(0.0, fact.time - moment))
        case NodeHeld():
            return fact  # since when it is held back is shown
        case Waited() | ControllerWorked() if fact.time < moment:
            return _lasting(fact, moment, max(moment, told(fact)))
        case _:
            return fact if fact.time >= moment else replace(fact, time=moment)


def _lasting(fact: Waited | ControllerWorked, start: float, end: float) -> Fact:
    """A part of what lasted."""
    if isinstance(fact, Waited):
        return replace(fact, time=start, seconds=end - start)
    share = (end - start) / fact.seconds if fact.seconds > 0 else 0.0
    return replace(fact, time=start, seconds=end - start, busy=fact.busy * share)
