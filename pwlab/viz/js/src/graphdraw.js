// How the graph looks: islands as bands, slices as boxes in them, nodes as rectangles that change with their state.

import { block, paint as fillPath, rounded, through, write } from "./brush.js";
import { had } from "./columns.js";
import { sheets } from "./graphview.js";
import { GAP } from "./layout.js";
import { STATE_MARKS } from "./palette.js";
import { pattern } from "./patterns.js";
import { left, middle } from "./picture.js";
import { CANCELLED, FAILED, GLYPHS, WAITING } from "./states.js";
import { oneLine, within } from "./text.js";

/** Dashes of an edge, by network. */
export const DASHES = [[], [], [7, 3], [2, 2]];
/** How much of what is not there yet is to be seen. */
const FUTURE = 0.2;

/** @typedef {import("./graphview.js").Graph} View */
/** @typedef {import("./picture.js").Box} Box */

/** Draws all of a view. */
export function paint(/** @type {View} */ v) {
  const { context: g, app } = v, { theme } = app;
  g.clearRect(0, 0, v.w, v.h);
  if (!v.picture.boxes.length) {
    write(g, 12, theme.muted, "Nothing has been recorded yet. Run a %%pathways cell and watch.", v.w / 2, v.h / 2, "center");
    return;
  }
  g.save();
  g.translate(v.x, v.y);
  g.scale(v.scale, v.scale);
  lanes(v, g);
  edges(v, g);
  boxes(v, g);
  g.restore();
}

function lanes(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { picture, app } = v, { theme, store } = app, bottom = picture.height;
  g.textBaseline = "alphabetic";
  g.lineWidth = 1;
  for (const [id, x, wide] of picture.bands()) {
    const island = store.islands.get(id);
    rounded(g, [x, 0, wide, bottom - 4, 10], theme.band, theme.line);
    heading(v, g, island ? oneLine(island.name, 24) : "not placed yet", island ? `${island.devices.length} × ${oneLine(island.chip, 10)}` : "", x + 14, 20, 13);
  }
  for (const lane of picture.lanes.values()) {
    rounded(g, [lane.x, 30, lane.w, bottom - 30 - GAP, 8], theme.lane, theme.line);
    const [name, about] = picture.headOf(lane);
    heading(v, g, name, about, lane.x + 12, 48, 12);
  }
}

/** @param {CanvasRenderingContext2D} g @param {string} name @param {string} about @param {number} x @param {number} y @param {number} size */
function heading(v, g, name, about, x, y, size) {
  if (v.scale < 0.12) return;
  write(g, `600 ${size}`, v.app.theme.fg, name, x, y);
  write(g, 11, v.app.theme.muted, about, x + g.measureText(name).width + 8, y);
}

function edges(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { picture, app } = v, { theme, selection } = app, { view } = v;
  const far = v.scale < 0.3, dim = !!selection.choice;
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
    g.globalAlpha = (look & 1 ? 1 : 0.25) * (look & 4 ? FUTURE : 1);
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
  if (v.scale > 0.55) flows(v, g);
}

/** The way of an edge. @param {CanvasRenderingContext2D} g @param {import("./picture.js").Edge} edge @param {boolean} far */
export function trace(g, edge, far) {
  const { from, to, points } = edge;
  let x = middle(from), y = from.y + from.h;
  const endX = middle(to), endY = to.y - 5;
  g.moveTo(x, y);
  if (far) {
    g.lineTo(endX, to.y);
    return;
  }
  const way = points ? points.slice(points[0][1] <= y + 0.5 ? 1 : 0, -1).map(([px, py]) => [px + to.lane.x, py]) : [];
  for (const [nx, ny] of [...way, [endX, endY]]) {
    if (Math.abs(nx - x) < 0.5) g.lineTo(nx, ny);
    else {
      const bend = (y + ny) / 2;
      g.bezierCurveTo(x, bend, nx, bend, nx, ny);
    }
    x = nx;
    y = ny;
  }
}

/** What flows: shape and bytes. */
function flows(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { app, picture, view } = v, { theme } = app;
  g.font = "9.5px system-ui, sans-serif";
  g.lineWidth = 3;
  g.lineJoin = "round";
  g.strokeStyle = theme.lane;
  g.fillStyle = theme.muted;
  for (const { edge, below } of picture.labels()) {
    const box = below ? edge.from : edge.to;
    const x = middle(box) + 6, y = below ? box.y + box.h + 11 : box.y - 9;
    if (x < view.left - 140 || x > view.right || y < view.top || y > view.bottom + 10) continue;
    g.globalAlpha = picture.exists(box) ? 1 : FUTURE;
    const text = oneLine(picture.flowOf(edge), 26);
    g.strokeText(text, x, y);
    g.fillText(text, x, y);
  }
  g.globalAlpha = 1;
}

