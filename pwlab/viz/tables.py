"""Tables for the terminal and for plain outputs: islands, programs, waits.

Each function gives something that rich prints; :func:`render` makes plain text
of it.  rich is imported when a table is made, so that importing pwlab stays
cheap.  Names come from users, so a cell is a ``Text``, never rich's markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from ..events import Fact, IslandSpec, NodeState, Waited
from ..ids import DeviceId
from ..observe import RunModel
from .format import count_text, nodes_text, one_line, ranges_text, seconds_text, source_text, state_style
from .terminal import theme

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text


def render(renderable: RenderableType, columns: int = 100, colour: bool = False) -> str:
    """What rich would print, as text of ``columns`` columns."""
    import io

    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=columns, force_terminal=colour, color_system="standard" if colour else None,
            legacy_windows=False, force_jupyter=False).print(renderable)  # fmt: skip
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


#: Line height of text in a notebook is larger, which would tear boxes and bars apart.
_PRE = (
    '<pre class="pwlab-text" style="white-space:pre;overflow-x:auto;line-height:normal;font-size:13px;'
    "font-family:Menlo,'DejaVu Sans Mono',consolas,'Courier New',monospace\">{code}</pre>"
)


def render_html(renderable: RenderableType, columns: int = 100) -> str:
    """What rich would print, as HTML with its colours."""
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), record=True, width=columns, force_jupyter=False, legacy_windows=False)
    console.print(renderable)
    return console.export_html(theme=theme(), inline_styles=True, code_format=_PRE)


def islands_table(model: RunModel) -> Table:
    """Islands, and for each slice on them which devices it has, with a small picture."""
    table = make_table("island", "chip", ">devices", "slice", "where", "")
    for island in model.islands.values():
        views = [v for v in model.slices.values() if v.island == island.id and v.mapped]
        first = [name_cell(island.name), name_cell(island.chip, 16), str(len(island.devices))]
        if not views:
            table.add_row(*first, dim("no slice yet"), ranges_text(island.devices), _mesh(island, ()))
        for view in views:
            table.add_row(*first, name_cell(view.name), ranges_text(view.devices), _mesh(island, view.devices))
            first = ["", "", ""]
    for view in model.slices.values():
        if view.refused:
            table.add_row(dim("none"), "", "", name_cell(view.name), name_cell(f"refused: {view.refused}", 50), "")
    return table


def _mesh(island: IslandSpec, mine: tuple[DeviceId, ...], cells: int = 16) -> Text:
    """``■ ■ · ·``: which of the island's devices a slice has, as the island's mesh lies where it has one.

    A mesh of two axes is as many lines; of three, its planes stand side by side.  Of one that is too large for that,
    and of a long row, many devices share a square.
    """
    from rich.text import Text

    have = set(mine)
    text = Text()
    shape = tuple(n for n in island.shape if n > 1)
    if len(shape) in (2, 3) and shape[-2] <= 16 and prod(shape) // shape[-2] <= 2 * cells:
        rows, across = shape[-2:]
        for row in range(rows):
            for plane in range(prod(shape[:-2])):
                text.append("  " * (plane > 0))
                start = (plane * rows + row) * across
                _squares(text, have, [(device,) for device in island.devices[start : start + across]])
            text.rstrip()
            text.append("\n" * (row < rows - 1))
        return text
    each = max(1, -(-len(island.devices) // cells))
    parts = [island.devices[start : start + each] for start in range(0, len(island.devices), each)]
    _squares(text, have, parts)
    if each > 1:
        text.append(f"({each} each)", "bright_black")
    text.rstrip()
    return text


def _squares(text: Text, have: set[DeviceId], parts: Iterable[tuple[DeviceId, ...]]) -> None:
    for part in parts:
        held = sum(device in have for device in part)
        sign, style = ("■", "cyan") if held == len(part) else ("◧", "cyan") if held else ("·", "bright_black")
        text.append(sign + " ", style)


def programs_table(model: RunModel, most: int = 20) -> Table:
    """The newest programs: state, nodes, wall time, where they were written."""
    table = make_table("", "program", "client", "state", ">nodes", ">wall", "from")
    programs = list(model.programs.values())
    for program in programs[-most:]:
        state = program.state or NodeState.LAUNCHED
        table.add_row(
            str(program.id),
            name_cell(program.name, 30),
            name_cell(program.client, 12),
            _state(state, bool(model.damage)),
            nodes_text(program),
            seconds_text(program.wall(model.now)),
            source_text(program.source),
        )
    if len(programs) > most:
        table.caption = f"{len(programs) - most:,} older programs not shown"
    return table


def waits_table(facts: Iterable[Fact], most: int = 50) -> Table:
    """The newest waits: cell and line, the line's text, what needed the value, milliseconds."""
    waits = [fact for fact in facts if isinstance(fact, Waited)]
    table = make_table("from", "line", "needed by", ">ms")
    for wait in waits[-most:]:
        source = wait.source
        table.add_row(
            source_text(source) or dim("unknown"),
            name_cell(source.text.strip(), 44) if source else "",
            name_cell(wait.reason, 24),
            f"{wait.seconds * 1e3:,.1f}",
        )
    total = sum(wait.seconds for wait in waits)
    shown = f", the newest {most} shown" if len(waits) > most else ""
    table.caption = f"{count_text(len(waits), 'wait')}{shown}; {seconds_text(total)} in all"
    return table


