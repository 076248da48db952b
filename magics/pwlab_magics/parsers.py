"""Argument parsers for magics: misuse is a ``UsageError`` with a suggestion, and ``-h`` never ends the kernel."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser
from IPython.utils.process import arg_split

from pwlab.errors import closest


class HelpShown(Exception):
    """``-h`` was given: the help has been printed, and there is nothing more to do."""


class Parser(MagicArgumentParser):
    """An argparse parser for a magic; ``prog`` is what the user types before the arguments."""

    def __init__(self, prog: str, description: str = "", epilog: str = ""):
        raw: Any = argparse.RawDescriptionHelpFormatter  # IPython's own would break our lines anew
        super().__init__(prog, None, description, epilog, formatter_class=raw)
        self.allow_abbrev = False
        self.add_argument("-h", "--help", action=_Help, help="show this help")

    def parse(self, line: str) -> argparse.Namespace:
        """The arguments in a line.

        Raises:
          UsageError: they are not understood; the nearest flag or name is suggested.
          HelpShown: the help was asked for, and printed.
        """
        try:
            words = arg_split(line, posix=True)
        except ValueError as error:  # an open quote
            self.error(f"{str(error).lower()} in {line!r}")
        found, unknown = self.parse_known_args(words)
        if unknown:
            self._unknown(unknown, found)
        return found

    def _unknown(self, unknown: list[str], found: argparse.Namespace) -> NoReturn:
        parser: Parser = getattr(found, "parser", self)
        word = unknown[0]
        what = "flag" if word.startswith("-") else "argument"
        parser.error(f"unknown {what} {word}{near(word.split('=')[0], parser.flags())}")

    def error(self, message: str) -> NoReturn:
        """Raises a UsageError; IPython prints it in one line."""
        choice = re.match(r"argument (\S+): invalid choice: '?([^']*?)'? \(choose from (.*)\)$", message)
        if choice:
            word, known = choice[2], re.findall(r"[\w.-]+", choice[3])
            message = f"no {choice[1].lower()} is called {word!r}{near(word, known)}; there are {', '.join(known)}"
        raise UsageError(f"{self.prog}: {message}. See {self.prog} -h")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise HelpShown

    def flags(self) -> list[str]:
        """All flags, short and long."""
        return [flag for action in self._actions for flag in action.option_strings]


class _Help(argparse.Action):
    def __init__(self, option_strings: Any, dest: str, **kwargs: Any):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=kwargs.get("help"))

    def __call__(self, parser: Any, *_: Any) -> None:
        print(parser.format_help().rstrip())
        raise HelpShown


def near(word: str, known: list[str]) -> str:
    """``" (did you mean --block?)"``, or nothing."""
    close = closest(word, known)
    return "" if close is None else f" (did you mean {close}?)"


def seconds(text: str) -> float:
    """A number of seconds, at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"takes seconds, such as 2 or 0.5, not {text!r}")
    return value


__all__ = ["HelpShown", "Parser", "near", "seconds"]
