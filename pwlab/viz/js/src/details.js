// What there is to know of what is chosen.

import { sum } from "./columns.js";
import { bar, h } from "./dom.js";
import { COMPUTE, FAILED, KINDS, LINKS, STATES } from "./states.js";
import { bytesText, count, digits, oneLine, percent, rangesText, secondsText, sourceText } from "./text.js";
import { totals } from "./totals.js";

/** The lines of the panel, or null where nothing is chosen. @param {import("./app.js").App} app */
export function details(app) {
  const { choice } = app.selection, span = app.timeline?.span;
  if (choice?.kind === "node") return node(app, choice.id);
  if (choice?.kind === "wait") return wait(app, choice.id);
  if (choice?.kind === "work") return work(app, choice.id);
  if (choice?.kind === "program") return program(app, choice.id);
  if (choice) return group(app, choice);
  return span ? stretch(app, span) : null;
}

/** A word; with its meaning where the dashboard explains. @param {import("./app.js").App} app @param {string} text */
function word({ options }, text) {
  return options.words[text] ? h("abbr", { title: options.words[text] }, text) : text;
}

/** What it is called, and what it is. @param {any} name @param {string} about */
function head(name, about) {
  return [h("h4", name), h("div.pw-note", about)];
}

/** A fact; none where there is nothing to tell. @param {any} name @param {...any} value */
function line(name, ...value) {
  return value[0] ? h("div.pw-fact", h("dt", name), h("dd", value)) : null;
}

/** @param {import("./app.js").App} app @param {any} choice @param {string} text */
function pick(app, choice, text) {
  return h("button.pw-link", { onclick: () => { app.choose(choice); app.reveal(); } }, text);
}

/** @param {import("./app.js").App} app @param {string} cell @param {number} at @param {string} text */
function written(app, cell, at, text) {
  return cell && [line("written at", pick(app, { kind: "cell", id: cell }, sourceText(cell, at))), text && h("pre", oneLine(text, 300))];
}

/** @param {import("./app.js").App} app @param {number} i */
function node(app, i) {
  const { store } = app, c = store.nodes.c, state = c.state[i], cause = store.cause(i);
  const from = store.sources(i), to = store.readers(i), program = store.programs.get(c.program[i]);
  const slice = store.slices.get(c.slice[i]), island = store.islands.get(store.islandOf(i)), devices = store.devices(i);
  const nodes = (/** @type {number[]} */ list) => list.slice(0, 8).map((j) => [pick(app, { kind: "node", id: j }, store.name(j, 24)), " "]);
  const span = (/** @type {number} */ a, /** @type {number} */ b) => b > a && secondsText(b - a);
  return [
    head([app.glyph(state), " ", store.name(i, 120)], `${STATES[state]} · ${KINDS[c.kind[i]]}${c.parts[i] > 1 ? ` · ${c.parts[i]} computations in one launch` : ""}`),
    c.error[i] > 0 && h("pre.pw-error", store.word(i, "error")),
    line("began with", cause >= 0 && nodes([cause])),
    line("ran", store.ran(i) && `${secondsText(store.ran(i))}, from ${secondsText(c.start[i] - store.begin())}`),
    line("held back", c.held[i] >= 0 && [`${c.launched[i] >= 0 ? "at first, " : ""}for memory`, c.account[i] > 0 && ` of ${store.word(i, "account")}`, c.short[i] > 0 && `, ${bytesText(c.short[i])} short`]),
    line("compiled in", c.prepared[i] >= 0 && c.compile[i] && secondsText(c.compile[i])),
    line("until prepared", span(c.added[i], c.prepared[i])),
    line("until queued", span(c.prepared[i], c.queued[i])),
    line("in the queue", span(c.queued[i], c.launched[i])),
    line(word(app, "slice"), pick(app, { kind: "slice", id: c.slice[i] }, oneLine(slice?.name ?? String(c.slice[i]), 20)), island && ` on ${oneLine(island.name, 20)}`),
    line("on devices", devices.length && [devices.length > 1 && app.options.words["gang"] && [word(app, "gang"), " of "],
      devices.length > 8 ? rangesText(devices) : devices.map((id) => [pick(app, { kind: "device", id }, String(id)), " "])]),
    line("moves", c.link[i] && `${bytesText(c.moved[i])} over `, word(app, LINKS[c.link[i]])),
    line("writes", c.outsN[i] && bytesText(store.written(i))),
    written(app, store.word(i, "cell"), c.line[i], store.word(i, "text")),
    line(word(app, "program"), program && pick(app, { kind: "program", id: program.id }, oneLine(program.name, 40))),
    line(word(app, "client"), program && pick(app, { kind: "client", id: program.client }, oneLine(program.client, 40))),
    line("reads from", from.length && nodes(from)),
    line("read by", to.length && nodes(to), to.length > 8 && `and ${to.length - 8} more`),
    line("all of its name", pick(app, { kind: "name", id: store.word(i, "name") }, "highlight")),
  ];
}

