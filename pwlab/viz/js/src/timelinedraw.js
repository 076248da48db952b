// How the timeline looks: spans one by one where a person can tell them apart, else as pixels.

import { ticks } from "./axis.js";
import { block, face, paint as fillPath, rounded, through, write } from "./brush.js";
import { colour, KEY, mark, tint } from "./colours.js";
import { sum } from "./columns.js";
import { BOX_MARKS } from "./palette.js";
import { pattern } from "./patterns.js";
import { COMPUTE, FAILED } from "./states.js";
import { oneLine, secondsText, width, within } from "./text.js";
import { AXIS, GUTTER, HEAD } from "./timeline.js";

/** So many spans are drawn one by one; more are drawn as pixels. So many arrows are drawn. */
const EXACT = 3_000, ARROWS = 500;

/** @typedef {import("./timeline.js").Timeline} View */
/** @typedef {import("./timeline.js").Line} Line */
/** @typedef {import("./row.js").Row} Row */

/** Draws all of a view. */
export function paint(/** @type {View} */ v, /** @type {number} */ ratio) {
  const { context: g, app } = v, { theme, store } = app;
  face(g, 11);
  bands(v, g);
  g.save();
  g.beginPath();
  g.rect(GUTTER, AXIS, v.plot, v.h - AXIS);
  g.clip();
  grid(v, g);
  const few = spans(v, g, ratio);
  running(v, g);
  if (few) arrows(v, g);
  present(v, g);
  g.restore();
  axis(v, g);
  gutter(v, g);
  if (!store.nodes.n) {
    write(g, 11, theme.muted, "Nothing has run yet. Run a %%pathways cell and watch.", GUTTER + v.plot / 2, v.h / 2, "center");
  }
}

function bands(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { theme } = v.app;
  for (let i = 0; i < v.lines.length; i++) {
    if (v.lines[i].track) continue;
    let end = v.lines[i].y + HEAD;
    for (let k = i + 1; k < v.lines.length && v.lines[k].track; k++) end = v.lines[k].y + v.lines[k].h;
    block(g, theme.band, 0, v.lines[i].y, v.w, end - v.lines[i].y);
  }
  for (const line of v.lines) if (line.track) block(g, theme.lane, GUTTER, line.y + 0.5, v.plot, line.h - 1);
}

function grid(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { store, theme, selection } = v.app, zero = store.begin(), { choice } = selection;
  for (const tick of ticks(v.from - zero, v.to - zero, v.scale)) block(g, theme.line, Math.round(v.x(tick.time + zero)), AXIS, 1, v.h, 0.7);
  const program = choice?.kind === "program" && store.programs.get(choice.id);
  if (!program) return;
  const a = v.x(program.opened), b = v.x(isNaN(program.ended) ? store.now() : program.ended);
  block(g, theme.accent, a, AXIS, Math.max(2, b - a), v.h, 0.1);
}

/** @returns {boolean} whether spans were drawn one by one */
function spans(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ ratio) {
  let visible = 0;
  /** @type {{row: Row, line: Line, y: number, range: number[]}[]} */
  const rows = [];
  for (const line of v.lines) {
    if (!line.track || line.y + line.h < AXIS || line.y > v.h) continue;
    line.track.rows.forEach((row, k) => {
      const range = row.range(v.from, v.to);
      visible += range[1] - range[0];
      rows.push({ row, line, y: line.y + k * v.each, range });
    });
  }
  const few = visible <= EXACT;
  if (few) for (const { row, line, y, range } of rows) exact(v, g, row, line, y, range);
  else v.pixels.draw(v, rows, GUTTER, ratio);
  return few;
}

