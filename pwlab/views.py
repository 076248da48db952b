"""The views of the current session as they are now: what ``%pw`` shows of it, for a script or a notebook.

    print(pw.status())                      # text, as wide as the terminal
    pw.timeline("train*", colour="client")  # in a notebook, a picture
    pw.graph("train").save("train.svg")     # or .html, or .txt

Each is a :class:`~pwlab.viz.StaticView`.  Making one waits for no computation, and what runs does not notice.  Those of
a recorded run have the same names: :class:`~pwlab.viz.Replay`.  ``pw.dashboard()`` and ``pw.top()`` are the live ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import viz
from .errors import NotDispatched, SessionClosed, quoted, typed
from .lazy.frontend import ProgramRecord
from .session import Session, running
from .viz import StaticView
from .viz.graph import Grouping
from .viz.timeline import Colour
from .viz.usage import Subject

if TYPE_CHECKING:
    from rich.console import RenderableType


def graph(name: str | None = None, *, by: Grouping | None = None) -> StaticView:
    """The dataflow graph (Pathways §3): nodes on their slices and islands, what flows between them, what became of it.

    Args:
      name: of a program, the newest of that name; all programs if not given.
      by: shows the nodes of a slice as one that have the same ``cell`` (in a script, the same line), ``slice`` or
        ``client``; if not given, only what is too much to read, by cell.

    Raises:
      UnknownName: no such program or grouping; the nearest is suggested.
      NotDispatched: the program is held back, so nothing of it has a place yet; :func:`pwlab.dump` shows its nodes.
      SessionClosed: no session is running.
    """
    session = _session()
    chosen = None if name is None else _dispatched(session.programs.find(name)).id
    with session.programs.recorder.reading() as (model, _):
        small = viz.picture(model, chosen, by=by, limit=viz.TEXT_LIMIT)
        return viz.graph_view(viz.picture(model, chosen, by=by), small)


def timeline(*names: str, colour: Colour = "computation") -> StaticView:
    """Who ran what, where and when: a row a client and a device, seconds from the first moment drawn.

    Args:
      names: of programs, each the newest of that name; ``train*`` are all that begin so.  Without, all programs.
      colour: whether colours stand for the ``computation`` or for the ``client``.

    Raises:
      UnknownName: no such program or colouring; the nearest is suggested.
      NotDispatched: a program is held back, so none of it has run.
      SessionClosed: no session is running.
    """
    session = _session()
    chosen = [_dispatched(record).id for name in names for record in session.programs.matching(name)] or None
    with session.programs.recorder.reading() as (model, _):
        return viz.timeline_view(viz.timeline(model, chosen, colour=colour))


def utilisation() -> StaticView:
    """What devices and clients spent the time on: computing, or what they waited for; shares from 0 to 1, over seconds.

    Raises:
      SessionClosed: no session is running.
    """
    return _usage(_session(), "utilisation")


def memory() -> StaticView:
    """Bytes on each device, now and over time; who holds the most, from which line, and who keeps it (Pathways §4.6).

    Raises:
      SessionClosed: no session is running.
    """
    session = _session()
    names = {island.id: island.name for island in session.machine.islands}
    return _usage(session, "memory", viz.memory_tables(session.steering.memory(), names))


def clients() -> StaticView:
    """Each client's share of the device time, asked for and got, from 0 to 1, with its launches, seconds and bytes.

    Raises:
      SessionClosed: no session is running.
    """
    session = _session()
    return _usage(session, "clients", viz.clients_table(session.clients(), session.policy))


def status() -> StaticView:
    """The session, how busy its islands are, and its newest programs.

    Raises:
      SessionClosed: no session is running.
    """
    session = _session()
    held = [record.name for record in session.programs.held()]
    with session.programs.recorder.reading() as (model, stats):
        return viz.table_view(viz.status(model, stats, repr(session), held), f"Status of {session!r}.")


def islands() -> StaticView:
    """The islands, and which of their devices each slice has (Pathways §4.1).

    Raises:
      SessionClosed: no session is running.
    """
    with _session().programs.recorder.reading() as (model, _):
        return viz.table_view(viz.islands_table(model), "Islands, and the slices on them.")


def syncs() -> StaticView:
    """Where this process waited for a value: cell or file, line, what needed it, milliseconds.

    Raises:
      SessionClosed: no session is running.
    """
    with _session().programs.recorder.reading() as (model, _):
        return viz.table_view(viz.waits_table(model.waits), "Where a value was waited for, and how long.")


def _usage(session: Session, subject: Subject, table: RenderableType | None = None) -> StaticView:
    with session.programs.recorder.reading() as (model, stats):
        return viz.usage_view(stats, model, subject, table=table)


def _session() -> Session:
    session = running()
    if session is None:
        raise SessionClosed(
            "there is nothing to show: no session is running. pw.start() or `%pw start` starts one, and "
            "pw.replay('run.jsonl') shows a run that pw.save kept"
        )
    session.driver.look(lambda controller: None)  # what this thread has seen has been told by now
    return session


def _dispatched(record: ProgramRecord) -> ProgramRecord:
    if record.held:
        raise NotDispatched(
            f"program {quoted(record.name)} is held back, so none of it has run: pw.dump({record.name!r}) shows its "
            f"nodes, and `%pw run {typed(record.name)}` dispatches it"
        )
    return record
