"""What ran where, and how busy each device was: the page that a run ends with.

What the numbers mean stands in :mod:`pwlab.observe.stats`.  In short: a device
is busy while it computes, overlaps count once, and shares are of the time in
which programs were open, so neither a coffee break nor a wait between cells
makes a device look idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import IslandSpec, NodeState
from ..observe import RunModel, RunStats, doubts
from ..units import bytes_text
from .format import STATES, count_text, one_line, percent, seconds_text, source_text
from .tables import dim, make_table, name_cell

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

#: Characters of a bar.
BAR = 30
#: Of an island with more devices only the most and the least busy are listed.
MOST_DEVICES = 16


def summary(model: RunModel, stats: RunStats, top: int = 6) -> Group:
    """What ran where, and how busy each device was."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [_headline(model, stats)]
    active = stats.active_seconds()
    for island in model.islands.values():
        parts += [Text(), _island(island, stats, active)]
    for table in (_top(stats, top), _transfers(stats), _waits(stats, top)):
        if table is not None:
            parts += [Text(), table]
    for note in list(model.notes)[-3:]:
        parts.append(Text(f"note: {one_line(note.text, 92)}", "yellow"))
    return Group(*parts)


def _headline(model: RunModel, stats: RunStats) -> Text:
    from rich.text import Text

    text = Text()
    text.append("What ran where", "bold")
    launches = sum(name.launches for name in stats.names.values())
    pieces = [
        count_text(len(model.programs), "program"),
        count_text(launches, "launch", "launches"),
        f"{seconds_text(stats.active_seconds())} active",
    ]
    if stats.compilations:
        many = count_text(stats.compilations, "computation")
        pieces.append(f"{many} compiled in {seconds_text(stats.compile_seconds)}")
    text.append("   " + " · ".join(pieces), "bright_black")
    if told := doubts(model.damage, stats.since, model.now):
        text.append(f"\n{told}", "yellow")
    bad = stats.ended.get(NodeState.FAILED, 0), stats.ended.get(NodeState.CANCELLED, 0)
    if bad[0]:
        text.append(f"\n{STATES[NodeState.FAILED].glyph} {count_text(bad[0], 'node')} failed", "bold red")
        first = next((n for n in model.nodes.values() if n.error and n.cause in (None, n.spec.id)), None)
        if first is not None:
            where = f" ({source_text(first.spec.source)})" if first.spec.source else ""
            text.append(f": {one_line(first.spec.name, 30)}{where}\n  {one_line(first.error, 96)}", "red")
    if bad[1]:
        text.append(f"\n{STATES[NodeState.CANCELLED].glyph} {count_text(bad[1], 'node')} cancelled", "magenta")
    return text


def _island(island: IslandSpec, stats: RunStats, active: float) -> Table:
    from rich.text import Text

    shares = {device: stats.busy_share(device) for device in island.devices}
    mean = sum(shares.values()) / len(shares) if shares else 0.0
    table = make_table("device", "computing █  moving ▒", ">share", ">busy", ">moving", ">launches")
    many = f"{len(island.devices)} × {one_line(island.chip, 12)}"
    table.title = Text.assemble(
        (one_line(island.name, 40), "bold"), f"  {many}, computing {percent(mean)} of the active time"
    )
    shown = sorted(island.devices)
    if len(shown) > MOST_DEVICES:
        by_share = sorted(shown, key=lambda d: (-shares[d], d))
        shown = sorted(by_share[: MOST_DEVICES // 2] + by_share[-MOST_DEVICES // 2 :])
        table.caption = f"the {MOST_DEVICES // 2} most and the {MOST_DEVICES // 2} least busy of {len(shares):,}"
    for device in shown:
        total = stats.devices.get(device)
        moving = total.moving if total else 0.0
        table.add_row(
            str(device),
            bar(
                shares[device],
                min(1.0, moving / active) if active else 0.0,
                colour="green" if shares[device] >= 0.5 else "yellow",
            ),
            percent(shares[device]),
            seconds_text(total.busy.total) if total else "–",
            seconds_text(moving) if moving else "–",
            f"{total.launches:,}" if total else "–",
        )
    return table


def bar(busy: float, moving: float = 0.0, cells: int = BAR, colour: str = "bright_blue") -> Text:
    """A bar of ``cells`` for shares from 0 to 1: computing, then moving, then idle.

    What is more than nothing shows at least one character.
    """
    from rich.text import Text

    full = min(cells, round(busy * cells)) or (1 if busy > 0 else 0)
    moved = min(cells - full, round(moving * cells) or (1 if moving > 0 else 0))
    return Text.assemble(("█" * full, colour), ("▒" * moved, "cyan"), ("·" * (cells - full - moved), "bright_black"))


def _top(stats: RunStats, top: int) -> Table | None:
    ran = {name: total for name, total in stats.names.items() if total.launches}
    if not ran:
        return None
    whole = stats.device_seconds
    table = make_table("computation", "share of device time", "", ">device time", ">launches", ">merged")
    ordered = sorted(ran.items(), key=lambda kv: (-kv[1].device_seconds - kv[1].host_seconds, kv[0]))
    for name, total in ordered[:top]:
        share = total.device_seconds / whole if whole else 0.0
        table.add_row(
            name_cell(name, 30),
            bar(share, 0.0, 20) if total.device_seconds else dim("on the host"),
            percent(share) if total.device_seconds else "",
            seconds_text(total.device_seconds or total.host_seconds),
            f"{total.launches:,}" + (f" ({total.failed} failed)" if total.failed else ""),
            f"{total.computations:,}" if total.computations != total.launches else "–",
        )
    if len(ordered) > top:
        table.caption = f"and {count_text(len(ordered) - top, 'other')}"
    return table


def _transfers(stats: RunStats) -> Table | None:
    if not stats.transfers:
        return None
    table = make_table("transfers over", ">count", ">moved", ">time, added up")
    for link, total in sorted(stats.transfers.items(), key=lambda kv: str(kv[0])):
        table.add_row(
            link.value if link else "unknown",
            f"{total.count:,}",
            bytes_text(total.bytes),
            seconds_text(total.seconds),
        )
    return table


def _waits(stats: RunStats, top: int) -> Table | None:
    if not stats.waits:
        return None
    table = make_table("you waited at", "needed by", ">times", ">time")
    ordered = sorted(stats.waits.values(), key=lambda w: -w.seconds)
    for total in ordered[:top]:
        table.add_row(
            source_text(total.source) or dim("unknown"),
            name_cell(total.reason, 40),
            f"{total.count:,}",
            seconds_text(total.seconds),
        )
    if len(ordered) > top:
        rest = ordered[top:]
        table.caption = f"and {count_text(len(rest), 'other place')}, {seconds_text(sum(w.seconds for w in rest))}"
    return table