/** @param {View} v @param {CanvasRenderingContext2D} g @param {Row} row @param {Line} line @param {number} y @param {number[]} range */
function exact(v, g, row, line, y, [first, last]) {
  const { theme, selection } = v.app, { choice } = selection;
  const top = y + 1.5, tall = Math.max(3, v.each - 3), of = line.track?.of ?? "node";
  g.lineWidth = 1;
  for (let i = first; i < last; i++) {
    const a = v.x(row.start.a[i]), b = Math.max(a + 1, v.x(row.end.a[i])), ref = row.ref.a[i], key = row.key.a[i];
    const left = Math.max(a, GUTTER - 2), wide = Math.min(b, v.w) - left - (b - a > 4 ? 1 : 0);
    g.globalAlpha = selection.lights(of, ref) ? 1 : 0.22;
    if (wide > 6 && tall > 8) box(v, g, key, ref, left, top, wide, tall);
    else {
      g.fillStyle = colour(key, theme.dark);
      g.fillRect(left, top, wide, tall);
    }
    if (wide > 26 && tall > 9) {
      label(v, g, key, v.app.spanName(of, ref), left + 4, top + tall / 2 + 0.5, wide - 8);
    }
    if (choice?.kind === of && choice.id === ref) {
      g.globalAlpha = 1;
      g.strokeStyle = theme.fg;
      g.lineWidth = 2;
      g.strokeRect(left, top, wide, tall);
      g.lineWidth = 1;
    }
  }
  g.globalAlpha = 1;
}

/** A box as pwlab/viz/timeline_svg.py draws it: tint, pattern, outline. What failed keeps the tint of its name. */
function box(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ key, /** @type {number} */ ref, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ w, /** @type {number} */ tall) {
  const { dark } = v.app.theme, line = colour(key, dark), over = mark(key);
  rounded(g, [x + 0.5, y + 0.5, w - 1, tall - 1, 2], tint(key === KEY.failed ? v.app.tracks.hueOf(ref) : key, dark));
  fillPath(g, over && pattern(g, BOX_MARKS[/** @type {keyof BOX_MARKS} */ (over)], line), line);
}

/** A name on its box, with a halo where it stands on a pattern. @param {View} v @param {CanvasRenderingContext2D} g @param {number} key @param {string} name @param {number} x @param {number} y @param {number} room */
function label(v, g, key, name, x, y, room) {
  const columns = Math.floor(room / 6.1), { theme } = v.app;
  if (columns < 3) return;
  const text = oneLine(key === KEY.failed ? `✗ ${name}` : name, columns);
  if (mark(key)) {
    g.strokeStyle = tint(key, theme.dark);
    g.lineWidth = 3;
    g.lineJoin = "round";
    g.strokeText(text, x, y);
    g.lineWidth = 1;
  }
  g.fillStyle = theme.fg;
  g.fillText(text, x, y);
}

/** What runs now. In a replay the rows know already what runs until when. */
function running(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { store, tracks, theme, selection } = v.app, now = store.now();
  for (const { track, y, h } of v.lines) {
    if (!track || (store.replays && track.rows.some(({ last }) => last > now))) continue;
    const tall = Math.max(3, h - 3), isDevice = track.kind === "device";
    for (const { ref, start } of v.running(track)) {
      // A device runs one after the other, of a client's programs many run at once.
      const from = isDevice ? Math.max(start, track.rows[0].last) : start, key = tracks.key(track.of, ref);
      const a = Math.max(GUTTER - 2, v.x(from)), b = v.x(Math.max(from, now)), fill = colour(key, theme.dark);
      if (b < GUTTER || a > v.w) continue;
      block(g, fill, a, y + 1.5, Math.max(2, b - a), tall, !selection.lights(track.of, ref) ? 0.15 : isDevice ? 0.55 : 0.3);
      block(g, fill, isDevice ? b - 2 : a, y + 1.5, 2, tall);
      if (!isDevice && b - a > 26) label(v, g, key, v.app.spanName(track.of, ref), a + 5, y + h / 2, b - a - 8);
    }
  }
}

