"""Files that a user names: written whole or not at all, and errors that name them and say what to do."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from .. import checks
from ..errors import RunFileError

_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def write_whole(
    path: str | os.PathLike[str], texts: Iterable[str], encoding: str = "utf-8", errors: str = "strict"
) -> Path:
    """Writes a file; one of that name is replaced at once or, on an error, not at all.

    Args:
      texts: what to write, one after the other; line ends are written as they are.

    Raises:
      ValueError: the path is none.
      OSError: it cannot be written; says why.
    """
    target = checks.path("path", path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for {target.name}; make it first")
    real = Path(os.path.realpath(target))  # a link stays one
    # A device or a pipe cannot be replaced.
    part = real if real.exists() and not real.is_file() else real.with_name(real.name + ".part")
    try:
        try:
            with part.open("w", encoding=encoding, errors=errors, newline="\n") as file:
                file.writelines(texts)
            if part != real:
                part.replace(real)
        finally:
            if part != real:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None  # the part is none of the user's
    return target


@contextmanager
def reading(path: str | os.PathLike[str]) -> Generator[TextIO]:
    """A text file, of whatever bytes it is; a mark at its beginning that says UTF-8 is passed over.

    Raises:
      ValueError: the path is none.
      OSError: it cannot be read; says why.
      RunFileError: there is no text in it.
    """
    source = checks.path("path", path)
    if source.is_dir():
        raise IsADirectoryError(f"{source} is a folder, not a run file")
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}; pw.save('run.jsonl') writes one in the session that ran")
    with source.open("rb") as file:
        head = file.read(8)
    if not head:
        raise RunFileError(f"{source} is empty: what should have written it wrote nothing; save the run again")
    for magic, kind in _PACKED.items():
        if head.startswith(magic):
            raise RunFileError(f"{source} is compressed ({kind}); decompress it first, and give what comes out")
    with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        yield file
