// How the graph looks: islands as bands, slices as boxes in them, nodes as rectangles that change with their state.

import { block, face, paint as fillPath, rounded, through, write } from "./brush.js";
import { had } from "./columns.js";
import { READABLE, sheets, TOP } from "./graphview.js";
import { GAP } from "./layout.js";
import { STATE_MARKS } from "./palette.js";
import { pattern } from "./patterns.js";
import { called, isGroup, left, middle, way } from "./picture.js";
import { CANCELLED, FAILED, GLYPHS, WAITING } from "./states.js";
import { bytesText, oneLine, width, within, wrapped } from "./text.js";

/** Dashes of an edge, by network. */
export const DASHES = [[], [], [7, 3], [2, 2]];
/** How much of what is not there yet is to be seen. */
const FUTURE = 0.2;

/** @typedef {import("./graphview.js").Graph} View */
/** @typedef {import("./picture.js").Box} Box */

/** Draws all of a view. */
export function paint(/** @type {View} */ v) {
  const { context: g, app } = v, { theme } = app;
  if (!v.picture.boxes.length) {
    write(g, 12, theme.muted, "Nothing has been recorded yet. Run a %%pathways cell and watch.", v.w / 2, v.h / 2, "center");
    return;
  }
  g.save();
  g.translate(v.x, v.y);
  g.scale(v.scale, v.scale);
  g.lineWidth = 1;
  for (const [row, x, wide, top, bottom, paper] of places(v)) rounded(g, [x, top, wide, bottom - top, 10 - 2 * row], paper, theme.line);
  edges(v, g);
  const errors = boxes(v, g);
  if (v.scale >= READABLE) flows(v, g);
  heads(v, g);
  for (const [box, error] of errors) callout(v, g, box, error);
  g.restore();
}

/** Islands and the slices in them: which it is, its left, width, top and bottom, its paper and what it is called. @returns {[number, number, number, number, number, string, string[]][]} */
function places(/** @type {View} */ { picture, app }) {
  const { theme, store } = app, { height: tall } = picture;
  return [
    ...picture.bands().map(([id, x, wide]) => {
      const { name, devices, chip } = store.islands.get(id) ?? {};
      return [0, x, wide, 0, tall - 4, theme.band, name ? [oneLine(name, 24), `${devices.length} × ${oneLine(chip, 10)}`] : ["not placed yet", ""]];
    }),
    ...[...picture.lanes.values()].map((lane) => [1, lane.x, lane.w, 30, tall - GAP, theme.lane, picture.headOf(lane)]),
  ];
}

/** Names of islands and slices, which stay in view and can be read at any scale. */
function heads(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { scale, view } = v, { theme } = v.app;
  for (const [row, x, wide, , , paper, [name, about]] of places(v)) {
    const size = Math.max(13 - row, 11 / scale), columns = Math.floor((wide - 16) / size / 0.56);
    const y = Math.max(15 + 29 * row, (8 + 15 * row) / scale + Math.max(0, view.top + TOP / scale));
    if (columns < 3) continue;
    block(g, paper, x + 1, y - 0.6 * size, wide - 2, 1.2 * size);
    write(g, `600 ${size}`, theme.fg, oneLine(width(name) > columns ? name.replace("slice ", "") : name, columns), x + 12, y);
    if (width(name + about) < columns) write(g, 0.88 * size, theme.muted, about, x + 12 + g.measureText(`${name} `).width, y);
  }
}

function edges(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { picture, app } = v, { theme, selection } = app, { view } = v;
  // From afar they would hide what they join.
  const far = v.scale < 0.3, dim = !!selection.choice, faint = within(0.15, 1.6 * v.scale, 1);
  /** Edges of one look are one path. @type {Map<number, import("./picture.js").Edge[]>} */
  const looks = new Map();
  for (const edge of picture.edges) {
    const { from, to } = edge;
    const x0 = left(from), x1 = left(to);
    if (Math.max(x0 + from.w, x1 + to.w) < view.left || Math.min(x0, x1) > view.right) continue;
    if (Math.max(from.y + from.h, to.y + to.h) < view.top || Math.min(from.y, to.y) > view.bottom) continue;
    const lit = !dim || from.nodes.some((i) => selection.has(i)) || to.nodes.some((i) => selection.has(i));
    const look = edge.link * 8 + (picture.exists(to) ? 0 : 4) + (edge.values ? 0 : 2) + (lit ? 1 : 0);
    had(looks, look, () => []).push(edge);
  }
  for (const [look, edges] of looks) {
    const link = look >> 3;
    g.globalAlpha = (look & 1 ? (dim ? 1 : faint) : 0.25 * faint) * (look & 4 ? FUTURE : 1);
    g.strokeStyle = g.fillStyle = theme.link[link];
    g.lineWidth = far ? 1 / v.scale : link ? 2.1 : 1.3;
    if (!far) g.setLineDash(look & 2 ? [1, 4] : DASHES[link]);
    g.beginPath();
    for (const edge of edges) trace(g, edge, far);
    g.stroke();
    g.setLineDash([]);
    if (far) continue;
    g.beginPath();
    for (const { to, from, both } of edges) {
      head(g, middle(to), to.y - (sheets(app.store, to) ? 6 : 0), 1);
      if (both) head(g, middle(from), from.y + from.h, -1);
    }
    g.fill();
  }
  g.globalAlpha = 1;
}

