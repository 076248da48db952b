// The tab of memory: bytes on each device against what it may hold, who holds them, and what waits for them.

import { across, block } from "./brush.js";
import { areas, Chart, timeAxis } from "./chart.js";
import { had, sum } from "./columns.js";
import { fill, h } from "./dom.js";
import { Panel } from "./panels.js";
import { bytesText, count, digits, oneLine, percent, rangesText, secondsText, sourceText } from "./text.js";
import { MEMORY } from "./usage.js";

/** Rows of an island, and holders, that are listed. */
const ROWS = 12, HOLDERS = 12, HELD = 6;

/** @typedef {ReturnType<import("./usage.js").Usage["view"]>["memory"][0]} Row */

export class MemoryPanel extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app, "Bytes on each device, over time");
    /** @type {Map<string, Chart>} */
    this.charts = new Map();
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  render(view) {
    this.grain(this.note, view);
    this._rooms(view);
    fill(this.list, [this._held(view), this._holders(view)]);
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  _rooms(view) {
    const { app } = this, { theme } = app, rows = grouped(view.memory), later = /** @type {(() => void)[]} */ ([]), many = (/** @type {Row} */ { devices }) => devices.length;
    const most = Math.max(1, ...rows.map((row) => (isFinite(row.capacity) ? Math.max(row.capacity, row.peak) : row.peak)));
    fill(this.where, [...app.store.islands.values()].map((island) => {
      const mine = rows.filter((row) => row.island === island.id), shown = mine.length > ROWS ? [...mine].sort((a, b) => b.bytes - a.bytes || b.peak - a.peak).slice(0, ROWS) : mine;
      const hidden = sum(mine, many) - sum(shown, many);
      return [
        h("div.pw-sub", this.means("island"), h("b", oneLine(island.name, 24))),
        shown.map((row) => {
          const name = row.devices.length === 1 || row.shared ? row.label : `devices ${rangesText(row.devices)}`;
          const chart = had(this.charts, name, () => new Chart(38, `bytes on ${name} over time`)), bounded = isFinite(row.capacity), full = bounded && row.bytes > 0.9 * row.capacity;
          chart.tells(view.used, (bin) => [name, `${bytesText(row.series[bin] ?? 0)} after ${secondsText(bin * view.step)}`]);
          later.push(() => chart.draw((g, w, tall) => {
            const low = tall - 1, unit = (low - 5) / most;
            block(g, theme.line, 0, low, w, 1);
            areas(g, [{ values: row.series, colour: full ? theme.bad : theme.accent, mark: "" }], theme.bg, w / view.used, low, unit);
            if (bounded) across(g, theme.fg, [5, 4], w, low - row.capacity * unit);
          }));
          const tip = [name, `now ${bytesText(row.bytes)}`, `most ${bytesText(row.peak)}`, bounded ? `may hold ${bytesText(row.capacity)}, the dashed line` : "nobody limits it"].join("\n");
          return this.row(h("div.pw-barline", { "data-tip": tip },
            h("span.pw-barname", this.pick(`device ${row.devices[0]}`, name)), h("span.pw-spark", chart.element),
            h("span.pw-figures", h(full ? "b.pw-bad" : "b", bytesText(row.bytes), bounded ? ` · ${percent(row.bytes / row.capacity)}` : ""),
              h("span.pw-note", bounded ? `of ${bytesText(row.capacity)}, most ${bytesText(row.peak)}` : `no limit, most ${bytesText(row.peak)}`))),
          { kind: "device", id: row.devices[0] }, { devices: row.devices });
        }),
        hidden > 0 && h("div.pw-note", `and ${count(hidden, "device")} that hold less`),
      ];
    }));
    const axis = had(this.charts, "", () => new Chart(20, "time"));
    this.where.append(h("div.pw-barline", h("span.pw-barname"), h("span.pw-spark", axis.element), h("span.pw-figures")));
    later.push(() => axis.draw((g, w) => timeAxis(g, theme, view.used * view.step, w, 0)));
    for (const draw of later) draw();
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  _held(view) {
    const { store } = this.app, now = store.now(), lost = sum([...view.islands.values()], (parts) => parts[MEMORY]);
    const about = `launches that could go but for memory${lost > 0 ? `; devices idled ${secondsText(lost)} for that so far` : ""}`;
    return [this.heading("Held back", about),
      this.table("No launch waits for memory.", ["launch", "client", "written at", "too small is", ">short by", ">for"], view.held, ({ node, client, since, account, bytes }) => ({
          choice: { kind: "node", id: node }, about: this.app.selection.aboutNode(node),
          cells: [this.pick(`held ${node}`, store.name(node, 30)), oneLine(client, 18), store.source(node),
            account ? oneLine(account, 30) : "nothing: room is kept for an older launch", account ? bytesText(bytes) : "–", secondsText(now - since)],
        }), HELD)];
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  _holders(view) {
    const { store } = this.app, size = (/** @type {{bytes: number}} */ { bytes }) => bytes, rest = view.holders.slice(HOLDERS), whole = Math.max(1, sum(view.holders, size));
    return [this.heading("Largest holders now", "results that take memory, by the line that made them, all devices together"),
      this.table("Nothing is held.", ["result of", "client", "written at", "slice", ">values", ">bytes", ">of all"], view.holders, ({ node, client, values, bytes }) => ({
          choice: { kind: "node", id: node }, about: this.app.selection.aboutNode(node, true),
          cells: [this.pick(`holder ${node}`, store.name(node, 40)), oneLine(client, 18), this._cell(node), oneLine(store.slices.get(store.node(node, "slice"))?.name ?? "", 16),
            digits(values), bytesText(bytes), percent(bytes / whole)],
        }), HOLDERS, `, ${bytesText(sum(rest, size))}`)];
  }

  /** The cell that wrote a node, which can be chosen too. */
  _cell(/** @type {number} */ node) {
    const { app } = this, cell = app.store.word(node, "cell");
    return cell && h("button.pw-link", { onclick: (/** @type {Event} */ e) => {
      e.stopPropagation();
      app.choose({ kind: "cell", id: cell });
    } }, app.store.source(node));
  }
}

/** Rows of devices that hold and held the same are one. @param {Row[]} rows */
function grouped(rows) {
  /** @type {Row[]} */
  const out = [];
  for (const row of rows) {
    const last = out.at(-1);
    const same = last && last.island === row.island && last.bytes === row.bytes && last.peak === row.peak && last.capacity === row.capacity && !row.shared && !last.shared && last.series.every((value, i) => value === row.series[i]);
    if (same) last.devices = [...last.devices, ...row.devices];
    else out.push({ ...row, devices: [...row.devices] });
  }
  return out;
}
