"""How a lazy tensor shows itself, from what is known without waiting for it.

A ``repr`` must never dispatch, wait or fetch, so these functions take a
:class:`~pwlab.lazy.describe.TensorInfo`: plain metadata, and a preview only where the value is there
anyway.  A sharded tensor gets a small picture of which device holds which part.
"""

from __future__ import annotations

from itertools import product
from math import prod

from ..events import NodeState
from ..lazy.describe import TensorInfo
from ..units import bytes_text
from .format import STATES, escape, one_line, ranges_text, source_text
from .image import data_uri

#: Middle tones that read on light and dark, with white on them.
_BADGE = {
    NodeState.WAITING: "#6b7480",
    NodeState.PREPARED: "#6b7480",
    NodeState.QUEUED: "#a06a00",
    NodeState.LAUNCHED: "#1f6feb",
    NodeState.DONE: "#1e8449",
    NodeState.FAILED: "#c92a2a",
    NodeState.CANCELLED: "#8e6aa8",
}
_WORDS = {style.word: state for state, style in STATES.items()} | {
    "ready": NodeState.DONE,
    "recorded": NodeState.WAITING,
    "released": NodeState.CANCELLED,
}
_PARTS = ("#3b82c4", "#2f9e78", "#b7791f", "#9461b8", "#c2565f", "#4d7c8a", "#7d8b2f", "#a8577e")


def shape_text(info: TensorInfo) -> str:
    """``f32[8,128]``."""
    return f"{one_line(info.dtype, 24)}[{','.join(map(str, info.shape))}]"


def lazy_text(info: TensorInfo) -> str:
    """``LazyTensor f32[8,128] · slice a · queued · Cell In[4]:2``; with a preview if it is there."""
    parts = [f"LazyTensor {shape_text(info)}"]
    if info.slice:
        parts.append(f"slice {one_line(info.slice, 24)}")
    if info.spread and info.spec:
        parts.append(one_line(info.spec, 40))
    parts += [part for part in (one_line(info.state, 24), source_text(info.source)) if part]
    text = " · ".join(parts)
    if info.error:
        return f"{text}\n{one_line(why(info), 160)}"
    return f"{text}\n{info.preview[:2000]}" if info.preview is not None else text


def lazy_html(info: TensorInfo) -> str:
    """The same as HTML, with a picture of the sharding; everything escaped, no scripts, no ids."""
    tone = _BADGE[_WORDS.get(info.state, NodeState.WAITING)]
    glyph = STATES[_WORDS.get(info.state, NodeState.WAITING)].glyph
    muted = "opacity:.75"
    parts = [
        '<div class="pwlab-lazy" style="font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);'
        'color:var(--jp-ui-font-color1,inherit);display:inline-block;max-width:100%">',
        "<div>",
        f'<code style="font-weight:600;background:none;color:inherit">{escape(shape_text(info))}</code>',
        f'<span style="display:inline-block;margin:0 8px;padding:0 8px;border-radius:9px;background:{tone};'
        f'color:#fff;font-size:11px;line-height:18px">{glyph} {escape(one_line(info.state, 24))}</span>',
    ]
    facts = [f"slice <b>{escape(one_line(info.slice, 24))}</b>"] if info.slice else []
    if info.nbytes:
        facts.append(escape(bytes_text(info.nbytes)))
    if info.spread:
        facts.append(f"<code>{escape(one_line(info.spec, 60))}</code>" if info.spec else "spread")
    if info.source is not None:
        facts.append(f'<span title="{escape(info.source.text, 200)}">{escape(source_text(info.source))}</span>')
    parts.append(f'<span style="{muted}">{" · ".join(facts)}</span></div>')
    if info.error:
        parts.append(f'<div style="color:var(--jp-error-color1,#c92a2a)">{escape(one_line(why(info), 300))}</div>')
    picture = _sharding(info) if info.spread else ""
    if picture:
        parts.append(f'<div style="margin:4px 0;overflow-x:auto">{picture}</div>')
    if info.preview is not None and not info.error:
        parts.append(
            '<pre style="margin:4px 0;padding:0;background:none;color:inherit;font-size:12px;overflow:auto">'
            f"{escape(info.preview, 2000)}</pre>"
        )
    parts.append("</div>")
    return "".join(parts)


def why(info: TensorInfo) -> str:
    """Why the value will never be there; of what only depends on what failed, what that was and where."""
    if not info.failed or info.failed_at == info.source:
        return info.error
    where = f" at {source_text(info.failed_at)}" if info.failed_at is not None else ""
    return f"{one_line(info.failed, 40)}{where} failed first: {info.error}"


def _sharding(info: TensorInfo, most: int = 256) -> str:
    """A grid of the parts with the devices that hold each; empty where that is not known.

    The two dimensions that are cut most are drawn; of further ones the first part.  It is an image: of inline SVG a
    sanitiser leaves the bare texts.
    """
    if not info.holders or not info.grid or prod(info.grid) != len(info.holders):
        return ""
    cut = sorted(sorted(range(len(info.grid)), key=lambda d: -info.grid[d])[:2])
    down, across = (cut[0], cut[1]) if len(cut) == 2 else (None, cut[0])
    rows, columns = (info.grid[down] if down is not None else 1), info.grid[across]
    if rows * columns > most:
        return f'<span style="opacity:.75">{len(info.holders):,} parts</span>'
    labels: dict[tuple[int, int], str] = {}
    for number, place in enumerate(product(*map(range, info.grid))):
        if all(p == 0 for d, p in enumerate(place) if d not in cut):
            at = (place[down] if down is not None else 0, place[across])
            labels[at] = ranges_text(info.holders[number], 3)
    widest = max(map(len, labels.values()))
    w, h = max(26, 7 * widest + 12, 112 // columns), 22
    cells = [
        f'<rect x="{c * w + 1}" y="{r * h + 1}" width="{w - 2}" height="{h - 2}" rx="3" '
        f'fill="{_PARTS[(r * columns + c) % len(_PARTS)]}"/><text x="{c * w + w / 2:g}" y="{r * h + 15}" '
        f'text-anchor="middle" fill="#fff" font-size="11" font-family="sans-serif">{text}</text>'
        for (r, c), text in labels.items()
    ]
    about = f"{rows} by {columns} parts; each shows the devices that hold it"
    size = f'width="{columns * w}" height="{rows * h}" viewBox="0 0 {columns * w} {rows * h}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(cells)}</svg>'
    return f'<img style="max-width:none" alt="{about}" title="{about}" src="{data_uri(svg)}">'