function boxes(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g) {
  const { picture, app } = v, { theme, selection, store } = app, { view } = v, c = store.nodes.c;
  /** @type {[Box, string][]} */
  const errors = [];
  const plain = v.scale < 0.28, words = v.scale > 0.42, chosen = selection.node();
  for (const box of picture.boxes) {
    const x = left(box), { y, w, h: tall } = box;
    if (x > view.right || x + w < view.left || y > view.bottom || y + tall < view.top) continue;
    const state = picture.stateOf(box), there = picture.exists(box), lit = !selection.choice || box.nodes.some((i) => selection.has(i));
    g.globalAlpha = (lit ? 1 : 0.28) * (there ? 1 : FUTURE);
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
    if (words) written(v, g, box, state, x);
    if (words && state === FAILED) {
      const error = picture.errorOf(box);
      if (error) errors.push([box, error]);
    }
  }
  g.globalAlpha = 1;
  for (const [box, error] of errors) callout(v, g, box, error);
}

/** Why it failed, below the node, over what stands there. @param {View} v @param {CanvasRenderingContext2D} g @param {Box} box @param {string} error */
function callout(v, g, box, error) {
  const { theme } = v.app, text = oneLine(error, 56), at = left(box), y = box.y + box.h + 4;
  g.font = "600 10.5px system-ui, sans-serif";
  const wide = g.measureText(text).width + 16, x = within(v.view.left, at, v.view.right - wide);
  rounded(g, [x, y, wide, 19, 5]);
  through(g, [[at + 10, y], [at + 15, y - 5], [at + 20, y]]);
  fillPath(g, theme.rim[FAILED]);
  g.textBaseline = "middle";
  write(g, "600 10.5", theme.fill[FAILED], text, x + 8, y + 10);
  g.textBaseline = "alphabetic";
}

/** @param {CanvasRenderingContext2D} g @param {Box} box @param {number} state @param {number} x */
function written(v, g, box, state, x) {
  const { theme, store } = v.app, { y, w, h: tall } = box, parts = store.nodes.c.parts[box.nodes[0]];
  const [label, sub, error] = v.picture.textsOf(box);
  g.textBaseline = "middle";
  const first = box.pill ? y + tall / 2 : sub || error ? y + 16 : y + tall / 2;
  write(g, 13, theme.rim[state], GLYPHS[state], x + 9, first + 0.5);
  write(g, `600 ${box.pill ? 11 : 12.5}`, theme.fg, label, x + 26, first, "left", w - (parts > 1 ? 62 : 32));
  const second = error || sub;
  if (second) {
    const at = box.pill ? x + 30 + g.measureText(label).width : x + 10;
    write(g, `${error ? "600 " : ""}10.5`, error && state === FAILED ? theme.bad : theme.muted,
      oneLine(second, Math.floor((x + w - at - 4) / (error ? 6.2 : 5.6))), at, box.pill ? first + 0.5 : y + 33.5);
  }
  if (box.key[0] === "g") shares(v, g, box, x);
  else if (parts > 1) write(g, "700 11", theme.muted, `×${parts}`, x + w - 8, first, "right");
  g.textBaseline = "alphabetic";
}

/** A bar at the foot of a group: how many of its nodes are in which state. */
function shares(/** @type {View} */ v, /** @type {CanvasRenderingContext2D} */ g, /** @type {Box} */ box, /** @type {number} */ x) {
  const { store, theme } = v.app, counts = new Array(7).fill(0), states = store.nodes.c.state;
  for (const i of box.nodes) if (i < store.known) counts[states[i]]++;
  const alpha = g.globalAlpha;
  let at = x + 10;
  counts.forEach((n, state) => {
    const wide = ((box.w - 20) * n) / box.nodes.length;
    block(g, theme.rim[state], at, box.y + box.h - 12, wide, 5, alpha);
    at += wide;
  });
}

function head(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ down) {
  through(g, [[x, y], [x - 3.6, y - 7 * down], [x + 3.6, y - 7 * down]]);
}