/** @param {import("./app.js").App} app @param {number} i */
function wait(app, i) {
  const w = app.store.waits[i], from = w.buffer ? app.store.producer.get(w.buffer) : -1;
  return [
    head(`wait: ${oneLine(w.reason, 80)}`, "the cell's own thread waited for a value"),
    line("waited", isNaN(w.seconds) ? `${secondsText(app.store.now() - w.time)} so far` : secondsText(w.seconds)),
    written(app, w.cell, w.line, w.text),
    line("for", from >= 0 && pick(app, { kind: "node", id: from }, app.store.name(from, 40))),
  ];
}

/** @param {import("./app.js").App} app @param {number} i */
function work(app, i) {
  const { seconds, busy, events, launches } = app.store.works[i];
  return [
    head("controller", "its thread took events and launched what could be"),
    line("for", secondsText(seconds)),
    line("at work", `${secondsText(busy)}, ${percent(busy / seconds)}`),
    line("took", count(events, "event")),
    line("launched", launches && count(launches, "node")),
  ];
}

/** @param {import("./app.js").App} app @param {number} id */
function program(app, id) {
  const { store } = app, p = store.programs.get(id);
  if (!p) return null;
  const ended = !isNaN(p.ended);
  return [
    head(`program ${oneLine(p.name, 100)}`, ended ? `${STATES[p.state]} after ${secondsText(p.ended - p.opened)}` : store.going()),
    written(app, p.cell, p.line, p.text),
    line(word(app, "client"), pick(app, { kind: "client", id: p.client }, oneLine(p.client, 40))),
    p.counts.map((n, state) => n > 0 && line([app.glyph(state), ` ${STATES[state]}`], digits(n))),
  ];
}

/** @param {import("./app.js").App} app @param {any} choice */
function group(app, choice) {
  const { store, selection } = app, c = store.nodes.c;
  let nodes = 0, seconds = 0, failed = 0, bytes = 0;
  for (let i = 0; i < store.known; i++) {
    if (!selection.has(i)) continue;
    nodes++;
    if (c.kind[i] === COMPUTE) seconds += store.ran(i) * (choice.kind === "device" ? 1 : store.devices(i).length);
    if (c.state[i] === FAILED) failed++;
    if (nodes < 100_000) bytes += store.written(i);
  }
  const waits = choice.kind === "cell" ? store.waits.filter((w) => w.cell === choice.id && w.time <= store.now()) : [];
  const name = choice.kind === "device" ? `device ${choice.id}` : choice.kind === "slice" ? `slice ${oneLine(store.slices.get(choice.id)?.name ?? String(choice.id), 40)}` : choice.kind === "cell" ? oneLine(choice.id, 60) : `${choice.kind} ${oneLine(choice.id, 100)}`;
  return [
    head(name, count(nodes, "node")),
    line("device time", secondsText(seconds)),
    line("written", bytes && bytesText(bytes)),
    line("failed", failed),
    line("waits", waits.length && `${waits.length}, ${secondsText(sum(waits, (w) => w.seconds || 0))}`),
  ];
}

/** @param {import("./app.js").App} app @param {[number, number]} span */
function stretch(app, [from, to]) {
  const { store, tracks } = app, all = totals(store, tracks, from, to);
  return [
    head(`${secondsText(to - from)} chosen`, app.tab === "timeline" ? "F or Enter shows just this" : "in the timeline"),
    all.islands.map(({ id, share }) => line(oneLine(store.islands.get(id)?.name ?? "", 20), bar([[share, "background:var(--accent)"]]), ` ${percent(share)} busy`)),
    line("launches", digits(all.launches)),
    line("transfers", all.transfers && `${digits(all.transfers)}, ${bytesText(all.moved)}`),
    line("waits", all.waits && `${digits(all.waits)}, ${secondsText(all.waited)}`),
    line(word(app, "controller"), all.control && `${percent(all.control / (to - from))} busy`),
    all.names.length > 0 && h("h5", "device time"),
    all.names.slice(0, 10).map((name) => line(pick(app, { kind: "name", id: store.texts[name.name] }, oneLine(store.texts[name.name], 22)), `${secondsText(name.seconds)} · ${count(name.launches, "launch", "launches")}`)),
  ];
}
