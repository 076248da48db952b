"""The calls that keep a run: save, load, replay, save_trace, facts, compare, report, on a session that ran."""

from __future__ import annotations

import html
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import pwlab as pw
from pwlab.errors import DamagedRunFile, RunFileError, SessionClosed, UnknownName
from pwlab.events import NodeEnded, Noted, ProgramOpened, Waited
from pwlab.observe import FACT_COLUMNS, NODE_COLUMNS, Run
from pwlab.records import Form
from pwlab.viz.watch import Played


@pytest.fixture
def ran(session: pw.Session) -> pw.Session:
    """Two programs on two islands, one value moved and waited for."""

    @jax.jit
    def grow(x: jax.Array) -> jax.Array:
        return jnp.sin(x) * 2

    a, b = list(session.slices)[:2]
    for name in ("first", "second"):
        with pw.lazy(name):
            with pw.on(a):
                y = grow(jnp.ones(8))
            with pw.on(b):
                z = grow(pw.shard(y, jax.sharding.PartitionSpec()))
        float(z.sum())
    session.programs.wait(timeout=60)
    return session


def test_a_run_is_saved_and_loaded(ran: pw.Session, tmp_path: Path) -> None:
    path = pw.save(tmp_path / "run.jsonl")
    run = pw.load(path)
    assert list(run.facts) == pw.facts(run=path) and run.missing == 0
    assert [p.name for p in run.model.programs.values()][:2] == ["first", "second"]
    # The wait of this very thread is in it, though the driver hears of it later.
    waits = [fact for fact in run.facts if isinstance(fact, Waited)]
    assert waits and waits[0].source is not None and waits[0].source.cell.endswith("test_records.py")
    assert run.stats.ended and run.model.islands.keys() == {0, 1}


def test_the_header_tells_the_kind_of_machine_and_not_which(ran: pw.Session, tmp_path: Path) -> None:
    head = pw.save(tmp_path / "run.jsonl").read_text().splitlines()[0]
    about = json.loads(head)
    assert about["pwlab"] == pw.__version__ and about["jax"] == jax.__version__
    assert (about["machine"]["devices"], about["machine"]["islands"], about["machine"]["emulated"]) == (8, 2, True)
    assert socket.gethostname() not in head and str(Path.home()) not in head and "/" not in head


def test_dropped_facts_are_told(tmp_path: Path) -> None:
    pw.shutdown()
    session = pw.start(islands=2, devices_per_island=4, keep_facts=4)
    x = jnp.ones(4)
    for _ in range(3):
        with pw.lazy("step"):
            x = x + 1
    session.programs.wait(timeout=60)
    with pytest.warns(
        UserWarning, match=r"of the older facts of this run were no longer kept .* pw\.start\(keep_facts="
    ):
        path = pw.save(tmp_path / "run.jsonl")
    run = pw.load(path)
    assert run.missing > 0 and f"{run.missing:,} older ones missing" in repr(run)
    assert len(run.model.islands) == 2, "what lasts is kept"
    for table in (pw.facts, pw.nodes):
        with pytest.warns(UserWarning, match=r"of the older facts of this run were no longer kept and .* among these"):
            table(run=run)
    pw.shutdown()


