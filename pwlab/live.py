"""Live views: the dashboard of the current session, and ``top`` for a terminal."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import SessionClosed
from .observe import Run
from .session import Session, running, session

if TYPE_CHECKING:
    from .viz import Tab
    from .viz.dashboard import Dashboard


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


#: The single views of each session that runs.
_views: dict[Session, dict[Tab, Dashboard]] = {}


def show_view(tab: Tab) -> None:
    """Shows a single live view in a notebook; shown again, it is the same widget, whose code is stored once."""
    held = session()
    if held not in _views:
        _views[held] = {}
        held.at_close(partial(_views.__delitem__, held))
    views = _views[held]
    if tab not in views:
        views[tab] = dashboard(tab)
    views[tab].show()


def top(seconds: float | None = None) -> None:
    """What runs at this moment, live, in the style of ``top``: devices, queues, clients, memory, what failed.

    In a terminal until ``q`` or Ctrl-C, and the last picture stays.  In a notebook until nothing runs, at most a
    minute; ``pw.dashboard()`` is the live view that goes on.  In a script whose output is no terminal, once.

    Args:
      seconds: for so long, in a notebook too.

    Raises:
      SessionClosed: there is no session.
    """
    from .viz import watch
    from .viz.dashboard import kernel

    held = running()
    if held is None:
        raise SessionClosed("there is nothing to watch: no session is running; pw.start() or %pw start starts one")
    source = watch.Watched(held)
    source.wait()
    if kernel.shell() is not None:
        watch.watch_in_notebook(source, seconds)
    elif watch.can_draw():
        watch.watch(source, seconds)
    else:
        watch.print_once(source.picture())


def top_of_run(run: Run, speed: float = 1.0) -> None:
    """A recording as ``top`` would have shown it, at its pace; once, as it was at its end, where nothing can be drawn.

    Args:
      speed: 10 plays ten times as fast.

    Raises:
      ValueError: the speed is not above 0.
    """
    from .viz import watch

    source = watch.Played(run, speed)
    if watch.can_draw():
        watch.watch(source)
    else:
        watch.print_once(source.last())


def top_of_script(path: Path, args: Sequence[str] = ()) -> int:
    """Runs a script, with what its session does drawn below what it prints; gives its exit status.

    The picture goes to standard error, so that the script's output can be sent elsewhere.  Where that is no terminal
    it is written once, when the script has ended.
    """
    from .viz.watch import beside

    before = sys.argv[:], sys.path[:]
    sys.argv[:], sys.path[0] = [str(path), *args], str(path.parent)
    try:
        with beside():
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as ended:
        return _status(ended.code)
    except KeyboardInterrupt:
        return 130  # as a shell counts it
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != str(path):
            frames = frames.tb_next
        traceback.print_exception(error.with_traceback(frames))
        return 1
    finally:
        sys.argv[:], sys.path[:] = before
    return 0


def _status(code: object) -> int:
    """What ``sys.exit(code)`` means: a text is an error, and is printed."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1
