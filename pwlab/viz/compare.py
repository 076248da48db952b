"""Two runs one above the other on one time axis, with what they are compared by beside each other.

FIFO against shares, GPipe against 1F1B, sequential against parallel dispatch: both begin at 0, a second is as long in
one as in the other, and a name has one colour.  A stretch is cut only where neither ran anything and programs were
closed or waited for the compiler.

The table tells which side is better where one is.  Two runs of the same program differ, too, so a difference in time
counts only if it is larger than a thread's turn, than a twentieth, and than what equal launches of both runs let
expect: three standard deviations (:class:`~pwlab.observe.Measures`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from ..control.durations import TURN
from ..ids import ProgramId
from ..observe import ClientMeasure, Measures, Run, RunModel, SpanKind, active_times, doubts_of, measures_of
from ..units import bytes_text
from .axis import axis_of
from .format import count_text, one_line, percent, seconds_text
from .palette import Colours
from .replay import newest_called
from .timeline import Colour, TimelinePicture, drawn_spans, named, timeline

#: One run of each says nothing about a smaller share of their times.
TWENTIETH = 0.05


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: its name, its run, and which programs of it; None means all."""

    name: str
    run: Run
    programs: tuple[ProgramId, ...] | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How the programs of a side were scheduled and dispatched; empty where nobody knows."""

    policy: str = ""
    dispatch: str = ""

    def __str__(self) -> str:
        policy = f"policy {self.policy}" if self.policy else ""
        return ", ".join(filter(None, (policy, f"{self.dispatch} dispatch" if self.dispatch else "")))


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of both sides, as it is written, and how the second stands to the first."""

    name: str
    values: tuple[float, float]
    texts: tuple[str, str]
    #: Such as ``−32%``, ``+9 points`` or ``noise``; empty where there is nothing to tell.
    change: str = ""
    #: Which side is better: -1 the first, 1 the second, 0 neither, or nobody can say.
    better: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two timelines on one axis, and their figures, those that matter most first."""

    a: TimelinePicture
    b: TimelinePicture
    settings: tuple[Settings, Settings]
    figures: tuple[Figure, ...]
    #: Seconds by which equal launches let the times of the two differ.
    noise: float
    #: By client, of both sides; empty where neither had several.
    clients: tuple[tuple[str, ClientMeasure | None, ClientMeasure | None], ...] = ()
    #: What a reader must know of the sides first: what is damaged, what is no longer kept.
    doubts: tuple[str, ...] = ()


def called(name: str, model: RunModel) -> tuple[ProgramId, ...]:
    """The newest program of that name, or all that match a pattern such as ``job *``.

    Raises:
      UnknownName: there is none; the nearest name is suggested.
    """
    patterned = any(sign in name for sign in "*?[")
    found = (program.id for program in model.programs.values() if patterned and fnmatchcase(program.name, name))
    return tuple(found) or (newest_called(name, model),)


def comparison(a: Side, b: Side, colour: Colour | None = None) -> Comparison:
    """Both sides as plain data.

    Args:
      colour: whether boxes are coloured by computation or by client; if not given by client where a side has several.
    """
    measures = (measures_of(a.run, a.programs), measures_of(b.run, b.programs))
    several = max(len(one.clients) for one in measures) > 1
    colour = colour or ("client" if several else "computation")
    spans = [drawn_spans(side.run.model, side.programs) for side in (a, b)]
    ends = [(0.0, 0.0), *((span.end, span.end) for held in spans for span in held if span.kind is SpanKind.PROGRAM)]
    axis = axis_of([*ends, *(time for held in spans for time in active_times(held))])
    colours = Colours(name for side in (a, b) for name in named(side.run.model, side.programs, colour)).of

    def picture(side: Side) -> TimelinePicture:
        return timeline(
            side.run.model, side.programs, colour=colour, title=side.name, axis=axis, colours=colours, brief=True
        )

    return Comparison(
        picture(a),
        picture(b),
        (_settings(a.run.model, a.programs), _settings(b.run.model, b.programs)),
        figures(*measures),
        noise_of(*measures),
        _clients(*measures) if several else (),
        tuple(f"{s.name}: {told}" for s in (a, b) if (told := doubts_of(s.run.model, s.programs))),
    )


def noise_of(a: Measures, b: Measures) -> float:
    """Seconds by which the times of two runs may differ by chance, as far as their launches tell."""
    return _chance(a.spread, b.spread)


def figures(a: Measures, b: Measures) -> tuple[Figure, ...]:
    """What two runs are compared by, the most important first; what neither has is left out."""
    noise = noise_of(a, b)
    longest = max(a.span, b.span)
    points = max(noise / longest, TWENTIETH) if longest else 0.0
    x, y = a.totals, b.totals
    rows = [
        _count("failed", x.failed, y.failed, -1),
        _time("wall without compiling", a.wall, b.wall, noise),
        _time("first launch to last end", a.span, b.span, noise),
        _share("idle meanwhile (bubble)", a.idle, b.idle, points),
        _count("most memory of a device", a.peak, b.peak, -1, bytes_text, TWENTIETH * max(a.peak, b.peak)),
        _count("held back for memory", a.held, b.held, -1, lambda count: count_text(count, "launch", "launches")),
        _share("furthest from a share", _unfair(a.clients), _unfair(b.clients)),
        _time("waiting for the compiler", a.compiler, b.compiler, noise),
        _time("you waited", x.wait_seconds, y.wait_seconds, noise),
        _time("device time", x.device_seconds, y.device_seconds, _chance(a.device_spread, b.device_spread), 0),
        _count("launches", x.launches, y.launches),
        _count("transfers", x.transfers, y.transfers),
        _count("moved", x.bytes_moved, y.bytes_moved, shown=bytes_text),
    ]
    return tuple(_known(row, x.gone, y.gone) for row in rows if any(row.values))


# --- inside -----------------------------------------------------------------------------------


def _chance(a: float, b: float) -> float:
    """By how much two times differ by chance, of which each has this standard deviation."""
    return max(TURN, 3 * math.hypot(a, b))


def _time(name: str, x: float, y: float, noise: float, good: int = -1) -> Figure:
    texts = seconds_text(x), seconds_text(y)
    return _figure(name, (x, y), texts, _ratio(x, y), good, max(noise, TWENTIETH * max(x, y)))


def _count(
    name: str, x: int, y: int, good: int = 0, shown: Callable[[int], str] = "{:,}".format, noise: float = 0.0
) -> Figure:
    return _figure(name, (x, y), (shown(x), shown(y)), _ratio(x, y), good, noise)


def _share(name: str, x: float, y: float, noise: float = 0.0) -> Figure:
    points = round(y * 100) - round(x * 100)
    change = f"{points:+d} point{'' if abs(points) == 1 else 's'}".replace("-", "−") if points else ""
    return _figure(name, (x, y), (percent(x), percent(y)), change, -1, noise)


def _figure(
    name: str, values: tuple[float, float], texts: tuple[str, str], change: str, good: int, noise: float = 0.0
) -> Figure:
    """``good`` is the sign of a change for the better, 0 where there is none; what the noise explains is no change."""
    x, y = values
    if x == y or (x > 0 and not change):
        return Figure(name, values, texts)
    if abs(y - x) <= noise:
        return Figure(name, values, texts, "noise")
    return Figure(name, values, texts, change, good if y > x else -good)


def _known(row: Figure, *gone: bool) -> Figure:
    """Nothing is known of a side whose detail is gone, and nothing better than it."""
    if not any(gone):
        return row
    a, b = ("–" if lost else text for lost, text in zip(gone, row.texts, strict=True))
    return replace(row, texts=(a, b), change="", better=0)


def _ratio(x: float, y: float) -> str:
    """``−32%``, ``×20``; empty for less than half a percent, and where the first is nothing."""
    if x <= 0:
        return ""
    if y / x >= 10:
        return f"×{y / x:.0f}"
    share = round((y / x - 1) * 100)
    return f"{share:+d}%".replace("-", "−") if share else ""


def _unfair(clients: tuple[ClientMeasure, ...]) -> float:
    """How far a client is at most from the part of the device time that its share asked for, 0 to 1."""
    return max((abs(one.got - one.asked) for one in clients), default=0.0) if len(clients) > 1 else 0.0


def _clients(a: Measures, b: Measures) -> tuple[tuple[str, ClientMeasure | None, ClientMeasure | None], ...]:
    of_a, of_b = ({one.name: one for one in side.clients} for side in (a, b))
    return tuple((name, of_a.get(name), of_b.get(name)) for name in {**of_a, **of_b})


def _settings(model: RunModel, programs: Collection[ProgramId] | None) -> Settings:
    """As they were when the first of these programs was opened, and what they became until the last ended."""
    chosen = [program for program in model.programs.values() if programs is None or program.id in programs]
    if not chosen:
        return Settings()
    begin = min(program.opened for program in chosen)
    end = max(program.until(model.now) for program in chosen)
    policies = [known.policy for known in model.settings if known.time <= begin][-1:]
    policies += [known.policy for known in model.settings if begin < known.time < end]
    dispatches = (program.dispatch.value for program in chosen)
    told = [one_line(policy, 24) for policy in dict.fromkeys(policies)]
    return Settings(" then ".join(told), " and ".join(dict.fromkeys(dispatches)))
