"""Programs by name: hold them back, run them, wait for them, take their values, and tell what went wrong.

    s = pw.session()
    with s.programs.scope("train", defer=True):     # recorded, and held back
        loss = step(params, batch)
    s.programs.run("train")                         # dispatched
    s.programs.wait("train", timeout=60)

A name stands for the newest program that has it.  ``%pw run | wait | result | reset`` are these calls.

A program that is held back consists of the recorders of its cells, in order; each is a window of it.  A cell
that reads what an earlier one of them made refers to it by its Ref, which becomes a buffer when that one
is dispatched; so a value that somebody needs early takes with it just the cells that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import FrameType
from typing import TYPE_CHECKING, Any

import jax

from . import checks
from .errors import (
    ClientError,
    ComputationFailed,
    InternalError,
    NotDispatched,
    SessionClosed,
    UnknownName,
    WaitTimeout,
    quoted,
    typed,
    unknown,
)
from .events import Dispatch, NodeState, ProgramEnded
from .ir import Graph, dump, lower
from .lazy import Frontend, LazyTensor, Scope
from .lazy.frontend import ProgramRecord
from .lazy.places import Places, here
from .lazy.plan import graph_of, limits_of
from .lazy.recorder import Window
from .observe import FactRing, Recorder
from .runtime import Failure
from .runtime.clock import now

if TYPE_CHECKING:
    from .slices import Slices, VirtualSlice

#: Seconds between two looks while a wait shows its progress.
_LOOK = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a wait has come."""

    #: Names of the programs that are waited for.
    names: tuple[str, ...]
    done: int
    total: int
    seconds: float

    def __str__(self) -> str:
        what = ", ".join(self.names[:3]) + (f" and {len(self.names) - 3} more" if len(self.names) > 3 else "")
        return f"{what or 'pathways'} · {self.done:,} of {self.total:,} computations · {self.seconds:.1f} s"


def dispatch_named(name: str | None) -> Dispatch | None:
    """The dispatch of that name (Pathways §4.5); None for None.

    Raises:
      UnknownName: there is none; the nearest name is suggested.
    """
    if name is None:
        return None
    known = [str(dispatch) for dispatch in Dispatch]
    if name not in known:
        text = checks.text("dispatch", name)
        raise UnknownName(unknown("dispatch", text, known, "There is"))
    return Dispatch(name)


