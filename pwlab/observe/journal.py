"""A run in a file: JSON Lines, a line a fact, that a person can read and a damaged disk cannot spoil.

::

    {"format":"pwlab run","schema":1,"pwlab":"0.1.0","jax":"0.12.0","machine":{"system":"Linux","devices":8}}
    {"is":"IslandKnown","time":12.5,"island":{"id":0,"name":"island0","devices":[0,1,2,3]}}
    …
    {"end":{"facts":5120,"missing":0}}

The first line says what the file is and which schema its facts have; a newer schema is refused, since guessing would
show wrong numbers.  The last line says how many facts there are, so a file that was cut off is known, and how many
older ones the ring had already dropped.  A line that is no fact, or one that cannot be true, costs that fact alone:
:func:`read_run` reads on, and raises :class:`~pwlab.errors.DamagedRunFile` at the end with everything that was readable
in its ``run``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import DamagedRunFile, RunFileError
from ..events import Fact
from .codec import SCHEMA, CodecError, decode, encode
from .files import reading, write_whole
from .run import Run
from .sound import Soundness

#: What the first line says the file is.
FORMAT = "pwlab run"


def lines_of(run: Run) -> Iterator[str]:
    """The lines of a run file, without line ends; each is pure ASCII."""
    about = {key: value for key, value in run.about.items() if key != "schema"}
    yield _dumps({"format": FORMAT, "schema": SCHEMA, **about})
    for fact in run.facts:
        yield _dumps(encode(fact))
    end: dict[str, object] = {"facts": len(run), "missing": run.missing}
    if run.gap is not None:
        end["gap"] = run.gap
    if run.damage:
        end["damage"] = run.damage
    yield _dumps({"end": end})


def write_run(path: str | os.PathLike[str], run: Run) -> Path:
    """Writes a run file; a file of that name is replaced at once or, on an error, not at all.

    Raises:
      ValueError: the path is none.
      OSError: it cannot be written; says why.
    """
    return write_whole(path, (line + "\n" for line in lines_of(run)), "ascii")


def read_run(path: str | os.PathLike[str]) -> Run:
    """Reads a run file.

    Raises:
      ValueError: the path is none.
      OSError: it cannot be opened.
      RunFileError: it is no run file, or one of a newer schema.
      DamagedRunFile: lines in it are no facts, or are out of order, or its end is missing; ``error.run`` holds what
        could be read.
    """
    with reading(path) as file:
        name = os.fspath(path)
        about = _header(next(file, ""), name)
        sound = Soundness()
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
                fact = decode(_loads(line))
            except CodecError as error:
                bad.append((number, str(error)))
                continue
            if untrue := sound.untrue(fact):
                bad.append((number, untrue))
                continue
            facts.append(fact)
            if misplaced := sound.misplaced(fact):
                bad.append((number, misplaced))
    held = end or {"missing": 0}
    run = Run(tuple(facts), held["missing"], about, held.get("gap"), held.get("damage", ""))
    if end is None:
        # The last line of a file that was cut off is itself cut, as a rule: that is one damage, not two.
        cut = [where for where in bad if where[0] != number]
        what = f" ends after line {number} without the line that closes a run file; it was cut off while written"
        raise _damaged(run, name, what, cut, cut[0][0] if cut else number)
    if bad:
        line, why = bad[0]
        raise _damaged(run, name, f", line {line}: {why}", bad[1:], line)
    if end["facts"] != len(facts):
        what = f" should hold {end['facts']:,} facts; lines were removed or added"
        raise _damaged(run, name, what, [], number)
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
        found = "no schema version" if schema is None else f"the schema version {json.dumps(schema)[:40]}"
        raise RunFileError(
            f"{name} is no run file that can be read: its header names {found}, and versions are whole numbers from 1 "
            "on; save the run again"
        )
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
    says = cast(dict[str, Any], end) if isinstance(end, dict) else {}
    if type(says.get("facts")) is not int or type(says.get("missing")) is not int:
        return None
    gap = says.get("gap")
    if gap is not None and not (isinstance(gap, float) and math.isfinite(gap)):
        return None
    return says if isinstance(says.get("damage", ""), str) else None


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _loads(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        shown = line.strip()[:40]
        raise CodecError(f"this is no JSON: {shown!r}" if shown else "the line is empty") from None


def _damaged(run: Run, name: str, what: str, others: list[tuple[int, str]], line: int) -> DamagedRunFile:
    if others:
        numbers = ", ".join(str(number) for number, _ in others[:5]) + (", …" if len(others) > 5 else "")
        what += f" (and {len(others):,} other damaged line{'s' if len(others) != 1 else ''}: {numbers})"
    kept = f"{len(run):,} fact{' was' if len(run) == 1 else 's were'} readable"
    text = f"{name}{what}. {kept}; pw.load(…, partial=True) gives what there is"
    return DamagedRunFile(text, run=replace(run, damage=Path(name).name + what), line=line)
