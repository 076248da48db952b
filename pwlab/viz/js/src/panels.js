// The tabs that are tables: utilisation, memory, clients.

import { Chart, timeAxis } from "./chart.js";
import { colour, hash, NAMES } from "./colours.js";
import { fill, h } from "./dom.js";
import { Clients, Idle, Memory, PARTS } from "./totals.js";
import { bytesText, count, oneLine, percent, secondsText, sourceText } from "./text.js";
import { word } from "./explain.js";

/** Colours of the parts of a device's time: what is lost stands out less than what is used. */
const PART_COLOURS = [
  ["#3d9a5f", "#58bf7d"], ["#8d97a5", "#8f99a8"], ["#e0b040", "#dcc052"], ["#c2570c", "#ff9d57"], ["#b455b0", "#d07fd0"], ["#e3e8ee", "#2b313b"],
];

/** A table that is a table to screen readers too. @param {string[]} heads @param {any[][]} rows */
function table(heads, rows) {
  return h("table.pw-table", {},
    h("thead", {}, h("tr", {}, heads.map((text) => h("th", { class: text.startsWith(">") ? "pw-right" : "" }, text.replace(">", ""))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => h("td", { class: heads[i].startsWith(">") ? "pw-right" : "" }, cell))))));
}

/** A button that looks like text and chooses something. @param {any} app @param {any} choice @param {string} text */
function link(app, choice, text) {
  const chosen = app.selection.choice?.kind === choice.kind && app.selection.choice.id === choice.id;
  return h(`button.pw-link${chosen ? ".pw-on" : ""}`, { onclick: () => { app.selection.set(choice); app.showDetails(); } }, text);
}

class Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.element = h("div.pw-view.pw-scroll", { tabindex: "0" });
    this._version = -1;
    this._at = 0;
  }

  fit() {}

  key() {
    return false;
  }

  reveal() {}

  /** Tables are made anew at most four times a second, and only where something changed. */
  draw() {
    const { store } = this.app, now = performance.now();
    if ((this._version === store.version && !store.running) || now - this._at < 250) return;
    this._version = store.version;
    this._at = now;
    this.render();
  }

  changed() {
    this._version = -1;
    this._at = 0;
  }

  render() {}
}

export class Utilisation extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app);
    this.idle = new Idle(app.store, app.tracks);
    this.chart = new Chart(150, "share of each island's devices that compute, over time");
    this.list = h("div");
    this.legend = h("div.pw-legend");
    fill(this.element, [h("h4.pw-h", {}, "Devices that compute, over time"), this.chart.element, h("h4.pw-h", {}, "How each device spent the time"), this.legend, this.list]);
  }

  render() {
    const { app, idle } = this, { store, tracks, theme } = app, begin = store.begin(), now = store.now(), span = Math.max(1e-9, now - begin);
    const islands = [...store.islands.values()];
    this.chart.draw((g, w, tall) => {
      const plot = tall - 18, bins = Math.max(1, Math.min(240, Math.floor(w / 5)));
      g.fillStyle = theme.line;
      for (const share of [0, 0.5, 1]) g.fillRect(0, 8 + (plot - 8) * (1 - share), w, 1);
      islands.forEach((island, k) => {
        g.strokeStyle = g.fillStyle = colour(k % NAMES, theme.dark);
        g.lineWidth = 2;
        g.setLineDash([[], [6, 3], [2, 3]][k % 3]);
        g.beginPath();
        for (let b = 0; b < bins; b++) {
          const from = begin + (span * b) / bins, to = begin + (span * (b + 1)) / bins;
          let busy = 0;
          for (const device of island.devices) busy += tracks.devices.get(device)?.rows[0].busy(from, to) ?? 0;
          const share = Math.min(1, busy / ((to - from) * island.devices.length)), y = 8 + (plot - 8) * (1 - share);
          g.lineTo((w * b) / bins, y);
          g.lineTo((w * (b + 1)) / bins, y);
        }
        g.stroke();
        g.setLineDash([]);
        g.font = "600 11px system-ui, sans-serif";
        g.fillText(oneLine(island.name, 20), 6 + k * 130, 5.5 + 10);
      });
      g.font = "10px system-ui, sans-serif";
      g.fillStyle = theme.muted;
      g.fillText("100%", w - 30, 18);
      timeAxis(g, theme, span, w, plot);
    });
    fill(this.legend, PARTS.map((part, i) => h("span.pw-key", {}, h("i", { style: `background:${PART_COLOURS[i][+theme.dark]}` }), word(app, part))));
    fill(this.list, [islands.map((island) => {
      const each = island.devices.map((device) => ({ device, parts: idle.of(device, now) }));
      const sums = PARTS.map((_, i) => each.reduce((sum, d) => sum + d.parts[i], 0));
      const shown = each.length > 32 ? each.slice(0, 32) : each;
      return h("div", {},
        this._bar(h("b", {}, oneLine(island.name, 20)), sums, theme.dark),
        shown.map(({ device, parts }) => this._bar(link(app, { kind: "device", id: device }, `device ${device}`), [...parts], theme.dark)),
        each.length > shown.length && h("div.pw-note", {}, `and ${count(each.length - shown.length, "device")} more`));
    })]);
  }

  /** @param {any} name @param {number[]} parts @param {boolean} dark */
  _bar(name, parts, dark) {
    const asked = clients.reduce((sum, c) => sum + (store.shares[c.client] ?? 0), 0);
    const whole = Math.max(1e-12, parts.reduce((a, b) => a + b, 0));
    const about = PARTS.map((part, i) => (parts[i] > 0 ? `${part} ${percent(parts[i] / whole)} (${secondsText(parts[i])})` : "")).filter(Boolean).join(", ");
    return h("div.pw-barline", { title: about },
      h("span.pw-barname", {}, name),
      h("span.pw-bar", { role: "img", "aria-label": about }, parts.map((part, i) => part / whole > 0.001 && h(`i.pw-part${i}`, { style: `width:${((100 * part) / whole).toFixed(2)}%;background:${PART_COLOURS[i][+dark]}` }))),
      h("span.pw-num", {}, percent(parts[0] / whole)));
  }
}

