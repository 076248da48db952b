"""Tab completion after ``%pw`` and ``%%pathways``: commands, flags, and names of slices, programs and settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from pwlab.config import Config
from pwlab.session import running

from . import cell, line

if TYPE_CHECKING:
    from .extension import Extension

_PATHWAYS = re.compile(r"\s*%%?pathways\s+(.*)$")
_PW = re.compile(r"\s*%?pw\s+(.*)$")


def complete(text: str) -> list[str] | None:
    """What may stand where the line ``text`` ends; None if the line is none of ours.

    Never starts a session, and never waits.
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
        return _starting(words[-1], _for_pw(words))
    return None


def _for_pathways(words: list[str]) -> list[str]:
    before = next((word for word in reversed(words[:-1]) if word), "")
    if before in ("-s", "--slice"):
        return names("slices")
    if before in ("-p", "--program"):
        return names("held")
    if before == "--shard":
        return ["d", "None,d"]
    return cell.make_parser().flags()


def _for_pw(words: list[str]) -> list[str]:
    if len(words) == 1:
        return list(line.COMMANDS)
    command = line.COMMANDS.get(words[0])
    if command is None:
        return []
    if words[-1].startswith("-"):
        return line.flags_of(words[0])
    return names(command.names)


def names(kind: str) -> list[str]:
    """Names of one kind: slices, programs, held, settings; or those that ``kind`` lists itself."""
    session = running()
    if kind == "settings":
        return [f"{field.name}=" for field in fields(Config)]
    if kind in ("slices", "programs", "held"):
        if session is None:
            return []
        if kind == "slices":
            return [where.name for where in session.slices]
        if kind == "held":
            return [record.name for record in session.programs.held()]
        return session.programs.names()
    return kind.split()


def _starting(word: str, known: list[str]) -> list[str]:
    return [one for one in known if one.startswith(word)]


def make_matcher(extension: Extension) -> Callable[[Any], Any]:
    """The matcher for IPython's completer."""

    @context_matcher()
    def pwlab_matcher(context: Any) -> Any:
        text = context.line_with_cursor[: context.cursor_position]
        found = complete(text)
        if found is None:
            return {"completions": [], "suppress": False}
        word = re.split(r"\s", text)[-1]
        return {
            "completions": [SimpleCompletion(text=one, type="param") for one in found],
            "suppress": True,
            "matched_fragment": word,
        }

    return pwlab_matcher