class Programs:
    """The programs of one session, by name.

    Args:
      frontend: of the session.
      slices: of the session.
      ring: where the ends of programs are heard of.
    """

    def __init__(self, frontend: Frontend, slices: Slices, ring: FactRing):
        self._frontend = frontend
        self._slices = slices
        self._recorder = Recorder(ring, follow=False)
        frontend.driver.when_calm(self._recorder.keep_near)
        ring.observe(self._ended, ProgramEnded)

    @property
    def recorder(self) -> Recorder:
        """All that the run said so far, folded; it follows the run once somebody has looked."""
        self._recorder.follow()
        return self._recorder

    def _ended(self, fact: Any) -> None:
        record = self._frontend.programs.get(fact.program)
        if record is not None:
            record.state = fact.state
        self._frontend.driver.signal.notify()

    # --- by name -----------------------------------------------------------------------------

    def __iter__(self) -> Any:
        return iter(list(self._frontend.programs.values()))

    def names(self) -> list[str]:
        """Names of the programs that are remembered, newest first."""
        return list(dict.fromkeys(record.name for record in reversed(self._frontend.programs.values())))

    def computations(self) -> list[str]:
        """Names of the computations that are remembered, newest first."""
        with self.recorder.reading() as (model, _):
            return list(dict.fromkeys(node.spec.name for node in reversed(model.nodes.values())))

    def held(self) -> list[ProgramRecord]:
        """Programs that wait for :meth:`run`."""
        return [record for record in self if record.held]

    def known(self, name: str) -> ProgramRecord | None:
        """As :meth:`find`; None where no program is called so."""
        wanted = {name, f"In[{name}]", name.removeprefix("Cell ")}
        return next((r for r in reversed(self._frontend.programs.values()) if r.name in wanted), None)

    def matching(self, name: str) -> list[ProgramRecord]:
        """The newest program called ``name``; or all whose names match it, if it has ``*`` or ``?`` in it.

        Raises:
          UnknownName: there is none; the nearest name is suggested.
        """
        if not set("*?") & set(name):
            return [self.find(name)]
        return [r for r in self._frontend.programs.values() if fnmatchcase(r.name, name)] or [self.find(name)]

    def find(self, name: str) -> ProgramRecord:
        """The newest program called ``name``; ``"4"`` and ``"Cell In[4]"`` mean ``"In[4]"``.

        Raises:
          UnknownName: none is; the nearest name is suggested.
        """
        found = self.known(name)
        if found is not None:
            return found
        known = self.names()
        raise UnknownName(unknown("program", name, known, none="None has been recorded yet"))

    # --- recording ----------------------------------------------------------------------------

    def scope(
        self,
        name: str,
        slice: VirtualSlice | None = None,
        frame: FrameType | None = None,
        defer: bool = False,
        dry: bool = False,
        dispatch: str | None = None,
    ) -> Scope:
        """A scope; with ``defer`` it adds to the program ``name`` that is held back, or begins one.

        Args:
          slice: for everything that names none.
          frame: the user's frame; its lines are reported.
          defer: hold the program back until :meth:`run`.
          dry: nothing will ever run; see :meth:`show_and_drop`.
          dispatch: ``parallel`` or ``sequential``; the session's setting if not given.

        Raises:
          UnknownName: there is no such dispatch.
          ClientError: the program that is held back belongs to another client.
        """
        checks.text("the name of a program", name)
        program = None
        if defer:
            program = next((r for r in reversed(self.held()) if r.name == name), None)
            if program is not None and program.owner is not self._frontend.submits_for():
                raise ClientError(
                    f"program {name!r} is held back for client {program.client!r}, and a program belongs to one "
                    f"client: enter it (`%%pathways -c {typed(program.client)}`), or take another name"
                )
        chosen = dispatch_named(dispatch)
        held = defer or dry
        return Scope(self._frontend, name, slice, frame, not held, program, defer=held, dry=dry, dispatch=chosen)

    def run(self, name: str) -> ProgramRecord:
        """Dispatches a program that was held back; returns at once.

        Raises:
          UnknownName: no such program.
          NotDispatched: it is not held back: it ran already.
        """
        record = self.find(name)
        if not record.held:
            raise NotDispatched(
                f"program {record.name!r} has been dispatched already; run its cells again to record it anew, "
                "with --defer to hold it back"
            )
        held, record.held = record.held, []
        for recorder in held:
            recorder.close(last=recorder is held[-1])
        return record

    # --- waiting -----------------------------------------------------------------------------------

    def wait(
        self,
        name: str | ProgramRecord | None = None,
        timeout: float | None = None,
        progress: Callable[[Progress], None] | None = None,
        after: float | None = None,
    ) -> None:
        """Waits until a program has ended, or all that was dispatched.

        Args:
          timeout: seconds; None waits until the end.
          progress: called now and then on this thread, once ``after`` seconds (the setting ``progress_after``)
            have passed.

        Raises:
          UnknownName: no such program.
          NotDispatched: it is held back, or still being recorded.
          WaitTimeout: it had not ended in time; it goes on.
          ComputationFailed: a computation of it failed, and that was not told before.
        """
        frontend = self._frontend
        if name is None:
            records = [record for record in self if record.closed and record.state is None]
            ready = lambda: frontend.idle and all(r.state is not None for r in records)  # noqa: E731
        else:
            record = self._dispatched(name)
            records = [record]
            ready = lambda: record.state is not None  # noqa: E731
        after = frontend.config.progress_after if after is None else after
        what = f"wait for {records[0].name}" if name is not None else "wait for all"
        with frontend.driver.waiting(what, here()):
            ended = self._until(ready, records, timeout, progress, now(), after)
        if not ended:
            raise WaitTimeout(self._late(records, timeout or 0.0))
        for record in records:
            self._raise(record, untold=True)

    def result(self, name: str, timeout: float | None = None) -> Any:
        """The value of a program's last expression, with ``jax.Array`` for its tensors.

        Raises:
          UnknownName: no such program, or its cell ended without a value.
          NotDispatched: it is held back, or still being recorded.
          WaitTimeout: it is still running after ``timeout`` seconds.
          ComputationFailed: what computes the value failed.
        """
        record = self._dispatched(name)
        if record.result is None:
            self.wait(record, timeout)
            self._raise(record)
            raise UnknownName(
                f"program {quoted(record.name)} has no value: its cell does not end with an expression. Put what you "
                "want on its last line"
            )
        deadline = None if timeout is None else now() + timeout

        def value(leaf: Any) -> Any:
            if not isinstance(leaf, LazyTensor):
                return leaf
            return leaf.result(None if deadline is None else max(0.0, deadline - now()))

        try:
            return jax.tree.map(value, record.result, is_leaf=lambda leaf: isinstance(leaf, LazyTensor))
        except WaitTimeout:
            raise WaitTimeout(self._late([record], timeout or 0.0)) from None

    def progress(self, records: Sequence[ProgramRecord], seconds: float = 0.0) -> Progress:
        """How many computations of these programs have ended."""
        done = total = 0
        with self.recorder.reading() as (model, _):
            for record in records:
                view = model.programs.get(record.id)
                if view is not None:
                    total += view.nodes
                    done += sum(n for state, n in view.counts.items() if state.ended)
        return Progress(tuple(record.name for record in records), done, total, seconds)

    def _dispatched(self, name: str | ProgramRecord) -> ProgramRecord:
        record = self.find(name) if isinstance(name, str) else name
        if record.held:
            raise NotDispatched(
                f"program {record.name!r} is held back and has not run; dispatch it with `%pw run {typed(record.name)}`"
            )
        if not record.closed:
            raise NotDispatched(f"program {record.name!r} is still being recorded; wait for it in the next cell")
        return record

    def _until(
        self,
        ready: Callable[[], bool],
        records: Sequence[ProgramRecord],
        timeout: float | None,
        progress: Callable[[Progress], None] | None,
        began: float,
        after: float,
    ) -> bool:
        driver = self._frontend.driver
        over = lambda: ready() or driver.closed or driver.crash is not None  # noqa: E731
        while True:
            spent = now() - began
            left = None if timeout is None else max(0.0, timeout - spent)
            step = left
            if progress is not None:
                pause = _LOOK if spent >= after else after - spent
                step = pause if left is None else min(left, pause)
            if driver.signal.wait_for(over, step):
                break
            if left is not None and timeout is not None and now() - began >= timeout:
                return False
            if progress is not None and now() - began >= after:
                progress(self.progress(records, now() - began))
        if not ready():
            if driver.crash is not None:
                raise InternalError(driver.crash)
            raise SessionClosed("the session was stopped while programs were running; start again with %pw start")
        return True

    def _late(self, records: Sequence[ProgramRecord], timeout: float) -> str:
        so_far = self.progress(records)
        one = len(records) == 1
        who = f"program {records[0].name!r} is" if one else f"{len(records)} programs are"
        goes, again = ("It goes", f" {typed(records[0].name)}") if one else ("They go", "")
        return (
            f"{who} still running after {timeout:g} s: {so_far.done:,} of {so_far.total:,} computations are done. "
            f"{goes} on; wait again with `%pw wait{again}`"
        )

    # --- what went wrong -----------------------------------------------------------------------------

    def take_untold(self) -> list[Failure]:
        """Failures that nobody has heard of yet, the first cause of each; they count as told from now on."""
        untold = [f for _, f in list(self._frontend.driver.failures) if not (f.told or f.cancelled or f.closed)]
        for failure in untold:
            failure.told = True
        return untold

    def _raise(self, record: ProgramRecord, untold: bool = False) -> None:
        """Raises what made a program fail; with ``untold`` only if nobody has heard of it."""
        if record.state is not NodeState.FAILED:
            return
        with self.recorder.reading() as (model, _):
            bad = [n for n in model.nodes_of(record.id) if n.state is NodeState.FAILED]
            causes = {n.spec.id if n.cause is None else n.cause for n in bad}
            text = bad[0].error if bad else "a computation failed"
        found = [f for node, f in list(self._frontend.driver.failures) if node in causes]
        for failure in found:
            if not (untold and failure.told):
                raise self._frontend.values.error_of(failure)
        if not found and not untold:
            raise ComputationFailed(f"program {record.name!r} failed: {text}", cause=text)

    # --- forgetting -------------------------------------------------------------------------------------

    def forget(self, name: str | None = None) -> list[str]:
        """Forgets a program, or all: what is held back is dropped, and their results are let go.

        What runs goes on, and tensors that the user holds stay.

        Returns:
          The names that were forgotten.
        """
        gone = [self.find(name)] if name is not None else [r for r in self if r.closed or r.held]
        for record in gone:
            self._drop(record, "dropped by `%pw reset` before it ran; run its cells again")
        return [record.name for record in gone]

    def _drop(self, record: ProgramRecord, why: str) -> None:
        held, record.held = record.held, []
        for recorder in held:
            self._frontend.discard(recorder, why)
        record.result = None
        self._frontend.programs.pop(record.id, None)

    # --- as text --------------------------------------------------------------------------------------------

    def text(self, name: str | ProgramRecord, after: str = "assign") -> str:
        """The nodes of a program, one a line, with slice, type, bytes, cell and line.

        Args:
          after: the pass after which it is shown; see :data:`pwlab.ir.PASSES`.

        Raises:
          UnknownName: no such program or pass.
        """
        record = self.find(name) if isinstance(name, str) else name
        graphs: list[tuple[Graph, Places, list[int]]] = []
        for recorder in record.held:
            window = recorder.window
            live = tuple(i for i, weak in enumerate(window.refs) if (ref := weak()) is not None and not ref.gone)
            positions = [at for _, _, at, _ in window.calls]
            graphs.append((self._graph(window, live), window.places, positions))
        for plan, positions, places in record.windows:
            graphs.append((plan.program.graph, places, positions))
        limits, names, devices = limits_of(self._frontend.config), self._slices.names, self._slices.devices
        parts = [
            dump(
                lower(graph, devices, limits, after),
                record.name,
                after,
                names,
                [places.source(at) for at in positions],
            )
            for graph, places, positions in graphs
        ]
        return "\n".join(parts) or f"program {record.name} · nothing recorded"

    def show_and_drop(self, record: ProgramRecord) -> str:
        """The text of a program that was recorded dry; its tensors say so when they are used."""
        text = self.text(record)
        self._drop(record, "only shown by --dry-run, which runs nothing; run its cell again without --dry-run")
        return text

    def _graph(self, window: Window, live: tuple[int, ...]) -> Graph:
        default = self._slices.default.id
        return graph_of(window, live, tuple(map(self._frontend.planner.placed, window.args)), default)
