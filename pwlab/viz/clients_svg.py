"""Who got the devices, as SVG: a band for each client over time, what each asked for beside it, and all in total."""

from __future__ import annotations

from ..observe import ClientRow, Part, RunModel, UsageView
from .format import count_text, one_line, percent, seconds_text
from .palette import HUES, Colours
from .shares import Band, Trend, shares_picture
from .usage_page import LEFT, WIDTH, Page, px

#: Pixels: what was asked for, beside the chart; the names beside that; from one name to the next; the chart is high.
ASKED, NAMES, APART, TALL = 14.0, 130.0, 13.0, 124.0
#: Pixels: where the columns of a row end, or begin.
BAR, GOT, SHARE, TREND, TREND_END, TIME, LAUNCHES, NOW = 340.0, 384.0, 456.0, 476.0, 690.0, 764.0, 830.0, 848.0
MOST_ROWS = 40


def clients(page: Page, view: UsageView, model: RunModel) -> None:
    """Draws them; each has the colour that the timeline gives it, which follows the order of the programs."""
    colours = Colours(program.client for program in model.programs.values())
    picture = shares_picture(view, model)
    page.heading(
        "Who got the devices, over time",
        f"parts of the device time in a window of {seconds_text(picture.bins * view.step)} that slides along; "
        "at the right, as the shares asked for part all of it",
    )
    _chart(page, picture.bands, colours, view.seconds)
    page.heading(
        "In total",
        "of the device time that was used while the client had work; the line is what it asked for, hatched what it "
        "missed of that",
    )
    heads = (LEFT, "share got", ""), (SHARE, "share asked", "end"), (TREND, "over time", ""), (NOW, "now", "")
    for x, words, anchor in (*heads, (TIME, "device time", "end"), (LAUNCHES, "launches", "end")):
        page.text(x, page.y + 10, words, "mu", anchor)
    page.y += 20
    most = max((max(trend.row.asked, trend.row.got) for trend in picture.trends), default=0.0) or 1.0
    for trend in picture.trends[:MOST_ROWS]:
        _row(page, trend, colours, most)
    if len(picture.trends) > MOST_ROWS:
        page.text(16, page.y + 10, f"and {count_text(len(picture.trends) - MOST_ROWS, 'client')} more", "mu")
        page.y += 18


def _chart(page: Page, bands: tuple[Band, ...], colours: Colours, seconds: float) -> None:
    wide = WIDTH - 32 - ASKED - NAMES - 6
    beside, low = 16 + wide + 6, page.y + TALL
    looks = [_look(colours, band.rows[0]) if len(band.rows) == 1 else ("line", "") for band in bands]
    page.areas([(band.parts, *look) for band, look in zip(bands, looks, strict=True)], 16, wide, TALL, 1.0)
    page.areas([((band.asked,), *look) for band, look in zip(bands, looks, strict=True)], beside, ASKED, TALL, 1.0)
    asked = [band for band in bands if band.asked]
    middles: list[float] = []
    under = 0.0
    for band in asked:
        middles.append(low - TALL * (under + band.asked / 2))
        under += band.asked
    for band, middle, y in zip(asked, middles, _spaced(middles, low, page.y), strict=True):
        name = one_line(band.rows[0].name, 18) if len(band.rows) == 1 else f"{len(band.rows):,} others"
        page.parts.append(
            f'<path class="lead" d="M{px(beside + ASKED + 1)} {px(middle)}L{px(beside + ASKED + 7)} {px(y)}"/>'
        )
        page.text(beside + ASKED + 10, y + 4, name, "b")
    page.y += TALL + 2
    page.text(beside + ASKED / 2, page.y + 12, "asked", "mu", "middle")
    page.axis(16, wide, seconds)


def _spaced(wishes: list[float], low: float, high: float) -> list[float]:
    """Heights of names one above the other, from the lowest up, each as near to its wish as the others let it."""
    at = [*wishes]
    for i, wish in enumerate(wishes):
        at[i] = min(wish, at[i - 1] - APART if i else low - APART / 2)
    for i in reversed(range(len(at))):
        at[i] = max(at[i], at[i + 1] + APART if i + 1 < len(at) else high + APART / 2)
    return at


def _row(page: Page, trend: Trend, colours: Colours, most: float) -> None:
    row, look = trend.row, _look(colours, trend.row)
    page.bar(16, 11, [(1.0, *look)])
    page.text(32, page.y + 10, one_line(row.name, 16))
    wide = BAR - LEFT
    missed = max(0.0, row.asked - row.got)
    page.bar(LEFT, wide, [(row.got / most, *look), (missed / most, "", "missed")])
    page.shape("ink", "", f"M{px(LEFT + wide * row.asked / most - 1)} {px(page.y - 1)}h2v13h-2z")
    page.text(GOT, page.y + 10, percent(row.got), "b", "end")
    page.text(SHARE, page.y + 10, percent(row.asked), "", "end")
    _trend(page, trend, look)
    page.text(TIME, page.y + 10, seconds_text(row.spent.parts[Part.COMPUTING]), "", "end")
    page.text(LAUNCHES, page.y + 10, f"{row.launches:,}", "", "end")
    page.text(NOW, page.y + 10, one_line(" · ".join(_state(row)), 32))
    page.y += 24


def _trend(page: Page, trend: Trend, look: tuple[str, str]) -> None:
    """What it got over time of what it asked for, up to twice that; the line is all of it, hatched what it missed."""
    pairs = list(zip(trend.parts, trend.asked, strict=True))
    met = [min(2.0, part / all) if all > 0 else 0.0 for part, all in pairs]
    missed = [max(0.0, 1.0 - part) if all > 0 else 0.0 for part, (_, all) in zip(met, pairs, strict=True)]
    line = [2 / 18 if all > 0 else 0.0 for _, all in pairs]
    page.y -= 4
    page.areas([(met, *look), (missed, "", "missed")], TREND, TREND_END - TREND, 18, 2.0)
    page.areas([([1.0] * len(line), "", ""), (line, "ink", "")], TREND, TREND_END - TREND, 18, 2.0)
    page.y += 4


def _look(colours: Colours, row: ClientRow) -> tuple[str, str]:
    key = colours.add(row.name)
    return f"c{key % HUES}", ("", "stripes", "dots")[key // HUES]


def _state(row: ClientRow) -> list[str]:
    """What is not as usual with a client now."""
    told = ((row.held, "held back"), (row.failed, "failed"), (row.waiting, "waiting"))
    return [f"{count:,} {words}" for count, words in told if count] + ([] if row.open else ["closed"])
