"""How lazy tensors show themselves."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pwlab.ids import Source
from pwlab.lazy import TensorInfo
from pwlab.viz import lazy_html, lazy_text

from .test_svg import NASTY

HERE = Source("Cell In[4]", 2, "y = x @ w")


def test_the_text_form() -> None:
    info = TensorInfo("f32", (8, 128), "a", "queued", HERE)
    assert lazy_text(info) == "LazyTensor f32[8,128] · slice a · queued · Cell In[4]:2"
    ready = TensorInfo("f32", (), "a", "ready", preview="3.0")
    assert lazy_text(ready) == "LazyTensor f32[] · slice a · ready\n3.0"
    failed = TensorInfo("f32", (), "a", "failed", error="out of memory", preview="3.0")
    assert lazy_text(failed).endswith("failed\nout of memory")


def test_a_sharded_tensor_shows_who_holds_what() -> None:
    info = TensorInfo("f32", (8, 128), "a", "running", HERE, True, "P('x', 'y')", 4096, grid=(2, 2),
                    holders=((0, 1), (2, 3), (4, 5), (6, 7)))  # fmt: skip
    text = lazy_html(info)
    assert re.findall(r"<text[^>]*>([^<]*)</text>", text) == ["0–1", "2–3", "4–5", "6–7"]
    assert "2 by 2 parts" in text and "P(&#x27;x&#x27;, &#x27;y&#x27;)" in text and "4.0 KB" in text


@pytest.mark.parametrize(
    ("grid", "count", "seen"),
    [((4,), 4, 4), ((1, 4, 1), 4, 4), ((2, 2, 2), 8, 4), ((), 1, 0), ((4,), 3, 0), ((1024,), 1024, 0)],
)
def test_grids_of_other_shapes(grid: tuple[int, ...], count: int, seen: int) -> None:
    info = TensorInfo("f32", (8,) * len(grid), spread=True, grid=grid,
                    holders=tuple((d,) for d in range(count)))  # fmt: skip
    assert lazy_html(info).count("<rect") == seen


@pytest.mark.parametrize("name", NASTY)
def test_everything_is_escaped(name: str) -> None:
    source = Source(name, 1, name)
    for error in ("", name):
        info = TensorInfo(name, (1,), name, name, source, True, name, 1, name, error, (1,), ((0,),))
        text = lazy_html(info)
        ElementTree.fromstring(text)
        assert "<script" not in text and len(text) < 20_000
        assert len(lazy_text(info)) < 3_000
