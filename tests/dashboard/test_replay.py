"""Replay in a browser: each moment is that of the model in Python, and colours are the same live and still."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from viz import runs

from pwlab.errors import UnknownName
from pwlab.events import BuffersFreed, NodeState
from pwlab.observe import Run
from pwlab.viz import Replay, StaticView, Tab
from pwlab.viz.dashboard.replayed import page_parts, replay_widget
from pwlab.viz.dashboard.snapshot import snapshot_of
from pwlab.viz.dashboard.words import WORDS
from pwlab.viz.palette import HUES, NAMES, Colours, javascript

from .runs import JS, NODE, needs_node, run


def node(script: str, given: Any) -> Any:
    done = subprocess.run(
        [NODE or "node", *script.split("\0")], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def moments(held: Run) -> list[float]:
    """Times between facts, so that rounding to a microsecond decides nothing; forwards, back, and to and fro."""
    reported = sorted({fact.time - held.begin for fact in held.facts if fact.time >= held.begin})
    gaps = [(a + b) / 2 for a, b in pairwise(reported) if b - a > 1e-5]
    some = gaps[:: max(1, len(gaps) // 25)]
    return [*some, *reversed(some), *(some[i * 7 % len(some)] for i in range(len(some))), held.seconds]


@needs_node
@pytest.mark.parametrize("held", [Run(tuple(runs.run())), Run(tuple(run(300)))], ids=["failed", "two islands"])
def test_every_moment_is_that_of_the_model(held: Run) -> None:
    times = moments(held)
    given = {
        "packed": base64.b64encode(snapshot_of(held)).decode(),
        "times": [held.begin - held.start + time for time in times],
    }
    shown = node(str(JS / "check" / "moments.mjs"), given)
    ended = 0
    for time, page in zip(times, shown, strict=True):
        model = held.at(time)
        nodes = list(model.nodes.values())
        assert page["states"] == [n.state.value for n in nodes], time
        assert page["errors"] == [n.error for n in nodes]
        assert page["counts"] == [sum(n.state is state for n in nodes) for state in NodeState]
        assert page["open"] == [n.spec.id for n in nodes if n.state is NodeState.LAUNCHED]
        assert page["running"] == sum(p.state is None for p in model.programs.values())
        assert page["ends"] == sum(n.state.ended for n in nodes)
        assert page["frees"] == sum(len(f.buffers) for f in held.between(-1, time) if isinstance(f, BuffersFreed))
        assert sum(page["programs"]) == len(nodes)
        assert page["now"] == pytest.approx(held.begin - held.start + time)
        assert (page["begin"], page["end"]) == pytest.approx((held.begin - held.start, held.end - held.start), abs=2e-6)
        seconds = [n.seconds or 0.0 for n in nodes if n.state.ended]
        assert [s for s, n in zip(page["ran"], nodes, strict=True) if n.state.ended] == pytest.approx(seconds, abs=2e-6)
        ended = max(ended, page["ends"])
    assert ended > 5, "nothing was played"


def test_the_palette_of_the_page_is_that_of_the_pictures() -> None:
    written = (JS / "src" / "palette.js").read_text(encoding="utf-8")
    assert written == javascript(), "palette.js is old: run `npm run palette` in pwlab/viz/js and build the bundle"


@needs_node
def test_a_name_has_one_colour_live_and_still() -> None:
    names = [f"layer{i}" for i in range(40)] + ["loss", "🎉 emoji", "é", "", "x" * 10_000, "loss"]
    script = (
        f"import {{ Colours }} from {json.dumps((JS / 'src' / 'colours.js').as_uri())};"
        'import { readFileSync } from "node:fs";'
        'const c = new Colours(); console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((n) => c.of(n))));'
    )
    ours = Colours(names)
    assert node("\0".join(("--input-type=module", "-e", script)), names) == [ours.of[name] for name in names]
    assert len(set(ours.of.values())) == NAMES == 3 * HUES


def test_a_widget_holds_the_whole_run() -> None:
    held = Run(tuple(runs.run()))
    widget = replay_widget(held, "graph", explain=True, height=400)
    try:
        assert widget.single and widget.words == WORDS and (widget.tab, widget.height) == ("graph", 400)
        assert widget.snapshot == snapshot_of(held)
    finally:
        widget.close()
    with pytest.raises(
        UnknownName, match=r"no view is called 'grap'; did you mean 'graph'\? There are: timeline, graph"
    ):
        replay_widget(held, "grap")  # pyright: ignore[reportArgumentType]


def test_outside_a_notebook_it_prints_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    replay = Replay(Run(tuple(runs.run())))
    replay.show()
    assert "What ran where" in capsys.readouterr().out
    for tab, view in STILL.items():
        replay.show(tab)
        assert capsys.readouterr().out == f"{view(replay)}\n"
    replay.close()


STILL: dict[Tab, Callable[[Replay], StaticView]] = {
    "timeline": Replay.timeline,
    "graph": Replay.graph,
    "utilisation": Replay.utilisation,
    "memory": Replay.memory,
    "clients": Replay.clients,
}


@pytest.mark.parametrize("tab", STILL)
def test_where_no_javascript_runs_the_view_that_was_asked_for_is_shown(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs: list[dict[str, str]] = []
    monkeypatch.setattr("pwlab.viz.dashboard.kernel.shell", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda data, **_: outputs.append(data))
    replay = Replay(Run(tuple(runs.run())))
    replay.show(tab)
    view = STILL[tab](replay)
    assert view.html in outputs[0]["text/html"] and outputs[0]["text/html"].count("<img") == 1
    assert outputs[0]["text/plain"] == view.text
    replay.show()
    assert outputs[2]["text/html"].count("<img") == 2
    replay.close()


def test_an_unknown_view_is_refused_in_a_script_too() -> None:
    with pytest.raises(UnknownName, match=r"no view is called 'tmeline'; did you mean 'timeline'\? There are: time"):
        Replay(Run(tuple(runs.run()))).show("tmeline")  # pyright: ignore[reportArgumentType]


def test_a_page_holds_no_text_that_could_end_its_script() -> None:
    html, script = page_parts(Run(tuple(runs.run())))
    assert "</script" not in script and "<!--" not in script
    assert html.count("</script>") == 1 and "hidden" in html
