"""The report: one page, closed in itself, whatever users call their things."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pwlab.events import NodeState, Noted, ProgramEnded, ProgramOpened
from pwlab.ids import ProgramId
from pwlab.observe import Run, read_run
from pwlab.viz import report

from . import runs
from .test_svg import NASTY
from .test_timeline import nasty

VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """Reads a page as a browser would: elements that stay open, scripts, and what would be fetched."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.fetched: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        else:
            self.text += data


def test_it_has_everything() -> None:
    page = Page(report(Run(tuple(runs.run()), 3, {"pwlab": "0.1.0", "jax": "0.12"}), "My run"))
    assert page.open == []
    for words in ("My run", "pwlab 0.1.0 · JAX 0.12", "3 older facts no longer kept", "Timeline", "Dataflow graph",
                  "Utilisation", "Computations", "Waits", "Islands and slices", "Programs", "Save run.jsonl",
                  "attention (Cell In[4], line 5) failed: XlaRuntimeError: RESOURCE_EXHAUSTED"):  # fmt: skip
        assert words in page.text, words


def test_numbers_and_places_never_break_and_names_may() -> None:
    text = report(Run(tuple(runs.run())))
    assert "white-space:nowrap" in text and "td.long{white-space:normal" in text
    assert re.search(r'<td class="long">train_step</td>', text)
    for cell in ("Cell In[4]:1", "▶ running"):
        assert f"<td>{cell}</td>" in text
    assert "<th>" in text and not re.search(r"<th[^>]*>[>~]", text)


def test_what_is_not_there_is_told_first() -> None:
    facts = (
        *runs.run(),
        ProgramOpened(0.5, ProgramId(7), "early", "main", None),
        ProgramEnded(0.6, ProgramId(7), NodeState.DONE),
    )
    page = Page(report(Run(facts, 3, {}, 1.002, "run.jsonl ends after line 9 <b>")))
    whole = page.text.index(
        "Not all is here: damaged: run.jsonl ends after line 9 <b>; the oldest detail is gone: the last"
    )
    assert whole < page.text.index("Timeline")
    for words in ("(3 older facts no longer kept)", "┆ cut off", "detail gone", "15 known", "of what is whole"):
        assert words in page.text, words
    assert "▶ running" not in page.text.partition("Programs")[2]
    assert "Not all is here" not in Page(report(Run(tuple(runs.run())))).text


def test_its_lengths_say_what_they_are() -> None:
    run = Run(tuple(runs.run()))
    page = Page(report(run))
    assert run.seconds == pytest.approx(0.016) and "16.0 ms from the first program to the last fact" in page.text
    assert page.text.partition("last fact")[2].startswith("16.0 ms" + "in which a program was open")


def test_it_loads_nothing_and_says_so_to_the_browser() -> None:
    text = report(Run(tuple(runs.run())))
    page = Page(text)
    assert page.fetched == [] and page.handlers == []
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy and policy[1].startswith("default-src 'none'")
    (script,) = [body for attrs, body in page.scripts if not attrs]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1], "the browser would refuse the page's own script"


def test_the_facts_in_it_are_a_run_file(tmp_path: Path) -> None:
    run = Run((*runs.run(), Noted(2.0, "</script><!-- 🎉 \u2028")), 3, {"schema": 1, "pwlab": "0.1.0"}, 1.5, "cut")
    (data,) = [body for attrs, body in Page(report(run)).scripts if attrs.get("id") == "run"]
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in json.loads(data)))
    assert read_run(path) == run


@pytest.mark.parametrize("name", NASTY)
def test_names_are_harmless(name: str) -> None:
    run = Run((), 0, {"pwlab": name, "machine": {name: name}})
    object.__setattr__(run, "model", nasty(name))
    text = report(run, name)
    page = Page(text)
    assert page.open == [] and len(page.scripts) == 2
    assert "<script>alert" not in text and "\x00" not in text and len(text) < 400_000


def test_an_empty_run_has_a_page() -> None:
    page = Page(report(Run(())))
    assert page.open == [] and "nothing waited" in page.text and "no program yet" in page.text


def test_too_many_facts_are_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["pwlab.viz.report"], "MOST_FACTS", 3)
    page = Page(report(Run(tuple(runs.run()))))
    assert "facts are too many for a page; pw.save('run.jsonl') keeps them" in page.text
    assert [body for attrs, body in page.scripts if attrs.get("id") == "run"] == ["[]"]


def test_it_plays_and_the_browser_may_run_both_of_its_scripts() -> None:
    text = report(Run(tuple(runs.run())))
    page = Page(text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    scripts = [body for attrs, body in page.scripts if attrs.get("type") in (None, "module")]
    assert len(scripts) == 2 and policy
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy[1]
    assert [attrs for attrs, _ in page.scripts if attrs.get("id") == "pwlab-packed"]
    assert 'id="pwlab-replay" hidden' in text, "without JavaScript there is no empty frame"
