"""Facts as plain JSON values and back, exactly, for whatever facts there are.

Nothing here names a field.  A codec is derived once a class from the types of its fields, so a fact that is added
to :mod:`pwlab.events` tomorrow can be written and read without a line here; a field of a type that JSON cannot
carry fails when this module is imported, not when somebody saves a run.

How things look::

    NodeEnded(time=1.5, node=7, state=DONE, start=1.25, end=1.5, island=0, devices=(0, 1))
    {"is":"NodeEnded","time":1.5,"node":7,"state":"done","start":1.25,"end":1.5,"island":0,"devices":[0,1]}

* ``is`` names the fact.  What stands inside another object needs no name: its field says what it is.
* A field that has its default is left out.  A changed default is therefore a new schema version.
* Floats that JSON has no word for are the texts ``"nan"``, ``"inf"`` and ``"-inf"``.

Pickle was rejected: a file of it runs code when it is opened, and dies with the class that it names.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any

from ..events import Fact

#: Goes up by one when a fact is changed so that older files would be misread; added facts and fields do not count.
SCHEMA = 1

#: The key that names the fact.
KIND = "is"

Plain = dict[str, Any]
_Turn = Callable[[Any], Any]

#: Every fact by name.
FACTS: dict[str, type[Any]] = {fact.__name__: fact for fact in typing.get_args(Fact)}


class CodecError(ValueError):
    """A value is no fact; says which field and what was found."""


def encode(fact: Fact) -> Plain:
    """The fact as what :func:`json.dumps` takes."""
    out: Plain = {KIND: type(fact).__name__}
    out.update(_WRITERS[type(fact)](fact))
    return out


def decode(plain: object) -> Fact:
    """The fact that was encoded.

    Raises:
      CodecError: it is none; says why.
    """
    if not isinstance(plain, dict):
        raise CodecError(f"a fact is an object, not {_shown(plain)}")
    fields = typing.cast(Plain, plain)
    kind = fields.get(KIND)
    cls = FACTS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise CodecError(f"there is no fact called {_shown(kind)}")
    return _READERS[cls]({key: value for key, value in fields.items() if key != KIND})


# --- classes ------------------------------------------------------------------------------


def _class(cls: type[Any]) -> tuple[_Turn, _Turn]:
    """How to write and to read an object of a dataclass, without its name."""
    hints = typing.get_type_hints(cls)
    rows: list[tuple[str, Any, _Turn]] = []
    readers: dict[str, _Turn] = {}
    needed: set[str] = set()
    for field in dataclasses.fields(cls):
        write, readers[field.name] = _type(hints[field.name], f"{cls.__name__}.{field.name}")
        rows.append((field.name, field.default, write))
        if field.default is dataclasses.MISSING:
            needed.add(field.name)

    def write_all(value: Any) -> Plain:
        out: Plain = {}
        for name, default, write in rows:
            held = getattr(value, name)
            if held is not default and (default is dataclasses.MISSING or not _same(held, default)):
                out[name] = write(held)
        return out

    def read_all(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise CodecError(f"{cls.__name__} is an object, not {_shown(plain)}")
        given = typing.cast(Plain, plain)
        if missing := needed - given.keys():
            raise CodecError(f"{cls.__name__} lacks {', '.join(sorted(missing))}")
        values: Plain = {}
        for key, value in given.items():
            reader = readers.get(key)
            if reader is None:
                raise CodecError(f"{cls.__name__} has no {_shown(key)}")
            try:
                values[key] = reader(value)
            except CodecError as error:
                raise CodecError(f"{cls.__name__}.{key}: {error}") from None
        return cls(**values)

    return write_all, read_all


def _same(value: Any, default: Any) -> bool:
    # 0 == 0.0 == False == -0.0, and none of them is another.
    if type(value) is not type(default) or value != default:
        return False
    return not isinstance(value, float) or math.copysign(1.0, value) == math.copysign(1.0, default)


# --- types of fields -------------------------------------------------------------------------


def _type(hint: Any, where: str) -> tuple[_Turn, _Turn]:
    """How to write and to read a value of this type."""
    while hasattr(hint, "__supertype__"):  # an id
        hint = hint.__supertype__
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        return _optional(*_type(next(one for one in inner if one is not type(None)), where))
    if origin is tuple and len(inner) == 2 and inner[1] is ...:
        return _row(*_type(inner[0], where))
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return _enum(hint)
        if hint is float:
            return _write_float, _read_float
        if hint in (bool, int, str):
            return _keep, _exactly(hint)
        if dataclasses.is_dataclass(typing.cast(type[Any], hint)):
            return _class(typing.cast(type[Any], hint))
    raise TypeError(f"{where} is a {hint}, which no run file can hold; see pwlab/observe/codec.py")


def _optional(write: _Turn, read: _Turn) -> tuple[_Turn, _Turn]:
    return (lambda v: None if v is None else write(v)), (lambda v: None if v is None else read(v))


def _row(write: _Turn, read: _Turn) -> tuple[_Turn, _Turn]:
    def read_row(plain: Any) -> tuple[Any, ...]:
        if not isinstance(plain, list):
            raise CodecError(f"a list was expected, not {_shown(plain)}")
        return tuple(read(one) for one in typing.cast(list[Any], plain))

    return (lambda v: [write(one) for one in v]), read_row


def _enum(hint: type[Enum]) -> tuple[_Turn, _Turn]:
    def read(plain: Any) -> Enum:
        try:
            return hint(plain)
        except ValueError:
            raise CodecError(f"{_shown(plain)} is no {hint.__name__}") from None

    return (lambda v: v.value), read


def _exactly(hint: type[Any]) -> _Turn:
    def read(plain: Any) -> Any:
        if type(plain) is not hint:
            raise CodecError(f"{hint.__name__} was expected, not {_shown(plain)}")
        return plain

    return read


def _keep(value: Any) -> Any:
    return value


def _write_float(value: float) -> float | str:
    return value if math.isfinite(value) else str(float(value))


def _read_float(plain: Any) -> float:
    if isinstance(plain, float) or type(plain) is int:
        return float(plain)
    if plain in ("nan", "inf", "-inf"):
        return float(plain)
    raise CodecError(f"float was expected, not {_shown(plain)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


_WRITERS: dict[type[Any], _Turn] = {}
_READERS: dict[type[Any], _Turn] = {}
for _cls in FACTS.values():
    _WRITERS[_cls], _READERS[_cls] = _class(_cls)
