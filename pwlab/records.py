"""A run kept, taken elsewhere, looked at again: the calls for a person who wants more than the live views.

    pw.save("run.jsonl")            # facts as JSON Lines
    run = pw.load("run.jsonl")      # pure data, on a machine without devices
    pw.replay("run.jsonl")          # its views
    pw.compare("fifo.jsonl", "shares.jsonl")
    pw.save_trace("run.json")       # for ui.perfetto.dev
    pw.report("run.html")           # one page with everything
    pw.nodes()                      # a table, a row a computation
    pw.facts(as_="arrow")           # and one of all facts

What holds for each: a name stands for the newest program of the session that has it; nothing stops or slows what runs;
a file is complete when the call returns.  A run file names neither the computer nor the person.  It does hold what
tracebacks hold: the text of the user's lines and, for scripts, their paths.
"""

from __future__ import annotations

import importlib
import os
import platform
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, overload

import jax

from . import checks
from .errors import DamagedRunFile, SessionClosed, quoted
from .events import Fact
from .observe import (
    FACT_COLUMNS,
    NODE_COLUMNS,
    Column,
    Kind,
    Run,
    fact_columns,
    node_columns,
    read_run,
    write_run,
    write_trace,
    write_whole,
)
from .session import Session, running
from .viz.compare import Side, called, comparison
from .viz.compare_view import CompareView, compare_view
from .viz.replay import Replay
from .viz.report import report as report_page
from .viz.timeline import Colour

Where = str | os.PathLike[str]
#: Libraries whose tables there are.
Form = Literal["pandas", "arrow"]

_NO_RUN = "no session has been started, or it was stopped. Save a run before pw.shutdown()"


def recorded() -> Run:
    """The run of the current session so far, as pure data.

    Raises:
      SessionClosed: there is no session.
    """
    session = running()
    if session is None:
        raise SessionClosed(f"there is no run: {_NO_RUN}")
    # What this thread has told the driver, such as its last wait, is in the ring when it answers.
    session.driver.look(lambda controller: None)
    batch = session.ring.after(0)
    whole = batch.facts[-batch.whole :] if batch.missed and batch.whole else ()
    return Run(batch.facts, batch.missed, about(session), whole[0].time if whole else None)


def save(path: Where) -> Path:
    """Writes the run of the current session so far, as JSON Lines: a header, then a line a fact.

    Warns where older facts were no longer kept; the setting ``keep_facts`` says how many are.

    Raises:
      SessionClosed: there is no session.
      ValueError: the path is none.
      OSError: it cannot be written; says why.
    """
    return write_run(path, _warned(recorded(), f"are not in {path}"))


def load(path: Where, partial: bool = False) -> Run:
    """Reads a run file: its facts, ``.model`` and ``.stats``.  Needs neither a session nor a device.

    Args:
      partial: of a damaged or truncated file, give what can be read instead of raising.

    Raises:
      OSError: there is no such file, or it cannot be read.
      RunFileError: it is no run file, or one of a newer schema.
      DamagedRunFile: part of it cannot be read or cannot be true; says which line, and holds the rest in ``.run``.
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
      ValueError, OSError, RunFileError, DamagedRunFile: as :func:`load`.
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
      ValueError, OSError: as :func:`save`.
    """
    return write_trace(path, _run(run))


def report(path: Where, run: Run | Where | None = None, title: str = "") -> Path:
    """Writes one self-contained HTML page: summary, timeline, graph, utilisation, waits, islands, and the facts.

    Args:
      run: or a run file; the current session if not given.
      title: on top of the page.

    Raises:
      SessionClosed: there is no session, and no run was given.
      ValueError, OSError: as :func:`save`.
    """
    page = report_page(
        _run(run), title or ("A run of pwlab" if run is None or isinstance(run, Run) else Path(run).stem)
    )
    return write_whole(path, (page,), errors="replace")


def compare(
    a: Run | Where,
    b: Run | Where,
    programs: str | tuple[str | None, str | None] | None = None,
    colour: Colour | None = None,
) -> CompareView:
    """Two runs one above the other on one time axis, and how the second stands to the first.

    The table has times without those in which the compiler alone was at work, how idle the devices were, how much
    memory one held at most, and what each client asked for and got.  It marks the better side, and calls noise what is.

    Args:
      a, b: a run, a run file (a path, or a name that ends in ``.jsonl``), or the name of a program of the session,
        which means the newest that has it, or a pattern such as ``job *`` for all that match.  What is no program may
        be a file of another name.
      programs: which programs of a run or a file, by name or pattern; of each its own, if these are two.
      colour: whether launches are coloured by ``computation`` or by ``client``; if not given by client where there are
        several.

    Raises:
      UnknownName: no program has that name.
      SessionClosed: a program was named and there is no session.
      ValueError: ``programs`` is neither, or chooses from what is a program already.
    """
    chosen = _of_each(programs)
    one, other = _side(a, "first", chosen[0]), _side(b, "second", chosen[1])
    if one.name == other.name:
        names = chosen if chosen[0] != chosen[1] else (f"{one.name} (first)", f"{other.name} (second)")
        one, other = (replace(side, name=name or side.name) for side, name in zip((one, other), names, strict=True))
    return compare_view(comparison(one, other, colour))


