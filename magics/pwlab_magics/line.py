"""``%pw``: the session, its programs and views, from the prompt.

Each subcommand is one function here, which calls one public function of pwlab and shows what it gives.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

import pwlab as pw
from pwlab import viz
from pwlab.config import Config
from pwlab.errors import (
    BufferReleased,
    ComputationFailed,
    InternalError,
    ProgramCancelledError,
    SessionClosed,
    UnknownName,
    WaitTimeout,
    nearest,
)
from pwlab.session import running

from .command import NO_SESSION, Command, in_session
from .output import ProgressLine, show, shows_live, tell
from .parsers import Parser, seconds
from .steer import STEER

if TYPE_CHECKING:
    from .extension import Extension

#: What may become of a program, raised as it is; every other error says that the command was misused.
TELLS = (BufferReleased, ComputationFailed, InternalError, ProgramCancelledError, SessionClosed, WaitTimeout)

#: Views of the dashboard, each of which can stand alone.
VIEWS: tuple[str, ...] = get_args(viz.Tab)

HELP = """\
Starts and stops the session, shows what it does, and runs programs that were held back.

    %pw start --islands 2 --devices 4     islands of (emulated) TPUs
    %pw status                            what ran, what runs, how busy the islands are
    %pw graph                             the newest program as a picture
    %pw timeline                          who ran what, where, when
    %pw top                               what runs at this moment, live
    %pw pause, %pw step, %pw why x        the scheduler by hand
    %pw auto on                           every cell from now on is a pathways cell

