"""The dashboard's static form: what a saved notebook shows where no JavaScript runs."""

from __future__ import annotations

import re

from ...observe import Recorder
from ..format import escape
from ..graph import picture
from ..summary import summary
from ..svg import data_uri, describe
from ..tables import render

#: A picture for a page has fewer nodes than one that can be zoomed.
NODES = 300

_PRE = (
    "white-space:pre;overflow-x:auto;line-height:1.25;font-size:12px;margin:8px 0;"
    "font-family:Menlo,'DejaVu Sans Mono',consolas,'Courier New',monospace"
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def static(recorder: Recorder, key: str) -> dict[str, str]:
    """The graph as a picture and the numbers as text; ``key`` is how the widget finds it, to hide it."""
    with recorder.reading() as (model, stats):
        graph = picture(model, limit=NODES)
        text = _ANSI.sub("", render(summary(model, stats), 100)).rstrip()
    words = f"{describe(graph)}\n\n{text}"
    image = (
        f'<div style="max-width:100%;max-height:640px;overflow:auto"><img style="max-width:none" '
        f'alt="{escape(describe(graph))}" src="{data_uri(graph)}"></div>'
        if graph.nodes
        else ""
    )
    html = f'<div class="pwlab-static pwlab-static-{key}">{image}<pre style="{_PRE}">{escape(text, 20_000)}</pre></div>'
    return {"text/html": html, "text/plain": words}
