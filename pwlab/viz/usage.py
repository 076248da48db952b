"""Utilisation, memory and clients as tables for a terminal, and what all their still pictures share.

All draw a :class:`~pwlab.observe.UsageView`, which tells the same of a running session, of one that has ended and of a
recording; the dashboard's tabs show the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..ids import DeviceId
from ..observe import MemoryRow, Part, RunModel, Spent, UsageView
from ..units import bytes_text
from .format import count_text, one_line, percent, ranges_text, seconds_text, source_text
from .shares import by_need
from .summary import bar
from .tables import Figures, dim, name_cell

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.text import Text

Subject = Literal["utilisation", "memory", "clients"]
SUBJECTS: dict[Subject, str] = {
    "utilisation": "What the devices spent the time on",
    "memory": "What the devices hold",
    "clients": "Who got the devices",
}
#: Rows of one island, of holders, and of what waits for memory.
MOST_ROWS, MOST_HOLDERS, MOST_HELD = 16, 10, 10


def usage_tables(view: UsageView, model: RunModel, subject: Subject, now: float) -> Group:
    """One subject for a terminal; ``now`` is the time, in seconds of the run's clock, up to which things wait."""
    from rich.console import Group
    from rich.text import Text

    title = Text.assemble((SUBJECTS[subject], "bold"), (f"   {seconds_text(view.seconds)} active", "bright_black"))
    tables: list[RenderableType]
    if subject == "utilisation":
        tables = [_spent(view)]
    elif subject == "clients":
        tables = [_clients(view)]
    else:
        tables = [_memory(view), Text(), _held(view, now), Text(), _holders(view, model)]
    return Group(title, Text(), *tables)


def usage_words(view: UsageView, subject: Subject) -> str:
    """One subject in a sentence, for those who do not see it."""
    if subject == "clients":
        rows = [
            f"{one_line(r.name, 24)} asked for {percent(r.asked)} and got {percent(r.got)}" for r in view.clients[:16]
        ]
        return f"Device time by client: {', '.join(rows) or 'no client has submitted anything'}."
    if subject == "memory":
        rows = [f"{row.name} {bytes_text(row.bytes)}" for row in grouped(view.memory)[:16]]
        return (
            f"Memory: {', '.join(rows) or 'no device'}; {count_text(len(view.held), 'launch', 'launches')} held back."
        )
    rows = [
        f"{one_line(island.name, 24)} computing {percent(view.islands[island.id].share(Part.COMPUTING))}"
        for island in view.specs[:16]
    ]
    return f"Utilisation over {seconds_text(view.seconds)}: {', '.join(rows) or 'no island'}."


