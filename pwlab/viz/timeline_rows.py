"""The rows of a timeline: the host's clients, controller, compilation and waits; then each island's devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..ids import DeviceId, IslandId, NodeId
from ..observe import RunModel, Span, SpanKind, Totals, since, union_seconds
from .format import one_line, ranges_text, seconds_text

#: An island with more devices shows one row for those that did the same.
MOST_DEVICES = 16
#: Rows of one island; clients with a row of their own.
MOST_ROWS, MOST_CLIENTS = 64, 8


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a device, devices that did the same, or something of the user's or a host's."""

    label: str
    kind: Literal["device", "host", "programs", "controller", "waits", "compilation"]
    lanes: int = 1
    #: Of a device: share of the active time in which it computed, 0 to 1.
    share: float | None = None
    about: str = ""


#: Rows, each with what is on it.
Tracks = list[tuple[Row, list[Span]]]


class Counted(NamedTuple):
    """What numbers are of: the time in ``totals``, and what came since, in seconds of the picture."""

    totals: Totals
    since: float

    def of(self, spans: Iterable[Span]) -> list[Span]:
        return since(spans, self.since)

    def seconds(self, spans: Iterable[Span]) -> str:
        held = self.of(spans)
        return seconds_text(sum(span.seconds for span in held)) if held else ""


def bands_of(
    model: RunModel, spans: list[Span], notes: list[str], counted: Counted, brief: bool
) -> Iterable[tuple[str, str, Tracks]]:
    """The host's rows, then each island's: a name, what to say beside it, and its rows.

    Args:
      notes: takes what is not shown.
      brief: of the host programs and compilation alone, and devices that did the same in one row.
    """
    about = "" if brief else "clients, controller, compilation and waits"
    kinds = ("programs", "compilation") if brief else ("programs", "controller", "compilation", "waits")
    yield "host", about, [track for track in _host_tracks(spans, counted) if track[0].kind in kinds]
    for id, island in model.islands.items():
        mine = [s for s in spans if s.island == id and s.kind not in (SpanKind.COMPILE,)]
        about = f"{len(island.devices)} × {one_line(island.chip, 10)}"
        apart = 1 if brief else MOST_DEVICES
        yield one_line(island.name, 24), about, _island_tracks(id, island.devices, mine, notes, counted, apart)


def _host_tracks(spans: list[Span], counted: Counted) -> Tracks:
    programs = [s for s in spans if s.kind is SpanKind.PROGRAM]
    clients = list(dict.fromkeys(s.client for s in programs))
    tracks: Tracks = []
    if 0 < len(clients) <= MOST_CLIENTS:
        for client in clients:
            row = Row(f"client {one_line(client, 60)}", "programs")
            tracks.append((row, [s for s in programs if s.client == client]))
    else:
        tracks.append((Row("clients", "programs"), programs))
    control = [s for s in spans if s.kind is SpanKind.CONTROL]
    waits = [s for s in spans if s.kind is SpanKind.WAIT]
    compiled = [s for s in spans if s.kind is SpanKind.COMPILE]
    if control:
        busy = seconds_text(sum(s.busy for s in counted.of(control)))
        tracks.append((Row("controller", "controller", about=busy), control))
    if compiled:
        tracks.append((Row("compiling", "compilation", about=counted.seconds(compiled)), compiled))
    tracks.append((Row("waits", "waits", about=counted.seconds(waits)), waits))
    return tracks


def _island_tracks(
    id: IslandId, devices: tuple[DeviceId, ...], spans: list[Span], notes: list[str], counted: Counted, apart: int
) -> Tracks:
    """Rows of an island; of more than ``apart`` devices those that did the same share one."""
    host = [s for s in spans if s.kind is SpanKind.HOST or not s.devices]
    held: dict[DeviceId, list[Span]] = {device: [] for device in sorted(devices)}
    for span in spans:
        for device in span.devices if span.kind is not SpanKind.HOST else ():
            held.setdefault(device, []).append(span)
    groups: list[tuple[list[DeviceId], list[Span]]] = [([device], mine) for device, mine in held.items()]
    if len(groups) > apart:
        same: dict[tuple[NodeId | None, ...], list[DeviceId]] = {}
        for device, mine in held.items():
            same.setdefault(tuple(s.node for s in mine), []).append(device)
        groups = [(members, held[members[0]]) for members in same.values()]
        if len(groups) > MOST_ROWS:
            busiest = sorted(groups, key=lambda g: -sum(s.seconds for s in g[1]))[:MOST_ROWS]
            notes.append(f"island {id}: the {MOST_ROWS} busiest of {len(groups):,} kinds of devices shown")
            groups = sorted(busiest, key=lambda g: g[0])
    tracks: Tracks = [(Row("host", "host"), host)] if host else []
    wall, gone = counted.totals.wall, counted.totals.gone
    for members, mine in groups:
        word = "device" if len(members) == 1 else "devices"
        busy = union_seconds((s.start, s.end) for s in counted.of(mine) if s.kind is SpanKind.COMPUTE)
        share = None if gone else min(1.0, busy / wall) if wall > 0 else 0.0
        about = f"{seconds_text(busy)} computing" if busy else "" if gone else "no computation"
        tracks.append((Row(f"{word} {ranges_text(tuple(members), 2)}", "device", share=share, about=about), mine))
    return tracks
