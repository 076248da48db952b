"""A run in a dozen numbers, of all its programs or of some: what two runs are compared by.

:class:`~pwlab.observe.RunStats` is the fold for a run that goes on; it knows a session as a whole.  These numbers
are made of :class:`~pwlab.observe.Span`, so they can be had for one program, and mean the same: a device is busy while
it computes, overlaps count once, and shares are of the time in which a program was open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ids import DeviceId
from .intervals import union_seconds
from .spans import Span, SpanKind, since


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run did, and how long it took.  Times are seconds, sizes bytes."""

    #: Time in which a program was open.
    wall: float = 0.0
    #: Devices that shares are of: all that there are, idle ones too.
    devices: int = 0
    #: Computing, added up over devices.
    device_seconds: float = 0.0
    #: Moving data and not computing, added up over devices.
    moving_seconds: float = 0.0
    launches: int = 0
    computations: int = 0
    transfers: int = 0
    bytes_moved: int = 0
    waits: int = 0
    wait_seconds: float = 0.0
    compilations: int = 0
    compile_seconds: float = 0.0
    #: In which the controller was at work.
    control_seconds: float = 0.0
    #: Nodes that failed of their own, also those that were never launched.
    failed: int = 0
    #: Nothing of it is known in detail: there is nothing to count.
    gone: bool = False
    #: By name: seconds of device time (overlaps counted once a device), and launches; the largest first.
    names: tuple[tuple[str, float, int], ...] = ()

    @property
    def busy(self) -> float:
        """Share, 0 to 1, of the devices' time in which they computed."""
        whole = self.wall * self.devices
        return min(1.0, self.device_seconds / whole) if whole > 0 else 0.0


def totals_of(
    spans: Iterable[Span], devices: Iterable[DeviceId], failed: int = 0, whole_from: float | None = None
) -> Totals:
    """The numbers of these spans, on these devices; of nodes that failed not all have spans.

    Args:
      whole_from: count what came after this moment, in seconds on the clock of the spans; all if not given.
    """
    held = list(spans)
    if whole_from is not None:
        whole = since(held, whole_from)
        if _open(held) and not _open(whole):
            return Totals(gone=True, failed=failed)
        held = whole
    known = set(devices)
    busy: dict[DeviceId, list[tuple[float, float]]] = {}
    occupied: dict[DeviceId, list[tuple[float, float]]] = {}
    names: dict[str, tuple[dict[DeviceId, list[tuple[float, float]]], list[float]]] = {}
    launches = [s for s in held if s.kind in (SpanKind.COMPUTE, SpanKind.HOST)]
    transfers = [s for s in held if s.kind is SpanKind.TRANSFER]
    for span in (*launches, *transfers):
        for device in span.devices:
            known.add(device)
            occupied.setdefault(device, []).append((span.start, span.end))
            if span.kind is not SpanKind.TRANSFER:
                busy.setdefault(device, []).append((span.start, span.end))
    for span in launches:
        mine, host = names.setdefault(span.name, ({}, []))
        host.append(span.seconds if span.kind is SpanKind.HOST else 0.0)
        for device in span.devices:
            mine.setdefault(device, []).append((span.start, span.end))
    computing = sum(map(union_seconds, busy.values()))
    by_name = [
        (name, sum(map(union_seconds, mine.values())) + sum(host), len(host)) for name, (mine, host) in names.items()
    ]
    waits = [s for s in held if s.kind is SpanKind.WAIT]
    compiled = [s for s in held if s.kind is SpanKind.COMPILE]
    return Totals(
        wall=union_seconds(_open(held)),
        devices=len(known),
        device_seconds=computing,
        moving_seconds=max(0.0, sum(map(union_seconds, occupied.values())) - computing),
        launches=len(launches),
        computations=sum(s.parts for s in launches),
        transfers=len(transfers),
        bytes_moved=sum(s.bytes for s in transfers),
        waits=len(waits),
        wait_seconds=sum(s.seconds for s in waits),
        compilations=len(compiled),
        compile_seconds=sum(s.seconds for s in compiled),
        control_seconds=sum(s.busy for s in held),
        failed=failed,
        names=tuple(sorted(by_name, key=lambda row: (-row[1], row[0]))),
    )


def _open(spans: Iterable[Span]) -> list[tuple[float, float]]:
    """When programs were open."""
    return [(span.start, span.end) for span in spans if span.kind is SpanKind.PROGRAM]
