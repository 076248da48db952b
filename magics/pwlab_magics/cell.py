"""``%%pathways``: a cell whose JAX is recorded as one program, and runs in the background.

:class:`PathwaysCell` is the context manager that such a cell's body runs in; see :mod:`pwlab_magics.transformer` for
how it comes there.  A script writes ``with pw.session().programs.scope("train"):``.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

import pwlab as pw
from pwlab.clients import acting_as
from pwlab.errors import typed
from pwlab.lazy import Scope
from pwlab.specs import cutter, parse_spec

from .output import ProgressLine, tell
from .parsers import Parser, seconds

if TYPE_CHECKING:
    from .extension import Extension

#: Pathways cells that are running, innermost last.  They nest where one calls ``run_cell_magic``.
running: list[PathwaysCell] = []

HELP = """\
Runs the cell as a Pathways program: what JAX does in it is recorded and runs in the background, on the session's
islands.  The cell returns at once, with tensors that wait when their value is needed.

    %%pathways -s a
    y = jnp.sin(x) @ w
    y

The first pathways cell starts a session with the defaults, unless `%pw start` or `pw.start(...)` did.  Everything else
works as in any cell: await, other magics (%%time above or below), tracebacks, Ctrl-C, and the last expression is
displayed."""

EPILOG = """\
examples:
  %%pathways -b --timeout 60          wait at the end of the cell, at most a minute
  %%pathways -p train --defer         hold the cell back; `%pw run train` runs all that were held back under this name
  %%pathways --shard d                cut the arrays that the cell reads along their first axis, over all devices
  %%pathways -c alice                 the program is a client's: it counts against her share and limits
  %%pathways --dry-run                show the program that the cell makes, run nothing

