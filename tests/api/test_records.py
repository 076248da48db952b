"""The calls that keep a run: save, load, replay, save_trace, facts, compare, report, on a session that ran."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import pwlab as pw
from pwlab.errors import DamagedRunFile, RunFileError, SessionClosed, UnknownName
from pwlab.events import NodeEnded, ProgramOpened, Waited
from pwlab.observe import COLUMNS, Run


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
    pw.shutdown()


def test_without_a_session_there_is_nothing_to_save(tmp_path: Path) -> None:
    pw.shutdown()
    for call in (lambda: pw.save(tmp_path / "x"), lambda: pw.save_trace(tmp_path / "x"), lambda: pw.facts(),
                 lambda: pw.report(tmp_path / "x"), lambda: pw.compare("a", "b")):  # fmt: skip
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
    path.write_text("hello")
    with pytest.raises(RunFileError, match="is no run file"):
        pw.load(path, partial=True)


def test_facts_in_a_list(ran: pw.Session) -> None:
    facts = pw.facts()
    assert [f.name for f in facts if isinstance(f, ProgramOpened)][:2] == ["first", "second"]
    assert isinstance(facts, list) and any(isinstance(f, NodeEnded) for f in facts)


@pytest.mark.parametrize(("form", "library"), [("pandas", "pandas"), ("arrow", "pyarrow")])
def test_facts_in_a_table(ran: pw.Session, form: str, library: str) -> None:
    pytest.importorskip(library)
    table = pw.facts(as_=form)  # type: ignore[call-overload]
    names = list(table.columns) if form == "pandas" else table.column_names
    assert names == list(COLUMNS)
    rows = table.to_dict("list") if form == "pandas" else table.to_pydict()
    assert {"first", "second"} <= set(rows["program"]) and set(rows["state"]) == {"done"}
    grown = [i for i, name in enumerate(rows["name"]) if name == "grow"]
    assert grown and all(rows["end"][i] >= rows["start"][i] >= rows["submitted"][i] >= 0 for i in grown)
    assert all(rows["cell"][i].endswith("test_records.py") and rows["line"][i] > 0 for i in grown)
    assert all(list(rows["devices"][i]) for i in grown)


@pytest.mark.parametrize(("form", "library"), [("pandas", "pandas"), ("arrow", "pyarrow")])
def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, form: str, library: str) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("pwlab.records.importlib.import_module", missing)
    message = rf"pw\.facts\(as_='{form}'\) needs {library}, which is not installed: pip install {library}"
    with pytest.raises(ImportError, match=message):
        pw.facts(as_=form, run=Run(()))  # type: ignore[call-overload]


def test_a_form_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"facts come as_=None, 'pandas' or 'arrow', not 'excel'"):
        pw.facts(as_="excel", run=Run(()))  # type: ignore[call-overload]


def test_programs_are_compared_by_name(ran: pw.Session, tmp_path: Path) -> None:
    view = pw.compare("first", "second")
    assert view.text.splitlines()[0].split() == ["first", "second"]
    assert "<svg" in view.svg and view._repr_html_().startswith("<div")
    again = pw.compare("first", "first").text
    assert "first (first)" in again and "first (second)" in again
    with pytest.raises(UnknownName, match=r"called 'secnd'; did you mean 'second'\?"):
        pw.compare("first", "secnd")
    with pytest.raises(FileNotFoundError):
        pw.compare("first", str(tmp_path / "none.jsonl"))


def test_the_report_of_the_session(ran: pw.Session, tmp_path: Path) -> None:
    page = pw.report(tmp_path / "run.html", title="<Lesson> 3").read_text(encoding="utf-8")
    assert "<h1>&lt;Lesson&gt; 3</h1>" in page and "grow" in page and "device" in page
