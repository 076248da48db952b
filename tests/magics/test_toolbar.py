"""The line below the prompt of a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output import DummyOutput

import pwlab as pw

from .conftest import Shell


@pytest.fixture
def prompt(bare: Shell) -> PromptSession[Any]:
    """The prompt of a terminal, for a shell that has none."""
    found: PromptSession[Any] = PromptSession(input=DummyInput(), output=DummyOutput(), refresh_interval=7.0)
    bare.shell.pt_app = found  # type: ignore[attr-defined]
    return found


def test_it_is_there_while_a_session_runs(prompt: PromptSession[Any], ip: Shell) -> None:
    assert prompt.bottom_toolbar is not None and prompt.refresh_interval == 0.5
    assert prompt.bottom_toolbar().startswith("▶ 0 running ◑ 0 queued │ island0 ")
    ip.ok("%pw stop")
    assert prompt.bottom_toolbar is None and prompt.refresh_interval == 7.0
    ip.ok("%pw start --islands 1 --devices 2")
    assert "island1" not in prompt.bottom_toolbar()


def test_a_session_that_was_stopped_while_the_prompt_waits(prompt: PromptSession[Any], ip: Shell) -> None:
    line = prompt.bottom_toolbar
    pw.shutdown()
    assert line() == "the session was stopped"


def test_it_tells_what_waits(prompt: PromptSession[Any], ip: Shell, session: pw.Session) -> None:
    ip.ok("%pw pause")
    ip.ok("%%pathways\nx = jnp.ones(2) + 1")
    prompt.bottom_toolbar()  # asks the controller whether all is paused
    session.driver.look(lambda controller: None)
    ip.ok("1")
    line = prompt.bottom_toolbar()
    assert line.startswith("PAUSED │ ▶ 0 running ") and "island1" in line, "80 columns have room for what is"
    ip.ok("%pw resume")


def test_it_can_be_switched_off(prompt: PromptSession[Any], ip: Shell) -> None:
    ip.ok("%pw config toolbar=off")
    assert prompt.bottom_toolbar is None
    ip.ok("%pw config toolbar=on")
    assert prompt.bottom_toolbar is not None
    assert "toolbar is one of on, off, not '0'" in ip.misuse("%pw config toolbar=0")


def test_unloading_takes_it_away(prompt: PromptSession[Any], ip: Shell) -> None:
    ip.ok("%unload_ext pwlab")
    assert prompt.bottom_toolbar is None and prompt.refresh_interval == 7.0


def test_a_toolbar_of_the_users_stays(prompt: PromptSession[Any], ip: Shell) -> None:
    ip.ok("%unload_ext pwlab")
    prompt.bottom_toolbar = "mine"
    ip.ok("%load_ext pwlab\n%pw start")
    assert prompt.bottom_toolbar == "mine"
    ip.ok("%unload_ext pwlab")
    assert prompt.bottom_toolbar == "mine"


def test_batch_runs_have_none(prompt: PromptSession[Any], ip: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWLAB_NONINTERACTIVE", "1")
    ip.ok("1")
    assert prompt.bottom_toolbar is None
