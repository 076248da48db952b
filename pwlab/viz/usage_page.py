"""What the pictures of utilisation, memory and clients are drawn with: a page that grows, its bars, areas and marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from .axis import Axis
from .format import escape
from .palette import BOX_MARKS, DARK, LIGHT, Mark, Palette
from .svg_style import for_both_themes

#: Pixels: the whole, and names at the left.
WIDTH, LEFT = 1060.0, 140.0

_PAPERS = {"light": ("#ffffff", "#d9dee5", "#1c2430", "#5f6978", "#d5dce6", "#1f6feb"),
           "dark": ("#14171d", "#2d333d", "#e6eaf0", "#a0aab8", "#333b47", "#6cb0ff")}  # fmt: skip
_SHAPE = (
    '.pw-use text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;'
    "font-size:11.5px;font-variant-numeric:tabular-nums}.pw-use .h1{font-size:15px;font-weight:600}"
    ".pw-use .b{font-weight:600}.pw-use .cap{stroke-width:1.2;stroke-dasharray:5 4}"
)


def _rules(palette: Palette, paper: str, host: str = "") -> str:
    at = f"{host} .pw-use " if host else ".pw-use "
    bg, rim, text, muted, line, accent = _PAPERS[paper]
    rules = [
        f".bg{{fill:{bg};stroke:{rim}}}",
        f"text{{fill:{text}}}",
        f".mu{{fill:{muted}}}",
        f".line{{fill:{line}}}",
        f".room{{fill:{accent}}}",
        f".full{{fill:{palette.failed}}}",
        f".cap{{stroke:{text}}}",
        f".ink{{fill:{text}}}",
        f".lead{{stroke:{muted}}}",
        f".mm{{stroke:{muted};fill:none}}",
        f".ms{{stroke:{bg};fill:none}}",
        f".mf{{fill:{bg}}}",
        *(f".p{i}{{fill:{colour}}}" for i, colour in enumerate(palette.parts)),
        *(f".c{i}{{fill:{tone.line}}}" for i, tone in enumerate(palette.hues)),
    ]
    return "".join(at + rule for rule in rules)


@cache
def _style() -> str:
    return _SHAPE + for_both_themes(partial(_rules, LIGHT, "light"), partial(_rules, DARK, "dark"))


@dataclass(slots=True)
class Page:
    """A picture that grows downwards."""

    prefix: str
    y: float = 16.0
    parts: list[str] = field(default_factory=list[str])

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "") -> None:
        """Words; an ``anchor`` of "end" or "middle" stands at ``x`` instead of their beginning."""
        at = f' text-anchor="{anchor}"' if anchor else ""
        self.parts.append(f'<text class="{kind}" x="{px(x)}" y="{px(y)}"{at}>{escape(words)}</text>')

    def heading(self, words: str, about: str) -> None:
        self.text(16, self.y + 14, words, "h1")
        self.text(16, self.y + 32, about, "mu")
        self.y += 44

    def shape(self, kind: str, mark: str, path: str) -> None:
        """A filled path, with its mark over it; "" fills nothing, or marks nothing."""
        if path and kind:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')
        if path and mark:
            self.parts.append(f'<path fill="url(#{self.prefix}{mark})" d="{path}"/>')

    def bar(self, x: float, wide: float, pieces: Iterable[tuple[float, str, str]]) -> None:
        """Pieces side by side: share of the width, class and mark."""
        for share, kind, mark in pieces:
            if share > 0.001:
                self.shape(kind, mark, f"M{px(x)} {px(self.y)}h{px(share * wide)}v11h{px(-share * wide)}z")
            x += share * wide

    def axis(self, x: float, wide: float, seconds: float) -> None:
        """Round times below a chart of so many seconds."""
        for at, words in Axis(((0.0, seconds),)).ticks(6):
            near = at * wide < wide - 3 * len(words)
            self.text(x + at * wide, self.y + 12, words, "mu", "" if not at else "middle" if near else "end")
        self.y += 22

    def areas(
        self, layers: Sequence[tuple[Sequence[float], str, str]], x: float, wide: float, tall: float, top: float
    ) -> None:
        """Layers on top of each other, a step a bin, with class and mark; ``top`` is what is ``tall`` pixels high."""
        low = self.y + tall
        self.parts.append(f'<rect class="line" x="{px(x)}" y="{px(low)}" width="{px(wide)}" height="1"/>')
        bins = max((len(values) for values, _, _ in layers), default=0)
        floor = [0.0] * bins
        for values, kind, mark in layers:
            path: list[str] = []
            start = 0
            while start < bins:
                value, under = (values[start] if start < len(values) else 0.0), floor[start]
                end = start
                # Bins alike are one box.
                while end < bins and floor[end] == under and (values[end] if end < len(values) else 0.0) == value:
                    floor[end] += value
                    end += 1
                if value > 0:
                    at, across, high = x + wide * start / bins, wide * (end - start) / bins, tall * value / top
                    foot = low - tall * under / top
                    path.append(f"M{px(at)} {px(foot)}v{px(-high)}h{px(across)}v{px(high)}z")
                start = end
            self.shape(kind, mark, "".join(path))

    def svg(self, title: str, words: str) -> str:
        marks = "".join(_pattern(self.prefix + name, mark) for name, mark in BOX_MARKS.items())
        marks += _pattern(f"{self.prefix}missed", BOX_MARKS["stripes"], "mm")
        tall = self.y + 10
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pw-use" role="img" width="{px(WIDTH)}" '
            f'height="{px(tall)}" viewBox="0 0 {px(WIDTH)} {px(tall)}" '
            f'aria-labelledby="{self.prefix}t {self.prefix}d">'
            f'<title id="{self.prefix}t">{escape(title)}</title><desc id="{self.prefix}d">{escape(words)}</desc>'
            f"<style>{_style()}</style><defs>{marks}</defs>"
            f'<rect class="bg" x="0.5" y="0.5" width="{px(WIDTH - 1)}" height="{px(tall - 1)}" rx="10"/>'
            f"{''.join(self.parts)}</svg>"
        )


def _pattern(key: str, mark: Mark, ink: str = "ms") -> str:
    """A pattern, in the colour of the paper or in that of strokes of the class ``ink``."""
    kind, drawn = (ink, f' stroke-width="{mark.stroke:g}"') if mark.stroke else ("mf", "")
    return (
        f'<pattern id="{key}" width="{mark.size}" height="{mark.size}" patternUnits="userSpaceOnUse">'
        f'<path class="{kind}" opacity="{mark.opacity:g}" d="{mark.path}"{drawn}/></pattern>'
    )


def px(value: float) -> str:
    """Pixels, or a part of them, as text."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
