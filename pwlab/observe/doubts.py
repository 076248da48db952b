"""What a reader of a run must know first, in a sentence: that it is damaged, or that its oldest detail is gone."""

from __future__ import annotations

from collections.abc import Collection

from ..ids import ProgramId
from ..units import one_line, seconds_text
from .model import RunModel


def doubts_of(model: RunModel, programs: Collection[ProgramId] | None = None) -> str:
    """What concerns these programs of a run, or all."""
    shown = [program for program in model.programs.values() if programs is None or program.id in programs]
    whole = model.whole_from
    if whole is None or (programs is not None and all(program.opened >= whole for program in shown)):
        return doubts(model.damage, None, model.now)
    gone = bool(shown) and all(program.ended is not None and program.ended <= whole for program in shown)
    return doubts(model.damage, whole, model.now, gone)


def doubts(damage: str, since: float | None, now: float, gone: bool = False) -> str:
    """Both, or nothing where all is there.

    Args:
      damage: what is damaged.
      since: from when on, in seconds on the clock of the run, nothing is missing; None where nothing ever was.
      now: where what is shown ends, on the same clock.
      gone: that what is shown has no part in what is whole.
    """
    told = [f"damaged: {one_line(damage, 200)}"] if damage else []
    if since is not None:
        told.append(_thinned(now - since, gone))
    return "; ".join(told)


def _thinned(whole: float, gone: bool) -> str:
    if whole <= 0:
        return "the oldest detail is gone, and of the rest nothing is whole"
    newest = f"the last {seconds_text(whole)}"
    if gone:
        return f"no detail of this is left: it is older than {newest}, which alone are whole"
    return f"the oldest detail is gone: {newest} are whole, and shares are of those"
