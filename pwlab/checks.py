"""Checks of what a user gives: each returns the value, or raises an error with its name, what it takes and what came.

A whole number may come as ``1e9`` or as one of NumPy's; ``True`` is no number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from reprlib import repr as short
from typing import Any

from .errors import UnknownName, unknown


def whole(name: str, value: Any, error: type[Exception] = ValueError, such_as: str = "such as 2") -> int:
    """A whole number."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number: Any = value
        if math.isfinite(_float(value)) and number == int(number):
            return int(number)
    raise error(f"{name} is a whole number, {such_as}, not {short(value)}")


def at_least(least: int, name: str, value: Any, error: type[Exception] = ValueError) -> int:
    """A whole number that is no smaller than ``least``."""
    number = whole(name, value, error)
    if number < least:
        raise error(f"{name} is {number}; it is at least {least}")
    return number


def size(name: str, value: Any, error: type[Exception] = ValueError) -> int:
    """A number of bytes."""
    return whole(name, value, error, "in bytes, such as 16e9 or 16 * 2**30")


def real(name: str, value: Any, error: type[Exception] = ValueError) -> float:
    """A number; it may be infinite or NaN."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = _float(value)
        if not math.isinf(number) or number == value:
            return number
    raise error(f"{name} is a number, such as 1 or 2.5, not {short(value)}")


def above_0(name: str, value: Any, error: type[Exception] = ValueError) -> float:
    """A number above 0."""
    number = real(name, value, error)
    if not number > 0:
        raise error(f"{name} is {number:g}; it is above 0")
    return number


def text(name: str, value: Any, error: type[Exception] = ValueError) -> str:
    """A text of one or more characters."""
    if isinstance(value, str) and value:
        return value
    raise error(f"{name} is a text of one or more characters, not {short(value)}")


def choice(kind: str, value: Any, known: Sequence[str]) -> str:
    """One of a few names.

    Raises:
      UnknownName: it is none of them; the nearest is suggested.
    """
    if isinstance(value, str) and value in known:
        return value
    raise UnknownName(unknown(kind, value, known))


def path(name: str, value: Any, error: type[Exception] = ValueError) -> Path:
    """The name of a file."""
    if isinstance(value, str | PathLike) and isinstance(where := fspath(value), str) and where and "\0" not in where:
        return Path(where)
    raise error(f"{name} is the name of a file, such as 'run.jsonl', not {short(value)}")


def shape(name: str, value: Any, error: type[Exception] = ValueError) -> tuple[int, ...]:
    """Sizes, one an axis, each at least 1."""
    sizes: Sequence[Any] = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else ()
    if not sizes or any(not isinstance(n, Integral) or isinstance(n, bool) or int(n) < 1 for n in sizes):
        raise error(f"{name} is one size of at least 1 an axis, such as (2, 4), not {short(value)}")
    return tuple(map(int, sizes))


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an int of hundreds of digits
        return math.inf
