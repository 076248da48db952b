"""A run in a file: JSON Lines, a line a fact, that a person can read and a damaged disk cannot spoil.

::

    {"format":"pwlab run","schema":1,"pwlab":"0.1.0","jax":"0.12.0","machine":{"system":"Linux","devices":8}}
    {"is":"IslandKnown","time":12.5,"island":{"id":0,"name":"island0","devices":[0,1,2,3]}}
    …
    {"end":{"facts":5120,"missing":0}}

The first line says what the file is and which schema its facts have; a newer schema is refused, since guessing would
show wrong numbers.  The last line says how many facts there are, so a file that was cut off is known, and how many
older ones the ring had already dropped.  A line that is no fact costs that fact alone: :func:`read_run` reads on, and
raises :class:`~pwlab.errors.DamagedRunFile` at the end with everything that was readable in its ``run``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import DamagedRunFile, RunFileError
from ..events import Fact
from .codec import SCHEMA, CodecError, decode, encode
from .run import Run

#: What the first line says the file is.
FORMAT = "pwlab run"

#: Of the versions and the machine; see :func:`write_run`.
About = Mapping[str, object]


def lines_of(facts: Iterable[Fact], about: About, missing: int = 0) -> Iterator[str]:
    """The lines of a run file, without line ends; each is pure ASCII."""
    yield _dumps({"format": FORMAT, "schema": SCHEMA, **about})
    count = 0
    for fact in facts:
        count += 1
        yield _dumps(encode(fact))
    yield _dumps({"end": {"facts": count, "missing": missing}})


def write_run(path: str | os.PathLike[str], facts: Iterable[Fact], about: About, missing: int = 0) -> Path:
    """Writes a run file; a file of that name is replaced at once or, on an error, not at all.

    Args:
      about: more for the header, such as ``{"pwlab": "0.1.0"}``.
      missing: how many older facts are not among these.
    """
    target = Path(path)
    part = target.with_name(target.name + ".part")
    try:
        with part.open("w", encoding="ascii", newline="\n") as file:
            file.writelines(line + "\n" for line in lines_of(facts, about, missing))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def read_run(path: str | os.PathLike[str]) -> Run:
    """Reads a run file.

    Raises:
      OSError: it cannot be opened.
      RunFileError: it is no run file, or one of a newer schema.
      DamagedRunFile: lines in it are no facts, or its end is missing; ``error.run`` holds what could be read.
    """
    name = os.fspath(path)
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        about = _header(next(file, ""), name)
        facts: list[Fact] = []
        bad: list[tuple[int, str]] = []
        end: dict[str, Any] | None = None
        number = 1
        for number, line in enumerate(file, start=2):
            if end is not None:
                bad.append((number, "something stands after the end"))
                break
            found = _end(line)
            if found is not None:
                end = found
                continue
            try:
                facts.append(decode(_loads(line)))
            except CodecError as error:
                bad.append((number, str(error)))
    run = Run(tuple(facts), int(end["missing"]) if end else 0, about)
    if end is None:
        # The last line of a file that was cut off is itself cut, as a rule: that is one damage, not two.
        cut = [where for where in bad if where[0] != number]
        what = f"{name} ends after line {number} without the line that closes a run file; it was cut off while written"
        raise DamagedRunFile(_damage(what, cut, len(facts)), run=run, line=cut[0][0] if cut else number)
    if bad:
        line, why = bad[0]
        raise DamagedRunFile(_damage(f"{name}, line {line}: {why}", bad[1:], len(facts)), run=run, line=line)
    if end["facts"] != len(facts):
        what = f"{name} should hold {end['facts']:,} facts; lines were removed or added"
        raise DamagedRunFile(_damage(what, [], len(facts)), run=run, line=number)
    return run


# --- lines --------------------------------------------------------------------------------


def _header(line: str, name: str) -> dict[str, object]:
    """What the first line says, the format aside."""
    try:
        found: object = _loads(line)
    except CodecError:
        found = None
    head = cast(dict[str, object], found) if isinstance(found, dict) else {}
    if head.get("format") != FORMAT:
        raise RunFileError(
            f"{name} is no run file: its first line is not a header of the format {FORMAT!r}. "
            "Run files are written by pw.save('run.jsonl')"
        )
    schema = head.get("schema")
    if type(schema) is not int or schema < 1:
        raise RunFileError(f"{name} is no run file that can be read: its header names no schema version")
    if schema > SCHEMA:
        wrote = head.get("pwlab")
        raise RunFileError(
            f"{name} has schema version {schema}, this pwlab reads up to {SCHEMA}; update pwlab"
            + (f" (it was written by version {wrote})" if isinstance(wrote, str) else "")
        )
    return {key: value for key, value in head.items() if key != "format"}


def _end(line: str) -> dict[str, Any] | None:
    """What the closing line says, or None where it is not that line."""
    if not line.startswith('{"end":'):
        return None
    try:
        found = _loads(line)
    except CodecError:
        return None
    end = cast(dict[str, Any], found).get("end")
    counts = cast(dict[str, Any], end) if isinstance(end, dict) else {}
    return counts if type(counts.get("facts")) is int and type(counts.get("missing")) is int else None


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _loads(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        shown = line.strip()[:40]
        raise CodecError(f"this is no JSON: {shown!r}" if shown else "the line is empty") from None


def _damage(what: str, others: list[tuple[int, str]], facts: int) -> str:
    if others:
        numbers = ", ".join(str(number) for number, _ in others[:5]) + (", …" if len(others) > 5 else "")
        what += f" (and {len(others):,} other damaged line{'s' if len(others) != 1 else ''}: {numbers})"
    kept = f"{facts:,} fact{' was' if facts == 1 else 's were'} readable"
    return f"{what}. {kept}; pw.load(…, partial=True) gives what there is"
