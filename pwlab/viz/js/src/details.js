// What there is to know of what is chosen.

import { h } from "./dom.js";
import { word } from "./explain.js";
import { FAILED, GLYPHS, KINDS, LINKS, STATES } from "./states.js";
import { bytesText, count, oneLine, percent, rangesText, secondsText, sourceText } from "./text.js";
import { totals } from "./totals.js";

/** The lines of the panel, or null where nothing is chosen. @param {import("./app.js").App} app */
export function details(app) {
  const { choice } = app.selection, span = app.timeline?.span;
  if (choice?.kind === "node") return node(app, choice.id);
  if (choice?.kind === "wait") return wait(app, choice.id);
  if (choice?.kind === "program") return program(app, choice.id);
  if (choice) return group(app, choice);
  return span ? stretch(app, span) : null;
}

/** @param {any} name @param {...any} value */
function line(name, ...value) {
  return h("div.pw-fact", {}, h("dt", {}, name), h("dd", {}, ...value));
}

/** @param {import("./app.js").App} app @param {any} choice @param {string} text */
function pick(app, choice, text) {
  return h("button.pw-link", { onclick: () => { app.selection.set(choice); app.reveal(); app.showDetails(); } }, text);
}

/** @param {import("./app.js").App} app @param {string} cell @param {number} at @param {string} text */
function written(app, cell, at, text) {
  if (!cell) return null;
  return [line("written at", pick(app, { kind: "cell", id: cell }, sourceText(cell, at))), text && h("pre.pw-source", {}, oneLine(text, 300))];
}

/** @param {import("./app.js").App} app @param {number} i */
function node(app, i) {
  const { store } = app, c = store.nodes.c, state = c.state[i], ran = c.end[i] > c.start[i];
  const from = store.sources(i), to = store.readers(i), program = store.programs.get(c.program[i]);
  const slice = store.slices.get(c.slice[i]), island = store.islands.get(store.islandOf(i)), devices = store.devices(i);
  const cause = c.cause[i] && c.cause[i] !== c.id[i] ? store.indexOf.get(c.cause[i]) : -1;
  const nodes = (/** @type {number[]} */ list) => list.slice(0, 8).map((j) => [pick(app, { kind: "node", id: j }, oneLine(store.word(j, "name"), 24)), " "]);
  const span = (/** @type {number} */ a, /** @type {number} */ b) => (b > a ? secondsText(b - a) : null);
  const steps = [
    ["until prepared", span(c.added[i], c.prepared[i])],
    ["until queued", span(c.prepared[i], c.queued[i])],
    ["in the queue", span(c.queued[i], c.launched[i])],
  ].filter(([, text]) => text);
  return [
    h("h4", {}, h(`span.pw-state${state}`, {}, GLYPHS[state]), " ", oneLine(store.word(i, "name"), 120)),
    h("div.pw-note", {}, `${STATES[state]} · ${KINDS[c.kind[i]]}${c.parts[i] > 1 ? ` · ${c.parts[i]} computations in one launch` : ""}`),
    c.error[i] ? h("pre.pw-error", {}, store.word(i, "error")) : null,
    cause >= 0 && line("began with", nodes([cause])),
    ran && line("ran", secondsText(c.end[i] - c.start[i])),
    c.compile[i] > 0 && line("compiled in", secondsText(c.compile[i])),
    steps.map(([name, text]) => line(name, text)),
    line(word(app, "slice"), `${oneLine(slice?.name ?? String(c.slice[i]), 20)}${island ? ` on ${oneLine(island.name, 20)}` : ""}`),
    devices.length ? line("devices", devices.length > 1 && app.options.explain ? [word(app, "gang"), " of "] : "", rangesText(devices)) : null,
    c.link[i] ? line("moves", `${bytesText(c.moved[i])} over `, word(app, LINKS[c.link[i]])) : null,
    c.outsN[i] && line("writes", bytesText(store.written(i))),
    written(app, store.word(i, "cell"), c.line[i], store.word(i, "text")),
    program && line(word(app, "program"), pick(app, { kind: "program", id: program.id }, oneLine(program.name, 40))),
    program && line(word(app, "client"), pick(app, { kind: "client", id: program.client }, oneLine(program.client, 40))),
    from.length ? line("reads from", nodes(from)) : null,
    to.length ? line("read by", nodes(to), to.length > 8 ? `and ${to.length - 8} more` : "") : null,
    line("all of its name", pick(app, { kind: "name", id: store.word(i, "name") }, "highlight")),
  ];
}

