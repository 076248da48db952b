"""What :func:`pwlab.compare` gives back: the comparison in its three forms, and its figures as numbers."""

from __future__ import annotations

from dataclasses import dataclass

from .compare import Comparison, Figure
from .compare_svg import compare_svg
from .compare_text import compare_text, describe_comparison
from .image import image
from .terminal import columns as columns_here
from .view import StaticView


@dataclass(frozen=True, slots=True, repr=False)
class CompareView(StaticView):
    """Two runs side by side.  ``print`` it, display it, or :meth:`save` it.

    Attributes:
      figures: what the two are compared by, each with its ``name``, ``values`` and ``texts``.
    """

    figures: tuple[Figure, ...] = ()

    @property
    def html(self) -> str:
        """The picture as an image, as high as it is: both sides are to be seen at once."""
        return image(self.svg, self.words, tall=True)


def compare_view(both: Comparison, columns: int | None = None) -> CompareView:
    """The comparison; its text has so many columns, those of the terminal if not given."""
    text = compare_text(both, columns or columns_here())
    return CompareView(compare_svg(both), text, describe_comparison(both), figures=both.figures)
