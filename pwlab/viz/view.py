"""A finished picture in its three forms: what a call such as :func:`pwlab.compare` gives back.

In a notebook it shows itself as an image (an SVG inside an ``<img>``, which untrusted notebooks and nbconvert keep),
in a terminal as text; :meth:`StaticView.save` writes a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..observe import RunModel, RunStats
from .graph import GraphPicture
from .image import image
from .svg import describe, svg
from .tables import render
from .text import graph_text
from .timeline import TimelinePicture
from .timeline_svg import describe_timeline, timeline_svg
from .timeline_text import timeline_text
from .usage import Subject, usage_tables, usage_words
from .usage_svg import usage_svg


@dataclass(frozen=True, slots=True, repr=False)
class StaticView:
    """A picture.  ``print`` it, display it, or :meth:`save` it.

    Attributes:
      svg: one ``<svg>`` element that stands alone.
      text: the same for a terminal.
      words: the same in a sentence, for those who do not see it.
    """

    svg: str
    text: str
    words: str

    @property
    def html(self) -> str:
        """The picture as an image."""
        return image(self.svg, self.words)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes ``.svg``, ``.html`` or ``.txt``, by the name of the file.

        Raises:
          ValueError: the name has another ending.
        """
        target = Path(path)
        forms = {".svg": self.svg, ".html": f'<!doctype html><meta charset="utf-8">{self.html}', ".txt": self.text}
        if target.suffix not in forms:
            raise ValueError(f"{target.name!r} names no form; end it with one of {', '.join(forms)}")
        target.write_text(forms[target.suffix], encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def usage_view(stats: RunStats, model: RunModel, subject: Subject, columns: int = 110) -> StaticView:
    """Utilisation, memory or clients."""
    view = stats.usage.view()
    text = render(usage_tables(view, model, subject, model.now), columns)
    return StaticView(usage_svg(view, model, subject), text, usage_words(view, subject))


def graph_view(picture: GraphPicture, small: GraphPicture | None = None) -> StaticView:
    """The graph; ``small`` is what the terminal shows, such as ``picture(model, limit=TEXT_LIMIT)``."""
    return StaticView(svg(picture), graph_text(small or picture), describe(picture))


def timeline_view(picture: TimelinePicture, columns: int = 100) -> StaticView:
    """The timeline."""
    return StaticView(timeline_svg(picture), timeline_text(picture, columns), describe_timeline(picture))
