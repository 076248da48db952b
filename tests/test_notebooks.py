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
        for output in cell.get("outputs", []):
            texts.append(output.get("text", "") or output.get("data", {}).get("text/plain", ""))
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
}


def test_it_shows_what_it_says(executed: tuple[str, Any]) -> None:
    name, book = executed
    text = printed(book)
    for pattern in SHOWN[name]:
        assert re.search(pattern, text), f"{pattern!r} is not in what {name} shows:\n{text}"


def test_graphs_are_pictures_and_text(executed: tuple[str, Any]) -> None:
    _, book = executed
    graphs = [c for c in book.cells if c.cell_type == "code" and c.source.startswith("%pw graph")]
    assert graphs
    for cell in graphs:
        data = cell.outputs[0]["data"]
        assert "svg" in data["text/html"]
        assert "done" in data["text/plain"]


def test_nothing_was_written_to_stderr(executed: tuple[str, Any]) -> None:
    _, book = executed
    for cell in book.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output["text"]


def test_notebooks_are_kept_without_outputs() -> None:
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs"), f"{path.name}: clear the outputs before committing"
