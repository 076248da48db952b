"""The run file: what is written comes back, and what cannot be read says where and costs nothing else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.errors import DamagedRunFile, RunFileError
from pwlab.events import Fact, Noted, Waited
from pwlab.observe import Run, lines_of, read_run, write_run
from pwlab.observe.codec import SCHEMA
from tests.viz import runs

from .facts import facts as any_fact

FACTS: tuple[Fact, ...] = (Noted(1.0, "one"), Noted(2.0, "two"), Noted(3.0, "three"))


def written(tmp_path: Path, change: dict[int, str | None] | None = None) -> Path:
    """A run file of three facts with some of its lines, numbered from 1, changed or taken away."""
    lines: list[str | None] = [*lines_of(FACTS, {"pwlab": "0.1.0"}, missing=7)]
    for number, line in (change or {}).items():
        lines[number - 1] = line
    path = tmp_path / "run.jsonl"
    path.write_text("".join(line + "\n" for line in lines if line is not None))
    return path


@settings(max_examples=50)
@given(st.lists(any_fact(), max_size=20), st.integers(0, 10**12))
def test_any_run_round_trips(facts: list[Fact], missing: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_run(Path(folder, "run.jsonl"), facts, {"machine": {"devices": 8}}, missing)
        run = read_run(path)
    assert list(run.facts) == facts and run.missing == missing
    assert run.about == {"schema": SCHEMA, "machine": {"devices": 8}}


def test_it_is_json_lines_in_ascii(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", [Noted(0.0, "ein\u2028zwei\n🎉")], {"pwlab": "0.1.0"})
    head, fact, tail = path.read_bytes().decode("ascii").splitlines()
    assert json.loads(head) == {"format": "pwlab run", "schema": SCHEMA, "pwlab": "0.1.0"}
    assert json.loads(fact) == {"is": "Noted", "time": 0.0, "text": "ein\u2028zwei\n🎉"}
    assert json.loads(tail) == {"end": {"facts": 1, "missing": 0}}


def test_an_error_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.read_bytes()
    with pytest.raises(KeyError):
        write_run(path, [object()], {})  # type: ignore[list-item]
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_the_model_and_the_numbers_are_those_of_the_facts(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run.jsonl", runs.run(), {}))
    assert [program.name for program in run.model.programs.values()] == ["train_step"]
    assert run.stats.wait_count == 2
    assert run.start == 0.0 and run.end > 1.0
    assert not run.at(0.5).nodes and len(run.at(1.0).nodes) == len(runs.NODES)
    assert len(run.between(0.0, run.seconds)) + len(run.between(-1.0, 0.0)) == len(run) == len(list(run))
    assert repr(Run(FACTS, 4)) == "Run(3 facts over 2 s, 4 older ones missing)"


def test_waits_last_beyond_their_fact() -> None:
    assert Run((Waited(1.0, 4.0, "float(x)", None),)).seconds == 4.0
    assert Run(()).seconds == 0.0


@pytest.mark.parametrize("line", ["", "hello", "[]", '{"format":"other"}', "\x00\x01", '{"is":"Noted"}'])
def test_another_file_is_no_run_file(tmp_path: Path, line: str) -> None:
    with pytest.raises(RunFileError, match=r"run\.jsonl is no run file: its first line is not a header of the format"):
        read_run(written(tmp_path, {1: line}))


def test_an_empty_file_is_no_run_file(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(RunFileError, match="is no run file"):
        read_run(path)


def test_binary_is_no_run_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(RunFileError, match="is no run file"):
        read_run(path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    newer = f'{{"format":"pwlab run","schema":{SCHEMA + 1},"pwlab":"9.9"}}'
    with pytest.raises(RunFileError) as caught:
        read_run(written(tmp_path, {1: newer}))
    assert f"has schema version {SCHEMA + 1}, this pwlab reads up to {SCHEMA}; update pwlab" in str(caught.value)
    assert "(it was written by version 9.9)" in str(caught.value)
    with pytest.raises(RunFileError, match="its header names no schema version"):
        read_run(written(tmp_path, {1: '{"format":"pwlab run"}'}))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"is":"Noted","time":2.0', 'this is no JSON: \'{"is":"Noted","time":2.0\''),
        ("", "the line is empty"),
        ('{"is":"Noted","time":2.0}', "Noted lacks text"),
        ("[" * 100_000, "this is no JSON"),
    ],
)
def test_a_damaged_line_is_named_and_the_rest_is_kept(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(DamagedRunFile) as caught:
        read_run(written(tmp_path, {3: line}))
    error = caught.value
    assert f"run.jsonl, line 3: {why}" in str(error)
    assert str(error).endswith("2 facts were readable; pw.load(…, partial=True) gives what there is")
    assert error.line == 3 and error.run == Run((FACTS[0], FACTS[2]), 7, {"schema": SCHEMA, "pwlab": "0.1.0"})


def test_several_damaged_lines_are_counted(tmp_path: Path) -> None:
    with pytest.raises(DamagedRunFile, match=r"line 2: .*\(and 2 other damaged lines: 3, 4\)\. 0 facts were readable"):
        read_run(written(tmp_path, {2: "x", 3: "y", 4: "z"}))


def test_a_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    whole = written(tmp_path)
    text = whole.read_text()
    for cut in (text[: text.index("three")], text[: text.index('{"end"')], text[:-5]):
        whole.write_text(cut)
        with pytest.raises(
            DamagedRunFile, match=r"run\.jsonl ends after line \d .* cut off while written\. \d facts? w"
        ) as e:
            read_run(whole)
        assert e.value.line == len(cut.splitlines()) and len(e.value.run.facts) in (2, 3)
    whole.write_text(text.splitlines()[0])
    with pytest.raises(DamagedRunFile, match="ends after line 1 "):
        read_run(whole)


def test_lines_that_are_lost_or_added_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(DamagedRunFile, match="should hold 3 facts; lines were removed or added"):
        read_run(written(tmp_path, {3: None}))
    path = written(tmp_path)
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(DamagedRunFile, match="line 6: something stands after the end"):
        read_run(path)
