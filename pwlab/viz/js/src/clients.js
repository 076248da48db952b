// The tab of clients: the share of the device time that each asked for beside what it got, now and over time.

import { across, block } from "./brush.js";
import { areas, Chart, plate, plateWidth, tile, timeAxis } from "./chart.js";
import { colour, Colours, mark } from "./colours.js";
import { f8, sum } from "./columns.js";
import { bar, fill, h } from "./dom.js";
import { Panel } from "./panels.js";
import { bytesText, digits, oneLine, percent, secondsText } from "./text.js";
import { sliding } from "./totals.js";

export class ClientsPanel extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app, "Who got the devices, over time");
    this.colours = new Colours();
    this.chart = new Chart(150, "each client's part of the device time, over time");
    this.where.append(this.chart.element);
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  render(view) {
    const { app } = this, { store, theme } = app;
    for (const program of store.programs.values()) this.colours.of(program.client);
    const order = [...this.colours.keys.keys()].map((name) => view.clients.find((c) => c.client === name)).filter((c) => c !== undefined);
    const { rows, bins } = sliding(order.map((c) => view.byClient.get(c.client) ?? []), view.used);
    fill(this.note, [`parts of the device time in a window of ${secondsText(bins * view.step)} that slides along; dashed lines are where the shares asked for would part them`]);
    this.chart.draw((g, w, tall) => {
      const low = tall - 20, high = 6, unit = low - high;
      areas(g, order.map((c, i) => ({ values: rows[i], colour: colour(this._key(c.client), theme.dark), mark: mark(this._key(c.client)) })), theme.bg, w / view.used, low, unit);
      const shares = sum(order.map((c) => (c.launches ? c.share : 0)));
      let asked = 0;
      for (const c of order) {
        asked += c.launches ? c.share / shares : 0;
        if (c.launches && asked <= 0.999) across(g, theme.fg, [6, 4], w, low - asked * unit);
      }
      this._names(g, order.map((c) => oneLine(c.client, 14)), rows, w, low, unit);
      block(g, theme.line, 0, low, w, 1);
      timeAxis(g, theme, view.used * view.step, w, low);
    });
    const share = (/** @type {number} */ part, /** @type {string} */ filled) => h("span.pw-share", bar([[part, filled]]), h("span.pw-num", percent(part)));
    fill(this.list, [this.heading("In total", "of the device time that was used while the client had work"),
      this.table("No client has submitted anything yet.", ["client", "share asked", "share got", ">device time", ">priority", ">launches", ">waiting", ">held back", ">memory", ">failed"], view.clients, (c) => ({
          choice: { kind: "client", id: c.client }, about: { client: c.client },
          tip: [oneLine(c.client, 60), `asked for share ${c.share}`, c.open ? "" : "it is closed", isFinite(c.most) ? `may hold ${bytesText(c.most)} on all devices together` : ""].filter(Boolean).join("\n"),
          cells: [
            this.pick(`client ${c.client}`, oneLine(c.client, 28) + (c.open ? "" : " (closed)")), share(c.asked, `background:${theme.muted}`),
            share(c.got, `background-color:${colour(this._key(c.client), theme.dark)}${tile(mark(this._key(c.client)), theme.bg)}`),
            secondsText(c.parts[0]), c.priority ? String(c.priority) : "–", digits(c.launches), digits(c.waiting), c.held ? h("b.pw-bad", digits(c.held)) : "–",
            isFinite(c.most) ? `${bytesText(c.bytes)} of ${bytesText(c.most)}` : bytesText(c.bytes), c.failed ? String(c.failed) : "–",
          ],
        }))]);
  }

  /**
   * A name stands where its band is widest, of where it fits and covers no other.
   * @param {CanvasRenderingContext2D} g @param {string[]} names @param {Float64Array[]} rows @param {number} w @param {number} low @param {number} unit
   */
  _names(g, names, rows, w, low, unit) {
    const under = new f8(rows[0]?.length), each = w / under.length;
    /** @type {{x: number, y: number, wide: number}[]} */
    const placed = [];
    names.forEach((name, i) => {
      const wide = plateWidth(g, name);
      let best = { x: 0, y: 0, wide }, most = 15 / unit;
      rows[i].forEach((part, b) => {
        const x = b * each + 4, y = low - (under[b] + part / 2) * unit;
        under[b] += part;
        if (part <= most || x < 12 || x + wide > w - 4) return;
        if (placed.some((p) => Math.abs(p.y - y) < 17 && x < p.x + p.wide && p.x < x + wide)) return;
        best = { x, y, wide };
        most = part;
      });
      if (!best.x) return;
      placed.push(best);
      plate(g, this.app.theme, name, best.x, best.y);
    });
  }

  _key(/** @type {string} */ client) {
    return this.colours.of(client);
  }
}
