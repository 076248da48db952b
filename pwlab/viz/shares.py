"""Who got the devices, over time and against what was asked for, as plain data that every picture of it draws.

``pwlab/viz/js/src/shares.js`` is the same in the page; a test compares the two.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from ..observe import ClientRow, Part, RunModel, UsageView
from ..observe.bins import Amounts, BinClock

#: So many clients have a band of their own; more are one band.
BANDS = 7
#: So many clients stand in the order in which they came; of more, those come first that got least of what they asked.
IN_ORDER = 8


@dataclass(frozen=True, slots=True)
class Band:
    """A client, or all others as one: their part of the device time in each bin, and what their shares come to in all.

    Parts are from 0 to 1.
    """

    rows: tuple[ClientRow, ...]
    parts: tuple[float, ...]
    asked: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A client's part in each bin, and what its share came to there: 0 where it had no program open."""

    row: ClientRow
    parts: tuple[float, ...]
    asked: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SharesPicture:
    """Parts are those of a window of ``bins`` that ends at each bin."""

    bins: int
    bands: tuple[Band, ...]
    trends: tuple[Trend, ...]


def shares_picture(view: UsageView, model: RunModel) -> SharesPicture:
    """The picture of a run as it is at ``model.now``."""
    by_name = {row.name: row for row in view.clients}
    came = [by_name[name] for name in dict.fromkeys(p.client for p in model.programs.values()) if name in by_name]
    used = max(map(len, view.by_client.values()), default=0)
    got = [view.by_client.get(row.name, (0.0,) * used) for row in came]
    worked = _worked(view, model)
    weights = [[seconds * row.share for seconds in worked.get(row.name, ())[:used]] or [0.0] * used for row in came]
    entitled = _divided(_total(got, used), weights)
    (parts, bins), (asked, _) = sliding(got, used), sliding(entitled, used)
    trends = {
        row.name: Trend(row, tuple(mine), tuple(part if weight else 0.0 for part, weight in zip(all, own, strict=True)))
        for row, mine, all, own in zip(came, parts, asked, weights, strict=True)
    }
    return SharesPicture(
        bins,
        _bands(came, parts, entitled),
        tuple(trends.get(row.name, Trend(row, (), ())) for row in by_need(view.clients)),
    )


def _bands(came: list[ClientRow], parts: list[list[float]], entitled: list[list[float]]) -> tuple[Band, ...]:
    most = sorted(range(len(came)), key=lambda i: -came[i].spent.parts[Part.COMPUTING])
    own = sorted(most if len(most) <= BANDS + 1 else most[:BANDS])
    groups = [*([i] for i in own), [i for i in range(len(came)) if i not in own]]
    whole = sum(map(sum, entitled))
    return tuple(
        Band(
            tuple(came[i] for i in group),
            tuple(map(sum, zip(*(parts[i] for i in group), strict=True))),
            sum(sum(entitled[i]) for i in group) / whole if whole else 0.0,
        )
        for group in groups
        if group
    )


def by_need(clients: Sequence[ClientRow]) -> list[ClientRow]:
    """Clients as they came; many, by how little they got of what they asked for, in tenths."""
    return list(clients) if len(clients) <= IN_ORDER else sorted(clients, key=_met)


def sliding(series: Sequence[Sequence[float]], used: int) -> tuple[list[list[float]], int]:
    """Each series' part, 0 to 1, of the sum of all in a window that ends at each bin, and its width in bins."""
    bins = max(1, int(used / 24 + 0.5))
    rows = [[0.0] * used for _ in series]
    for at in range(used):
        sums = [sum(values[max(0, at - bins + 1) : at + 1]) for values in series]
        whole = sum(sums)
        if whole > 1e-9:
            for row, part in zip(rows, sums, strict=True):
                row[at] = part / whole
    return rows, bins


def _worked(view: UsageView, model: RunModel) -> dict[Hashable, array[float]]:
    """Seconds of each bin in which each client had a program open; nothing of programs that were forgotten."""
    # Bins are of the time in which any was open: when each stretch of it began, ended, and how long all before were.
    stretches: list[list[float]] = []
    spans = [(p.client, p.opened, p.until(model.now)) for p in model.programs.values()]
    for _, opened, ended in spans:
        start, end, before = stretches[-1] if stretches else (0.0, float("-inf"), 0.0)
        if opened <= end:
            stretches[-1][1] = max(end, ended)
        else:
            stretches.append([opened, ended, before + end - start if stretches else 0.0])
    starts = [start for start, _, _ in stretches]
    known = stretches[-1][2] + stretches[-1][1] - stretches[-1][0] if stretches else 0.0

    def place(time: float) -> float:
        start, end, before = stretches[bisect_right(starts, time) - 1]
        return max(0.0, view.seconds - known + before + min(time, end) - start)

    amounts, until = Amounts(BinClock(view.step)), dict[str, float]()
    for client, opened, ended in spans:
        start, end = max(place(opened), until.get(client, 0.0)), place(ended)
        if end > start:
            amounts.add(client, start, end)
            until[client] = end
    return amounts.of


def _divided(given: Sequence[float], weights: Sequence[Sequence[float]]) -> list[list[float]]:
    """What was given out in each bin, by weight."""
    whole = _total(weights, len(given))
    return [
        [all * weight / every if every else 0.0 for all, weight, every in zip(given, row, whole, strict=True)]
        for row in weights
    ]


def _total(rows: Iterable[Sequence[float]], used: int) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)] or [0.0] * used


def _met(row: ClientRow) -> float:
    return int(10 * row.got / row.asked + 0.5) if row.asked else float("inf")
