"""Tab completion after ``%pw`` and ``%%pathways``: commands, flags, and names of slices, programs and settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from pwlab.config import Config
from pwlab.lazy import LazyTensor
from pwlab.session import Session, running

from . import cell, line

if TYPE_CHECKING:
    from .extension import Extension

_PATHWAYS = re.compile(r"\s*%%?pathways\s+(.*)$")
_PW = re.compile(r"\s*%?pw\s+(.*)$")


def complete(text: str, variables: Mapping[str, Any] | None = None) -> list[str] | None:
    """What may stand where the line ``text`` ends; None if the line is none of ours.

    Never starts a session, and never waits for a value.

    Args:
      variables: the user's, some of which may hold tensors.
    """
    found = _PATHWAYS.match(text)
    if found is not None:
        words = found[1].split(" ")
        return _starting(words[-1], _for_pathways(words))
    found = _PW.match(text)
    if found is not None:
        words = found[1].split()
        if found[1].endswith(" ") or not words:
            words.append("")
        return _starting(words[-1], _for_pw(words, variables or {}))
    return None


def _for_pathways(words: list[str]) -> list[str]:
    before = next((word for word in reversed(words[:-1]) if word), "")
    if before in ("-s", "--slice"):
        return names("slices")
    if before in ("-p", "--program"):
        return names("held")
    if before in ("-c", "--client"):
        return names("clients")
    if before == "--shard":
        return ["d", "None,d"]
    return cell.make_parser().flags()


def _for_pw(words: list[str], variables: Mapping[str, Any]) -> list[str]:
    if len(words) == 1:
        return list(line.COMMANDS)
    command = line.COMMANDS.get(words[0])
    if command is None:
        return []
    if words[-1].startswith("-"):
        return line.flags_of(words[0])
    if words[-2] == "--client":
        return names("clients")
    if words[-2] in ("--colour", "--color"):
        return names("computation client")
    places = command.names.split("|")
    return names(places[min(len(words) - 2, len(places) - 1)], variables)


#: How names of each kind are found in a session.
_KINDS: dict[str, Callable[[Session], list[str]]] = {
    "clients": lambda session: [client.name for client in session.clients()],
    "held": lambda session: [record.name for record in session.programs.held()],
    "islands": lambda session: [island.name for island in session.machine.islands],
    "nodes": lambda session: session.programs.computations(),
    "policies": lambda session: list(session.steering.policies),
    "programs": lambda session: session.programs.names(),
    "slices": lambda session: [where.name for where in session.slices],
}


def names(kinds: str, variables: Mapping[str, Any] | None = None) -> list[str]:
    """Names of some kinds, with spaces between: those of a session, settings, tensors; any other word is itself one."""
    session = running()
    found: list[str] = []
    for kind in kinds.replace("suspendable", "clients slices programs").split():
        if kind == "settings":
            found += [f"{field.name}=" for field in fields(Config)]
        elif kind == "views":
            found += line.VIEWS
        elif kind == "tensors":
            known = list((variables or {}).items())
            found += [name for name, value in known if isinstance(value, LazyTensor) and not name.startswith("_")]
        elif kind not in _KINDS:
            found.append(kind)
        elif session is not None:
            found += _KINDS[kind](session)
    return list(dict.fromkeys(found))


def _starting(word: str, known: list[str]) -> list[str]:
    return [one for one in known if one.startswith(word)]


def make_matcher(extension: Extension) -> Callable[[Any], Any]:
    """The matcher for IPython's completer."""

    @context_matcher()
    def pwlab_matcher(context: Any) -> Any:
        text = context.line_with_cursor[: context.cursor_position]
        found = complete(text, extension.shell.user_ns)
        if found is None:
            return {"completions": [], "suppress": False}
        word = re.split(r"\s", text)[-1]
        return {
            "completions": [SimpleCompletion(text=one, type="param") for one in found],
            "suppress": True,
            "matched_fragment": word,
        }

    return pwlab_matcher
