"""The widget without a browser: what it holds, what it shows where no JavaScript runs, and that it goes away."""

from __future__ import annotations

from typing import get_args

import jax
import jax.numpy as jnp
import pytest

import pwlab as pw
from pwlab.errors import UnknownName
from pwlab.records import recorded
from pwlab.viz import Tab
from pwlab.viz.dashboard import Dashboard
from pwlab.viz.dashboard.words import WORDS

VIEW = "application/vnd.jupyter.widget-view+json"


def work(session: pw.Session, name: str = "train") -> None:
    with session.programs.scope(name):
        y = jax.jit(lambda x: jnp.tanh(x @ x))(jnp.ones((8, 8)))
    float(y.sum())


def test_two_outputs_of_which_one_is_static(session: pw.Session) -> None:
    work(session)
    dashboard = Dashboard(session)
    bundle = dashboard._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain", VIEW}
    assert bundle[VIEW]["model_id"] == dashboard.widget.model_id
    assert f"pwlab-static-{dashboard.widget.key}" in bundle["text/html"]
    assert "data:image/svg+xml;base64," in bundle["text/html"]
    dashboard.close()


def test_names_are_escaped_in_the_static_form(session: pw.Session) -> None:
    work(session, "<script>alert(1)</script> 'quoted' \"twice\" 🙂 " + "x" * 10_000)
    dashboard = Dashboard(session, tab="graph")
    html = dashboard._repr_mimebundle_()["text/html"]
    assert "<script" not in html
    dashboard.close()


def test_a_page_that_is_ready_gets_the_run(session: pw.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    work(session)
    dashboard = Dashboard(session)
    sent = []
    monkeypatch.setattr(type(dashboard.widget), "send", lambda self, content, buffers: sent.append((content, buffers)))
    session.close()
    dashboard.widget._handle_custom_msg({"kind": "ready", "page": "p", "seen": 0, "strings": 1}, [])
    content, buffers = sent[-1]
    assert content["last"] == session.ring.last and len(content["chunks"]) == len(buffers)
    assert all(isinstance(buffer, bytes) for buffer in buffers)
    dashboard.close()


def test_settling_puts_a_snapshot_into_the_state(session: pw.Session) -> None:
    dashboard = Dashboard(session)
    empty = dashboard.widget.snapshot
    work(session)
    dashboard.settle()
    assert len(dashboard.widget.snapshot) > len(empty)
    dashboard.close()


def test_a_single_view(session: pw.Session) -> None:
    dashboard = Dashboard(session, tab="memory", explain=True)
    assert (dashboard.widget.tab, dashboard.widget.single, dashboard.widget.words) == ("memory", True, WORDS)
    dashboard.close()


@pytest.mark.parametrize("tab", get_args(Tab))
def test_the_static_form_of_a_single_view_is_its_picture_and_its_numbers(session: pw.Session, tab: Tab) -> None:
    work(session)
    dashboard = Dashboard(session, tab=tab)
    bundle = dashboard._repr_mimebundle_()
    dashboard.close()
    assert bundle["text/html"].count("<img") == 1 and "What ran where" not in bundle["text/html"]
    assert bundle["text/plain"] == getattr(pw.replay(recorded()), tab)().text


def test_the_static_form_of_all_views_has_what_ran_where_once(session: pw.Session) -> None:
    work(session)
    dashboard = Dashboard(session)
    bundle = dashboard._repr_mimebundle_()
    dashboard.close()
    assert bundle["text/html"].count("<img") == 5 and bundle["text/html"].count("What ran where") == 1
    assert "What ran where" in bundle["text/plain"] and "Timeline of" in bundle["text/plain"]


def test_an_unknown_view_is_refused(session: pw.Session) -> None:
    with pytest.raises(UnknownName, match=r"no view is called 'grap'.*graph.*There are: timeline, graph"):
        Dashboard(session, tab="grap")  # type: ignore[arg-type]


def test_closing_frees_the_widget(session: pw.Session) -> None:
    dashboard = Dashboard(session)
    widget = dashboard.widget
    dashboard.close()
    dashboard.close()
    assert widget.comm is None
    with pytest.raises(RuntimeError, match="was closed"):
        _ = dashboard.widget


def test_in_a_script_it_prints_the_numbers(session: pw.Session, capsys: pytest.CaptureFixture[str]) -> None:
    work(session)
    dashboard = Dashboard(session)
    dashboard.show()
    assert "What ran where" in capsys.readouterr().out
    dashboard.close()
