"""How a session is doing: its programs, and how busy its islands are; the page of ``%pw status``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import typed
from ..observe import RunModel, RunStats
from .format import count_text, percent, seconds_text
from .summary import bar
from .tables import make_table, name_cell, programs_table

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table


def status(model: RunModel, stats: RunStats, session: str, held: Sequence[str] = (), most: int = 8) -> Group:
    """Session, islands, programs.

    Args:
      session: one line about the session.
      held: names of programs that are held back until ``%pw run``.
      most: how many programs are listed, the newest.
    """
    from rich.console import Group
    from rich.text import Text

    running = sum(program.state is None for program in model.programs.values())
    line = f"{count_text(len(model.programs), 'program')}, {running} running" if model.programs else "no program yet"
    parts: list[RenderableType] = [
        Text.assemble((session, "bold"), f"   {line}"),
        Text(),
        _busy(model, stats),
    ]
    if model.programs:
        parts += [Text(), programs_table(model, most)]
    for name in held:
        parts.append(Text(f"held back: {name}; run it with %pw run {typed(name)}", "yellow"))
    return Group(*parts)


def _busy(model: RunModel, stats: RunStats) -> Table:
    table = make_table("island", "computing", ">share", ">device time", ">launches")
    for island in model.islands.values():
        shares = [stats.busy_share(device) for device in island.devices]
        totals = [stats.devices[device] for device in island.devices if device in stats.devices]
        mean = sum(shares) / len(shares) if shares else 0.0
        busy = sum(total.busy.total for total in totals)
        table.add_row(
            name_cell(island.name),
            bar(mean, cells=20),
            percent(mean),
            seconds_text(busy) if busy else "–",
            f"{max((total.launches for total in totals), default=0):,}",
        )
    return table