/** The line of an edge. @param {CanvasRenderingContext2D} g @param {import("./picture.js").Edge} edge @param {boolean} far */
export function trace(g, edge, far) {
  const { from, to } = edge;
  let x = middle(from), y = from.y + from.h;
  g.moveTo(x, y);
  if (far) return g.lineTo(middle(to), to.y);
  for (const [nx, ny] of way(edge)) {
    const bend = (y + ny) / 2;
    if (Math.abs(nx - x) < 0.5) g.lineTo(nx, ny);
    else g.bezierCurveTo(x, bend, nx, bend, nx, ny);
    x = nx;
    y = ny;
  }
}

/** What flows: shape and bytes, or bytes alone, where it stands in its slice and over no box and no other such text. */
function flows(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { app, picture, view } = v, { theme } = app, size = Math.max(9.5, 8.5 / v.scale);
  const taken = picture.boxes.filter(({ y, h: tall }) => y < view.bottom && y + tall > view.top).map((box) => [left(box), box.y, left(box) + box.w, box.y + box.h]);
  face(g, size);
  g.lineWidth = 3;
  g.lineJoin = "round";
  g.strokeStyle = theme.lane;
  g.fillStyle = theme.muted;
  for (const { edge, below, side } of picture.labels()) {
    const box = below ? edge.from : edge.to, { lane } = box;
    const x = middle(box) + 6 * side, y = below ? box.y + box.h + 1 : box.y - 7 - size;
    if (y < view.top || y > view.bottom) continue;
    for (const text of [oneLine(picture.flowOf(edge), 26), bytesText(edge.bytes)]) {
      const wide = g.measureText(text).width, near = side < 0 ? x - wide : x, place = [near, y, near + wide, y + size];
      if (near < lane.x + 4 || place[2] > lane.x + lane.w || taken.some((other) => meet(place, other))) continue;
      taken.push(place);
      g.globalAlpha = picture.exists(box) ? 1 : FUTURE;
      g.strokeText(text, near, y + size / 2);
      g.fillText(text, near, y + size / 2);
      break;
    }
  }
  g.globalAlpha = 1;
}

/** Whether two rectangles, each its left, top, right and bottom, have anything in common. */
function meet(/** @type {number[]} */ [x, y, right, bottom], /** @type {number[]} */ other) {
  return x < other[2] && right > other[0] && y < other[3] && bottom > other[1];
}

/** Gives those that failed, with why. @returns {[Box, string][]} */
function boxes(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { picture, app } = v, { theme, selection, store } = app, { view } = v, c = store.nodes.c;
  /** @type {[Box, string][]} */
  const errors = [];
  const plain = v.scale < 0.28, chosen = selection.node();
  for (const box of picture.boxes) {
    const x = left(box), { y, w, h: tall } = box;
    if (x > view.right || x + w < view.left || y > view.bottom || y + tall < view.top) continue;
    const state = picture.stateOf(box), there = picture.exists(box), lit = !selection.choice || box.nodes.some((i) => selection.has(i));
    g.globalAlpha = (lit ? 1 : 0.28) * (there ? 1 : FUTURE);
    const error = state === FAILED && picture.errorOf(box);
    if (error) errors.push([box, error]);
    if (plain) {
      block(g, theme.rim[state], x, y, w, tall, g.globalAlpha * (state === WAITING ? 0.45 : 0.8));
      continue;
    }
    const radius = box.pill ? tall / 2 : c.kind[box.nodes[0]] === 2 ? 3 : 7;
    g.lineWidth = state === FAILED ? 2.2 : 1.3;
    for (let back = sheets(store, box); back >= 0; back--) {
      if (state === WAITING) g.setLineDash([4, 3]);
      if (state === CANCELLED) g.setLineDash([9, 3, 2, 3]);
      rounded(g, [x + 3 * back, y - 3 * back, w, tall, radius], theme.fill[state], theme.rim[state]);
      g.setLineDash([]);
    }
    const tiles = STATE_MARKS[state] && pattern(g, STATE_MARKS[state], theme.mark[state]);
    if (tiles) fillPath(g, tiles, theme.rim[state]);
    if (box.nodes.length === 1 && box.nodes[0] === chosen) {
      g.strokeStyle = theme.fg;
      g.lineWidth = 3;
      g.stroke();
    }
    written(v, g, box, state, x);
  }
  g.globalAlpha = 1;
  return errors;
}

