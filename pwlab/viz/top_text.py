"""A :class:`~pwlab.viz.top.Top` as text: a screen as ``top`` has it, and one line for a toolbar::

    pwlab top  12.4 s   ▶ 3 running · ◑ 12 queued · ○ 40 waiting   computing 63% of the last 3.00 s
    train_step 12 of 40, 1.20 s

    island0  4 × cpu   2 in flight, 3 queued
      device 0  ██████████▒▒········  52%  ███··· 1.2 of 4.0 GB  encoder_block, 5 behind it
      device 1  ████················  20%  ██···· 0.8 of 4.0 GB

It fits the columns and rows it is given: the busiest devices are shown where not all can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import NodeState
from ..units import bytes_text
from .format import STATES, count_text, one_line, percent, seconds_text, source_text, state_style, width
from .summary import bar
from .top import WINDOW, Top, TopClient, TopDevice, TopIsland, TopNews

if TYPE_CHECKING:
    from rich.text import Text

_WAITING = (NodeState.WAITING, NodeState.PREPARED)
_DIM = "bright_black"


def top_text(picture: Top, columns: int = 100, rows: int = 40, note: str = "") -> Text:
    """The screen, at most ``columns`` wide and ``rows`` high.

    Args:
      note: stands last in its first line, such as how to end it.
    """
    from rich.text import Text

    lines = [*_head(picture, note), *_programs(picture, columns)]
    clients = _clients(picture, columns, max(2, rows // 4))
    news = [_news(one, columns) for one in picture.news[: max(1, rows // 8)]]
    below = (1 + len(clients) if clients else 0) + (1 + len(news) if news else 0)
    # A line between, and a heading, for each island; what is left is for the devices.
    left = rows - len(lines) - below - 2 * len(picture.islands)
    each = max(1, left // max(1, len(picture.islands)))
    memory_w = max((len(_memory(device)) for island in picture.islands for device in island.devices), default=0)
    for island in picture.islands:
        lines += [Text(), _island(island), *_devices(island, columns, each, memory_w)]
    if clients:
        lines += [Text(), *clients]
    if news:
        lines += [Text(), *news]
    for line in lines:
        line.truncate(columns, overflow="ellipsis")
    return Text("\n", no_wrap=True).join(lines[:rows])


def top_line(picture: Top, columns: int = 100) -> str:
    """One line: launches, how busy the islands are, who is at it, and whether all is paused.

    Where room is short, the hint at the pause goes first, then the bars.
    """
    line = ""
    for hint, cells in ((": %pw step, %pw resume", 6), ("", 6), ("", 0)):
        line = _line(picture, f"PAUSED{hint}" if picture.glance.paused else "", cells)
        if width(line) <= columns:
            break
    return one_line(line, columns)


def _line(picture: Top, paused: str, cells: int) -> str:
    busy = "  ".join(
        f"{one_line(i.name, 12)} {f'{bar(i.computing, cells=cells).plain} ' if cells else ''}{percent(i.computing):>4}"
        for i in picture.islands[:4]
    )
    who = [client for client in picture.clients if client.in_flight or client.waiting]
    if [client.name for client in who] == ["main"]:  # the user alone
        who = []
    parts = [
        paused,
        " ".join(
            f"{STATES[state].glyph} {count} {word}"
            for state, count, word in (
                (NodeState.LAUNCHED, picture.count(NodeState.LAUNCHED), "running"),
                (NodeState.QUEUED, picture.count(NodeState.QUEUED), "queued"),
                (NodeState.WAITING, picture.count(*_WAITING), "waiting"),
            )
            if count or state is not NodeState.WAITING
        ),
        busy,
        ", ".join(f"{one_line(c.name, 12)}{' suspended' if c.suspended else ''}" for c in who[:4]),
        f"and {len(who) - 4} more" if len(who) > 4 else "",
    ]
    return " │ ".join(filter(None, parts))


# --- pieces -------------------------------------------------------------------------------------


def _head(picture: Top, note: str) -> list[Text]:
    from rich.text import Text

    text = Text.assemble(("pwlab top", "bold"), f"  {seconds_text(picture.seconds)}")
    for state, count in picture.counts:
        style = state_style(state, picture.cut)
        text.append(f"  {style.glyph} {count:,} {style.word}", style.colour)
    if not picture.counts:
        text.append("  nothing runs", _DIM)
    if picture.glance.paused:
        text.append("  PAUSED", "bold yellow")
    below = Text(f"computing {percent(picture.computing)} of the last {seconds_text(min(WINDOW, picture.seconds))}")
    if picture.glance.policy:
        below.append(f"  policy {one_line(picture.glance.policy, 20)}")
    if held := sum(client.held for client in picture.clients):
        below.append(f"  {held:,} wait for memory", "yellow")
    if note:
        below.append(f"  {note}", _DIM)
    return [text, below, *([Text(one_line(picture.doubts, 300), "yellow")] if picture.doubts else [])]


def _programs(picture: Top, columns: int) -> list[Text]:
    from rich.text import Text

    if not picture.programs:
        return []
    told = [
        f"{one_line(p.name, 20)}{f' ({one_line(p.client, 12)})' if p.client != 'main' else ''} "
        f"{p.done:,} of {p.nodes:,}"
        for p in picture.programs
    ]
    return [Text(f"programs  {one_line(', '.join(told), columns - 10)}")]


def _island(island: TopIsland) -> Text:
    from rich.text import Text

    text = Text.assemble((one_line(island.name, 24), "bold"), (f"  {one_line(island.chip, 24)}", _DIM))
    text.append(f"  {island.in_flight:,} in flight, {island.queued:,} queued")
    if island.host:
        text.append(f"  on the host: {one_line(', '.join(island.host), 30)}")
    return text


def _devices(island: TopIsland, columns: int, most: int, memory_w: int) -> list[Text]:
    from rich.text import Text

    shown = list(island.devices)
    if len(shown) > most:
        busiest = sorted(shown, key=lambda device: -device.computing - device.moving)[: max(1, most - 1)]
        shown = [device for device in shown if device in busiest]
    label_w = max((len(str(device.device)) for device in shown), default=0)
    cells = min(40, max(10, (columns - 40) // 2))
    lines = [_device(device, columns, cells, label_w, memory_w) for device in shown]
    if rest := [device for device in island.devices if device not in shown]:
        mean = sum(device.computing for device in rest) / len(rest)
        lines.append(Text(f"  and {count_text(len(rest), 'other device')}, {percent(mean)} each", _DIM))
    return lines


def _device(device: TopDevice, columns: int, cells: int, label_w: int, memory_w: int) -> Text:
    from rich.text import Text

    colour = "green" if device.computing >= 0.5 else "yellow"
    text = Text.assemble(
        f"  device {device.device:>{label_w}}  ",
        bar(device.computing, device.moving, cells, colour),
        f" {percent(device.computing):>4}",
    )
    near = device.capacity is not None and device.bytes > 0.9 * device.capacity
    text.append(f"  {_memory(device):>{memory_w}}", "red" if near else "")
    left = columns - width(text.plain) - 2
    behind = f" +{device.behind:,}" if device.behind else ""
    who = f" ({one_line(device.client, 12)})" if device.client not in ("", "main") else ""
    if device.runs and left > 6:
        name = one_line(device.runs, max(4, left - len(behind) - width(who)))
        text.append(f"  {name}", "blue").append(who).append(behind, _DIM)
    return text


def _memory(device: TopDevice) -> str:
    return bytes_text(device.bytes) + (f" of {bytes_text(device.capacity)}" if device.capacity is not None else "")


def _clients(picture: Top, columns: int, most: int) -> list[Text]:
    """Nothing where there is one client alone."""
    from rich.text import Text

    if len(picture.clients) < 2:
        return []
    shown = picture.clients if len(picture.clients) <= most - 1 else picture.clients[: max(1, most - 2)]
    name_w = max(6, *(width(one_line(client.name, 16)) for client in shown))
    lines = [Text(f"{'client':<{name_w}}  share asked      got", _DIM)]
    lines += [_client(client, name_w) for client in shown]
    if left := len(picture.clients) - len(shown):
        lines.append(Text(f"and {count_text(left, 'other')} that got less", _DIM))
    return lines


def _client(client: TopClient, name_w: int) -> Text:
    from rich.text import Text

    name = one_line(client.name, 16)
    text = Text(name + " " * (name_w - width(name)))
    for share, colour in ((client.asked, _DIM), (client.got, "cyan")):
        text.append("  ").append_text(bar(share, cells=10, colour=colour)).append(f" {percent(share):>4}")
    text.append(f"  {client.in_flight:,} in flight, {client.waiting:,} waiting")
    if client.held:
        text.append(f", {client.held:,} for memory", "yellow")
    return text.append("  suspended", "yellow") if client.suspended else text


_NEWS = {"failed": (STATES[NodeState.FAILED].glyph, "red"), "waited": ("▒", ""), "waiting": ("▒", "yellow")}


def _news(news: TopNews, columns: int) -> Text:
    from rich.text import Text

    glyph, colour = _NEWS.get(news.kind, ("!", "yellow"))
    took = f" {seconds_text(news.seconds)}" if news.kind in ("waited", "waiting") else ""
    where = f" at {source_text(news.source)}" if news.source else ""
    text = Text(f"{glyph} {news.kind}{took}{where}", colour)
    text.append(f", {seconds_text(news.ago)} ago: " if news.kind != "waiting" else ": ", _DIM)
    return text.append(one_line(news.text, max(8, columns - width(text.plain))))