`%pw COMMAND -h` tells more of a command; Tab completes commands, flags and names."""


def make_parser() -> Parser:
    """``%pw`` with all its subcommands."""
    parser = Parser("%pw", HELP)
    commands = parser.add_subparsers(
        prog="%pw", dest="command", required=True, metavar="COMMAND", title="commands", parser_class=Parser
    )
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.about, description=command.about)
        command.more(sub)
        sub.set_defaults(parser=sub)
    return parser


def flags_of(command: str) -> list[str]:
    """The flags of one subcommand."""
    parser = Parser(f"%pw {command}")
    COMMANDS[command].more(parser)
    return parser.flags()


# --- the session ----------------------------------------------------------------------------------


def _start(extension: Extension, args: argparse.Namespace) -> None:
    made = pw.start(args.islands, args.devices, args.backend or "local", args.hbm_bytes, **_settings(args.settings))
    tell(str(made))


def _stop(extension: Extension, args: argparse.Namespace) -> None:
    tell("the session was stopped" if running() is not None else NO_SESSION)
    pw.shutdown()


def _auto(extension: Extension, args: argparse.Namespace) -> None:
    if args.state:
        extension.auto = args.state == "on"
    tell("every cell is a pathways cell; `%pw auto off` ends it" if extension.auto else "cells run as usual")


def _config(extension: Extension, args: argparse.Namespace) -> None:
    wanted = _settings(args.settings)
    for name, value in wanted.items():
        pw.session().configure(name, value)
    session = running()
    config = session.config if session is not None else Config()
    table = viz.make_table("setting", "value")
    for field in fields(config):
        if not wanted or field.name in wanted:
            table.add_row(field.name, str(getattr(config, field.name)))
    show(extension.shell, table)


def _settings(words: list[str]) -> dict[str, str]:
    known = [field.name for field in fields(Config)]
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"a setting is written NAME=VALUE, not {word!r}{nearest(name, known)}")
        Config().set(name.replace("-", "_"), value)  # whether it is one
        found[name.replace("-", "_")] = value
    return found


def _reset(extension: Extension, args: argparse.Namespace) -> None:
    session = running()
    gone = session.programs.forget(args.name) if session is not None else []
    tell(f"forgotten: {', '.join(gone)}" if gone else "no programs to forget")


# --- views ------------------------------------------------------------------------------------------


@in_session
def _status(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    show(extension.shell, pw.status())


@in_session
def _islands(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    show(extension.shell, pw.islands())


@in_session
def _syncs(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    show(extension.shell, pw.syncs())


@in_session
def _graph(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    if not args.name and not args.all and shows_live(extension.shell, "graph"):
        return
    if args.name and session.programs.find(args.name).held:
        print(pw.dump(args.name))
        return
    name = args.name if args.name or args.all else _newest(session)
    show(extension.shell, pw.graph(name))


def _newest(session: pw.Session) -> str | None:
    """The name of the newest program that computes something."""
    programs = session.programs
    computing = (record for record in reversed(list(programs)) if record.nodes)
    return next((record.name for record in computing if programs.known(record.name) is record), None)


@in_session
def _timeline(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    if args.names or args.colour or not shows_live(extension.shell, "timeline"):
        show(extension.shell, pw.timeline(*args.names, colour=args.colour or "computation"))


@in_session
def _util(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    if not shows_live(extension.shell, "utilisation"):
        show(extension.shell, pw.utilisation())


@in_session
def _top(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    pw.top(args.seconds)


# --- programs ---------------------------------------------------------------------------------------


def _run(extension: Extension, args: argparse.Namespace) -> None:
    __tracebackhide__ = True
    programs = pw.session().programs
    record = programs.run(args.name)
    if args.block:
        with ProgressLine(extension.shell) as line:
            programs.wait(record, args.timeout, line.show, args.progress_after)


@in_session
def _wait(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    __tracebackhide__ = True
    with ProgressLine(extension.shell) as line:
        session.programs.wait(args.name, args.timeout, line.show, args.progress_after)


def _result(extension: Extension, args: argparse.Namespace) -> Any:
    __tracebackhide__ = True
    session = running()
    if session is None:
        raise UnknownName(NO_SESSION)
    return session.programs.result(args.name, args.timeout)


# --- arguments ----------------------------------------------------------------------------------------


def _start_args(parser: Parser) -> None:
    parser.add_argument("--islands", type=int, metavar="N", help="how many islands; two of emulated TPUs if not given")
    parser.add_argument("--devices", type=int, metavar="N", help="devices of each island")
    parser.add_argument(
        "--hbm-bytes", type=int, metavar="N", help="memory of a device; its own, or no limit, if not given"
    )
    parser.add_argument("--backend", metavar="NAME", help="local (the default): the JAX devices of this process")
    _config_args(parser)


def _config_args(parser: Parser) -> None:
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="settings, such as sync=error")


def _wait_args(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a program; all that were dispatched if not given")
    _time_args(parser)


def _run_args(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a program recorded by %%%%pathways --defer -p NAME")
    parser.add_argument("-b", "--block", action="store_true", help="wait until it has run")
    _time_args(parser)


def _time_args(parser: Parser) -> None:
    parser.add_argument("--timeout", type=seconds, metavar="S", help="wait at most so many seconds")
    parser.add_argument("--progress-after", type=seconds, metavar="S", help="show progress after so many seconds")


def _result_args(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a program: its name, or In[4] or 4 for a cell")
    parser.add_argument("--timeout", type=seconds, metavar="S", help="wait at most so many seconds")


def _dash(extension: Extension, args: argparse.Namespace) -> None:
    pw.dashboard(args.tab, explain=args.explain).show()


def _dash_args(parser: Parser) -> None:
    parser.add_argument("tab", nargs="?", choices=VIEWS, help="one view alone; all, linked, if not given")
    parser.add_argument("--explain", action="store_true", help="tooltips for learners: what a gang is, an island, DCN")


def _top_args(parser: Parser) -> None:
    parser.add_argument(
        "seconds",
        nargs="?",
        type=seconds,
        metavar="SECONDS",
        help="for so long; if not given until q or Ctrl-C in a terminal, and in a notebook until nothing runs, at "
        "most a minute",
    )


def _graph_args(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a program; in a terminal the newest if not given")
    parser.add_argument("--all", action="store_true", help="a picture of all programs")


def _timeline_args(parser: Parser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="PROGRAM", help="a picture of these (train* is all that begin so); of all without"
    )
    parser.add_argument(
        "--colour",
        "--color",
        choices=("computation", "client"),
        help="what colours stand for; computation if not given",
    )


def _name_args(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a program; all if not given")


def _auto_args(parser: Parser) -> None:
    parser.add_argument("state", nargs="?", choices=("on", "off"), help="without: tells which it is")


COMMANDS: dict[str, Command] = {
    "start": Command(_start, "starts the session, or keeps it if it has this shape", _start_args, "settings"),
    "stop": Command(_stop, "stops the session; its threads end and its devices are free"),
    "auto": Command(_auto, "makes every cell a pathways cell, or ends that", _auto_args, "on off"),
    "status": Command(_status, "shows the session, how busy its islands are, and its programs"),
    "islands": Command(_islands, "shows islands and the slices on them"),
    "slices": Command(_islands, "shows slices and the devices that they have"),
    "dash": Command(
        _dash,
        "shows a live dashboard of the session; as numbers in a terminal",
        _dash_args,
        "views",
    ),
    "top": Command(_top, "shows what runs at this moment, live", _top_args),
    "graph": Command(_graph, "shows the graph, live in a notebook; or a program as a picture", _graph_args, "programs"),
    "timeline": Command(
        _timeline, "shows who ran what, where, when, live in a notebook; or of programs", _timeline_args, "programs"
    ),
    "util": Command(_util, "shows how busy devices were, and with what; live in a notebook"),
    "run": Command(_run, "dispatches a program that --defer held back", _run_args, "held"),
    "wait": Command(_wait, "waits until a program has ended, or all", _wait_args, "programs"),
    "result": Command(_result, "gives the value of a program's last expression", _result_args, "programs"),
    "syncs": Command(_syncs, "lists where you waited for a value, and how long"),
    "config": Command(_config, "shows settings, or sets them: sync=error", _config_args, "settings"),
    "reset": Command(
        _reset,
        "forgets programs: drops what is held back, lets results go; session, slices and your tensors stay",
        _name_args,
        "programs",
    ),
    **STEER,
}
