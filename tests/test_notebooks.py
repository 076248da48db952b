"""Every notebook is executed, cell by cell, in a kernel; what it shows is right."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def executed(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """(name, notebook with outputs).  An exception in a cell fails the test."""
    path: Path = request.param
    book = nbformat.read(path, as_version=4)
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "magics"), *filter(None, [before])])
    try:
        NotebookClient(book, timeout=300, kernel_name="python3").execute()
    finally:
        os.environ["PYTHONPATH"] = before
    return path.stem, book


def printed(book: Any) -> str:
    """All that the cells printed and showed as text."""
    texts: list[str] = []
    for cell in book.cells:
        printing = False  # what a cell prints may come in pieces
        for output in cell.get("outputs", []):
            text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
            if printing and output.output_type == "stream":
                texts[-1] += text
            else:
                texts.append(text)
            printing = output.output_type == "stream"
    return "\n".join(texts)


#: What must be found in what each notebook prints.
SHOWN = {
    "01_quickstart": [
        r"array\(\[3\., 5\.\], dtype=float32\), array\(\[2\., 4\.\]",
        r"LazyTensor f32\[64,128\] · slice model · \w+ · Cell In\[7\]:7",
        r"loss after 100 steps: 0\.\d{3}",
        r"accuracy on unseen digits: 9[5-9]\.\d%",
    ],
    "02_lazy_tensors": [
        r"LazyTensor f32\[8\] · slice island0 · \w+ · Cell In\[3\]:3",
        r"the sum is 7\.266",
        r"bool\(x\) at Cell In\[13\], line 4 needs a value inside a pathways cell",
        r"`pure_callback`, recorded at Cell In\[17\], line 7, failed",
        r"ValueError: no such file: shard-17",
        r"was released at Cell In\[19\], line 2",
        r"\[ 2\. 10\. 18\. 26\. 34\. 42\. 50\. 58\.\]",
    ],
    "03_gang_scheduling": [
        r"'allreduce_add' of program \d+ 'second' \(Cell In\[7\], line 2\) waits, because all launches are paused",
        r"alice .* 4 .*\nbob .* 4 ",
        r"(launched: allreduce_add of first \(client alice\)\n){2}",
        r"(launched: allreduce_add of second \(client bob\)\n){3}",
        r"\nfifo +a{8}B{8}\nproportional +a[aB]{12}aaa\npriority +B{8}a{8}\nshortest +[aB]{16} ",
        r"\n(aB){8}\n",
        r"the scheduling policy 'confused' raised IndexError: tuple index out of range; it was removed",
        r"sequential +parallel\s+wall .*s",
    ],
    "04_many_clients": [
        r"16 clients +pwlab +[\d,]+ a second +█+\n +JAX +[\d,]+ a second +░+",
        r"32 programs\n.* 32 launches of 128 computations · 32 transfers",
        r"30 programs\n.* 30 launches of 120 computations · 30 transfers",
        r"asked 1 : 1 : 1 : 1\n  c0  asked  25%  got +\d+%",
        r"asked 1 : 2 : 4 : 8\n  c0  asked   7%  got +\d+%",
        r"big +carol +Cell In\[19\]:2 ",
        r"'big' of program \d+ 'more' .* waits for memory: chip 0 is short by 7\d\d KB",
        r"'big' writes 1\.1 MB on chip 0, which may hold 1\.0 MB: it can never run there, short by 148 KB",
        r"'big' writes 391 KB, but client 'dave' may hold 195 KB \(max_bytes\)",
        r"dave: 16\.0\s+'allreduce_add×16' of program \d+ 'chain' .* waits, because client 'carol' is\s+suspended",
        r"carol: 16\.0",
        r"the same values: True",
        r"block +4–5 +■ ■",
    ],
}


def test_it_shows_what_it_says(executed: tuple[str, Any]) -> None:
    name, book = executed
    text = printed(book)
    for pattern in SHOWN[name]:
        assert re.search(pattern, text), f"{pattern!r} is not in what {name} shows:\n{text}"


def test_graphs_and_timelines_are_pictures_and_text(executed: tuple[str, Any]) -> None:
    _, book = executed
    graphs = [c for c in book.cells if c.cell_type == "code" and c.source.startswith(("%pw graph", "%pw timeline"))]
    assert graphs
    for cell in graphs:
        data = cell.outputs[0]["data"]
        assert "svg" in data["text/html"]
        assert ("done" if "graph" in cell.source else "launches") in data["text/plain"]


def test_nothing_was_written_to_stderr(executed: tuple[str, Any]) -> None:
    _, book = executed
    for cell in book.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output["text"]


def test_notebooks_are_kept_without_outputs() -> None:
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs"), f"{path.name}: clear the outputs before committing"