def test_every_view_of_a_run_tells_that_its_oldest_detail_is_gone(tmp_path: Path) -> None:
    pw.shutdown()
    pw.start(islands=1, devices_per_island=2, keep_facts=2_000, coalesce_ms=0)
    step = pw.jit(lambda x: x + 1)
    for number in range(30):
        with pw.lazy(f"p{number}"):
            x = jnp.ones(4)
            for _ in range(30):
                x = step(x)
        pw.wait(x)
    with pytest.warns(UserWarning, match="no longer kept"):
        path = pw.save(tmp_path / "run.jsonl")
    run = pw.load(path)
    assert run.whole_from is not None and run.gap is not None and run.begin < run.gap <= run.whole_from < run.end
    told = f"the oldest detail is gone: {run.doubts.partition(': ')[2]}"
    assert "the last " in told and told.endswith(" are whole, and shares are of those")
    replay = pw.replay(path)
    for text in (str(replay), replay.timeline().text, replay.graph().text, replay.timeline().svg, replay.graph().words):
        assert told in " ".join(text.split())
    assert told in pw.report(tmp_path / "run.html", path).read_text(encoding="utf-8")
    assert told in pw.compare(path, path).words and told in pw.compare(path, path).svg
    trace = json.loads(pw.save_trace(tmp_path / "run.json", path).read_text(encoding="utf-8"))
    assert trace["otherData"]["note"] == told
    assert trace["otherData"]["whole_from_us"] == pytest.approx((run.whole_from - run.start) * 1e6)
    early = next(p.name for p in run.model.programs.values() if p.ended is not None and p.ended <= run.whole_from)
    left = "no detail of this is left: it is older than the last "
    both = pw.compare(run, run, programs=(early, "p29"))
    assert left in both.words and "p29: the oldest" not in both.words
    assert {f.texts[0] for f in both.figures} == {"–"} and not any(f.better for f in both.figures)
    assert "no detail is left" in replay.timeline(early).text and "0 launches" not in replay.timeline(early).text
    newest = replay.timeline("p29").text
    assert "31 launches" in newest and "gone" not in newest
    with pytest.raises(UnknownName, match=r"called 'p1'.*; its oldest detail is gone"):
        replay.timeline("p1")
    pw.shutdown()


