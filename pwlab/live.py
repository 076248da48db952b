"""The live dashboard, for the current session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .session import session

if TYPE_CHECKING:
    from .viz.dashboard import Dashboard
    from .viz.dashboard.widget import Tab


def dashboard(tab: Tab | None = None, *, explain: bool = False, height: int = 520) -> Dashboard:
    """A live view of what the session does: graph, timeline, utilisation, memory and clients, linked.

    As the last expression of a cell it shows itself, and goes on while later cells run.

    Args:
      tab: one view alone: ``graph``, ``timeline``, ``utilisation``, ``memory`` or ``clients``.
      explain: tooltips for learners: what a gang is, an island, DCN.
      height: pixels.
    """
    from .viz.dashboard import Dashboard  # imports anywidget, which `import pwlab` need not

    return Dashboard(session(), tab, explain=explain, height=height)