`%pathways` on the first line does the same, and editors can still check the cell.
In a script: `with pw.lazy(...):`, or `with pw.session().programs.scope("train", defer=True):`."""


def make_parser() -> Parser:
    """The flags of ``%%pathways``."""
    parser = Parser("%%pathways", HELP, epilog=EPILOG)
    add = parser.add_argument
    add("-s", "--slice", metavar="SLICE", help="where things run that name no slice; `%%pw slices` lists them")
    add(
        "--shard",
        metavar="SPEC",
        help="cut arrays that the cell reads from outside, where they divide: d, None,d or P('d', None)",
    )
    add("-c", "--client", metavar="NAME", help="whose the program is: a client opened with pw.Client(NAME, share=...)")
    add(
        "-p",
        "--program",
        metavar="NAME",
        help="name of the program, for %%pw graph, run, wait and result; In[4] if not given",
    )
    block = parser.add_mutually_exclusive_group()
    block.add_argument("-b", "--block", action="store_true", help="wait at the end of the cell until it has run")
    block.add_argument("-a", "--noblock", action="store_true", help="return at once (the default)")
    add(
        "--progress-after",
        type=seconds,
        metavar="S",
        help="show progress of -b after so many seconds (default 2)",
    )
    add("--timeout", type=seconds, metavar="S", help="wait at most so many seconds with -b")
    add("--defer", action="store_true", help="hold the cell back until `%%pw run NAME`; needs -p")
    add(
        "--dispatch",
        metavar="MODE",
        help="parallel or sequential: how the program's nodes are dispatched (default: as `%%pw config dispatch`)",
    )
    add("-o", "--out", metavar="NAME", help="put the value of the last expression into this variable")
    add("--dry-run", action="store_true", help="show the program and run nothing")
    return parser


def check(args: argparse.Namespace) -> None:
    """Raises UsageError where flags do not go together or a value is no such."""
    fail = make_parser().error
    if args.defer and args.program is None:
        fail("--defer gathers cells under a name; give one with -p NAME")
    for other in ("block", "dry_run"):
        if args.defer and getattr(args, other):
            fail(f"--defer and --{other.replace('_', '-')} exclude each other")
    if args.dry_run and args.block:
        fail("--dry-run runs nothing, so there is nothing to wait for with --block")
    if args.timeout is not None and not args.block:
        fail("--timeout is for --block; add -b")
    if args.out is not None and not args.out.isidentifier():
        fail(f"-o takes the name of a variable, not {args.out!r}")


class PathwaysCell:
    """One run of a pathways cell, as a context manager."""

    def __init__(self, extension: Extension, args: argparse.Namespace):
        self._extension = extension
        self._args = args
        self._scope: Scope | None = None
        self._programs: Any = None
        self._client = ExitStack()
        self._value: Any = None
        self._shows = False
        #: The innermost running cell (of ``%%capture`` and the like) when it began.
        self.info = extension.innermost

    def __enter__(self) -> PathwaysCell:
        __tracebackhide__ = True
        frame, args, extension = sys._getframe(1), self._args, self._extension
        session = pw.session()
        if running and _is_bare(args) and session.frontend.recording():
            running.append(self)  # a part of the cell around it
            return self
        try:
            where = None if args.slice is None else session.slices.find(args.slice)
            shard = None
            if args.shard is not None:
                shard = cutter(parse_spec(args.shard), where or session.slices.default)
            if args.client is not None:
                self._client.enter_context(acting_as(args.client))
            name = extension.program_name(frame) if args.program is None else args.program
            scope = session.programs.scope(name, where, frame, args.defer, args.dry_run, args.dispatch)
        except (pw.errors.PwlabError, ValueError) as error:
            self._client.close()
            raise UsageError(f"%%pathways: {error}") from None
        scope.shard = shard
        try:
            scope.__enter__()
        except BaseException:
            self._client.close()
            raise
        self._scope, self._programs = scope, session.programs
        self._shows = extension.shows and extension.is_cell(frame)
        running.append(self)
        return self

    def hand_over(self, value: Any) -> None:
        """Takes the value of the cell's last expression."""
        self._value = value

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        __tracebackhide__ = True
        if self in running:
            del running[running.index(self) :]
        scope, self._scope = self._scope, None
        if scope is not None:
            try:
                scope.leave(dispatch=not (self._args.defer or self._args.dry_run), hurry=kind is not None)
            except Exception:
                if kind is None:  # else the cell's own error is what matters, and tensors tell theirs
                    raise
            finally:
                self._client.close()
        if kind is not None:
            if scope is not None and self._args.dry_run:
                self._programs.show_and_drop(scope.program)
            return
        value, self._value = self._value, None
        if scope is not None:
            self._after(scope, value)
        if self._args.out:
            self._extension.shell.user_ns[self._args.out] = value
        if not self._extension.shows:
            self._extension.value = value
        elif value is not None and (self._shows or scope is None):
            sys.displayhook(value)

    def _after(self, scope: Scope, value: Any) -> None:
        """What the flags ask for once the cell was recorded."""
        __tracebackhide__ = True
        args, record = self._args, scope.program
        assert record is not None
        record.result = value
        if args.dry_run:
            print(self._programs.show_and_drop(record))
        elif args.defer:
            n = len(record.held)
            held = f"{n} cell{'s' * (n > 1)} held back"
            tell(f"program {record.name}: {held}; `%pw run {typed(record.name)}` runs {'them' if n > 1 else 'it'}")
        elif args.block:
            with ProgressLine(self._extension.shell) as line:
                self._programs.wait(record, args.timeout, line.show, args.progress_after)

    def __repr__(self) -> str:
        return "%pathways begins a pathways cell: put it, or %%pathways, on the first line"


def hand_over(value: Any) -> None:
    """Called by a pathways cell with the value of its last expression."""
    if running:
        running[-1].hand_over(value)
    else:  # `%pathways -h` above a body that runs as usual
        sys.displayhook(value)


def close_left(info: Any) -> None:
    """Ends the pathways cells that an interrupt at a bad moment left open in the cell ``info``."""
    for cell in reversed([cell for cell in running if cell.info is info]):
        cell.__exit__(KeyboardInterrupt, None, None)


def run_from_code(extension: Extension, line: str, text: str) -> Any:
    """``ip.run_cell_magic("pathways", line, text)``: gives the value of the last expression; errors come to the caller.

    What a person types never comes here: it is rewritten before.
    """
    shell = extension.shell
    source = shell.transform_cell(f"%pathways {line}\n{text}")
    name = shell.compile.cache(source, shell.execution_count, raw_code=text)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    shows, extension.shows = extension.shows, False
    try:
        exec(shell.compile(tree, name, "exec"), shell.user_ns)  # type: ignore[operator]
    finally:
        extension.shows = shows
    value, extension.value = extension.value, None
    return value


def _is_bare(args: argparse.Namespace) -> bool:
    """Whether no flag was given."""
    return all(value is None or value is False for key, value in vars(args).items() if key != "noblock")
