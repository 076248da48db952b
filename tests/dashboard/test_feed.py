"""Who is sent what, and when.  The clock is a number, and no thread runs unless a test is about it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

import pwlab as pw
from pwlab.events import ClientGone, ClientKnown, NodeState, Noted, ProgramEnded, ProgramOpened
from pwlab.ids import ProgramId
from pwlab.observe import FactRing
from pwlab.viz.dashboard import Feed, History
from pwlab.viz.dashboard import feed as feeds
from pwlab.viz.dashboard.feed import feed_of
from pwlab.viz.dashboard.history import PIECE
from pwlab.viz.dashboard.presence import PATIENCE, Presence

from .runs import run


class Viewer:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.presence = Presence()
        self.batches: list[dict[str, Any]] = []
        self.buffers: list[bytes] = []
        self.settled = 0

    def send_batch(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self.batches.append(content)
        self.buffers += buffers

    def settle(self) -> None:
        self.settled += 1

    @property
    def seen(self) -> int:
        return max((chunk["to"] for batch in self.batches for chunk in batch["chunks"]), default=0)


@pytest.fixture
def ring() -> FactRing:
    return FactRing(10_000)


@pytest.fixture
def feed(ring: FactRing):
    feed = Feed(ring, threaded=False)
    yield feed
    feed.close()


def add(feed: Feed) -> Viewer:
    viewer = Viewer()
    feed.add(viewer)
    return viewer


def test_nothing_is_sent_while_nobody_looks(ring: FactRing, feed: Feed) -> None:
    viewer = add(feed)
    ring.extend(run(20))
    assert not feed.tick(1.0)
    assert viewer.batches == [] and feed.history.last == 0


def test_a_page_that_is_ready_gets_all_and_then_what_is_new(ring: FactRing, feed: Feed) -> None:
    viewer = add(feed)
    facts = list(run(20))
    ring.extend(facts[:50])
    viewer.presence.heard("page")
    feed.ready(viewer, 0, 1)
    feed.tick(1.0)
    assert viewer.seen == 50
    ring.extend(facts[50:])
    feed.tick(1.2)
    assert [chunk["from"] for batch in viewer.batches for chunk in batch["chunks"]] == [1, 51]
    assert viewer.seen == len(facts)
    assert [b["strings_from"] for b in viewer.batches] == [1, 1 + len(viewer.batches[0]["strings"])]


def test_a_page_that_comes_back_gets_what_it_missed(ring: FactRing, feed: Feed) -> None:
    viewer = add(feed)
    ring.extend(run(20))
    viewer.presence.heard("page")
    feed.tick(1.0)
    viewer.presence.bye("page")
    viewer.batches.clear()
    viewer.presence.heard("page")
    feed.ready(viewer, 30, len(feed.history.strings))
    feed.tick(2.0)
    [batch] = viewer.batches
    assert batch["chunks"][0]["from"] == 31 and batch["strings"] == []


def test_batches_come_ten_times_a_second_and_not_much_more_often(ring: FactRing, feed: Feed) -> None:
    viewer = add(feed)
    viewer.presence.heard("page")
    for tick in range(200):
        ring.append(Noted(tick / 100, "x"))
        feed.tick(tick / 100)
    assert 20 <= len(viewer.batches) <= 24
    assert viewer.seen >= 190


def test_a_running_program_gives_signs_of_life(ring: FactRing, feed: Feed) -> None:
    viewer = add(feed)
    ring.append(ProgramOpened(0.0, ProgramId(1), "p", "main", None))
    viewer.presence.heard("page")
    for tick in range(50):
        feed.tick(tick / 10)
    assert 5 <= len(viewer.batches) <= 6 and all(batch["running"] for batch in viewer.batches)
    ring.append(ProgramEnded(5.0, ProgramId(1), NodeState.DONE))
    feed.tick(5.1)
    assert not viewer.batches[-1]["running"]
    before = len(viewer.batches)
    for tick in range(60, 100):
        feed.tick(tick / 10)
    assert len(viewer.batches) == before


def test_what_the_ring_would_forget_is_read_though_nobody_looks(ring: FactRing, feed: Feed) -> None:
    facts = list(run(5_000))
    for at in range(0, len(facts), 1_000):
        ring.extend(facts[at : at + 1_000])
        feed.tick(at)
    viewer = add(feed)
    viewer.presence.heard("page")
    for tick in range(200):
        feed.tick(1000 + tick)
    assert viewer.seen == ring.last > len(facts) and viewer.batches[-1]["lost"] == 0  # the ring told that it thinned


def test_an_answer_after_the_end(ring: FactRing, feed: Feed) -> None:
    viewer = add(feed)
    ring.extend(run(20))
    feed.close()
    viewer.presence.heard("page")
    feed.ready(viewer, 0, 1)
    assert viewer.seen == ring.last and viewer.batches[-1]["closed"]


# --- presence ---------------------------------------------------------------------------


def test_a_page_that_was_just_displayed_counts_until_the_kernel_would_have_heard_it() -> None:
    presence = Presence()
    presence.displayed(0.0)
    assert presence.anyone(1000.0, idle=0.0)  # one long cell runs
    assert presence.anyone(1001.0, idle=1.0)
    assert not presence.anyone(1000.0 + PATIENCE + 1, idle=PATIENCE + 1)


def test_a_page_that_answers_no_more_is_gone() -> None:
    presence = Presence()
    presence.heard("a")
    presence.sent(10.0)
    assert presence.anyone(11.0 + PATIENCE, idle=3.0)  # busy: it could not be heard
    assert not presence.anyone(11.0 + PATIENCE, idle=PATIENCE + 1)
    presence.heard("a")
    assert presence.anyone(1e6, idle=1e6)  # nothing was sent, so nothing was to be answered


def test_bye() -> None:
    presence = Presence()
    presence.heard("a")
    presence.heard("b")
    presence.bye("a")
    assert presence.anyone(0.0, 0.0)
    presence.bye("b")
    assert not presence.anyone(0.0, 0.0)


# --- history ------------------------------------------------------------------------------


def test_history_gives_facts_without_gaps_from_any_number() -> None:
    ring = FactRing(100_000)
    facts = list(run(2_000))
    ring.extend(facts)
    history = History(ring, seal=1_000)
    while history.catch_up():
        pass
    for seen in (0, 1, 999, 1_000, 1_001, 5_555, len(facts) - 1):
        at = seen
        for chunk in history.after(seen):
            assert chunk.first <= at + 1 <= chunk.last
            at = chunk.last
        assert at == len(facts)
    assert history.after(len(facts)) == []


def test_a_long_history_drops_its_oldest_and_keeps_what_lasts() -> None:
    ring = FactRing(100_000)
    ring.extend(run(3_000))
    history = History(ring, seal=1_000, most=100_000)
    while history.catch_up():
        pass
    first, second, *_ = history.after(0)
    assert first.header["whole"] and (first.first, first.last + 1) == (1, second.first)
    assert set(first.header["tables"]) == {"joins", "slices"}
    assert history.lost == first.last


def test_what_lasts_says_which_clients_are_closed() -> None:
    ring = FactRing(100_000)
    ring.extend([ClientKnown(0.0, "a"), ClientKnown(0.0, "b"), ClientGone(1.0, "a"), ClientGone(1.0, "b")])
    ring.append(ClientKnown(2.0, "b", 3.0))
    ring.extend(run(3_000))
    history = History(ring, seal=1_000, most=100_000)
    while history.catch_up():
        pass
    whole, *_ = history.after(0)
    tables = whole.header["tables"]
    assert (tables["clients"]["rows"], tables["gone"]["rows"]) == (2, 1)


# --- threads --------------------------------------------------------------------------------


def test_the_pump_sends_from_its_own_thread_and_ends_with_the_session(session: pw.Session) -> None:
    feed = feed_of(session)
    assert feed_of(session) is feed
    sent = threading.Event()
    names: list[str] = []

    class Waits(Viewer):
        def send_batch(self, content: dict[str, Any], buffers: list[bytes]) -> None:
            names.append(threading.current_thread().name)
            sent.set()

    viewer = Waits()
    feed.add(viewer)
    viewer.presence.heard("page")
    feed.nudge()
    assert sent.wait(10.0)
    assert names[0] == "pwlab-dashboard"
    pw.shutdown()
    assert not any(t.name == "pwlab-dashboard" for t in threading.enumerate())


def test_the_pump_ends_with_its_last_dashboard(session: pw.Session) -> None:
    feed = feed_of(session)
    a, b = add(feed), add(feed)
    feed.remove(a)
    assert any(t.name == "pwlab-dashboard" for t in threading.enumerate())
    feed.remove(b)
    assert not any(t.name == "pwlab-dashboard" for t in threading.enumerate())
    again = feed_of(session)
    assert again is not feed
    again.close()


# --- Colab: what other threads send does not arrive -----------------------------------------


class Colab(Viewer):
    """As a page in Colab: what the main thread sends arrives."""

    def send_batch(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        if threading.current_thread() is threading.main_thread():
            super().send_batch(content, buffers)


@pytest.fixture
def colab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "in_colab", lambda: True)


@pytest.mark.usefixtures("colab")
def test_colab_hears_while_the_main_thread_waits_and_after_each_cell(session: pw.Session) -> None:
    feed, page = feed_of(session), Colab()
    feed.add(page)
    page.presence.heard("page")
    feed.nudge()
    with session.programs.scope("train"):
        y = jnp.ones(4) + 1
    assert session.driver.signal.wait_for(lambda: page.batches, timeout=60), "nothing was sent while it waited"
    float(y.sum())
    last = session.ring.last
    feed._after_cell()
    assert page.seen >= last and page.batches[-1]["lost"] == 0


@pytest.mark.usefixtures("colab")
def test_colab_hears_between_cells(ring: FactRing, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    soon: list[Callable[[], None]] = []
    monkeypatch.setattr(feed.cells, "soon", lambda call: soon.append(call) or True)
    page = Colab()
    feed.add(page)
    page.presence.heard("page")
    ring.extend(run(20))
    for turn in range(3):
        feed._turn(float(turn))
    assert len(soon) == 1 and page.batches == [], "asked once, and nothing was sent from elsewhere"
    soon.pop()()
    assert page.seen == ring.last
    feed._turn(4.0)
    assert feed.pulse in soon


def test_a_long_run_is_read_piece_by_piece_before_it_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = FactRing(100_000)
    ring.extend(run(8_000))
    feed = Feed(ring, threaded=False)
    monkeypatch.setattr(feed.cells, "soon", lambda call: (call(), True)[1])
    viewer = add(feed)
    viewer.presence.heard("page")
    now, pieces = 100.0, 0
    while feed.behind:
        assert viewer.settled == 0
        feed.tick(now)
        now, pieces = now + 1, pieces + 1
    assert pieces == (ring.last - 1) // PIECE and viewer.settled == 1
    feed.close()


class Played:
    """Something with a ring, as a session is."""

    def __init__(self) -> None:
        self.ring = FactRing(100_000)


def test_who_opens_a_dashboard_again_reads_nothing_again() -> None:
    source = Played()
    source.ring.extend(run(100))
    first = feed_of(source)
    one = add(first)
    first.snapshot(1 << 20)
    first.remove(one)
    source.ring.extend(run(10))
    again = feed_of(source)
    assert again is not first and again.history is first.history and again.history.read < source.ring.last
    two = add(again)
    again.snapshot(1 << 20)
    assert again.history.read == source.ring.last
    again.remove(two)
