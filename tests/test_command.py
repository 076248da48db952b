"""``python -m pwlab top``."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

import pwlab as pw
from pwlab.__main__ import main
from pwlab.events import Noted
from pwlab.observe import Run, write_run

SCRIPT = """\
import sys
import jax.numpy as jnp
import pwlab as pw
with pw.lazy():
    x = jnp.ones(4) + 1
print(float(x[0]), sys.argv[1:], __name__)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "nothing to look at. Give a script"),
        (["none.py"], "there is no script none.py"),
        (["none.jsonl"], "there is no recording none.jsonl; pw.save('none.jsonl') writes one"),
        (["--speed", "2", "train.py"], "--speed is for recordings"),
    ],
)
def test_misuse(args: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", *args]) == 2
    err = capsys.readouterr().err
    assert err.startswith("python -m pwlab top: ") and says in err


def test_a_script_runs_with_its_own_arguments(
    session: pw.Session, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, path = list(sys.argv), list(sys.path)
    assert main(["top", str(script), "--speed", "3"]) == 0
    out, err = capsys.readouterr()
    assert out == "2.0 ['--speed', '3'] __main__\n"
    assert err.startswith("pwlab top") and "island0" in err
    assert (sys.argv, sys.path) == (argv, path)


@pytest.mark.parametrize(
    ("ends", "status", "says"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no luck')", 1, "no luck"),
        ("raise KeyboardInterrupt", 130, ""),
        ("1/0", 1, "ZeroDivisionError: division by zero"),
        ("def", 1, "SyntaxError"),
    ],
)
def test_how_a_script_ends(
    session: pw.Session, script: Path, ends: str, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(f"import sys\n{ends}\n", encoding="utf-8")
    assert main(["top", str(script)]) == status
    err = capsys.readouterr().err
    assert says in err and "runpy" not in err


def test_who_reads_only_the_beginning_hears_no_more(script: Path, tmp_path: Path) -> None:
    assert main(["top", str(script)]) == 0
    run = pw.save(tmp_path / "run.jsonl")
    pw.shutdown()
    command = [sys.executable, "-m", "pwlab", "top", str(run)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root) as reads:
        assert reads.stdout is not None and reads.stderr is not None
        reads.stdout.close()
        assert reads.stderr.read() == b"" and reads.wait(60) == 0


def test_a_recording(session: pw.Session, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", str(script)]) == 0
    run = pw.save(tmp_path / "run.jsonl")
    capsys.readouterr()
    assert main(["top", str(run), "--speed", "10"]) == 0
    assert capsys.readouterr().out.startswith("pwlab top")
    assert main(["top", str(run), "--speed", "0"]) == 2
    assert "the speed of a replay is 0; it is above 0" in capsys.readouterr().err
    run.write_text(run.read_text(encoding="ascii")[:-30], encoding="ascii")
    assert main(["top", str(run)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("pwlab top") and "it was cut off while written" in err
    assert "damaged: run.jsonl ends after line" in out
    run.write_text("something", encoding="ascii")
    assert main(["top", str(run)]) == 2
    assert "is no run file" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["run.jsonl.gz", "run.gz", "run"])
def test_a_recording_that_is_compressed_is_no_script(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"{}"))
    assert main(["top", str(path), "--speed", "2"]) == 2
    assert f"{name} is compressed (gzip); decompress it first" in capsys.readouterr().err


def test_a_recording_of_another_name_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run(tmp_path / "run.txt", Run((Noted(0.0, "hello"),)))
    assert main(["top", str(path)]) == 0
    assert capsys.readouterr().out.startswith("pwlab top")


@pytest.mark.parametrize(
    ("name", "says"),
    [("train", "is a folder; name a script or a recording in it"), ("run.jsonl", "is a folder, not a run file")],
)
def test_a_folder_is_neither(name: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).mkdir()
    assert main(["top", str(tmp_path / name)]) == 2
    assert says in capsys.readouterr().err
