"""The JavaScript: its own tests, the layout that it shares with Python, and the bundle that is committed."""

from __future__ import annotations

import ast
import inspect
import json
import random
import re
import shutil
import subprocess
from types import ModuleType

import pytest

from pwlab.viz.dashboard import encode, replayed, widget
from pwlab.viz.layout import Item, place

from .runs import JS, NODE, needs_node

TOOLS = [JS / "node_modules" / name for name in ("esbuild", "typescript")]
STATIC = JS.parent / "dashboard" / "static"


def graph(seed: int, count: int) -> tuple[list[Item], list[tuple[int, int]], list[float], list[int]]:
    chance = random.Random(seed)
    lanes = chance.randint(1, 5)
    items = [
        Item(chance.randrange(lanes), float(chance.randint(90, 200)), chance.choice([24.0, 46.0])) for _ in range(count)
    ]
    edges: dict[tuple[int, int], None] = {}
    for b in range(1, count):
        for _ in range(chance.randint(0, 3)):
            edges[chance.randrange(max(0, b - 30), b), b] = None
    gaps = [0] + [chance.randint(0, 1) for _ in range(lanes - 1)]
    return items, list(edges), [100.0] * lanes, gaps


@needs_node
def test_the_layout_is_that_of_python() -> None:
    cases = [graph(seed, count) for seed in range(40) for count in (0, 1, 5, 40, 150)]
    given = json.dumps([(items, edges, widths, gaps) for items, edges, widths, gaps in cases])
    done = subprocess.run(
        [NODE or "node", JS / "check" / "place.mjs"], input=given, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    for case, theirs in zip(cases, json.loads(done.stdout), strict=True):
        ours = place(*case)
        near = {"abs": 1e-6, "rel": 0}
        assert [x for at in theirs["at"] for x in at] == pytest.approx([x for at in ours.at for x in at], **near)
        assert [x for lane in theirs["lanes"] for x in lane] == pytest.approx(
            [x for a in ours.lanes for x in a], **near
        )
        assert (theirs["width"], theirs["height"]) == pytest.approx((ours.width, ours.height), **near)
        for path, edge in zip(theirs["paths"], case[1], strict=True):
            assert [x for p in path for x in p] == pytest.approx([x for p in ours.paths[edge] for x in p], **near)


@needs_node
def test_its_own_tests() -> None:
    tests = sorted((JS / "test").glob("*.test.js"))
    done = subprocess.run([NODE or "node", "--test", *tests], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("bundle", [widget, replayed], ids=["dashboard", "replay"])
def test_a_bundle_is_small_and_fetches_nothing(bundle: ModuleType) -> None:
    assert len((bundle.JAVASCRIPT + bundle.STYLE).encode()) < 100_000
    for word in ("https://", "import(", "innerHTML", "eval("):
        assert word not in bundle.JAVASCRIPT
    # The one address is a name: that of SVG, in a picture made here.
    assert re.findall("http://[^\"']*", bundle.JAVASCRIPT) == ["http://www.w3.org/2000/svg"]


def test_a_bundle_holds_what_it_needs_alone() -> None:
    """A page of a session has no player, and a replay nobody to call."""
    assert "moment of the run" in replayed.JAVASCRIPT and "moment of the run" not in widget.JAVASCRIPT
    assert "pagehide" in widget.JAVASCRIPT and "pagehide" not in replayed.JAVASCRIPT


def test_the_names_on_the_wire_are_those_that_python_writes() -> None:
    """They alone keep their names in the bundle."""
    declared = set(re.findall(r"\w+", (JS / "src" / "wire.d.ts").read_text(encoding="utf-8")))
    spoken = {name for name, trait in widget.Views.class_traits(sync=True).items() if not name.startswith("_")}
    for call in ast.walk(ast.parse(inspect.getsource(encode))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "table":
            spoken |= {word.arg for word in call.keywords if word.arg}
            spoken |= {word.value for word in ast.walk(call.args[0]) if isinstance(word, ast.Constant)}
    assert {"scratch", "programs_ended", "snapshot"} < spoken
    assert spoken - declared - {"_buffers", "comm", "layout", "tabbable", "tooltip"} == set()


@pytest.mark.skipif(
    not all(tool.exists() for tool in TOOLS) or shutil.which("npm") is None,
    reason="!!! NOT TESTED: whether the bundle is up to date; run `npm ci` in pwlab/viz/js",
)
def test_the_bundle_is_built_from_the_sources() -> None:
    kept = {path: path.read_bytes() for path in STATIC.iterdir()}
    try:
        subprocess.run(["npm", "run", "build", "--silent"], cwd=JS, check=True, timeout=60)
        for path, was in kept.items():
            assert path.read_bytes() == was, f"{path.name} is old: run `npm run build` in pwlab/viz/js and commit it"
    finally:
        for path, was in kept.items():
            path.write_bytes(was)
