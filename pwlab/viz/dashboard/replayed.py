"""A recorded run in a browser: the dashboard with a scrubber, as a widget or in a page of its own.

Nothing feeds it.  The whole run goes to the page once, and every moment of it is made there
(``pwlab/viz/js/src/moments.js``), so neither a kernel nor a server is needed to look at one.
"""

from __future__ import annotations

import base64
import json
import secrets

from ...observe import Run
from ..format import escape
from ..view import Tab, checked
from .snapshot import snapshot_of
from .widget import Views, bundled, view_of
from .words import WORDS

JAVASCRIPT, STYLE = bundled("replay.js"), bundled("replay.css")


class ReplayWidget(Views):
    """Plays the run that it holds; no session feeds it."""

    _esm = JAVASCRIPT
    _css = STYLE


def replay_widget(run: Run, tab: Tab | None = None, *, explain: bool = False, height: int = 560) -> ReplayWidget:
    """The run as a widget.

    Raises:
      UnknownName: no such tab; the nearest is suggested.
    """
    return ReplayWidget(
        tab=checked(tab) or "timeline",
        single=tab is not None,
        words=WORDS if explain else {},
        height=height,
        key=secrets.token_hex(4),
        snapshot=snapshot_of(run),
    )


def show_replay(widget: ReplayWidget, html: str, text: str) -> None:
    """Displays it, and beside it a still picture, which the widget hides where it is drawn."""
    from IPython.display import display

    still = {"text/html": f'<div class="pwlab-static-{widget.key}">{html}</div>', "text/plain": text}
    display(still, raw=True)
    display(view_of(widget), raw=True)


def page_parts(run: Run) -> tuple[str, str]:
    """What makes a page a replay: its HTML, which shows itself when its script runs, and that script, a module."""
    packed = base64.b64encode(snapshot_of(run)).decode()
    settings = escape(json.dumps({"tab": "timeline", "single": False, "words": WORDS, "height": 620}), 20_000)
    html = (
        f'<style>{STYLE}</style><div id="pwlab-replay" hidden data-settings="{settings}"></div>'
        f'<script type="application/octet-stream" id="pwlab-packed">{packed}</script>'
    )
    return html, JAVASCRIPT
