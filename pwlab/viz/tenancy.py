"""Many clients on one machine: what each asked for and got, who holds memory, why something waits.

Pure functions of what :class:`~pwlab.steering.Steering` answers; each gives something that rich prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..control import ClientUsage, DeviceUse, Kind, MemoryUse, Reason, Why, text_of
from ..ids import DeviceId, IslandId
from ..units import bytes_text
from .format import count_text, one_line, percent, ranges_text, seconds_text, source_text
from .summary import bar
from .tables import dim, make_table, name_cell

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

#: Characters of a bar.
BAR = 8
#: Rows of one island that differ in what they hold.
MOST_ROWS = 16
#: Reasons of a chain that are shown: so many from its beginning, so many before its root.
FIRST_REASONS, LAST_REASONS = 6, 4

_STYLES = {
    Kind.PAUSED: "yellow",
    Kind.SUSPENDED: "yellow",
    Kind.FAILED: "red",
    Kind.READY: "green",
    Kind.ENDED: "green",
    Kind.RUNNING: "blue",
}


def clients_table(clients: Sequence[ClientUsage], policy: str = "") -> Table:
    """Clients: the share each asked for beside the part of the device time that it got, and its accounts.

    Both are parts of a whole: of the clients that launched something or have something queued.
    """
    table = make_table("client", "asked", "got", ">device time", ">launches", ">waited", ">memory", "now")
    table.columns[-1].no_wrap = False
    active = [c for c in clients if c.launches or c.queued]
    shares = sum(c.share for c in active)
    seconds = sum(c.device_seconds for c in active)
    for c in clients:
        table.add_row(
            name_cell(c.name, 16),
            _part(c.share / shares, "bright_black") if c in active else dim(f"share {c.share:g}"),
            _part(c.device_seconds / seconds, "cyan") if seconds and c in active else dim("–"),
            seconds_text(c.device_seconds) if c.device_seconds else dim("–"),
            f"{c.launches:,}",
            seconds_text(c.waited) if c.waited else dim("–"),
            bytes_text(c.bytes),
            _now(c),
        )
    if policy:
        note = "" if policy == "proportional" else ", which does not look at shares"
        table.caption = f"policy {one_line(policy, 30)}{note}; since each client was opened, transfers count too"
    return table


def _part(share: float, colour: str) -> Text:
    return bar(share, cells=BAR, colour=colour).append(f" {percent(share):>4}")


def _now(client: ClientUsage) -> Text:
    """What it has under way, and its settings that are not the usual ones."""
    from rich.text import Text

    said: list[str] = []
    if client.in_flight:
        said.append(f"{client.in_flight:,} in flight")
    if client.queued:
        said.append(f"{client.queued:,} queued")
    if client.priority:
        said.append(f"priority {client.priority}")
    if client.max_in_flight is not None:
        said.append(f"at most {client.max_in_flight} in flight")
    if client.max_bytes is not None:
        said.append(f"at most {bytes_text(client.max_bytes)}")
    text = Text("suspended" if client.suspended else "", "yellow")
    return text.append((", " if said and text else "") + ", ".join(said), "bright_black")


def memory_tables(use: MemoryUse, islands: Mapping[IslandId, str] | None = None, most: int = 10) -> Group:
    """Bytes on each device against what it may hold; then who holds the most, and the cell that made it.

    Args:
      use: what :meth:`~pwlab.steering.Steering.memory` gives.
      islands: their names.
      most: how many holders are listed.
    """
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [_devices(use, islands or {}), Text()]
    parts.append(_holders(use, most) if use.holders else dim("nothing is held"))
    return Group(*parts)


def _devices(use: MemoryUse, islands: Mapping[IslandId, str]) -> Table:
    table = make_table("island", "devices", "memory of each", "", ">used", ">of", ">most ever")
    same: dict[tuple[IslandId, int, int, int | None], list[DeviceId]] = {}
    for device in use.devices:
        same.setdefault(_figures(device), []).append(device.device)
    by_island: dict[IslandId, list[tuple[IslandId, int, int, int | None]]] = {}
    for key in same:
        by_island.setdefault(key[0], []).append(key)
    for island, keys in by_island.items():
        shown = keys if len(keys) <= MOST_ROWS else sorted(keys, key=lambda key: (-key[1], -key[2]))[:MOST_ROWS]
        name = name_cell(islands.get(island, f"island {island}"))
        for key in shown:
            _, used, peak, capacity = key
            share = used / capacity if capacity else 0.0
            table.add_row(
                name,
                ranges_text(tuple(same[key]), 3),
                dim("no limit") if capacity is None else bar(share, cells=20, colour="red" if share > 0.9 else "green"),
                "" if capacity is None else percent(share),
                bytes_text(used),
                dim("–") if capacity is None else bytes_text(capacity),
                bytes_text(peak),
            )
            name = name_cell("")
        if len(shown) < len(keys):
            left = sum(len(same[key]) for key in keys) - sum(len(same[key]) for key in shown)
            table.add_row("", dim(f"and {count_text(left, 'device')} that hold less"), "", "", "", "", "")
    if use.host_bytes:
        table.add_row("host memory", dim("what is suspended"), "", "", bytes_text(use.host_bytes), dim("–"), "")
    return table


def _figures(device: DeviceUse) -> tuple[IslandId, int, int, int | None]:
    return device.island, device.bytes, device.peak_bytes, device.capacity


def _holders(use: MemoryUse, most: int) -> Table:
    table = make_table(">bytes", "devices", "result of", "program", "client", "from", "kept by")
    for holder in use.holders[:most]:
        readers = count_text(holder.readers, "reader") if holder.readers else ""
        table.add_row(
            bytes_text(holder.bytes),
            "host memory" if holder.away else ranges_text(holder.devices, 2),
            name_cell(holder.name, 20),
            name_cell(holder.program_name, 16),
            name_cell(holder.client, 12),
            source_text(holder.source),
            ", ".join(filter(None, ("you" if holder.pinned else "", readers))) or dim("nobody"),
        )
    rest = use.holders[most:]
    if rest:
        table.caption = f"and {count_text(len(rest), 'other')}, {bytes_text(sum(h.bytes for h in rest))}"
    return table


def why_tree(why: Why) -> Tree:
    """The chain of reasons, each a branch of the one before it; the root stands out.  A long chain is cut inside."""
    from rich.tree import Tree

    reasons = list(why.reasons)
    left = len(reasons) - FIRST_REASONS - LAST_REASONS
    tree = Tree(_reason(reasons[0], root=len(reasons) == 1), guide_style="bright_black")
    branch = tree
    for i, reason in enumerate(reasons[1:], 1):
        if left > 0 and FIRST_REASONS <= i < FIRST_REASONS + left:
            if i == FIRST_REASONS:
                branch = branch.add(dim(f"… {count_text(left, 'more step')} …"))
            continue
        branch = branch.add(_reason(reason, root=i == len(reasons) - 1))
    return tree


def _reason(reason: Reason, root: bool) -> Text:
    from rich.text import Text

    style = _STYLES.get(reason.kind, "")
    return Text(one_line(text_of(reason), 400), f"bold {style}".strip() if root else style)
