"""What a terminal would show, elsewhere: how wide it may be, in which colours it goes into HTML, and as a picture."""

from __future__ import annotations

import os
import re
import shutil
import sys
import zlib
from functools import cache, partial
from typing import TYPE_CHECKING

from .format import escape
from .palette import DARK, LIGHT, Palette
from .svg_style import for_both_themes

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.style import Style
    from rich.terminal_theme import TerminalTheme

#: No text is made for fewer columns.
LEAST = 40
#: Pixels of a character and of a line in a picture, and around all.
_WIDE, _HIGH, _SIDE = 7.2, 17.0, 16.0


def columns(usual: int = 100) -> int:
    """How many columns a text may have: those of the terminal, or what ``COLUMNS`` says, or else ``usual``."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(LEAST, shutil.get_terminal_size((usual, 24)).columns)
    return usual


#: The colours that our tables use, by rich's names, in tones that can be read on white and on black.
_TONES = {
    "red": "#d9434b",
    "green": "#2c8a4e",
    "yellow": "#a07215",
    "blue": "#3b7ddd",
    "magenta": "#9467bd",
    "cyan": "#1b8797",
    "bright_black": "#737e8d",
    "bright_blue": "#3b7ddd",
}


@cache
def theme() -> TerminalTheme:
    """Our colours for rich's export; a page's own theme is not known there."""
    from rich.color import ANSI_COLOR_NAMES
    from rich.terminal_theme import TerminalTheme

    tones = [(115, 126, 141)] * 16
    for name, tone in _TONES.items():
        tones[ANSI_COLOR_NAMES[name]] = (int(tone[1:3], 16), int(tone[3:5], 16), int(tone[5:], 16))
    return TerminalTheme((255, 255, 255), (0, 0, 0), tones[:8], tones[8:])


# --- as a picture ---------------------------------------------------------------------------------


def text_svg(renderable: RenderableType, words: str, wide: int = 110) -> str:
    """Something of rich's as an ``<svg>`` element that stands alone and may also be put inline.

    Args:
      words: the same in a sentence, for those who do not see it.
      wide: columns; the picture is as wide as what is written.
    """
    import io

    from rich.cells import cell_len
    from rich.console import Console
    from rich.segment import Segment

    console = Console(file=io.StringIO(), width=wide, force_jupyter=False, legacy_windows=False)
    texts: list[str] = []
    widest, high = 0, 0
    for high, line in enumerate(console.render_lines(renderable, pad=False), 1):
        column = 0
        for text, style, _ in Segment.simplify(line):
            for word in re.finditer(r"\S+(?: \S+)*", text):  # each where it stands: SVG draws many blanks as one
                at, cells = column + cell_len(text[: word.start()]), cell_len(word[0])
                widest = max(widest, at + cells)
                texts.append(_text(word[0], style, _SIDE + at * _WIDE, _SIDE + high * _HIGH - 5, cells * _WIDE))
            column += cell_len(text)
    w, h = widest * _WIDE + 2 * _SIDE, high * _HIGH + 2 * _SIDE
    prefix = f"px{zlib.crc32(''.join(texts).encode('utf-8', 'replace')):08x}"
    size = f'width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.0f} {h:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-text" role="img" {size} aria-labelledby="{prefix}">'
        f'<title id="{prefix}">{escape(words)}</title><style>{_style()}</style>'
        f'<rect class="bg" x="0.5" y="0.5" width="{w - 1:.0f}" height="{h - 1:.0f}" rx="10"/>{"".join(texts)}</svg>'
    )


def _text(text: str, style: Style | None, x: float, y: float, wide: float) -> str:
    # Fonts differ in how wide a character is, and the columns of a table must not.
    colour = style.color.name if style is not None and style.color is not None else ""
    kinds = " ".join(filter(None, (f"c-{colour}" if colour in _TONES else "", "b" if style and style.bold else "")))
    return (
        f'<text class="{kinds}" x="{x:.1f}" y="{y:.1f}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
    )


@cache
def _style() -> str:
    shape = (
        ".pw-text text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
        ".pw-text .b{font-weight:700}"
    )
    light, dark = ("#ffffff", "#d9dee5", "#1c2430", "#5f6978"), ("#14171d", "#2d333d", "#e6eaf0", "#a0aab8")
    return shape + for_both_themes(partial(_rules, LIGHT, light), partial(_rules, DARK, dark))


def _rules(palette: Palette, paper: tuple[str, str, str, str], host: str = "") -> str:
    at = f"{host} .pw-text " if host else ".pw-text "
    ground, rim, ink, muted = paper
    blue, green, amber, violet, teal = (tone.line for tone in palette.hues[:5])
    tones = dict(zip(_TONES, (palette.failed, green, amber, blue, violet, teal, muted, blue), strict=True))
    rules = [f".bg{{fill:{ground};stroke:{rim}}}", f"text{{fill:{ink}}}"]
    rules += [f".c-{name}{{fill:{tone}}}" for name, tone in tones.items()]
    return "".join(at + rule for rule in rules)
