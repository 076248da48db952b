"""A finished picture in its three forms: what calls such as :func:`pwlab.graph` and :func:`pwlab.compare` give back.

In a notebook it shows itself as an image (an SVG inside an ``<img>``, which untrusted notebooks and nbconvert keep),
in a terminal as text; :meth:`StaticView.save` writes a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from .. import checks
from ..observe import RunModel, RunStats, write_whole
from .format import escape
from .graph import GraphPicture
from .image import image
from .svg import describe, svg
from .tables import render, render_html
from .terminal import columns as columns_here
from .terminal import text_svg
from .text import graph_text
from .timeline import TimelinePicture
from .timeline_svg import describe_timeline, timeline_svg
from .timeline_text import timeline_text
from .usage import Subject, usage_tables, usage_words
from .usage_svg import usage_svg

if TYPE_CHECKING:
    from rich.console import RenderableType

#: The views of a run, each of which can stand alone.
Tab = Literal["timeline", "graph", "utilisation", "memory", "clients"]

#: Columns of tables where no terminal says how many it has.
TABLE_COLUMNS = 110


def checked(tab: Tab | None) -> Tab | None:
    """The name of a view, or None for all.

    Raises:
      UnknownName: no such view; the nearest is suggested.
    """
    if tab is not None:
        checks.choice("view", tab, get_args(Tab))
    return tab


@dataclass(frozen=True, slots=True, repr=False)
class StaticView:
    """A picture.  ``print`` it, display it, or :meth:`save` it.

    Attributes:
      svg: one ``<svg>`` element that stands alone.
      text: the same for a terminal.
      words: the same in a sentence, for those who do not see it.
      table: the text with its colours, for rich; None where it has none.
    """

    svg: str
    text: str
    words: str
    table: RenderableType | None = None

    @property
    def html(self) -> str:
        """The picture as an image; of utilisation, memory and clients, the numbers below it."""
        return image(self.svg, self.words) + ("" if self.table is None else render_html(self.table, TABLE_COLUMNS))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes ``.svg``, ``.html`` or ``.txt``, by the name of the file.

        Raises:
          ValueError: it is no name of a file, or has another ending.
          OSError: it cannot be written; says why.
        """
        target = checks.path("path", path)
        forms = {".svg": lambda: self.svg, ".html": self._page, ".txt": lambda: self.text}
        if target.suffix not in forms:
            raise ValueError(f"{target.name!r} names no form; end it with one of {', '.join(forms)}")
        return write_whole(target, (forms[target.suffix](),))

    def _page(self) -> str:
        """A page of its own, light or dark as its reader prefers."""
        head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        head += f"<title>{escape(self.words)}</title>"
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{self.html}</body></html>'

    def _repr_html_(self) -> str:
        return self.html

    def __rich__(self) -> RenderableType:
        from rich.text import Text

        return Text(self.text) if self.table is None else self.table

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


class TableView(StaticView):
    """Tables alone: in a notebook they stay text, which can be searched and copied."""

    __slots__ = ()

    @property
    def html(self) -> str:
        """The tables as preformatted text with its colours."""
        return render_html(self.table or "", TABLE_COLUMNS)


def graph_view(picture: GraphPicture, small: GraphPicture | None = None, columns: int | None = None) -> StaticView:
    """The graph.

    Args:
      small: what the terminal shows, such as ``picture(model, limit=TEXT_LIMIT)``.
      columns: of the text; those of the terminal if not given.
    """
    return StaticView(svg(picture), graph_text(small or picture, columns or columns_here()), describe(picture))


def timeline_view(picture: TimelinePicture, columns: int | None = None) -> StaticView:
    """The timeline; its text has so many columns, those of the terminal if not given."""
    text = timeline_text(picture, columns or columns_here())
    return StaticView(timeline_svg(picture), text, describe_timeline(picture))


def usage_view(
    stats: RunStats,
    model: RunModel,
    subject: Subject,
    columns: int | None = None,
    table: RenderableType | None = None,
) -> StaticView:
    """Utilisation, memory or clients.

    Args:
      columns: of the text; those of the terminal if not given.
      table: the numbers as a running session knows them; those of the recorded run if not given.
    """
    view = stats.usage.view()
    if table is None:
        table = usage_tables(view, model, subject, model.now)
    text = render(table, columns or columns_here(TABLE_COLUMNS))
    return StaticView(usage_svg(view, model, subject), text, usage_words(view, subject), table)


def table_view(table: RenderableType, words: str) -> TableView:
    """Tables; ``words`` say what they show."""
    return TableView(text_svg(table, words, TABLE_COLUMNS), render(table, columns_here(TABLE_COLUMNS)), words, table)
