"""A finished picture in its forms, tables as text and as SVG, and how wide a text may be."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.text import Text

from pwlab.observe import model_of, stats_of
from pwlab.viz import StaticView, TableView, image, programs_table, render_html, status, table_view
from pwlab.viz.palette import DARK, LIGHT
from pwlab.viz.summary import bar
from pwlab.viz.terminal import LEAST, columns, text_svg

from . import runs
from .test_svg import NASTY, nasty

SVG = "{http://www.w3.org/2000/svg}"


def test_a_page_is_light_or_dark_as_its_reader_prefers(tmp_path: Path) -> None:
    view = StaticView('<svg xmlns="http://www.w3.org/2000/svg"/>', "text", "<words>")
    page = view.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<meta name="color-scheme" content="light dark">' in page
    assert "<title>&lt;words&gt;</title>" in page and view.html in page
    with pytest.raises(ValueError, match=r"'a\.gif' names no form; end it with one of \.svg, \.html, \.txt"):
        view.save(tmp_path / "a.gif")


def test_an_image_has_the_colour_scheme_of_its_host() -> None:
    html = image('<svg width="10"/>', "words")
    ElementTree.fromstring(re.sub(r"(<img[^>]*)>", r"\1/>", html))
    (light, one), (dark, other) = re.findall(r":is\(([^)]*)\) \.pwlab-static\{color-scheme:(\w+)\}", html)
    assert (one, other) == ("light", "dark") and 'class="pwlab-static"' in html
    assert '[data-jp-theme-light="true"]' in light and "vscode-light" in light
    assert '[data-jp-theme-light="false"]' in dark and "vscode-dark" in dark


def test_text_is_no_markup_for_rich() -> None:
    view = StaticView("", "[bold]x[/] :smile:", "")
    out = io.StringIO()
    Console(file=out, width=80).print(view)
    assert out.getvalue() == "[bold]x[/] :smile:\n"


# --- tables -------------------------------------------------------------------------------------------


def test_tables_stay_text_in_a_notebook_and_are_a_picture_as_a_file() -> None:
    view = table_view(programs_table(model_of(runs.run())), "Programs.")
    assert isinstance(view, TableView) and view.html.startswith("<pre") and "<img" not in view.html
    root = ElementTree.fromstring(view.svg)
    assert root.findtext(f"{SVG}title") == "Programs."
    words = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert words.split() == view.text.split()


def test_each_text_of_the_picture_stands_in_its_column() -> None:
    root = ElementTree.fromstring(text_svg(Text("a  🎉🎉   b\n\n   c d"), "words"))
    shown = [(t.text, float(t.get("x", "")), float(t.get("textLength", ""))) for t in root.iter(f"{SVG}text")]
    assert shown == [("a", 16.0, 7.2), ("🎉🎉", 37.6, 28.8), ("b", 88.0, 7.2), ("c d", 37.6, 21.6)]
    assert float(root.get("width", "")) == round(16 * 2 + 11 * 7.2)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_escaped_in_the_picture_of_a_table(name: str) -> None:
    svg = text_svg(programs_table(nasty(name)), name)
    ElementTree.fromstring(svg)
    assert "<script" not in svg and len(svg) < 20_000


def test_colours_are_those_of_the_project() -> None:
    html = render_html(bar(0.5))
    assert "#3b7ddd" in html and "#0000" not in html and "#000080" not in html
    svg = text_svg(bar(0.5, colour="green"), "words")
    assert f"c-green{{fill:{LIGHT.hues[1].line}}}" in svg and f"c-green{{fill:{DARK.hues[1].line}}}" in svg
    model, stats = model_of(runs.run()), stats_of(runs.run())
    colours = set(re.findall(r"color: (#\w+)", render_html(status(model, stats, "Session"))))
    assert len(colours) >= 2 and colours <= {"#d9434b", "#2c8a4e", "#a07215", "#3b7ddd", "#1b8797", "#737e8d"}


# --- width ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "wide"), [(None, 100), ("50", 50), ("300", 300), ("8", LEAST), ("wide", 100)])
def test_a_text_is_as_wide_as_is_said(monkeypatch: pytest.MonkeyPatch, said: str | None, wide: int) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if said is not None:
        monkeypatch.setenv("COLUMNS", said)
    assert columns() == wide and (said in ("50", "300") or columns(70) in (70, LEAST))
