"""Facts of every type with arbitrary fields, made from the dataclasses themselves, so that new facts are covered."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from typing import Any

from hypothesis import strategies as st

from pwlab.events import Fact

FACTS: tuple[type[Any], ...] = typing.get_args(Fact)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type of a field."""
    while hasattr(hint, "__supertype__"):
        hint = hint.__supertype__
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, inner))
    if origin is tuple and inner[1:] == (...,):
        return st.lists(values(inner[0]), max_size=3).map(tuple)
    if hint is type(None):
        return st.none()
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.integers(-(2**70), 2**70)
    if hint is float:
        return st.floats(allow_nan=False)
    if hint is str:
        return st.text(max_size=20)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    return objects(hint)


def objects(cls: Any) -> st.SearchStrategy[Any]:
    """Objects of a dataclass; a field with a default sometimes keeps it."""
    hints = typing.get_type_hints(cls)
    needed: dict[str, st.SearchStrategy[Any]] = {}
    other: dict[str, st.SearchStrategy[Any]] = {}
    for field in dataclasses.fields(cls):
        (needed if field.default is dataclasses.MISSING else other)[field.name] = values(hints[field.name])
    return st.fixed_dictionaries(needed, optional=other).map(lambda fields: cls(**fields))


def facts() -> st.SearchStrategy[Fact]:
    """Any fact."""
    return st.one_of(*map(objects, FACTS))
