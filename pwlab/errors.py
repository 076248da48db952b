"""What can go wrong, each with a type of its own.

A message says what is, then what to do.  The types form one tree under
:class:`PwlabError`; those that stand for a well-known built-in (a timeout, a
value, a name) are that built-in too, so ordinary ``except`` clauses work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .units import one_line

#: Columns of a name in an error, and how many names one lists.
COLUMNS, MOST = 48, 12


class PwlabError(Exception):
    """The root of all errors that pwlab raises on purpose."""


class StartError(PwlabError, RuntimeError):
    """The session cannot be started as asked."""


class SessionClosed(PwlabError, RuntimeError):
    """What is used belongs to a session that was stopped."""


class PlacementError(PwlabError, ValueError):
    """A slice or a computation cannot be placed on the devices there are."""


class ComputationFailed(PwlabError, RuntimeError):
    """A computation failed; raised where its value is needed.

    Attributes:
      node: name of the computation that failed first.
      source: the cell and line that recorded it, or None.
      cause: what it said, one line.
    """

    def __init__(self, message: str, *, node: str = "", source: object = None, cause: str = ""):
        super().__init__(message)
        self.node = node
        self.source = source
        self.cause = cause


class ProgramCancelledError(PwlabError, RuntimeError):
    """The value will never exist: its program was cancelled."""


class WaitTimeout(PwlabError, TimeoutError):
    """A wait reached its timeout.  The program goes on; waiting again is fine."""


class BufferReleased(PwlabError, RuntimeError):
    """The value was given back by ``release()``, or donated to a computation."""


class SyncForbidden(PwlabError, RuntimeError):
    """Something needed a value inside a cell while ``%pw config sync=error`` forbids to wait."""


class NotDispatched(PwlabError, RuntimeError):
    """A program is held back, still being recorded, or was dispatched before, so this cannot be done with it."""


class ClientError(PwlabError, ValueError):
    """A client cannot be what is asked, was closed, or is entered where it would change nothing."""


class PolicyError(PwlabError, ValueError):
    """A scheduling policy cannot be registered as asked."""


class UnknownName(PwlabError, LookupError):
    """No slice, program, client, policy or setting has this name."""


class RunFileError(PwlabError, ValueError):
    """A file is no run file, or none that this pwlab can read."""


class DamagedRunFile(RunFileError):
    """Part of a run file cannot be read.

    Attributes:
      run: what could be read, a :class:`pwlab.observe.Run`.
      line: number of the first damaged line, from 1 on; of a file that was cut off, of its last line.
    """

    def __init__(self, message: str, *, run: object = None, line: int = 0):
        super().__init__(message)
        self.run = run
        self.line = line


class PwlabWarning(UserWarning):
    """Something that pwlab had to do otherwise than it was asked: a policy that misbehaved, a slice that stayed."""


class InternalError(PwlabError):
    """A bug of pwlab itself.  Please report it with the text of the error."""

    def __init__(self, message: str):
        super().__init__(f"{message}\nThis is a bug in pwlab, not in your program; please report it.")


def unknown(
    kind: str, name: object, known: Iterable[str], there: str = "There are", none: str = "There is none"
) -> str:
    """The text of an error: nothing of this kind has that name, what may be meant, and what there is.

    ``no slice is called 'a'; did you mean 'b'? There are: b, c and 7 more``
    """
    names = list(known)
    are = f"{there}: {several(names)}" if names else none
    return f"no {kind} is called {quoted(name)}{nearest(str(name), names) or '.'} {are}"


def quoted(name: object) -> str:
    """A name in quotes as an error tells it: in one line, shortened, nothing in it that a terminal would obey."""
    return repr(one_line(name, COLUMNS)) if isinstance(name, str) else one_line(repr(name), COLUMNS)


def several(names: Sequence[str]) -> str:
    """``a, b, c and 7 more``."""
    told = ", ".join(one_line(name, COLUMNS) for name in names[:MOST])
    return told + (f" and {len(names) - MOST:,} more" if len(names) > MOST else "")


def nearest(name: str, known: Sequence[str]) -> str:
    """``"; did you mean 'a'?"`` for the known name nearest to ``name``, or an empty text."""
    close = closest(name, known)
    return "" if close is None else f"; did you mean {quoted(close)}?"


def closest(name: str, known: Sequence[str]) -> str | None:
    """The known name nearest to ``name``, upper and lower case being the same; None where none is near."""
    import difflib

    # Comparing takes the square of the length, and a name may be as long as it likes.
    lower = {one[:_COMPARED].lower(): one for one in reversed(known)}
    close = difflib.get_close_matches(name[:_COMPARED].lower(), lower, n=1)
    return lower[close[0]] if close else None


_COMPARED = 200


def typed(name: str) -> str:
    """A name as it is typed after ``%pw``: in quotes if it has blanks or quotes of its own."""
    import re
    import shlex

    return name if re.fullmatch(r"[^\s'\"\\]+", name) else shlex.quote(name)