@overload
def facts(as_: None = None, run: Run | Where | None = None) -> list[Fact]: ...
@overload
def facts(as_: Form, run: Run | Where | None = None) -> Any: ...
def facts(as_: Form | None = None, run: Run | Where | None = None) -> Any:
    """The facts of a run in a list; or a table with a row a fact, as an Arrow table or a data frame.

    Columns: :data:`pwlab.observe.FACT_COLUMNS`, the same with the same types for every run.  Times are seconds from
    the first fact, and missing where a fact has none.  Warns where older facts were no longer kept.

    Args:
      as_: ``"pandas"`` or ``"arrow"``; the facts themselves if not given.
      run: or a run file; the current session if not given.

    Raises:
      ImportError: that library is not installed; says what to install.
      UnknownName: there is no such form.
    """
    held = _warned(_run(run), "are not among these")
    return list(held.facts) if as_ is None else _table("facts", FACT_COLUMNS, fact_columns(held), as_)


def nodes(as_: Form = "pandas", run: Run | Where | None = None) -> Any:
    """A table with a row a node (a computation, a transfer, a host function): where it ran, and when.

    Columns: :data:`pwlab.observe.NODE_COLUMNS`, the same with the same types for every run.  Times are seconds from
    the first fact, and missing where a node has not come that far.  Warns where older facts were no longer kept.

    Args:
      as_: ``"pandas"`` or ``"arrow"``.
      run: or a run file; the current session if not given.

    Raises:
      ImportError: that library is not installed; says what to install.
      UnknownName: there is no such form.
    """
    held = _warned(_run(run), "their nodes are not among these")
    return _table("nodes", NODE_COLUMNS, node_columns(held), as_)


# --- inside ---------------------------------------------------------------------------------------


def _table(call: str, columns: Mapping[str, Column], values: Mapping[str, list[Any]], as_: str) -> Any:
    """The columns as what a library knows; a type is said for each, so that two runs always fit together."""
    checks.choice("form of a table", as_, get_args(Form))
    name = "pandas" if as_ == "pandas" else "pyarrow"
    try:
        library = importlib.import_module(name)
    except ImportError:
        raise ImportError(f"pw.{call}(as_={as_!r}) needs {name}, which is not installed: pip install {name}") from None
    if as_ == "pandas":
        dtypes = {Kind.TEXT: "string", Kind.WHOLE: "Int64", Kind.SECONDS: "float64", Kind.WHOLES: "object"}
        return library.DataFrame(
            {name: library.Series(values[name], dtype=dtypes[column.kind]) for name, column in columns.items()}
        )
    types = {
        Kind.TEXT: library.string(),
        Kind.WHOLE: library.int64(),
        Kind.SECONDS: library.float64(),
        Kind.WHOLES: library.list_(library.int64()),
    }
    return library.table({name: library.array(values[name], types[column.kind]) for name, column in columns.items()})


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


def _warned(run: Run, what: str) -> Run:
    """Warns whoever called, where the oldest facts of the run are gone; ``what`` says what that means for them."""
    if run.missing:
        warnings.warn(
            f"{run.missing:,} of the older facts of this run were no longer kept and {what}; "
            "pw.start(keep_facts=...) keeps more",
            stacklevel=3,
        )
    return run


def _of_each(programs: Any) -> tuple[str | None, str | None]:
    """Which programs of each side."""
    if programs is None or isinstance(programs, str):
        return programs, programs
    match programs:
        case (str() | None as one, str() | None as other):
            return one, other
        case _:
            raise ValueError(
                f"programs is a name or a pattern, or two of these, one for each side, not {quoted(programs)}"
            )


def _side(what: Run | Where, which: str, programs: str | None) -> Side:
    if isinstance(what, Run):
        return _chosen(f"{which} run", what, programs)
    path = checks.path("what is compared", what)
    if not isinstance(what, str) or path.suffix == ".jsonl":
        return _chosen(path.stem, load(path), programs)
    run = recorded() if running() is not None else None
    if path.is_file() and (run is None or what not in {program.name for program in run.model.programs.values()}):
        return _chosen(path.stem, load(path), programs)
    if run is None:
        raise SessionClosed(f"there is no file {quoted(what)}, nor a program of that name: {_NO_RUN}")
    if programs is not None:
        raise ValueError(
            f"{quoted(what)} names programs of the session; programs={quoted(programs)} chooses from a run or a file"
        )
    return _chosen(what, run, what)


def _chosen(name: str, run: Run, programs: str | None) -> Side:
    return Side(name, run, None if programs is None else called(programs, run.model))