def test_without_a_session_there_is_nothing_to_save(tmp_path: Path) -> None:
    pw.shutdown()
    for call in (lambda: pw.save(tmp_path / "x"), lambda: pw.save_trace(tmp_path / "x"), pw.facts, pw.nodes,
                 lambda: pw.report(tmp_path / "x")):  # fmt: skip
        with pytest.raises(SessionClosed, match="there is no run: no session has been started, or it was stopped"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_saved_run_needs_no_session(ran: pw.Session, tmp_path: Path) -> None:
    path = pw.save(tmp_path / "run.jsonl")
    pw.shutdown()
    replay = pw.replay(path)
    assert replay.name == "run" and "grow" in replay.timeline("second").text
    assert "grow" in replay.graph().text and pw.replay(replay.run).run is replay.run
    assert "first" in pw.compare(path, replay.run).words or "run against" in pw.compare(path, replay.run).words
    trace = json.loads(pw.save_trace(tmp_path / "run.json", path).read_text(encoding="utf-8"))
    assert {"island0 (4 × cpu)", "island1 (4 × cpu)"} <= {
        e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"
    }
    assert "<h1>run</h1>" in pw.report(tmp_path / "run.html", path).read_text(encoding="utf-8")


def test_a_damaged_file_gives_what_there_is(ran: pw.Session, tmp_path: Path) -> None:
    path = pw.save(tmp_path / "run.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:5], "{", *lines[6:]]) + "\n")
    with pytest.raises(DamagedRunFile, match=r"line 6: this is no JSON: '\{'.*pw\.load\(…, partial=True\)"):
        pw.load(path)
    assert len(pw.load(path, partial=True)) == len(lines) - 3
    assert len(pw.replay(path, partial=True).run) == len(lines) - 3
    run = pw.load(path, partial=True)
    told = "damaged: run.jsonl, line 6: this is no JSON: '{'"
    assert run.doubts == told and repr(run).endswith("damaged)")
    replay = pw.replay(path, partial=True)
    pages = [str(replay), replay.timeline().text, replay.graph().text, pw.compare(run, run).text]
    pages.append(html.unescape(pw.report(tmp_path / "run.html", run).read_text(encoding="utf-8")))
    pages.append(pw.save_trace(tmp_path / "run.json", run).read_text(encoding="utf-8"))
    assert all(told in " ".join(page.split()) for page in pages)
    path.write_text("hello")
    with pytest.raises(RunFileError, match="is no run file"):
        pw.load(path, partial=True)


def test_facts_in_a_list(ran: pw.Session) -> None:
    facts = pw.facts()
    assert [f.name for f in facts if isinstance(f, ProgramOpened)][:2] == ["first", "second"]
    assert isinstance(facts, list) and any(isinstance(f, NodeEnded) for f in facts)


@pytest.mark.parametrize(("form", "library"), [("pandas", "pandas"), ("arrow", "pyarrow")])
def test_nodes_in_a_table(ran: pw.Session, form: Form, library: str) -> None:
    pytest.importorskip(library)
    table = pw.nodes(as_=form)
    names = list(table.columns) if form == "pandas" else table.column_names
    assert names == list(NODE_COLUMNS)
    rows = table.to_dict("list") if form == "pandas" else table.to_pydict()
    assert {"first", "second"} <= set(rows["program"]) and set(rows["state"]) == {"done"}
    grown = [i for i, name in enumerate(rows["name"]) if name == "grow"]
    assert grown and all(rows["end"][i] >= rows["start"][i] >= rows["submitted"][i] >= 0 for i in grown)
    assert all(rows["cell"][i].endswith("test_records.py") and rows["line"][i] > 0 for i in grown)
    assert all(list(rows["devices"][i]) for i in grown)


@pytest.mark.parametrize(("form", "library"), [("pandas", "pandas"), ("arrow", "pyarrow")])
def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, form: Form, library: str) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("pwlab.records.importlib.import_module", missing)
    for name, table in (("facts", pw.facts), ("nodes", pw.nodes)):
        message = rf"pw\.{name}\(as_='{form}'\) needs {library}, which is not installed: pip install {library}"
        with pytest.raises(ImportError, match=message):
            table(as_=form, run=Run(()))


def test_a_form_that_is_none() -> None:
    for table in (pw.facts, pw.nodes):
        with pytest.raises(UnknownName, match=r"no form of a table is called 'panda'; did you mean 'pandas'\?"):
            table(as_="panda", run=Run(()))  # type: ignore[call-overload]


def test_facts_in_an_arrow_table(ran: pw.Session) -> None:
    pytest.importorskip("pyarrow")
    facts, table = pw.facts(), pw.facts(as_="arrow")
    assert table.column_names == list(FACT_COLUMNS) and table.num_rows == len(facts)
    rows = table.to_pylist()
    assert [row["fact"] for row in rows] == [type(fact).__name__ for fact in facts]
    ended = [row for row in rows if row["fact"] == "NodeEnded" and row["name"] == "grow"]
    assert ended and all(row["program"] in ("first", "second") and row["start"] < row["end"] for row in ended)
    assert all(row["state"] == "done" and row["devices"] and row["client"] == "main" for row in ended)
    (wait, *_) = [row for row in rows if row["fact"] == "Waited"]
    assert wait["seconds"] > 0 and wait["text"] and wait["cell"].endswith("test_records.py") and wait["buffers"]
    island = next(row for row in rows if row["fact"] == "IslandKnown")
    assert island["island"] == "island0" and json.loads(island["more"])["island"]["devices"] == [0, 1, 2, 3]
    assert {row["time"] >= 0 for row in rows} == {True}


def test_tables_of_two_runs_fit_together_also_of_an_empty_one(ran: pw.Session) -> None:
    arrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    nothing = Run(())
    for table, columns in ((pw.facts, FACT_COLUMNS), (pw.nodes, NODE_COLUMNS)):
        some, none = table(as_="arrow"), table(as_="arrow", run=nothing)
        assert some.schema == none.schema and none.num_rows == 0
        assert arrow.concat_tables([none, some, some]).num_rows == 2 * some.num_rows > 0
        frames = table(as_="pandas"), table(as_="pandas", run=nothing)
        assert list(frames[0].dtypes) == list(frames[1].dtypes) and list(frames[1].columns) == list(columns)
        assert len(pandas.concat(frames)) == some.num_rows


def test_a_name_that_no_table_can_hold_is_mended() -> None:
    pytest.importorskip("pyarrow")
    (row,) = pw.facts(as_="arrow", run=Run((Noted(0.0, "half \ud83d"),))).to_pylist()
    assert row["text"] == "half ?"


def test_programs_are_compared_by_name(ran: pw.Session, tmp_path: Path) -> None:
    view = pw.compare("first", "second")
    assert view.text.splitlines()[0].split() == ["first", "second"]
    assert "<svg" in view.svg and view._repr_html_().startswith("<div")
    again = pw.compare("first", "first").text
    assert "first (first)" in again and "first (second)" in again
    with pytest.raises(UnknownName, match=r"called 'secnd'; did you mean 'second'\?"):
        pw.compare("first", "secnd")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.jsonl; pw\.save"):
        pw.compare("first", str(tmp_path / "none.jsonl"))
    with pytest.raises(ValueError, match=r"what is compared is the name of a file, such as 'run\.jsonl', not 3"):
        pw.compare("first", 3)  # type: ignore[arg-type]


def test_what_is_no_program_may_be_a_file_of_another_name(
    ran: pw.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pw.save("first")
    pw.save("other")
    assert pw.compare("first", "other").text.split()[:2] == ["first", "other"]
    assert "1 program" not in pw.compare("other", "other").words
    pw.shutdown()
    assert pw.compare("first", "other").text.split()[:2] == ["first", "other"]
    Path("other").write_bytes(b"\x1f\x8b packed")
    with pytest.raises(RunFileError, match=r"other is compressed \(gzip\)"):
        pw.compare("first", "other")
    with pytest.raises(SessionClosed, match="there is no file 'third', nor a program of that name: no session has"):
        pw.compare("first", "third")


@pytest.mark.parametrize("call", [pw.save, pw.save_trace, pw.report])
def test_a_file_is_written_whole_or_not_at_all(
    ran: pw.Session, tmp_path: Path, call: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = call(tmp_path / "out")
    before = path.read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/out'$"):
        call(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere for x; make it first"):
        call(tmp_path / "nowhere" / "x")
    for bad in ("", 3, None):
        with pytest.raises(ValueError, match=r"path is the name of a file, such as 'run\.jsonl', not "):
            call(bad)


def test_the_report_of_the_session(ran: pw.Session, tmp_path: Path) -> None:
    page = pw.report(tmp_path / "run.html", title="<Lesson> 3").read_text(encoding="utf-8")
    assert "<h1>&lt;Lesson&gt; 3</h1>" in page and "grow" in page and "device" in page


def test_programs_of_files_are_chosen_by_name_and_pattern(ran: pw.Session, tmp_path: Path) -> None:
    path = pw.save(tmp_path / "run.jsonl")
    whole = {row.name: row.values for row in pw.compare(path, path).figures}
    view = pw.compare(path, path, programs=("first", "*"))
    assert view.words.startswith("first against *, on one time axis")
    launches = next(row.values for row in view.figures if row.name == "launches")
    assert 0 < launches[0] < launches[1] == whole["launches"][1]
    assert "run (first) against run (second)" in pw.compare(path, path, "first").words
    both = pw.compare(path, pw.load(path), programs=("first", None))
    assert both.words.startswith("run against second run") and both.text.splitlines()[1].split() == [
        "policy",
        "fifo",
        "fifo",
    ]
    assert pw.compare("*", "first").words.startswith("* against first"), "a pattern of programs of the session"


def test_what_cannot_be_chosen_is_told(ran: pw.Session, tmp_path: Path) -> None:
    path = pw.save(tmp_path / "run.jsonl")
    with pytest.raises(UnknownName, match=r"no program of this run is called 'thrid\*'"):
        pw.compare(path, path, programs="thrid*")
    with pytest.raises(ValueError, match=r"'first' names programs of the session; programs='second' chooses from a"):
        pw.compare("first", path, programs="second")
    for wrong in (("a", "b", "c"), ("a", 3), 5):
        with pytest.raises(ValueError, match=r"programs is a name or a pattern, or two of these, one for each side, n"):
            pw.compare(path, path, programs=wrong)  # type: ignore[arg-type]


def test_a_file_names_the_policy_and_the_dispatch(tmp_path: Path) -> None:
    pw.shutdown()
    session = pw.start(islands=2, devices_per_island=4, dispatch="sequential")
    session.policy = "shortest"
    with pw.lazy("step"):
        x = jnp.ones(4) + 1
    pw.wait(x)
    path = pw.save(tmp_path / "run.jsonl")
    pw.shutdown()
    assert "policy shortest, sequential dispatch" in pw.compare(path, path).svg
    assert Played(pw.load(path)).last().glance.policy == "shortest"
