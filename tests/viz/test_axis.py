"""The time axis: pauses are cut, all else keeps one scale, and order is never lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pwlab.viz.axis import BREAK, BREAKS, Axis, axis_of

SPANS = st.lists(
    st.tuples(st.floats(0, 1e4), st.floats(0, 100)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=30
)


def test_an_even_axis() -> None:
    axis = axis_of([(0.0, 1.0), (2.0, 4.0)], cut=False)
    assert axis == Axis(((0.0, 4.0),)) and axis.breaks() == []
    assert [axis.place(t) for t in (-1.0, 0.0, 1.0, 4.0, 9.0)] == [0.0, 0.0, 0.25, 1.0, 1.0]


def test_a_long_pause_is_cut_and_a_short_one_stays() -> None:
    axis = axis_of([(0.0, 1.0), (1.1, 2.0), (3600.0, 3602.0)])
    assert axis.parts == ((0.0, 2.0), (3600.0, 3602.0))
    ((start, end, seconds),) = axis.breaks()
    assert seconds == 3598.0 and end - start == pytest.approx(BREAK)
    # A second is as long on either side of the break.
    assert axis.place(1.0) - axis.place(0.0) == pytest.approx(axis.place(3601.0) - axis.place(3600.0))
    assert start < axis.place(100.0) < axis.place(3000.0) < end


@given(SPANS, st.lists(st.floats(-10, 2e4), min_size=2))
def test_what_is_later_is_never_further_left(spans: list[tuple[float, float]], times: list[float]) -> None:
    axis = axis_of(spans)
    places = [axis.place(t) for t in sorted(times)]
    assert places == sorted(places) and all(0.0 <= place <= 1.0 for place in places)


@given(SPANS)
def test_everything_is_drawn_to_scale_and_the_axis_is_full(spans: list[tuple[float, float]]) -> None:
    axis = axis_of(spans)
    if spans:
        assert axis.place(min(a for a, _ in spans)) == 0.0
        assert axis.place(axis.end) == pytest.approx(1.0)
        scale = (1 - sum(end - start for start, end, _ in axis.breaks())) / axis.drawn
        for start, end in spans:
            assert axis.place(end) - axis.place(start) == pytest.approx((end - start) * scale, abs=1e-6)
    assert len(axis.ticks()) < 200


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (0.008, ["0", "1 ms", "2 ms", "3 ms", "4 ms", "5 ms", "6 ms", "7 ms", "8 ms"]),
        (0.5e-3, ["0", "100 µs", "200 µs", "300 µs", "400 µs", "500 µs"]),
        (4.0, ["0", "500 ms", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s", "3.5 s", "4.0 s"]),
        (0.15, ["0", "20 ms", "40 ms", "60 ms", "80 ms", "100 ms", "120 ms", "140 ms"]),
        (120.0, ["0", "20 s", "40 s", "60 s", "80 s", "1 min 40 s", "2 min 00 s"]),
        (300.0, ["0", "60 s", "2 min", "3 min", "4 min", "5 min"]),
        (4 * 3600.0, ["0", "30 min", "1 h 00 min", "1 h 30 min", "2 h 00 min", "2 h 30 min"]),
        (16 * 3600.0, ["0", "2 h", "4 h", "6 h", "8 h"]),
    ],
)
def test_ticks_are_round(seconds: float, labels: list[str]) -> None:
    assert [text for _, text in axis_of([(0.0, seconds)]).ticks()][: len(labels)] == labels


def test_ticks_tell_true_times_beyond_a_break() -> None:
    axis = axis_of([(0.0, 1.0), (100.0, 101.0)])
    texts = [text for _, text in axis.ticks(4)]
    assert texts == ["0", "500 ms", "1.0 s", "1 min 40.0 s", "1 min 40.5 s", "1 min 41.0 s"]


def test_breaks_leave_most_of_the_axis_to_what_happened() -> None:
    axis = axis_of((100.0 * i, 100.0 * i + 1) for i in range(20))
    assert len(axis.breaks()) == 19
    assert sum(end - start for start, end, _ in axis.breaks()) == pytest.approx(BREAKS)


def test_nothing_has_an_axis_too() -> None:
    assert axis_of([]).place(3.0) == 0.0 and axis_of([]).ticks() == [(0.0, "0")]
    assert axis_of([(1.0, 1.0)]).place(1.0) == 0.0