/** Why it failed, over what stands there. @param {View} v @param {CanvasRenderingContext2D} g @param {Box} box @param {string} error */
function callout(v, g, box, error) {
  const { theme } = v.app, { view, scale } = v, edge = 6 / scale, size = Math.max(10.5, 9.5 / scale), em = size / 10.5;
  const inside = { left: view.left + edge, top: view.top + (TOP + 30) / scale, right: view.right - edge, bottom: view.bottom - edge };
  const lines = wrapped(oneLine(error, 56), within(8, (inside.right - inside.left - 16 * em) / 6.6 / em, 56));
  face(g, `600 ${size}`);
  const wide = Math.max(...lines.map((line) => g.measureText(line).width)) + 16 * em, tall = (13 * lines.length + 6) * em;
  const { x, y, tip, below } = tagAt({ x: left(box), y: box.y, h: box.h }, wide, tall, inside), foot = below ? y : y + tall, end = below ? y - 5 : foot + 5;
  rounded(g, [x, y, wide, tall, 5]);
  through(g, [[tip - 5, foot], [tip, end], [tip + 5, foot]]);
  fillPath(g, theme.rim[FAILED]);
  lines.forEach((line, i) => write(g, `600 ${size}`, theme.fill[FAILED], line, x + 8 * em, y + (10 + 13 * i) * em));
}

/**
 * Where the tag of a box stands: below it, or above where there is no room, and all of it inside.
 * @param {{x: number, y: number, h: number}} box @param {number} wide @param {number} tall @param {View["view"]} inside
 */
export function tagAt(box, wide, tall, inside) {
  const under = box.y + box.h + 4, below = under + tall <= inside.bottom, x = within(inside.left, box.x, inside.right - wide);
  return { x, y: within(inside.top, below ? under : box.y - tall - 4, inside.bottom - tall), tip: within(x + 10, box.x + 15, x + wide - 10), below };
}

/** @param {CanvasRenderingContext2D} g @param {Box} box @param {number} state @param {number} x */
function written(v, g, box, state, x) {
  const { theme, store } = v.app, { y, w, h: tall } = box, parts = store.nodes.c.parts[box.nodes[0]], { scale } = v;
  if (scale < READABLE) {
    // Its sign and its name alone, as large as can be read.
    const name = called(store, box, Math.floor((w * scale - 16) / 5.8));
    if (tall * scale > 11) write(g, `600 ${9.5 / scale}`, theme.fg, `${GLYPHS[state]} ${name}`, x + w / 2, y + tall / 2, "center", w);
    return;
  }
  const [label, sub, error] = v.picture.textsOf(box);
  const first = box.pill ? y + tall / 2 : sub || error ? y + 16 : y + tall / 2;
  write(g, 13, theme.rim[state], GLYPHS[state], x + 9, first + 0.5);
  write(g, `600 ${box.pill ? 11 : Math.max(12.5, 9 / scale)}`, theme.fg, label, x + 26, first, "left", w - (parts > 1 ? 62 : 32));
  const second = error || sub;
  if (second) {
    const at = box.pill ? x + 30 + g.measureText(label).width : x + 10;
    write(g, `${error ? "600 " : ""}10.5`, error && state === FAILED ? theme.bad : theme.muted,
      oneLine(second, Math.floor((x + w - at - 4) / (error ? 6.2 : 5.6))), at, box.pill ? first + 0.5 : y + 33.5);
  }
  if (isGroup(box)) shares(v, g, box, x);
  else if (parts > 1) write(g, "700 11", theme.muted, `×${parts}`, x + w - 8, first, "right");
}

/** A bar at the foot of a group: how many of its nodes are in which state. */
function shares(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g, /** @type {Box} */ box, /** @type {number} */ x) {
  const { theme } = v.app;
  const alpha = g.globalAlpha;
  let at = x + 10;
  v.picture.countsOf(box).forEach((n, state) => {
    const wide = ((box.w - 20) * n) / box.nodes.length;
    block(g, theme.rim[state], at, box.y + box.h - 12, wide, 5, alpha);
    at += wide;
  });
}

function head(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ down) {
  through(g, [[x, y], [x - 3.6, y - 7 * down], [x + 3.6, y - 7 * down]]);
}