export class MemoryPanel extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app);
    this.memory = new Memory(app.store);
    this.charts = new Map();
    this.where = h("div");
    this.list = h("div");
    fill(this.element, [h("h4.pw-h", {}, "Bytes of results on each island, over time"), this.where, h("h4.pw-h", {}, "Largest holders now"), this.list]);
  }

  render() {
    const { app, memory } = this, { store, theme } = app;
    memory.update();
    const begin = store.begin(), span = Math.max(1e-9, store.now() - begin);
    for (const id of [...memory.islands.keys()].sort((a, b) => a - b)) {
      if (!this.charts.has(id)) {
        const chart = new Chart(110, "bytes over time"), label = h("div.pw-sub");
        this.charts.set(id, { chart, label });
        this.where.append(label, chart.element);
      }
      const { chart, label } = this.charts.get(id), steps = /** @type {import("./totals.js").Steps} */ (memory.islands.get(id)), sums = steps.sums();
      let peak = 0;
      for (const value of sums) if (value > peak) peak = value;
      const current = sums[sums.length - 1] ?? 0;
      label.textContent = `${oneLine(store.islands.get(id)?.name ?? "not placed", 24)} · now ${bytesText(current)} · most ${bytesText(peak)}`;
      chart.draw((/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ w, /** @type {number} */ tall) => {
        const plot = tall - 18, y = (/** @type {number} */ v) => plot - (v / Math.max(1, peak)) * (plot - 12);
        // Of each pixel the most and the least: a line through every step would be a solid block.
        const columns = Math.max(1, Math.floor(w)), most = new Float64Array(columns), least = new Float64Array(columns);
        for (let px = 0, i = 0, held = 0; px < columns; px++) {
          most[px] = least[px] = held;
          for (const end = begin + (span * (px + 1)) / columns; i < sums.length && steps.time[i] <= end; i++) {
            held = sums[i];
            if (held > most[px]) most[px] = held;
            if (held < least[px]) least[px] = held;
          }
        }
        g.fillStyle = theme.line;
        g.fillRect(0, plot, w, 1);
        g.fillStyle = theme.accent;
        for (const [values, alpha] of /** @type {[Float64Array, number][]} */ ([[most, 0.22], [least, 0.3]])) {
          g.globalAlpha = alpha;
          g.beginPath();
          g.moveTo(0, plot);
          values.forEach((value, px) => g.lineTo(px, y(value)));
          g.lineTo(w, plot);
          g.fill();
        }
        g.globalAlpha = 1;
        g.strokeStyle = theme.accent;
        g.lineWidth = 1.5;
        g.beginPath();
        most.forEach((value, px) => g.lineTo(px, y(value)));
        g.stroke();
        timeAxis(g, theme, span, w, plot);
      });
    }
    const holders = memory.holders();
    fill(this.list, [holders.length
      ? table(["computation", "where it was written", "slice", ">values", ">bytes"], holders.map(({ node, bytes, buffers }) => [
          link(app, { kind: "node", id: node }, oneLine(store.word(node, "name"), 40)),
          sourceText(store.word(node, "cell"), store.node(node, "line")),
          oneLine(store.slices.get(store.node(node, "slice"))?.name ?? "", 16),
          buffers.toLocaleString("en"), bytesText(bytes),
        ]))
      : h("p.pw-note", {}, "Nothing is held.")]);
  }
}

export class ClientsPanel extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app);
    this.clients = new Clients(app.store);
    this.list = h("div");
    fill(this.element, [h("h4.pw-h", {}, "Device time by client"), this.list]);
  }

  render() {
    const { app } = this, { store, theme } = app, clients = this.clients.update();
    const asked = clients.reduce((sum, c) => sum + (store.shares[c.client] ?? 0), 0);
    const whole = Math.max(1e-12, clients.reduce((sum, c) => sum + c.seconds, 0)), programs = new Map();
    for (const program of store.programs.values()) programs.set(program.client, (programs.get(program.client) ?? 0) + 1);
    fill(this.list, [clients.length
      ? table(["client", "share got", ">", ">share asked", ">device time", ">launches", ">programs", ">failed"], clients.map((c) => [
          link(app, { kind: "client", id: c.client }, oneLine(c.client, 28)),
          h("span.pw-bar", {}, h("i", { style: `width:${((100 * c.seconds) / whole).toFixed(1)}%;background:${colour(app.tracks.by === "client" ? app.tracks.colours.of(c.client) : hash(c.client) % NAMES, theme.dark)}` })),
          percent(c.seconds / whole), store.shares[c.client] ? percent(store.shares[c.client] / asked) : "–", secondsText(c.seconds), c.launches.toLocaleString("en"), String(programs.get(c.client) ?? 0), c.failed ? String(c.failed) : "–",
        ]))
      : h("p.pw-note", {}, "No client has submitted anything yet.")]);
  }
}