def grouped(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Neighbours of an island that hold and held the same are one row."""
    out: list[MemoryRow] = []
    for row in rows:
        last = out[-1] if out else None
        if (
            last is not None
            and len(row.devices) == 1
            and replace(row, name="", devices=()) == replace(last, name="", devices=())
        ):
            devices: tuple[DeviceId, ...] = (*last.devices, *row.devices)
            out[-1] = replace(last, name=f"devices {ranges_text(devices)}", devices=devices)
        else:
            out.append(row)
    return out


# --- tables ---------------------------------------------------------------------------------------


def _spent(view: UsageView) -> Figures:
    table = Figures("", "=", *(f">{part.words.removeprefix('waiting for ').removesuffix(' queued')}" for part in Part))

    def add(name: Text, spent: Spent) -> None:
        shares = (spent.share(part) for part in Part)
        table.add_row(name, bar(spent.share(Part.COMPUTING), cells=12, colour="green"),
                      *(percent(share) if share else dim("–") for share in shares))  # fmt: skip

    for island in view.specs:
        add(name_cell(island.name, 20), view.islands[island.id])
        for device in island.devices[:MOST_ROWS]:
            add(dim(f"  device {device}"), view.devices[device])
        if len(island.devices) > MOST_ROWS:
            table.add_row(dim(f"  and {count_text(len(island.devices) - MOST_ROWS, 'device')} more"))
    whole = sum(spent.whole for spent in view.devices.values())
    for row in view.clients[:MOST_ROWS]:
        add(name_cell(f"client {row.name}", 20), Spent((*row.spent.parts, max(0.0, whole - sum(row.spent.parts)))))
    table.caption = "of a client: its part of the time of all devices, and what they idled for before its launches"
    return table


def _clients(view: UsageView) -> Figures:
    table = Figures(
        "client",
        "=",
        ">asked",
        "=",
        ">got",
        ">device time",
        ">priority",
        ">launches",
        ">waiting",
        ">held back",
        ">memory",
        ">failed",
    )
    for row in by_need(view.clients):
        limit = f" of {bytes_text(row.max_bytes)}" if row.max_bytes is not None else ""
        table.add_row(
            name_cell(row.name if row.open else f"{row.name} (closed)", 18),
            bar(row.asked, cells=6),
            percent(row.asked),
            bar(row.got, cells=6, colour="cyan"),
            percent(row.got),
            seconds_text(row.spent.parts[Part.COMPUTING]),
            f"{row.priority}" if row.priority else dim("–"),
            f"{row.launches:,}",
            f"{row.waiting:,}",
            f"{row.held:,}" if row.held else dim("–"),
            f"{bytes_text(row.bytes)}{limit}",
            f"{row.failed:,}" if row.failed else dim("–"),
        )
    return table


def _memory(view: UsageView) -> Figures:
    table = Figures("island", "device", "=memory", ">", ">used", ">of", ">most ever")
    rows = grouped(view.memory)
    for island in view.specs:
        name = name_cell(island.name)
        mine = [row for row in rows if row.island == island.id]
        for row in mine[:MOST_ROWS]:
            share = row.bytes / row.capacity if row.capacity else 0.0
            table.add_row(
                name,
                row.name,
                dim("no limit")
                if row.capacity is None
                else bar(share, cells=20, colour="red" if share > 0.9 else "green"),
                "" if row.capacity is None else percent(share),
                bytes_text(row.bytes),
                dim("–") if row.capacity is None else bytes_text(row.capacity),
                bytes_text(row.peak),
            )
            name = name_cell("")
        if len(mine) > MOST_ROWS:
            table.add_row("", dim(f"and {len(mine) - MOST_ROWS:,} more rows"))
    return table


def _held(view: UsageView, now: float) -> RenderableType:
    if not view.held:
        return dim("no launch waits for memory")
    table = Figures("held back", "client", "from", "too small is", ">short by", ">for")
    for row in view.held[:MOST_HELD]:
        table.add_row(
            name_cell(row.name, 20),
            name_cell(row.client, 14),
            source_text(row.source),
            name_cell(row.account, 28) if row.account else dim("nothing: kept for an older one"),
            bytes_text(row.bytes) if row.account else dim("–"),
            seconds_text(now - row.since),
        )
    if len(view.held) > MOST_HELD:
        table.caption = f"and {count_text(len(view.held) - MOST_HELD, 'other')}"
    return table


def _holders(view: UsageView, model: RunModel) -> RenderableType:
    if not view.holders:
        return dim("nothing is held")
    table = Figures("result of", "client", "from", "slice", ">values", ">bytes")
    for row in view.holders[:MOST_HOLDERS]:
        where = model.slices.get(row.slice)
        table.add_row(
            name_cell(row.name, 24),
            name_cell(row.client, 14),
            source_text(row.source),
            name_cell(where.name if where else str(row.slice), 14),
            f"{row.values:,}",
            bytes_text(row.bytes),
        )
    rest = view.holders[MOST_HOLDERS:]
    said = [f"and {count_text(len(rest), 'other')}, {bytes_text(sum(row.bytes for row in rest))}"] if rest else []
    # What launches take while they run is on the devices, too.
    working = sum(row.bytes for row in view.memory) - sum(row.bytes for row in view.holders)
    if working > 0:
        said.append(f"launches in flight work in {bytes_text(working)} more")
    table.caption = "; ".join(said)
    return table
