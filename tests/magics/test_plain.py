"""Everything that ``%pw`` does has a form for a script, and shows the same."""

from __future__ import annotations

from operator import attrgetter

import pytest

import pwlab as pw
from pwlab_magics.line import COMMANDS

from .conftest import Shell

#: The plain form of each subcommand.  What the names of cells are for, a script has not.
PLAIN = {
    "start": "start",
    "stop": "shutdown",
    "status": "status",
    "islands": "islands",
    "slices": "islands",
    "dash": "dashboard",
    "top": "top",
    "graph": "graph",
    "timeline": "timeline",
    "util": "utilisation",
    "run": "Session.programs.run",
    "wait": "wait",
    "result": "Session.programs.result",
    "syncs": "syncs",
    "config": "Session.configure",
    "reset": "Session.programs.forget",
    "clients": "clients",
    "policy": "Session.policy",
    "memory": "memory",
    "pause": "pause",
    "step": "step",
    "resume": "resume",
    "suspend": "suspend",
    "cancel": "cancel",
    "why": "why",
    "migrate": "migrate",
}
NOTEBOOK_ALONE = {"auto"}


def test_each_subcommand_has_a_plain_form(session: pw.Session) -> None:
    assert COMMANDS.keys() == PLAIN.keys() | NOTEBOOK_ALONE
    for name in PLAIN.values():
        owner, path = (session, name.removeprefix("Session.")) if name.startswith("Session.") else (pw, name)
        assert attrgetter(path)(owner) is not None
        assert owner is session or name in pw.__all__


@pytest.mark.parametrize("command", ["status", "islands", "graph", "timeline", "util", "syncs", "clients", "memory"])
def test_both_show_the_same(ip: Shell, command: str) -> None:
    ip.ok("%%pathways -b -p '[bold]mine[/]'\nx = jnp.ones(2) + 1")
    argument = " '[bold]mine[/]'" if command == "graph" else ""
    shown = ip.ok(f"%pw {command}{argument}").out
    view = pw.graph("[bold]mine[/]") if command == "graph" else getattr(pw, PLAIN[command])()
    assert [line.rstrip() for line in shown.splitlines()] == [line.rstrip() for line in str(view).splitlines()]
