"""The dashboard as a notebook shows it: two outputs, of which a reader always sees one.

The first is static, a picture and text under a display id, made again whenever
a run has ended.  The second is the bare widget; where it is drawn it hides the
first.  So JupyterLab shows the widget, and nbconvert, a notebook that is not
trusted or one without widget state show the picture *(tried)*.
"""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Any
from weakref import WeakMethod

import anywidget
import traitlets

from ...observe import Recorder
from ...runtime.clock import now
from ..view import Tab, checked
from . import kernel
from .feed import Source, feed_of
from .presence import Presence
from .snapshot import snapshot
from .static import static
from .words import WORDS

_STATIC = Path(__file__).parent / "static"

#: Widgets of one dashboard that keep a static picture up to date.
_MOST_OUTPUTS = 4


def bundled(name: str) -> str:
    """A file of the bundle, read once: a path would make anywidget watch it."""
    return (_STATIC / name).read_text(encoding="utf-8")


class Views(anywidget.AnyWidget):
    """What is synchronised with the browser: settings, and a run."""

    tab = traitlets.Unicode("timeline").tag(sync=True)
    #: Whether the other tabs can be chosen.
    single = traitlets.Bool(False).tag(sync=True)
    #: What learners are told, by word; none where nothing is explained.
    words = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(520).tag(sync=True)
    #: Class of the static output is ``pwlab-static-KEY``.
    key = traitlets.Unicode("").tag(sync=True)
    snapshot = traitlets.Bytes(b"").tag(sync=True)


JAVASCRIPT, STYLE = bundled("dashboard.js"), bundled("dashboard.css")


class DashboardWidget(Views):
    """Follows a session; holds a snapshot of the run once it has ended."""

    _esm = JAVASCRIPT
    _css = STYLE


def view_of(widget: Views) -> dict[str, Any]:
    """What a notebook shows a widget by."""
    view = {"version_major": 2, "version_minor": 1, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view}


class Dashboard:
    """A live view of a session: timeline, graph, utilisation, memory and clients.

    Args:
      source: a session, or what else has a ``ring`` of facts.
      tab: a single view; None shows all, as tabs.
      explain: add what the words mean, for learners.
      height: pixels.

    Raises:
      UnknownName: no such tab; the nearest is suggested.
    """

    def __init__(self, source: Source, tab: Tab | None = None, *, explain: bool = False, height: int = 520):
        self._tab: Tab | None = checked(tab)
        self._explain = explain
        self._height = height
        self._key = secrets.token_hex(4)
        # A session has read everything already; of another source it is read here.
        programs = getattr(source, "programs", None)
        self._shares = programs is not None
        self._recorder: Recorder = programs.recorder if programs is not None else Recorder(source.ring)
        self._widget: DashboardWidget | None = None
        self._outputs: list[Any] = []
        self._closed = False
        self.presence = Presence()
        self._feed = feed_of(source)
        self._feed.add(self)

    # --- showing -----------------------------------------------------------------------

    def show(self) -> None:
        """Displays it; in a terminal or a script, prints the numbers."""
        from IPython.display import display

        if kernel.shell() is None:
            print(self._static()["text/plain"])
            return
        handle = display(self._static(), raw=True, display_id=f"pwlab-{secrets.token_hex(6)}")
        self._outputs = [*self._outputs[1 - _MOST_OUTPUTS :], handle]
        display(self._view(), raw=True)
        self.presence.displayed(now())
        self._feed.nudge()

    _ipython_display_ = show

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        self.presence.displayed(now())
        return {**self._static(), **self._view()}

    def _static(self) -> dict[str, str]:
        return static(self._recorder, self._key, self._tab)

    def _view(self) -> dict[str, Any]:
        return view_of(self.widget)

    @property
    def widget(self) -> DashboardWidget:
        """The widget itself, to put into other widgets."""
        if self._closed:
            raise RuntimeError("this dashboard was closed; make a new one with pw.dashboard()")
        if self._widget is None:
            self._widget = DashboardWidget(
                tab=self._tab or "timeline",
                single=self._tab is not None,
                words=WORDS if self._explain else {},
                height=self._height,
                key=self._key,
                snapshot=b"" if self._feed.running or self._feed.behind else snapshot(self._feed),
            )
            heard = WeakMethod(self._heard)
            self._widget.on_msg(lambda _, content, __: (found := heard()) and found(content))
        return self._widget

    def __repr__(self) -> str:
        return f"Dashboard({self._tab or 'all views'}{', closed' if self._closed else ''})"

    # --- what the page says, on the main thread -----------------------------------------------

    def _heard(self, content: Any) -> None:
        page, kind = str(content.get("page", "")), content.get("kind")
        if kind == "bye":
            self.presence.bye(page)
            return
        self.presence.heard(page)
        if kind == "ready":
            self._feed.ready(self, int(content.get("seen", 0)), int(content.get("strings", 0)))

    # --- what the pump asks --------------------------------------------------------------------

    def send_batch(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        """Sends one batch; any thread may."""
        if self._widget is not None:
            self._widget.send(content, buffers)

    def settle(self) -> None:
        """A run has ended: makes the static picture and the snapshot anew.  The main thread alone may."""
        if self._closed or self._widget is None:
            return
        self._widget.snapshot = snapshot(self._feed)
        if self._outputs:
            bundle = self._static()
            for handle in self._outputs:
                handle.update(bundle, raw=True)

    def close(self) -> None:
        """Frees the widget and what was kept for it; its last static picture stays."""
        if self._closed:
            return
        self._closed = True
        self._feed.remove(self)
        if self._widget is not None:
            with contextlib.suppress(Exception):  # the kernel may be going down
                self._widget.close()
            self._widget = None
        if not self._shares:
            self._recorder.close()
        self._outputs.clear()
