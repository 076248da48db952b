"""A run as one HTML file: opened from a disk, a mail or an issue, years later, with the network off.

Everything is in it: the dashboard with a scrubber, still pictures as inline SVG for paper and for readers without
JavaScript, and the facts themselves, which a button gives back as a run file.  A content security policy in the page
forbids it to load anything, so that a slip in here cannot.  Names come from users: in the page they pass
:func:`~pwlab.viz.format.escape`, and in the data ``<`` is written as ``\\u003c``, so that no name can close the element
it stands in.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from ..events import IslandSpec, NodeState
from ..observe import NameTotal, Run, RunModel, RunStats, lines_of, spans_of, totals_of
from ..units import bytes_text
from .format import (
    count_text,
    escape,
    nodes_text,
    one_line,
    percent,
    ranges_text,
    seconds_text,
    source_text,
    state_style,
)
from .graph import picture
from .report_style import SCRIPT, STYLE
from .svg import svg
from .timeline import timeline
from .timeline_svg import timeline_svg
from .usage import SUBJECTS, usage_words
from .usage_svg import usage_svg

#: Above so many facts the page leaves them out, and says so; about 30 MB.
MOST_FACTS = 200_000
#: Rows of a table.
MOST_ROWS = 200
#: Above so many nodes the graph of the page shows groups.
GRAPH_LIMIT = 400


def report(run: Run, title: str = "A run of pwlab") -> str:
    """The page."""
    model, stats = run.model, run.stats
    usage = stats.usage.view()
    title = one_line(title, 200)
    replay, player = _replay(run)
    scripts = " ".join(f"'sha256-{_digest(script)}'" for script in (SCRIPT, player) if script)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; img-src data:"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
        f'<h1>{escape(title)}</h1><div class="mu">{escape(_about(run))}</div>{_doubts(run)}',
        _tiles(run),
        *_failures(model),
        replay,
        _section("Timeline", "who did what, where, when", timeline_svg(timeline(model)), "pic", "still"),
        _section("Dataflow graph", "data flows downwards", svg(picture(model, limit=GRAPH_LIMIT)), "pic", "still"),
        _section("Utilisation", "shares of the time in which a program was open", _utilisation(model, stats)),
        *(
            _section(title, escape(usage_words(usage, subject)), usage_svg(usage, model, subject), "pic", "still")
            for subject, title in SUBJECTS.items()
        ),
        _section("Computations", "the most device time first", _computations(run)),
        _section("Waits", "where your thread needed a value", _waits(stats)),
        _section("Islands and slices", "what ran where", _islands(model)),
        _section("Programs", "in order", _programs(model)),
        _data(run),
        f"</main><script>{SCRIPT}</script>",
        f'<script type="module">{player}</script></body></html>' if player else "</body></html>",
    ]
    return "".join(parts)


def _replay(run: Run) -> tuple[str, str]:
    """The dashboard and its script; none of a run that is empty or too long for a page."""
    if not 0 < len(run) <= MOST_FACTS:
        return "", ""
    from .dashboard.replayed import page_parts  # imports anywidget, which `import pwlab` need not

    return page_parts(run)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# --- sections ---------------------------------------------------------------------------------


def _about(run: Run) -> str:
    about = run.about
    pieces = [f"{name} {about[key]}" for key, name in (("pwlab", "pwlab"), ("jax", "JAX")) if key in about]
    machine = about.get("machine")
    if isinstance(machine, dict):
        pieces += [f"{key} {value}" for key, value in machine.items()][:8]
    pieces.append(f"{seconds_text(run.seconds)} from the first program to the last fact")
    return one_line(" · ".join(map(str, pieces)), 400)


def _doubts(run: Run) -> str:
    if not run.doubts:
        return ""
    lost = f" ({count_text(run.missing, 'older fact')} no longer kept)" if run.missing else ""
    return f'<div class="doubt"><b>Not all is here:</b> {escape(run.doubts + lost)}</div>'


def _tiles(run: Run) -> str:
    devices = [device for island in run.model.islands.values() for device in island.devices]
    totals = totals_of(spans_of(run.model), devices, run.model.failed(), run.whole_from)
    tiles = [
        (seconds_text(totals.wall), "in which a program was open" + (", of what is whole" if run.missing else "")),
        (percent(totals.busy), f"of {count_text(totals.devices, 'device')} computing"),
        (f"{totals.launches:,}", f"launches of {count_text(totals.computations, 'computation')}"),
        (bytes_text(totals.bytes_moved), f"moved in {count_text(totals.transfers, 'transfer')}"),
        (seconds_text(totals.wait_seconds), f"waited, {count_text(totals.waits, 'time')}"),
        (seconds_text(totals.compile_seconds), f"compiling {count_text(totals.compilations, 'computation')}"),
    ]
    inner = "".join(f'<div class="tile"><b>{escape(big)}</b><span>{escape(small)}</span></div>' for big, small in tiles)
    return f'<div class="tiles">{inner}</div>'


def _failures(model: RunModel) -> Iterable[str]:
    first = [n for n in model.nodes.values() if n.error and n.cause in (None, n.spec.id)]
    for node in [n for n in first if n.state is NodeState.FAILED][:10]:
        where = f" ({node.spec.source})" if node.spec.source else ""
        name, why = escape(one_line(node.spec.name, 200)), escape(one_line(node.error, 600))
        yield f'<div class="fail"><b>✗ {name}</b>{escape(where)} failed: {why}</div>'


def _section(title: str, about: str, body: str, kind: str = "in", name: str = "") -> str:
    return (
        f'<details open class="{name}"><summary><h2>{title}</h2><span class="mu">{about}</span></summary>'
        f'<div class="{kind}">{body}</div></details>'
    )


def _utilisation(model: RunModel, stats: RunStats) -> str:
    rows: list[list[str]] = []
    active = stats.active_seconds()
    for island in model.islands.values():
        for device in island.devices:
            total = stats.devices.get(device)
            share = stats.busy_share(device)
            moving = min(1.0 - share, total.moving / active) if total and active else 0.0
            bar = f'<div class="use"><i style="width:{share:.2%}"></i><u style="width:{moving:.2%}"></u></div>'
            rows.append(
                [
                    _text(island.name) if device == island.devices[0] else "",
                    str(device),
                    bar,
                    percent(share),
                    seconds_text(total.busy.total) if total else "–",
                    seconds_text(total.moving) if total and total.moving else "–",
                    f"{total.launches:,}" if total else "–",
                ]
            )
    return _table(("~island", ">device", "computing, then moving", ">share", ">busy", ">moving", ">launches"), rows)


def _computations(run: Run) -> str:
    rows = [
        [
            _text(name),
            _spent(total),
            f"{total.launches:,}",
            f"{total.computations:,}",
            f"{total.failed:,}" if total.failed else "–",
        ]
        for name, total in sorted(
            run.stats.names.items(), key=lambda kv: (-kv[1].device_seconds - kv[1].host_seconds, kv[0])
        )
    ]
    return _table(("~computation", ">device time", ">launches", ">computations", ">failed"), rows)


def _spent(total: NameTotal) -> str:
    if not total.launches:
        return "–"
    return (
        seconds_text(total.device_seconds)
        if total.device_seconds
        else f"{seconds_text(total.host_seconds)} on the host"
    )


def _waits(stats: RunStats) -> str:
    rows = [
        [
            _text(source_text(total.source) or "unknown"),
            f"<code>{_text(total.source.text.strip() if total.source else '', 120)}</code>",
            _text(total.reason),
            f"{total.count:,}",
            seconds_text(total.seconds),
        ]
        for total in sorted(stats.waits.values(), key=lambda total: -total.seconds)
    ]
    return _table(("from", "~line", "~needed by", ">times", ">time"), rows, "nothing waited")


def _islands(model: RunModel) -> str:
    rows: list[list[str]] = []
    for island in model.islands.values():
        views = [view for view in model.slices.values() if view.island == island.id]
        for view in views or [None]:
            slice = [_text(view.name), ranges_text(view.devices), "" if view.mapped else "given back"] if view else []
            rows.append([_text(island.name), _island(island), *(slice or ["no slice", "", ""])])
    for view in model.slices.values():
        if view.refused:
            rows.append(["", "", _text(view.name), "", f"refused: {_text(view.refused, 300)}"])
    return _table(("~island", "devices", "~slice", "where", "~"), rows)


def _island(island: IslandSpec) -> str:
    return f"{len(island.devices)} × {_text(island.chip, 16)} ({ranges_text(island.devices)})"


def _programs(model: RunModel) -> str:
    rows: list[list[str]] = []
    for program in model.programs.values():
        state = state_style(program.state or NodeState.LAUNCHED, bool(model.damage))
        rows.append(
            [
                _text(program.name),
                _text(program.client),
                f"{state.glyph} {state.word}",
                nodes_text(program),
                seconds_text(program.wall(model.now)),
                _text(source_text(program.source)),
            ]
        )
    return _table(("~program", "~client", "state", ">nodes", ">wall", "from"), rows, "no program yet")


def _data(run: Run) -> str:
    if len(run) > MOST_FACTS:
        held, about = "[]", f"{len(run):,} facts are too many for a page; pw.save('run.jsonl') keeps them"
        button = '<button id="save" hidden></button>'
    else:
        lines = ",\n".join(lines_of(run))
        # In an element of data "<" is the one character that could end it.
        held = f"[{lines.replace('<', chr(92) + 'u003c')}]"
        about = f"{count_text(len(run), 'fact')}, as JSON Lines; pw.replay('run.jsonl') shows them"
        button = '<button id="save">Save run.jsonl</button>'
    return (
        f'<details><summary><h2>Data</h2><span class="mu">{escape(about)}</span></summary>'
        f'<div class="in">{button}</div></details><script type="application/json" id="run">{held}</script>'
    )


# --- pieces -------------------------------------------------------------------------------------


def _text(text: str, columns: int = 60) -> str:
    return escape(one_line(text, columns))


def _table(heads: tuple[str, ...], rows: list[list[str]], empty: str = "nothing yet") -> str:
    """A table of cells that are HTML already; a head that begins with ``>`` stands at the right.

    Cells below a head that begins with ``~`` may break, for names and texts are as long as they like; no other does.
    """
    if not rows:
        return f'<span class="mu">{empty}</span>'
    kinds = [{">": ' class="num"', "~": ' class="long"'}.get(head[:1], "") for head in heads]
    top = "".join(f"<th{kind}>{head.lstrip('>~')}</th>" for head, kind in zip(heads, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f'<span class="mu">and {len(rows) - MOST_ROWS:,} more</span>' if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}"
