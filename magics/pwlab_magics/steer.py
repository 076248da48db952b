"""``%pw``: the scheduler by hand, its clients, its memory, and why something waits.

Each subcommand is one function here, which calls one public function of :mod:`pwlab.hand` or :mod:`pwlab.steering` and
shows what it gives.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pwlab as pw
from pwlab import viz
from pwlab.errors import typed

from .command import Command, in_session
from .output import show, shows_live, tell
from .parsers import Parser

if TYPE_CHECKING:
    from .extension import Extension


# --- clients, policies, memory ---------------------------------------------------------------------


@in_session
def _clients(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    if not shows_live(extension.shell, "clients"):
        show(extension.shell, pw.clients())


@in_session
def _policy(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    if args.name is not None:
        session.policy = args.name
    others = [name for name in session.steering.policies if name != session.policy]
    tell(f"policy {session.policy}; there are also {', '.join(others)}")


@in_session
def _memory(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    if not shows_live(extension.shell, "memory"):
        show(extension.shell, pw.memory())


# --- by hand -----------------------------------------------------------------------------------------


@in_session
def _pause(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    pw.pause()
    tell("all launches are paused; `%pw step` makes the next, `%pw resume` goes on")


@in_session
def _step(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    launched = pw.step(args.n)
    for name in launched:
        tell(f"launched: {name}")
    if len(launched) < args.n:
        few = args.n - len(launched)
        tell(f"{few} more launch{'es' if few > 1 else ''} will follow as soon as something can go")


@in_session
def _resume(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    what = pw.resume(args.name)
    if args.name is None:
        tell("launches go on")
    else:
        tell(f"{what} goes on" + ("; but all launches are paused" if session.steering.paused else ""))


@in_session
def _suspend(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    what = pw.suspend(args.name)
    tell(
        f"{what} is suspended: its buffers go to host memory, and it launches nothing until "
        f"`%pw resume {typed(args.name)}`"
    )


@in_session
def _cancel(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    given_up = pw.cancel(args.name, args.client)
    who = f"client {args.client}" if args.client is not None else f"program {args.name}"
    if given_up:
        tell(f"{who}: {given_up:,} computation{'s' * (given_up > 1)} cancelled; what was launched ends")
    else:
        tell(f"{who}: nothing to cancel, all of it was launched or has ended")


@in_session
def _why(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    held = extension.shell.user_ns.get(args.name)
    show(extension.shell, viz.why_tree(pw.why(held if isinstance(held, pw.LazyTensor) else args.name)))


@in_session
def _migrate(extension: Extension, args: argparse.Namespace, session: pw.Session) -> None:
    before = session.slices.find(args.slice).devices
    pw.migrate(args.slice, int(args.island) if (args.island or "").isdecimal() else args.island)
    where = session.slices.find(args.slice)
    if where.devices == before:
        tell(f"slice {where.name} moves as soon as what was launched on it has ended; `%pw slices` shows where it is")
    else:
        tell(f"slice {where.name} has {len(where)} devices of {where.island_name} now")


# --- arguments -------------------------------------------------------------------------------------------


def _policy_args(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="takes over at once; without: tells which decides")


def _step_args(parser: Parser) -> None:
    parser.add_argument("n", nargs="?", type=int, default=1, metavar="N", help="so many launches (default 1)")


def _resume_args(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="what was suspended; without: ends the pause of all")


def _suspend_args(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a client, a slice or a program")


def _cancel_args(parser: Parser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("name", nargs="?", metavar="PROGRAM", help="its name, or In[4] or 4 for a cell")
    which.add_argument("--client", metavar="NAME", help="all programs of this client, which stays open")


def _why_args(parser: Parser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a variable that holds a tensor, a program, or a computation by name or number"
    )


def _migrate_args(parser: Parser) -> None:
    parser.add_argument("slice", metavar="SLICE", help="`%%pw slices` lists them")
    parser.add_argument("island", nargs="?", metavar="ISLAND", help="name or number; whichever is best if not given")


STEER: dict[str, Command] = {
    "clients": Command(_clients, "shows clients: the share each asked for, what it got, and its accounts"),
    "policy": Command(
        _policy, "shows the scheduling policy, or changes it while programs run", _policy_args, "policies"
    ),
    "memory": Command(_memory, "shows bytes on each device, and who holds the most, from which cell"),
    "pause": Command(_pause, "launches nothing more; what is launched ends"),
    "step": Command(_step, "launches the next N computations and pauses again", _step_args),
    "resume": Command(
        _resume, "ends the pause, or the suspension of a client, slice or program", _resume_args, "suspendable"
    ),
    "suspend": Command(
        _suspend, "lets one client, slice or program launch nothing; others go on", _suspend_args, "suspendable"
    ),
    "cancel": Command(_cancel, "gives up what a program, or a client, has not launched yet", _cancel_args, "programs"),
    "why": Command(
        _why,
        "tells why a tensor, a program or a computation is not done yet, down to the root",
        _why_args,
        "tensors programs nodes",
    ),
    "migrate": Command(
        _migrate, "moves a slice to other devices; its programs do not notice", _migrate_args, "slices|islands"
    ),
}
