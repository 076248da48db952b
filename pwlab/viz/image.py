"""An SVG as an image: what saved notebooks, untrusted ones and nbconvert show, for sanitisers leave it alone.

An image sees nothing of the page around it, but browsers let it have the colour scheme of the element that holds it.
So a style beside it gives that element the scheme of the host.  Where a sanitiser takes the style away, as in a
notebook that is not trusted, the image follows the reader's preference.
"""

from __future__ import annotations

import base64
import re

from .format import escape
from .svg_style import host_schemes

#: A picture that is wider than its place becomes smaller, as long as its texts can be read; then the place scrolls.
SMALLEST = 0.72


def data_uri(svg: str) -> str:
    """The SVG as a ``data:`` URI."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def image(svg: str, words: str, tall: bool = False) -> str:
    """The SVG as an ``<img>`` in a box.

    Args:
      svg: one element, with its width in pixels.
      words: the same in a sentence, for those who do not see it.
      tall: as high as it is; else what is higher scrolls.
    """
    found = re.search(r' width="([\d.]+)"', svg)
    wide = float(found[1]) if found else 0.0
    fits = f"width:100%;max-width:{wide:.0f}px;min-width:{wide * SMALLEST:.0f}px;height:auto"
    return (
        f'<div class="pwlab-static" style="max-width:100%;{"" if tall else "max-height:720px;"}overflow:auto">'
        f"<style>{host_schemes('.pwlab-static')}</style>"
        f'<img style="{fits}" alt="{escape(words)}" src="{data_uri(svg)}"></div>'
    )
