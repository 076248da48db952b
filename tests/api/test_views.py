"""The views of a session from a script: each in three forms, with errors that say what is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import jax.numpy as jnp
import pytest
from harness import LONG, gate

import pwlab as pw
from pwlab.errors import ComputationFailed, NotDispatched, SessionClosed, UnknownName, WaitTimeout
from pwlab.session import running
from pwlab.viz import StaticView

VIEWS: list[Callable[[], StaticView]] = [
    *(pw.graph, pw.timeline, pw.utilisation, pw.memory, pw.clients, pw.status, pw.islands, pw.syncs),
]


def ran(name: str) -> None:
    """Runs a program of one computation."""
    with pw.lazy(name):
        x = jnp.ones(4) + 1
    pw.wait(x)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_three_forms(view: Callable[[], StaticView], session: pw.Session, tmp_path: Path) -> None:
    ran("<b>'mine'</b> 🚀")
    made = view()
    assert view.__doc__ and "SessionClosed" in view.__doc__
    ElementTree.fromstring(made.svg)
    assert made.svg.count("<svg") == 1 and "<b>" not in made.svg and "<b>" not in made.html
    assert made.text.strip() and max(map(len, made.text.splitlines())) <= 110
    assert (tmp_path / "a.svg") == made.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == made.svg
    page = made.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<meta name="color-scheme" content="light dark">' in page and made.html in page
    assert made.save(tmp_path / "a.txt").read_text(encoding="utf-8") == made.text == str(made)


@pytest.mark.parametrize("view", VIEWS)
def test_without_a_session_there_is_nothing_to_show(view: Callable[[], StaticView]) -> None:
    pw.shutdown()
    with pytest.raises(SessionClosed, match=r"nothing to show: no session is running\. pw\.start\(\) or `%pw start`"):
        view()
    assert running() is None


def test_the_graph_of_one_program_and_of_all(session: pw.Session) -> None:
    ran("first")
    ran("second")
    assert pw.graph("first").text.startswith("first ") and pw.graph().text.startswith("2 programs ")
    assert "by client and slice" in pw.graph(by="client").text
    with pytest.raises(UnknownName, match=r"no program is called 'frist'; did you mean 'first'\?"):
        pw.graph("frist")
    with pytest.raises(UnknownName, match=r"no grouping is called 'cel'; did you mean 'cell'\? There are: cell, slice"):
        pw.graph(by="cel")  # pyright: ignore[reportArgumentType]


def test_the_timeline_of_some_programs(session: pw.Session) -> None:
    for name in ("train 1", "train 2", "test"):
        ran(name)
    assert pw.timeline("test").text.startswith("test\n") and pw.timeline().text.startswith("3 programs\n")
    assert pw.timeline("train*").text.startswith("2 programs\n")
    assert "A main" in pw.timeline(colour="client").text
    with pytest.raises(UnknownName, match=r"no program is called 'tst'; did you mean 'test'\?"):
        pw.timeline("test", "tst")
    with pytest.raises(UnknownName, match=r"no colouring is called 'clients'; did you mean 'client'\?"):
        pw.timeline(colour="clients")  # pyright: ignore[reportArgumentType]


def test_of_a_program_that_is_held_back_nothing_has_run(session: pw.Session) -> None:
    with session.programs.scope("later", defer=True):
        jnp.ones(2) + 1
    for view in (pw.graph, pw.timeline):
        with pytest.raises(NotDispatched, match=r"'later' is held back, so none of it has run: pw\.dump\('later'\)"):
            view("later")
    session.programs.forget("later")


def test_numbers_are_those_of_the_session(session: pw.Session) -> None:
    ran("mine")
    assert "mine" in pw.status().text and "2 islands of emulated TPUs" in pw.status().words
    assert "policy fifo" in pw.clients().text and "no limit" in pw.memory().text
    assert "client main" in pw.utilisation().text
    assert "pw.wait(x)" in pw.syncs().text
    pw.make_virtual_device_set().add_slice(tpu_devices=2, name="pair")
    assert "pair" in pw.islands().text


# --- pw.wait() --------------------------------------------------------------------------------------


def test_wait_without_a_tree_waits_for_all_programs(session: pw.Session) -> None:
    with gate() as held:
        with pw.lazy("one"):
            x = held(jnp.ones(2))
        with pw.lazy("two"):
            y = x + 1
        assert held.reached.wait(LONG)
        with pytest.raises(WaitTimeout, match=r"2 programs are still running after 0 s"):
            pw.wait(timeout=0)
        assert pw.wait(None) is None, "a tree without tensors"
        assert not y.is_ready()
    assert pw.wait() is None
    assert x.is_ready() and y.is_ready() and all(record.state is not None for record in session.programs)


def test_wait_for_all_raises_what_nobody_was_told(session: pw.Session) -> None:
    broken = False

    @pw.host
    def load(x: object) -> object:
        if broken:
            raise ValueError("no luck")
        return x

    with pw.lazy():
        pw.wait(load(jnp.ones(2)))
    broken = True
    with pw.lazy():
        kept = load(jnp.ones(2))
    with pytest.raises(ComputationFailed, match="no luck"):
        pw.wait()
    pw.wait()
    assert kept.state == "failed"


def test_wait_without_a_session_has_nothing_to_wait_for() -> None:
    pw.shutdown()
    assert pw.wait() is None and running() is None