/** @param {import("./app.js").App} app @param {number} i */
function wait(app, i) {
  const w = app.store.waits[i], from = w.buffer ? app.store.producer.get(w.buffer) : -1;
  return [
    h("h4", {}, `wait: ${oneLine(w.reason, 80)}`),
    h("div.pw-note", {}, "the cell's own thread waited for a value"),
    line("waited", secondsText(w.seconds)),
    written(app, w.cell, w.line, w.text),
    from >= 0 && line("for", pick(app, { kind: "node", id: from }, oneLine(app.store.word(from, "name"), 40))),
  ];
}

/** @param {import("./app.js").App} app @param {number} id */
function program(app, id) {
  const { store } = app, p = store.programs.get(id);
  if (!p) return null;
  const ended = !Number.isNaN(p.ended);
  return [
    h("h4", {}, `program ${oneLine(p.name, 100)}`),
    h("div.pw-note", {}, ended ? `${STATES[p.state]} after ${secondsText(p.ended - p.opened)}` : "running"),
    written(app, p.cell, p.line, p.text),
    line(word(app, "client"), pick(app, { kind: "client", id: p.client }, oneLine(p.client, 40))),
    p.counts.map((n, state) => n > 0 && line([h(`span.pw-state${state}`, {}, GLYPHS[state]), ` ${STATES[state]}`], n.toLocaleString("en"))),
  ];
}

/** @param {import("./app.js").App} app @param {any} choice */
function group(app, choice) {
  const { store, selection } = app, c = store.nodes.c;
  let nodes = 0, seconds = 0, failed = 0, bytes = 0;
  for (let i = 0; i < store.nodes.n; i++) {
    if (!selection.has(i)) continue;
    nodes++;
    if (c.end[i] > c.start[i]) seconds += (c.end[i] - c.start[i]) * (choice.kind === "device" ? 1 : Math.max(1, store.devices(i).length));
    if (c.state[i] === FAILED) failed++;
    if (nodes < 100_000) bytes += store.written(i);
  }
  const waits = choice.kind === "cell" ? store.waits.filter((w) => w.cell === choice.id) : [];
  const name = choice.kind === "device" ? `device ${choice.id}` : choice.kind === "cell" ? oneLine(choice.id, 60) : `${choice.kind} ${oneLine(choice.id, 100)}`;
  return [
    h("h4", {}, name),
    h("div.pw-note", {}, count(nodes, "node")),
    line("device time", secondsText(seconds)),
    bytes ? line("written", bytesText(bytes)) : null,
    failed ? line("failed", String(failed)) : null,
    waits.length ? line("waits", `${waits.length}, ${secondsText(waits.reduce((sum, w) => sum + w.seconds, 0))}`) : null,
  ];
}

/** @param {import("./app.js").App} app @param {[number, number]} span */
function stretch(app, [from, to]) {
  const { store, tracks } = app, sum = totals(store, tracks, from, to);
  return [
    h("h4", {}, `${secondsText(to - from)} chosen`),
    h("div.pw-note", {}, "F or Enter shows just this"),
    sum.islands.map(({ id, share }) => line(oneLine(store.islands.get(id)?.name ?? "", 20), h("span.pw-bar", {}, h("i", { style: `width:${(100 * share).toFixed(1)}%;background:var(--pw-accent)` })), ` ${percent(share)} busy`)),
    line("launches", sum.launches.toLocaleString("en")),
    sum.transfers ? line("transfers", `${sum.transfers.toLocaleString("en")}, ${bytesText(sum.moved)}`) : null,
    sum.waits ? line("waits", `${sum.waits.toLocaleString("en")}, ${secondsText(sum.waited)}`) : null,
    sum.names.length ? h("h5", {}, "device time") : null,
    sum.names.slice(0, 10).map((name) => line(pick(app, { kind: "name", id: store.strings[name.name] }, oneLine(store.strings[name.name], 22)), `${secondsText(name.seconds)} · ${count(name.launches, "launch", "launches")}`)),
  ];
}
