"""The line below IPython's prompt in a terminal: what runs, how busy the islands are, who is at it.

It is there while a session runs, and is drawn anew twice a second while the prompt waits.  It looks and never waits,
so typing stays quick; notebooks, plain scripts and ``--simple-prompt`` have none.  ``%pw config toolbar=off`` hides it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pwlab.config import noninteractive
from pwlab.runtime.clock import now
from pwlab.session import running
from pwlab.viz import top_line
from pwlab.viz.watch import Watched

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

#: Seconds between drawings, and for how long a line holds while the user types.
PERIOD, HOLDS = 0.5, 0.2


class Toolbar:
    """The toolbar of one shell."""

    def __init__(self, shell: InteractiveShell):
        self._shell = shell
        self._watched: Watched | None = None
        self._line = ""
        self._made = float("-inf")
        #: What the prompt's own interval was while ours is set.
        self._interval: float | None = None

    def refresh(self) -> None:
        """Puts it there or takes it away, as the session and its settings are now.  A toolbar of the user's stays."""
        app, session = self._app, running()
        wanted = session is not None and session.config.toolbar == "on" and not noninteractive()
        if app is None or not wanted:
            self.remove()
            return
        if app.bottom_toolbar is None:
            self._interval = app.refresh_interval
            app.bottom_toolbar, app.refresh_interval = self.text, PERIOD
        self._made = float("-inf")

    def remove(self) -> None:
        """Takes it away."""
        app = self._app
        if app is not None and app.bottom_toolbar == self.text:
            app.bottom_toolbar, app.refresh_interval = None, self._interval
        self._watched = None

    def text(self) -> str:
        """The line; called by the prompt whenever it draws."""
        session, at = running(), now()
        if session is None:
            return "the session was stopped"
        if at - self._made >= HOLDS:
            if self._watched is None or self._watched.session is not session:
                self._watched = Watched(session)
            self._line = top_line(self._watched.picture(), self._app.output.get_size().columns)
            self._made = at
        return self._line

    @property
    def _app(self) -> Any:
        """The prompt of a terminal, or None."""
        return getattr(self._shell, "pt_app", None)
