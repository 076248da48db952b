"""What a subcommand of ``%pw`` is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pwlab as pw
from pwlab.session import running

from .output import tell
from .parsers import Parser

if TYPE_CHECKING:
    from .extension import Extension

NO_SESSION = "no session is running; `%pw start` starts one, and so does the first pathways cell"


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand.

    ``names`` says what its arguments are names of, for completion: kinds and words, with ``|`` between the first
    argument's and the second's.
    """

    run: Callable[[Extension, argparse.Namespace], Any]
    about: str
    more: Callable[[Parser], Any] = lambda parser: None
    names: str = ""


def in_session(
    run: Callable[[Extension, argparse.Namespace, pw.Session], Any],
) -> Callable[[Extension, argparse.Namespace], Any]:
    """A subcommand that needs a running session, and says so where there is none."""

    def checked(extension: Extension, args: argparse.Namespace) -> Any:
        session = running()
        if session is None:
            tell(NO_SESSION)
            return None
        return run(extension, args, session)

    return checked
