"""A run kept, taken elsewhere, looked at again: the calls for a person who wants more than the live views.

    pw.save("run.jsonl")            # facts as JSON Lines
    run = pw.load("run.jsonl")      # pure data, on a machine without devices
    pw.replay("run.jsonl")          # its views
    pw.compare("fifo.jsonl", "shares.jsonl")
    pw.save_trace("run.json")       # for ui.perfetto.dev
    pw.report("run.html")           # one page with everything
    pw.facts(as_="pandas")          # a row a computation

What holds for each: a name stands for the newest program of the session that has it; nothing stops or slows what runs;
a file is complete when the call returns.  A run file names neither the computer nor the person.  It does hold what
tracebacks hold: the text of the user's lines and, for scripts, their paths.
"""

from __future__ import annotations

import importlib
import os
import platform
import warnings
from pathlib import Path
from typing import Any, Literal, overload

import jax

from .errors import DamagedRunFile, SessionClosed
from .events import Fact
from .observe import Run, node_columns, read_run, write_run, write_trace
from .session import Session, running
from .viz.compare import Side, compare_view, comparison
from .viz.replay import Replay, newest_called
from .viz.report import report as report_page
from .viz.timeline import Colour
from .viz.view import StaticView

Where = str | os.PathLike[str]


def recorded() -> Run:
    """The run of the current session so far, as pure data.

    Raises:
      SessionClosed: there is no session.
    """
    session = running()
    if session is None:
        raise SessionClosed(
            "there is no run: no session has been started, or it was stopped. Save a run before pw.shutdown()"
        )
    # What this thread has told the driver, such as its last wait, is in the ring when it answers.
    session.driver.look(lambda controller: None)
    batch = session.ring.after(0)
    return Run(batch.facts, batch.missed, about(session))


def save(path: Where) -> Path:
    """Writes the run of the current session so far, as JSON Lines: a header, then a line a fact.

    Warns where older facts were no longer kept; the setting ``keep_facts`` says how many are.

    Raises:
      SessionClosed: there is no session.
    """
    run = recorded()
    if run.missing:
        warnings.warn(
            f"{run.missing:,} of the older facts of this run were no longer kept and are not in {os.fspath(path)}; "
            "pw.start(keep_facts=...) keeps more",
            stacklevel=2,
        )
    return write_run(path, run.facts, run.about, run.missing)


def load(path: Where, partial: bool = False) -> Run:
    """Reads a run file: its facts, ``.model`` and ``.stats``.  Needs neither a session nor a device.

    Args:
      partial: of a damaged or truncated file, give what can be read instead of raising.

    Raises:
      RunFileError: it is no run file, or one of a newer schema.
      DamagedRunFile: part of it cannot be read; says which line, and holds the rest in ``.run``.
    """
    try:
        return read_run(path)
    except DamagedRunFile as error:
        if partial and isinstance(error.run, Run):
            return error.run
        raise


def replay(run: Run | Where, partial: bool = False) -> Replay:
    """A recorded run with all its static views, at any moment; see :class:`~pwlab.viz.replay.Replay`.

    Raises:
      RunFileError, DamagedRunFile: as :func:`load`.
    """
    if isinstance(run, Run):
        return Replay(run)
    return Replay(load(run, partial), Path(run).stem)


def save_trace(path: Where, run: Run | Where | None = None) -> Path:
    """Writes Chrome's JSON trace of a run, which https://ui.perfetto.dev opens.

    Args:
      run: or a run file; the current session if not given.

    Raises:
      SessionClosed: there is no session, and no run was given.
    """
    return write_trace(path, _run(run))


def report(path: Where, run: Run | Where | None = None, title: str = "") -> Path:
    """Writes one self-contained HTML page: summary, timeline, graph, utilisation, waits, islands, and the facts.

    Args:
      run: or a run file; the current session if not given.
      title: on top of the page.

    Raises:
      SessionClosed: there is no session, and no run was given.
    """
    target = Path(path)
    page = report_page(
        _run(run), title or ("A run of pwlab" if run is None or isinstance(run, Run) else Path(run).stem)
    )
    target.write_text(page, encoding="utf-8", errors="replace")
    return target


def compare(a: Run | Where, b: Run | Where, colour: Colour = "computation") -> StaticView:
    """Two runs one above the other on one time axis, with their totals: wall, computing, transfers, waits.

    Args:
      a, b: a run, a run file (a path, or a name that ends in ``.jsonl``), or the name of a program of the session,
        which means the newest that has it.
      colour: whether launches are coloured by ``computation`` or by ``client``.

    Raises:
      UnknownName: no program of the session has that name.
      SessionClosed: a program was named and there is no session.
    """
    one, other = _side(a, "first"), _side(b, "second")
    if one.name == other.name:
        one, other = (
            Side(f"{side.name} ({which})", side.model, side.programs)
            for side, which in ((one, "first"), (other, "second"))
        )
    return compare_view(comparison(one, other, colour))


@overload
def facts(as_: None = None, run: Run | Where | None = None) -> list[Fact]: ...
@overload
def facts(as_: Literal["pandas", "arrow"], run: Run | Where | None = None) -> Any: ...
def facts(as_: Literal["pandas", "arrow"] | None = None, run: Run | Where | None = None) -> Any:
    """The facts of a run in a list; or a table with a row a node, as a data frame or an Arrow table.

    Columns: :data:`pwlab.observe.COLUMNS`.  Times are seconds from the first fact, and missing where a node has not
    come that far.

    Args:
      as_: ``"pandas"`` or ``"arrow"``; the facts themselves if not given.
      run: or a run file; the current session if not given.

    Raises:
      ImportError: that library is not installed; says what to install.
      ValueError: there is no such form.
    """
    if as_ is None:
        return list(_run(run).facts)
    libraries = {"pandas": "pandas", "arrow": "pyarrow"}
    if as_ not in libraries:
        raise ValueError(f"facts come as_=None, 'pandas' or 'arrow', not {as_!r}")
    try:
        library = importlib.import_module(libraries[as_])
    except ImportError:
        raise ImportError(
            f"pw.facts(as_={as_!r}) needs {libraries[as_]}, which is not installed: pip install {libraries[as_]}"
        ) from None
    held = _run(run)
    columns = node_columns(held.model, held.start)
    return library.DataFrame(columns) if as_ == "pandas" else library.table(columns)


# --- inside ---------------------------------------------------------------------------------------


def about(session: Session) -> dict[str, object]:
    """What the header of a run file says: versions, and what kind of machine, but not which."""
    from . import __version__

    machine = session.machine
    first = machine.devices[0]
    return {
        "pwlab": __version__,
        "jax": jax.__version__,
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "device": first.device_kind,
            "devices": len(machine.devices),
            "islands": len(machine.islands),
            "emulated": machine.emulated,
        },
    }


def _run(run: Run | Where | None) -> Run:
    return recorded() if run is None else run if isinstance(run, Run) else load(run)


def _side(what: Run | Where, which: str) -> Side:
    if isinstance(what, Run):
        return Side(f"{which} run", what.model)
    if isinstance(what, os.PathLike) or what.endswith(".jsonl"):
        return Side(Path(what).stem, load(what).model)
    model = recorded().model
    return Side(what, model, [newest_called(what, model)])
