// The tab of utilisation: what each island, device and client spent time on, over time and in total.

import { block } from "./brush.js";
import { areas, Chart, plate, tile, timeAxis } from "./chart.js";
import { sum } from "./columns.js";
import { bar, fill, h } from "./dom.js";
import { DARK, LIGHT, PART_MARKS } from "./palette.js";
import { Panel } from "./panels.js";
import { count, oneLine, percent, secondsText } from "./text.js";
import { NOTHING, PARTS } from "./usage.js";

/** Islands with a chart, and devices of one that are listed. */
const CHARTS = 8, DEVICES = 32;

export class Utilisation extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app, "Over time");
    /** @type {Map<number, Chart>} */
    this.charts = new Map();
    this.legend = h("div.pw-legend");
    this.where.append(this.legend);
  }

  changed() {
    super.changed();
    const { theme } = this.app;
    if (theme) fill(this.legend, PARTS.map((part, i) => h("span.pw-key", this.means(part), h("i", { style: this._fill(i) }), part)));
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  render(view) {
    const { app } = this, { store } = app, islands = [...store.islands.values()];
    this.grain(this.note, view);
    for (const island of islands.slice(0, CHARTS)) {
      if (this.charts.has(island.id)) continue;
      const chart = new Chart(86, `what the devices of ${oneLine(island.name, 20)} spent time on`);
      this.charts.set(island.id, chart);
      this.where.append(chart.element);
    }
    islands.slice(0, CHARTS).forEach((island) => this._chart(island, view));
    const idle = "the idle time by what it was spent on";
    fill(this.list, [
      this.heading("Each device", `computing, then ${idle}; the figure is the share that it computed`),
      islands.map((island) => [
        this._bar(h("b", this.means("island"), oneLine(island.name, 20)), view.islands.get(island.id) ?? []),
        island.devices.slice(0, DEVICES).map((id) =>
          this.row(this._bar(this.pick(`device ${id}`, `device ${id}`), view.devices.get(id) ?? []), { kind: "device", id }, { devices: [id] })),
        island.devices.length > DEVICES && h("div.pw-note", `and ${count(island.devices.length - DEVICES, "device")} more`),
      ]),
      this.heading("Each client", "its part of the time of all devices, and what they idled for just before its launches"),
      view.clients.length ? view.clients.map((c) => {
        const all = sum([...view.devices.values()].flat()), mine = sum(c.parts);
        return this.row(this._bar(this.pick(`client ${c.client}`, oneLine(c.client, 18)), [...c.parts, Math.max(0, all - mine)], "others, or nothing queued"),
          { kind: "client", id: c.client }, { client: c.client });
      }) : h("p.pw-note", "No client has submitted anything yet."),
    ]);
  }

  /** @param {import("./store.js").Island} island @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  _chart(island, view) {
    const { theme } = this.app, rows = view.over.get(island.id) ?? [], whole = view.islands.get(island.id) ?? [];
    const chart = this.charts.get(island.id), each = view.step * island.devices.length;
    chart?.tells(view.used, (bin) => [`after ${secondsText(bin * view.step)}`, ...rows.map((values, part) => values[bin] > 0 && `${PARTS[part]} ${percent(values[bin] / each)}`)]);
    chart?.draw((g, w, tall) => {
      const low = tall - 20, high = 6, span = view.used * view.step;
      const layers = rows.map((values, part) => ({ values, colour: this._colours()[part], mark: PART_MARKS[part] }));
      areas(g, layers, theme.bg, w / view.used, low, (low - high) / each);
      for (const share of [0, 0.5, 1]) block(g, theme.muted, 0, low - (low - high) * share, w, 1, 0.45);
      plate(g, theme, `${oneLine(island.name, 20)} · computing ${percent(whole[0] / sum(whole) || 0)} of the time`, 8, high + 10);
      timeAxis(g, theme, span, w, low);
    });
  }

  /** @param {any} name @param {number[]} parts @param {string} [rest] what the last part is */
  _bar(name, parts, rest) {
    const whole = Math.max(1e-12, sum(parts)), words = [...PARTS.slice(0, NOTHING), rest ?? PARTS[NOTHING]];
    const about = words.map((part, i) => (parts[i] > 0 ? `${part} ${percent(parts[i] / whole)} (${secondsText(parts[i])})` : "")).filter(Boolean);
    return h("div.pw-barline", { "data-tip": [name.textContent, ...about].join("\n") },
      h("span.pw-barname", name),
      bar(parts.map((part, i) => [part / whole, this._fill(i)]), { role: "img", "aria-label": about.join(", ") }),
      h("span.pw-num", percent((parts[0] ?? 0) / whole)));
  }

  _colours() {
    return (this.app.theme.dark ? DARK : LIGHT).parts;
  }

  _fill(/** @type {number} */ part) {
    return `background-color:${this._colours()[part]}${tile(PART_MARKS[part], this.app.theme.bg)}`;
  }
}
