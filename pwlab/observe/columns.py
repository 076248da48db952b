"""Facts as columns: the same facts, exactly, in a tenth of the memory.

A fact as an object takes 120 to 700 bytes, and a million of them make every collection of garbage walk them all.
:func:`column` turns facts of one kind into a table with a column a field, which takes about 25 bytes a fact and no
walk.  A column is whatever iterates to its values, made anew, as often as it is asked.

Like the codec of files, nothing here names a field: how a column is kept follows from the type of the field.

* Numbers are arrays, whole numbers in as few bytes as the column needs.
* Texts, states and the like are a table of those that occur and a small number a row.
* Tuples are such a table where they repeat (devices), else one column of what is in them (buffers).
* Objects (a node's description, a source) are columns of their fields.
* A column in which all are alike is that one value.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import types
import typing
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from ..events import Fact

Column = Iterable[Any]
_Pack = Callable[[Sequence[Any]], Column]


def column(kind: type, facts: Sequence[Fact]) -> Column:
    """Facts of one kind as columns; iterates to equal facts."""
    return _PACKS[kind](facts)


# --- columns ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _Same:
    """All alike."""

    value: Any
    count: int

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(self.value, self.count)


@dataclasses.dataclass(frozen=True, slots=True)
class _Picked:
    """Values of a small table."""

    table: tuple[Any, ...]
    index: Iterable[int]

    def __iter__(self) -> Iterator[Any]:
        return map(self.table.__getitem__, self.index)


@dataclasses.dataclass(frozen=True, slots=True)
class _Maybe:
    """Values, some of which are None."""

    there: bytes
    values: Column

    def __iter__(self) -> Iterator[Any]:
        values = iter(self.values)
        return (next(values) if there else None for there in self.there)


@dataclasses.dataclass(frozen=True, slots=True)
class _Cut:
    """Tuples, end to end."""

    lengths: Column
    values: Column

    def __iter__(self) -> Iterator[Any]:
        values = tuple(self.values)
        ends = list(itertools.accumulate(self.lengths))
        return map(values.__getitem__, map(slice, itertools.chain((0,), ends), ends))


@dataclasses.dataclass(frozen=True, slots=True)
class _Objects:
    """Objects of one class, a column a field."""

    cls: type[Any]
    count: int
    fields: tuple[Column, ...]

    def __iter__(self) -> Iterator[Any]:
        # Column by column into the slots: the __init__ of a frozen class takes twice as long.
        made = list(map(object.__new__, itertools.repeat(self.cls, self.count)))
        for put, values in zip(_slots(self.cls), self.fields, strict=True):
            deque(map(put, made, values), maxlen=0)
        return iter(made)


@functools.cache
def _slots(cls: type[Any]) -> tuple[Callable[[Any, Any], None], ...]:
    """What sets each field of an object."""
    return tuple(getattr(cls, field.name).__set__ for field in dataclasses.fields(cls))


# --- packing ------------------------------------------------------------------------------


def _floats(values: Sequence[Any]) -> Column:
    held = array("d", values)
    # Bytes, not numbers: 0.0 == -0.0 and nan != nan.
    if held and held[0] == held[-1] and held.tobytes() == held[:1].tobytes() * len(held):
        return _Same(held[0], len(held))
    return held


def _ints(values: Sequence[Any]) -> Column:
    if not values:
        return ()
    low, high = min(values), max(values)
    if low == high:
        return _Same(low, len(values))
    for code, least, most in (("B", 0, 1 << 8), ("H", 0, 1 << 16), ("I", 0, 1 << 32), ("q", -(1 << 63), 1 << 63)):
        if least <= low and high < most:
            return array(code, values)
    return tuple(values)


def _choices(values: Sequence[Any]) -> Column:
    found = tuple(dict.fromkeys(values))
    if len(found) == 1:
        return _Same(found[0], len(values))
    if len(found) > len(values) // 2:
        return tuple(values)
    return _picked(found, values)


def _picked(found: tuple[Any, ...], values: Sequence[Any]) -> Column:
    number = {value: i for i, value in enumerate(found)}
    return _Picked(found, array("B" if len(found) <= 1 << 8 else "I", map(number.__getitem__, values)))


def _maybe(pack: _Pack) -> _Pack:
    def pack_maybe(values: Sequence[Any]) -> Column:
        nones = values.count(None)
        if nones == len(values):
            return _Same(None, nones)
        if not nones:
            return pack(values)
        there = bytes([value is not None for value in values])
        return _Maybe(there, pack([value for value in values if value is not None]))

    return pack_maybe


def _tuples(pack: _Pack, hashable: bool) -> _Pack:
    def pack_tuples(values: Sequence[Any]) -> Column:
        if hashable:  # and quickly so
            found = tuple(dict.fromkeys(values))
            if len(found) == 1:
                return _Same(found[0], len(values))
            if len(found) <= len(values) // 4:
                return _picked(found, values)
        lengths = _ints(list(map(len, values)))
        return _Cut(lengths, pack(list(itertools.chain.from_iterable(values))))

    return pack_tuples


def _objects(cls: type[Any]) -> _Pack:
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    packs = [_pack_of(hints[name], f"{cls.__name__}.{name}") for name in names]
    fields = [(operator.attrgetter(name), pack) for name, pack in zip(names, packs, strict=True)]

    def pack_objects(objects: Sequence[Any]) -> Column:
        columns: list[Column] = []
        for value_of, pack in fields:
            values = list(map(value_of, objects))
            columns.append(_Same(values[0], len(values)) if _alike(values) else pack(values))
        return _Objects(cls, len(objects), tuple(columns))

    return pack_objects


def _alike(values: list[Any]) -> bool:
    """Whether all are the same object, as defaults, states and shared tuples are; found at once where they are not."""
    if not values or values[0] is not values[-1]:
        return False
    return all(map(operator.is_, values, itertools.repeat(values[0])))


def _pack_of(hint: Any, where: str) -> _Pack:
    """How a column of values of this type is packed."""
    while hasattr(hint, "__supertype__"):  # an id
        hint = hint.__supertype__
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        return _maybe(_pack_of(next(one for one in inner if one is not type(None)), where))
    if origin is tuple and len(inner) == 2 and inner[1] is ...:
        return _tuples(_pack_of(inner[0], where), hashable=not dataclasses.is_dataclass(inner[0]))
    if hint is float:
        return _floats
    if hint is int:
        return _ints
    if isinstance(hint, type):
        if hint in (bool, str) or issubclass(hint, Enum):
            return _choices
        if dataclasses.is_dataclass(typing.cast(type[Any], hint)):
            return _objects(typing.cast(type[Any], hint))
    raise TypeError(f"{where} is a {hint}, for which there is no column; see pwlab/observe/columns.py")


_PACKS: dict[type, _Pack] = {kind: _objects(kind) for kind in typing.get_args(Fact)}
