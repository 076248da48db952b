"""The dashboard's static form: what a saved notebook shows where no JavaScript runs."""

from __future__ import annotations

from ...ids import ProgramId
from ...observe import Recorder, RunModel
from ..format import escape
from ..graph import picture
from ..image import image
from ..summary import summary
from ..svg import describe, svg
from ..tables import render
from ..timeline import timeline
from ..timeline_svg import describe_timeline, timeline_svg
from ..usage import SUBJECTS, usage_tables, usage_words
from ..usage_svg import usage_svg

#: A picture on a page has fewer nodes than one that can be zoomed, and is made while the user waits.
NODES = 200
SPANS = 500

_PRE = (
    "white-space:pre;overflow-x:auto;line-height:1.25;font-size:12px;margin:8px 0;"
    "font-family:Menlo,'DejaVu Sans Mono',consolas,'Courier New',monospace"
)


def static(recorder: Recorder, key: str, tab: str | None = None) -> dict[str, str]:
    """Pictures, and the numbers as text.

    Args:
      recorder: what is known of the run.
      key: by which the widget finds this, to hide it.
      tab: the name of a view for its picture alone; None for those of all.
    """
    with recorder.reading() as (model, stats):
        images: list[str] = []
        words: list[str] = []
        if model.nodes and tab in (None, "timeline"):
            newest = _newest(model)
            spans = timeline(model, newest, title=f"the newest {len(newest)} programs" if newest else "")
            words.append(describe_timeline(spans))
            images.append(image(timeline_svg(spans), words[-1]))
        if model.nodes and tab in (None, "graph"):
            graph = picture(model, limit=NODES)
            words.append(describe(graph))
            images.append(image(svg(graph), words[-1]))
        text = render(summary(model, stats), 100).rstrip()
        view = stats.usage.view()
        for subject, title in SUBJECTS.items():
            if not model.nodes or tab not in (None, subject):
                continue
            about = usage_words(view, subject)
            picture_of = image(usage_svg(view, model, subject), about)
            words.append(about)
            if tab is None:
                images.append(f"<details><summary>{title}</summary>{picture_of}</details>")
            else:
                images.append(picture_of)
                text = render(usage_tables(view, model, subject, model.now), 110).rstrip()
    page = f'{_alone(key)}{"".join(images)}<pre style="{_PRE}">{escape(text, 20_000)}</pre>'
    box = f'<div class="pwlab-static-{key}">{page}</div>'
    return {"text/html": box, "text/plain": "\n".join([*words, "", text]).lstrip()}


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
