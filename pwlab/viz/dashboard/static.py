"""The dashboard's static form: what a saved notebook shows where no JavaScript runs."""

from __future__ import annotations

from ...ids import ProgramId
from ...observe import Recorder, RunModel, RunStats
from ..format import escape
from ..graph import picture
from ..image import image
from ..summary import summary
from ..svg import describe, svg
from ..tables import render
from ..text import TEXT_LIMIT
from ..timeline import TimelinePicture, timeline
from ..timeline_svg import describe_timeline, timeline_svg
from ..usage import SUBJECTS, usage_words
from ..usage_svg import usage_svg
from ..view import StaticView, Tab, graph_view, timeline_view, usage_view

#: A picture on a page has fewer nodes than one that can be zoomed, and is made while the user waits.
NODES = 200
SPANS = 500
#: Columns of texts.
COLUMNS = 100

_PRE = (
    "white-space:pre;overflow-x:auto;line-height:1.25;font-size:12px;margin:8px 0;"
    "font-family:Menlo,'DejaVu Sans Mono',consolas,'Courier New',monospace"
)


def static(recorder: Recorder, key: str, tab: Tab | None = None) -> dict[str, str]:
    """Pictures, and the numbers as text.

    Args:
      recorder: what is known of the run.
      key: by which the widget finds this, to hide it.
      tab: the name of a view for that alone; None for all, and what ran where.
    """
    with recorder.reading() as (model, stats):
        if tab is not None:
            view = _view(model, stats, tab)
            html, text = view.html, view.text
        else:
            html, text = _all(model, stats)
    return {"text/html": f'<div class="pwlab-static-{key}">{_alone(key)}{html}</div>', "text/plain": text}


def _view(model: RunModel, stats: RunStats, tab: Tab) -> StaticView:
    if tab == "timeline":
        return timeline_view(_timeline(model), COLUMNS)
    if tab == "graph":
        return graph_view(picture(model, limit=NODES), picture(model, limit=TEXT_LIMIT), COLUMNS)
    return usage_view(stats, model, tab)


def _all(model: RunModel, stats: RunStats) -> tuple[str, str]:
    """All views as pictures, and what ran where, which tells the numbers of all."""
    text = render(summary(model, stats), COLUMNS).rstrip()
    below = f'<pre style="{_PRE}">{escape(text, 20_000)}</pre>'
    if not model.nodes:
        return below, text
    spans, graph, view = _timeline(model), picture(model, limit=NODES), stats.usage.view()
    words = [describe_timeline(spans), describe(graph), *(usage_words(view, subject) for subject in SUBJECTS)]
    images = [image(timeline_svg(spans), words[0]), image(svg(graph), words[1])]
    for (subject, title), about in zip(SUBJECTS.items(), words[2:], strict=True):
        drawn = image(usage_svg(view, model, subject), about)
        images.append(f"<details><summary>{title}</summary>{drawn}</details>")
    return "".join(images) + below, "\n".join([*words, "", text])


def _timeline(model: RunModel) -> TimelinePicture:
    newest = _newest(model)
    return timeline(model, newest, title=f"the newest {len(newest)} programs" if newest else "")


def _alone(key: str) -> str:
    """Hides the output below this one while it is a bare line, with which JupyterLab tells that there is no widget.

    An error of the widget itself, which has elements, is shown.
    """
    below = f".jp-OutputArea-child:has(.pwlab-static-{key})+.jp-OutputArea-child"
    return f"<style>{below}:not(:has(.jp-OutputArea-output *)){{display:none}}</style>"


def _newest(model: RunModel) -> list[ProgramId] | None:
    """The newest programs that have together about as many nodes as a timeline shall have; None for all."""
    if len(model.nodes) <= SPANS:
        return None
    chosen: list[ProgramId] = []
    nodes = 0
    for program in reversed(model.programs.values()):
        nodes += program.nodes
        if chosen and nodes > SPANS:
            break
        chosen.append(program.id)
    return chosen
