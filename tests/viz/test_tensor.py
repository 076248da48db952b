"""How lazy tensors show themselves."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from pwlab.ids import Source
from pwlab.lazy import TensorInfo
from pwlab.viz import lazy_html, lazy_text

from .test_svg import NASTY

HERE = Source("Cell In[4]", 2, "y = x @ w")


def drawn(html: str) -> str:
    """The SVG of the picture in it."""
    found = re.search(r"src=\"data:image/svg\+xml;base64,([^\"]*)", html)
    return base64.b64decode(found[1]).decode() if found else "<svg/>"


def test_the_text_form() -> None:
    info = TensorInfo("f32", (8, 128), "a", "queued", HERE)
    assert lazy_text(info) == "LazyTensor f32[8,128] · slice a · queued · Cell In[4]:2"
    ready = TensorInfo("f32", (), "a", "ready", preview="3.0")
    assert lazy_text(ready) == "LazyTensor f32[] · slice a · ready\n3.0"
    failed = TensorInfo("f32", (), "a", "failed", error="out of memory", preview="3.0")
    assert lazy_text(failed).endswith("failed\nout of memory")


def test_what_only_depends_on_what_failed_says_what_that_was() -> None:
    own = TensorInfo("f32", (), "a", "failed", HERE, error="ValueError: no luck", failed="load", failed_at=HERE)
    assert lazy_text(own).splitlines()[1] == "ValueError: no luck"
    later = replace(own, source=Source("Cell In[5]", 1, "z = y + 1"))
    says = "load at Cell In[4]:2 failed first: ValueError: no luck"
    assert lazy_text(later).splitlines()[1] == says and says in lazy_html(later)


def test_a_sharded_tensor_shows_who_holds_what() -> None:
    info = TensorInfo("f32", (8, 128), "a", "running", HERE, True, "P('x', 'y')", 4096, grid=(2, 2),
                    holders=((0, 1), (2, 3), (4, 5), (6, 7)))  # fmt: skip
    text = lazy_html(info)
    assert re.findall(r"<text[^>]*>([^<]*)</text>", drawn(text)) == ["0–1", "2–3", "4–5", "6–7"]
    assert "<svg" not in text, "a sanitiser would leave its texts"
    assert (
        'alt="2 by 2 parts; each shows the devices that hold it"' in text
        and "P(&#x27;x&#x27;, &#x27;y&#x27;)" in text
        and "4.0 KB" in text
    )


@pytest.mark.parametrize(
    ("grid", "count", "seen"),
    [((4,), 4, 4), ((1, 4, 1), 4, 4), ((2, 2, 2), 8, 4), ((), 1, 0), ((4,), 3, 0), ((1024,), 1024, 0)],
)
def test_grids_of_other_shapes(grid: tuple[int, ...], count: int, seen: int) -> None:
    info = TensorInfo("f32", (8,) * len(grid), spread=True, grid=grid,
                    holders=tuple((d,) for d in range(count)))  # fmt: skip
    assert drawn(lazy_html(info)).count("<rect") == seen


@pytest.mark.parametrize("name", NASTY)
def test_everything_is_escaped(name: str) -> None:
    source = Source(name, 1, name)
    for error in ("", name):
        info = TensorInfo(name, (1,), name, name, source, True, name, 1, name, error, (1,), ((0,),))
        for made in (info, replace(info, failed=name, failed_at=HERE)):
            text = lazy_html(made)
            ElementTree.fromstring(re.sub(r"(<img[^>]*)>", r"\1/>", text))
            ElementTree.fromstring(drawn(text))
            assert "<script" not in text and len(text) < 20_000
            assert len(lazy_text(made)) < 3_000