/** Transfers, from the device that has the data to the one that gets it; of very many, some of each network. */
function arrows(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { store, tracks, theme, selection } = v.app, c = store.nodes.c;
  /** @type {Map<number, number>} */
  const middles = new Map();
  for (const line of v.lines) if (line.track?.kind === "device") middles.set(line.track.device, line.y + line.h / 2);
  const rows = tracks.all.filter(({ kind }) => kind === "transfer").flatMap((track) => track.rows.map((row) => ({ row, range: row.range(v.from, v.to) })));
  const all = sum(rows, ({ range }) => range[1] - range[0]), nth = Math.ceil(all / ARROWS);
  for (const { row, range: [first, last] } of rows) {
    for (let i = first; i < last; i += nth) {
      const node = row.ref.a[i], from = store.sources(node)[0];
      const y0 = middles.get(store.devices(from ?? node)[0]), y1 = middles.get(store.devices(node)[0]);
      if (from === undefined || y0 === undefined || y1 === undefined || !(c.end[node] > c.start[node])) continue;
      const x0 = v.x(c.start[node]), x1 = v.x(c.end[node]), bend = within(4, (x1 - x0) / 2, 50);
      g.strokeStyle = g.fillStyle = theme.link[c.link[node]];
      g.globalAlpha = selection.has(node) ? 0.9 : 0.15;
      g.lineWidth = 1.4;
      g.setLineDash(c.link[node] === 2 ? [6, 3] : []);
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      g.setLineDash([]);
      g.beginPath();
      through(g, [[x1 + 1, y1], [x1 - 6, y1 - 3.5], [x1 - 6, y1 + 3.5]]);
      g.fill();
    }
  }
  g.globalAlpha = 1;
  if (nth > 1) write(g, 11, theme.muted, `an arrow for every ${nth} transfers`, v.w - 14, v.h - 10, "right");
}

/** The stretch that is chosen, and the present; in a replay, what comes after it as through a veil. */
function present(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { store, theme } = v.app, x = v.x(store.now());
  if (store.replays && x < v.w) block(g, theme.bg, Math.max(GUTTER, x), AXIS, v.w, v.h, 0.78);
  if (v.span) {
    const [a, b] = v.span.map((t) => v.x(t));
    block(g, theme.accent, Math.min(a, b), AXIS, Math.abs(b - a), v.h, 0.14);
    for (const edge of [a, b]) block(g, theme.accent, edge, AXIS, 1, v.h, 0.8);
  }
  if (store.running || store.replays) block(g, theme.accent, Math.round(x), AXIS, 1.5, v.h);
}

function axis(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { theme, store } = v.app, zero = store.begin();
  block(g, theme.bg, 0, 0, v.w, AXIS);
  for (const tick of ticks(v.from - zero, v.to - zero, v.scale)) {
    const x = v.x(tick.time + zero);
    if (x > GUTTER + 8 && x < v.w - 20) write(g, 11, theme.muted, tick.text, x, AXIS / 2, "center");
  }
  block(g, theme.line, 0, AXIS - 1, v.w, 1);
  const now = v.x(store.now());
  if (store.replays && now > GUTTER - 1 && now < v.w) {
    // What is drawn here is taken hold of here.
    rounded(g, [now - 5, AXIS - 14, 11, 9, 2.5]);
    through(g, [[now - 5, AXIS - 7], [now + 0.75, AXIS], [now + 6, AXIS - 7]]);
    fillPath(g, theme.accent);
  }
  if (v.span && Math.max(...v.span) > v.from && Math.min(...v.span) < v.to) {
    const [a, b] = v.span, text = secondsText(Math.abs(b - a)), middle = (v.x(a) + v.x(b)) / 2;
    const wide = 6.4 * width(text) + 14, x = within(GUTTER, middle - wide / 2, v.w - wide);
    rounded(g, [x, 4, wide, AXIS - 8, 4], theme.accent);
    write(g, 11, theme.dark ? "#0d1014" : "#fff", text, x + 7, AXIS / 2);
  }
}

function gutter(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { theme, selection } = v.app;
  g.save();
  g.beginPath();
  g.rect(0, AXIS, v.w, v.h);
  g.clip();
  for (const line of v.lines) {
    if (line.y + line.h < AXIS || line.y > v.h) continue;
    if (!line.track) {
      write(g, "600 11.5", theme.fg, line.label, 8, line.y + HEAD / 2 + 1);
      continue;
    }
    const chosen = selection.choice?.kind === "device" && selection.choice.id === line.track.device;
    if (chosen) block(g, theme.accent, 2, line.y + 1, 3, line.h - 2);
    // Of narrow rows every second or fourth has its name.
    const nth = Math.ceil(10.5 / line.h);
    if (line.track.kind === "device" && nth > 1 && line.track.device % 2 ** Math.ceil(Math.log2(nth))) continue;
    write(g, 11, chosen ? theme.fg : theme.muted, line.label, 14, line.y + Math.min(line.h, v.each ?? line.h) / 2 + 0.5);
  }
  g.restore();
}