# --- pieces ---------------------------------------------------------------------------------


#: Columns that a name keeps.
_LEAST = 12


def make_table(*heads: str) -> Table:
    """A table without a frame; a head that begins with ``>`` stands at the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        title_justify="left",
        caption_justify="left",
        title_style="",
        caption_style="bright_black",
        header_style="bright_black",
        border_style="bright_black",
    )
    for head in heads:
        right = head.startswith(">")
        table.add_column(head.removeprefix(">"), justify="right" if right else "left", no_wrap=True)
    return table


class Figures:
    """A table of which no figure is ever cut.

    Where room is short headings break, columns draw together, bars go, and names are shortened.

    Args:
      heads: a figure's begins with ``>``, a bar's with ``=``, a name's with neither.
    """

    def __init__(self, *heads: str):
        self.caption = ""
        self._heads = heads
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        from rich.text import Text

        row = [Text(cell) if isinstance(cell, str) else cell for cell in cells]
        self._rows.append(row + [Text()] * (len(self._heads) - len(row)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown, widths, gap = self._fitted(options.max_width)
        table = make_table(*(self._heads[k].removeprefix("=") for k in shown))
        table.padding = (0, gap // 2)
        table.caption = self.caption or None
        for k, column in zip(shown, table.columns, strict=True):
            column.width, column.no_wrap = widths[k], self._heads[k][:1] not in (">", "=")
        for row in self._rows:
            table.add_row(*(row[k] for k in shown))
        yield table

    def _fitted(self, columns: int) -> tuple[list[int], dict[int, int], int]:
        """Which columns are shown, how wide each is, and what is between them."""
        for gap, barred, whole in ((3, True, True), (1, True, True), (1, False, True), (1, False, False)):
            shown = [k for k, head in enumerate(self._heads) if barred or head[:1] != "="]
            widths = {k: self._width(k, whole) for k in shown}
            spare = columns - gap * (len(shown) - 1) - sum(widths.values())
            for k in shown:  # headings break only where they must
                more = max(0, len(self._head(k)) - widths[k])
                if spare >= more:
                    widths[k] += more
                    spare -= more
            names = [k for k in shown if self._heads[k][:1] not in (">", "=")]
            if -spare <= sum(max(0, widths[k] - _LEAST) for k in names):
                break
        for _ in range(min(-spare, sum(widths[k] - 1 for k in names))):
            widths[max(names, key=widths.__getitem__)] -= 1
        return shown, widths, gap

    def _head(self, k: int) -> str:
        return self._heads[k].lstrip(">=")

    def _width(self, k: int, whole: bool) -> int:
        """Of the widest cell, and where words of headings stay ``whole`` of the longest; no name's heading breaks."""
        head = self._head(k)
        words = map(len, head.split() if head != self._heads[k] else [head]) if whole else ()
        return max([3, *(row[k].cell_len for row in self._rows), *words])


def name_cell(text: str, columns: int = 24) -> Text:
    """A name from a user: never read as rich markup."""
    from rich.text import Text

    return Text(one_line(text, columns))


def dim(text: str) -> Text:
    from rich.text import Text

    return Text(text, "bright_black")


def _state(state: NodeState, cut: bool) -> Text:
    from rich.text import Text

    style = state_style(state, cut)
    return Text(f"{style.glyph} {style.word}", style.colour)
