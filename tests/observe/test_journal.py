"""The run file: what is written comes back, and what cannot be read says where and costs nothing else."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pwlab.errors import DamagedRunFile, RunFileError
from pwlab.events import Fact, NodeAdded, NodeEnded, NodeMoved, NodeState, Noted, Waited
from pwlab.ids import NodeId
from pwlab.observe import Run, lines_of, read_run, write_run
from pwlab.observe.codec import SCHEMA, encode
from pwlab.observe.sound import LATE, Soundness
from tests.viz import runs

from .facts import facts as any_fact

FACTS: tuple[Fact, ...] = (Noted(1.0, "one"), Noted(2.0, "two"), Noted(3.0, "three"))


def written(tmp_path: Path, change: dict[int, str | None] | None = None) -> Path:
    """A run file of three facts with some of its lines, numbered from 1, changed or taken away."""
    lines: list[str | None] = [*lines_of(Run(FACTS, 7, {"pwlab": "0.1.0"}))]
    for number, line in (change or {}).items():
        lines[number - 1] = line
    path = tmp_path / "run.jsonl"
    path.write_text("".join(line + "\n" for line in lines if line is not None))
    return path


def true(facts: list[Fact]) -> tuple[Fact, ...]:
    """Those that can be true, in an order in which they can have been told."""
    sound = Soundness()
    return tuple(fact for fact in facts if not sound.untrue(fact) and not sound.misplaced(fact))


@settings(max_examples=50)
@given(st.lists(any_fact(), max_size=20), st.integers(0, 10**12), st.none() | st.floats(-1e9, 1e9), st.text())
def test_any_run_round_trips(facts: list[Fact], missing: int, gap: float | None, damage: str) -> None:
    run = Run(true(facts), missing, {"machine": {"devices": 8}}, gap, damage)
    with tempfile.TemporaryDirectory() as folder:
        read = read_run(write_run(Path(folder, "run.jsonl"), run))
    assert read == replace(run, about={"schema": SCHEMA, "machine": {"devices": 8}})


def test_it_is_json_lines_in_ascii(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.jsonl", Run((Noted(0.0, "ein\u2028zwei\n🎉"),), 0, {"pwlab": "0.1.0"}))
    head, fact, tail = path.read_bytes().decode("ascii").splitlines()
    assert json.loads(head) == {"format": "pwlab run", "schema": SCHEMA, "pwlab": "0.1.0"}
    assert json.loads(fact) == {"is": "Noted", "time": 0.0, "text": "ein\u2028zwei\n🎉"}
    assert json.loads(tail) == {"end": {"facts": 1, "missing": 0}}


def test_an_error_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.read_bytes()
    with pytest.raises(KeyError):
        write_run(path, Run((object(),)))  # type: ignore[arg-type]
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_the_model_and_the_numbers_are_those_of_the_facts(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run.jsonl", Run(tuple(runs.run()))))
    assert [program.name for program in run.model.programs.values()] == ["train_step"]
    assert run.stats.wait_count == 2
    assert (run.start, run.begin) == (0.0, 1.0) and run.end == 1.0 + run.seconds > 1.01
    assert len(run.at(0.0).nodes) == len(runs.NODES) and not run.at(0.0).nodes[NodeId(1)].state.ended
    assert len(run.between(0.0, run.seconds)) + len(run.between(-2.0, 0.0)) == len(run) == len(list(run))
    assert repr(Run(FACTS, 4)) == "Run(3 facts over 2 s, 4 older ones missing)"
    assert repr(Run(FACTS, damage="cut")) == "Run(3 facts over 2 s, damaged)"


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
    with pytest.raises(RunFileError, match=r"empty is empty: .* wrote nothing; save the run again"):
        read_run(path)


@pytest.mark.parametrize(("packed", "kind"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")])
def test_a_compressed_file_says_so(tmp_path: Path, packed: Callable[[bytes], bytes], kind: str) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(packed(written(tmp_path).read_bytes()))
    with pytest.raises(RunFileError, match=rf"run\.jsonl\.gz is compressed \({kind}\); decompress it first"):
        read_run(path)


def test_a_mark_of_utf_8_and_line_ends_of_windows_do_no_harm(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = read_run(path)
    path.write_bytes("\ufeff".encode() + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_run(path) == before


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"is a folder, not a run file"):
        read_run(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*train; pw\.save\('run\.jsonl'\) writes one"):
        read_run(tmp_path / "train")
    for path in ("", 3, None, b"run.jsonl", "a\0b"):
        with pytest.raises(ValueError, match=r"path is the name of a file, such as 'run\.jsonl', not "):
            read_run(path)  # type: ignore[arg-type]


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
    with pytest.raises(
        RunFileError, match="its header names no schema version, and versions are whole numbers from 1 on"
    ):
        read_run(written(tmp_path, {1: '{"format":"pwlab run"}'}))
    with pytest.raises(RunFileError, match="its header names the schema version 0, and versions"):
        read_run(written(tmp_path, {1: '{"format":"pwlab run","schema":0}'}))


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
    damage = f"run.jsonl, line 3: {why}"
    assert error.line == 3 and error.run == Run(
        (FACTS[0], FACTS[2]), 7, {"schema": SCHEMA, "pwlab": "0.1.0"}, None, error.run.damage
    )
    assert error.run.damage.startswith(damage) and str(tmp_path) not in error.run.damage


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


# --- what cannot be true ------------------------------------------------------------------------

N = NodeId(7)
ADDED = NodeAdded(1.0, runs.P, runs.node(7, "f", runs.A))


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (Noted(float("nan"), "x"), "Noted.time is nan, which is no time"),
        (Noted(float("inf"), "x"), "Noted.time is inf, which is no time"),
        (Waited(1.0, -2.0, "float(x)", None), "Waited.seconds is -2.0, and nothing lasts less than 0 seconds"),
        (NodeEnded(2.0, N, NodeState.DONE, 1.5, 1.0), "node 7 ends 500 ms before it starts"),
        (NodeEnded(-2.0, N, NodeState.DONE, 1.5, 2.0), "node 7 ends 4.00 s after it was told to have ended"),
    ],
)
def test_a_fact_that_cannot_be_true_is_left_out_and_told(tmp_path: Path, fact: Fact, why: str) -> None:
    with pytest.raises(DamagedRunFile) as caught:
        read_run(written(tmp_path, {3: json.dumps(encode(fact))}))
    assert f"run.jsonl, line 3: {why}. 2 facts were readable" in str(caught.value)
    assert caught.value.run.facts == (FACTS[0], FACTS[2]) and caught.value.run.doubts.startswith(
        f"damaged: run.jsonl, line 3: {why}"
    )


@pytest.mark.parametrize(
    ("facts", "line", "why"),
    [
        ((NodeMoved(1.0, N, NodeState.PREPARED), ADDED), 3, "node 7 is added after it moved or ended"),
        ((Noted(LATE + 4.0, "x"), Noted(1.5, "y")), 3, "time runs back by 62.5 s"),
    ],
)
def test_lines_out_of_order_are_told(tmp_path: Path, facts: tuple[Fact, ...], line: int, why: str) -> None:
    path = write_run(tmp_path / "run.jsonl", Run(facts))
    with pytest.raises(
        DamagedRunFile, match=rf"line {line}: {why}: lines are out of order\. 2 facts were readable"
    ) as e:
        read_run(path)
    assert e.value.run.facts == facts


def test_threads_that_tell_a_little_late_do_no_harm(tmp_path: Path) -> None:
    facts = (ADDED, Waited(1.0, 8.0, "float(x)", None), NodeMoved(6.0, N, NodeState.LAUNCHED), Noted(5.0, "late"))
    assert read_run(write_run(tmp_path / "run.jsonl", Run(facts))).damage == ""


# --- writing --------------------------------------------------------------------------------------


def test_what_cannot_be_written_says_why_and_names_the_file(tmp_path: Path) -> None:
    run = Run(FACTS)
    with pytest.raises(FileNotFoundError, match=r"^there is no folder .*nowhere for x\.jsonl; make it first$"):
        write_run(tmp_path / "nowhere" / "x.jsonl", run)
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file in it$"):
        write_run(tmp_path, run)
    with pytest.raises(ValueError, match=r"path is the name of a file, such as 'run\.jsonl', not ''"):
        write_run("", run)
    long = tmp_path / ("x" * 300)
    with pytest.raises(OSError, match=r"too long: '.*/x+'$"):
        write_run(long, run)


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path: Path) -> None:
    path, link = tmp_path / "run.jsonl", tmp_path / "newest.jsonl"
    link.symlink_to(path)
    assert write_run(link, Run(FACTS)) == link and link.is_symlink() and len(read_run(path)) == 3
    assert str(write_run("/dev/null", Run(FACTS))) == "/dev/null" and Path("/dev/null").is_char_device()
    assert sorted(tmp_path.iterdir()) == [link, path]
