// The tab of clients: what each got of the device time beside the share that it asked for, over time and in total.
// pwlab/viz/clients_svg.py draws the same.

import { block, through, write } from "./brush.js";
import { areas, Chart, tile, timeAxis } from "./chart.js";
import { colour, Colours, mark } from "./colours.js";
import { had } from "./columns.js";
import { bar, fill, h } from "./dom.js";
import { Panel } from "./panels.js";
import { shares } from "./shares.js";
import { bytesText, count, digits, oneLine, percent, secondsText } from "./text.js";

/** Pixels: what was asked for, beside the chart; the names beside that; from one name to the next. */
const ASKED = 14, NAMES = 84, APART = 13;
/** The mark over what a client asked for and did not get. */
const MISSED = "stripes";

/** @typedef {import("./usage.js").ClientRow} Row */

export class ClientsPanel extends Panel {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    super(app, "Who got the devices, over time");
    this.colours = new Colours();
    this.chart = new Chart(150, "Who got the devices, over time");
    /** Of each client its part over time. @type {Map<string, Chart>} */
    this.trends = new Map();
    this.where.append(this.chart.element);
  }

  /** @param {ReturnType<import("./usage.js").Usage["view"]>} view */
  render(view) {
    const { store, selection } = this.app, { used, step } = view;
    for (const program of store.programs.values()) this.colours.of(program.client);
    const chosen = (/** @type {Row} */ { client }) => selection.marks({ client });
    const { bins, bands, trends } = shares(this.app.usage, view, chosen), any = view.clients.some(chosen);
    fill(this.note, [`parts of the device time in a window of ${secondsText(bins * step)} that slides along; at the right, as the shares asked for part all of it`]);
    this._chart(bands.map(({ clients, parts, asked }) => {
      const [one, more] = clients;
      return { name: more ? `${digits(clients.length)} others` : oneLine(one.client, 12), asked, values: parts, faint: any && !clients.some(chosen), ...(more ? { colour: this.app.theme.line, mark: "" } : this._look(one)) };
    }), used, step);
    const most = Math.max(1e-9, ...view.clients.map((c) => Math.max(c.asked, c.got)));
    fill(this.list, [
      this.heading("In total", "of the device time that was used while the client had work; the line is what it asked for, hatched what it missed of that"),
      this.table("No client has submitted anything yet.", ["client", "share got", ">share asked", "over time", ">device time", "?>launches", "?now"], trends, ({ client }) => this._row(client, most)),
    ]);
    for (const trend of trends) this._trend(trend, used);
  }

  /** @param {Row} c @param {number} most */
  _row(c, most) {
    const name = oneLine(c.client, 28), got = bar([[c.got / most, this._filled(c)], [(c.asked - c.got) / most, tile(MISSED, this.app.theme.muted)]]);
    got.append(h("u", { style: `left:${(100 * c.asked) / most}%` }));
    return {
      choice: { kind: "client", id: c.client }, about: { client: c.client }, tip: [oneLine(c.client, 60), ...facts(c)].join("\n"), more: facts(c).join(" · "),
      cells: [
        h("span.pw-key", h("i", { style: this._filled(c) }), this.pick(`client ${c.client}`, name)), h("span.pw-share", got, h("b.pw-num", percent(c.got))), percent(c.asked),
        had(this.trends, c.client, () => new Chart(20, `what ${name} got over time, against what it asked for`)).element,
        secondsText(c.parts[0]), digits(c.launches), h(c.held || c.failed ? "span.pw-bad" : "span", state(c).join(" · ")),
      ],
    };
  }

  /** Who got what over time, and beside it what all asked for. @param {(import("./chart.js").Layer & {name: string, asked: number})[]} bands @param {number} used @param {number} step */
  _chart(bands, used, step) {
    const { theme } = this.app;
    this.chart.draw((g, w, tall) => {
      const low = tall - 20, unit = low - 6, wide = w - ASKED - NAMES - 6;
      areas(g, bands, theme.bg, wide / used, low, unit);
      block(g, theme.line, 0, low, wide, 1);
      timeAxis(g, theme, used * step, wide, low);
      g.translate(wide + 6, 0);
      areas(g, bands.map((band) => ({ ...band, values: [band.asked] })), theme.bg, ASKED, low, unit);
      write(g, 10.5, theme.muted, "asked", ASKED / 2, low + 9, "center");
      const asked = bands.filter((band) => band.asked);
      let under = 0;
      const middles = asked.map((band) => low - unit * ((under += band.asked) - band.asked / 2));
      spaced(middles, low, 6).forEach((y, i) => {
        g.beginPath();
        through(g, [[ASKED + 1, middles[i]], [ASKED + 7, y]]);
        g.strokeStyle = theme.muted;
        g.stroke();
        write(g, asked[i].faint ? 11 : "600 11", theme.fg, asked[i].name, ASKED + 10, y, "left", NAMES - 10);
      });
    });
  }

  /** What it got over time of what it asked for, up to twice that; the line is all of it, hatched what it missed. @param {import("./shares.js").Trend} trend @param {number} used */
  _trend({ client, parts, asked }, used) {
    const { theme } = this.app;
    this.trends.get(client.client)?.draw((g, w, tall) => {
      const each = w / used, low = tall - 1, unit = (low - 1) / 2, met = Array.from(asked, (all, bin) => (all > 0 ? Math.min(2, parts[bin] / all) : 0));
      areas(g, [
        { values: met, ...this._look(client) },
        { values: met.map((part, bin) => (asked[bin] > 0 ? 1 - part : 0)), colour: "#0000", mark: MISSED, own: theme.muted },
      ], theme.bg, each, low, unit);
      block(g, theme.line, 0, low, w, 1);
      areas(g, [{ values: met.map(() => 1), colour: "#0000", mark: "" }, { values: met.map((_, bin) => (asked[bin] > 0 ? 1 / unit : 0)), colour: theme.fg, mark: "" }], theme.bg, each, low, unit);
    });
  }

  /** Colour and mark of a client. */
  _look(/** @type {Row} */ { client }) {
    const key = this.colours.of(client);
    return { colour: colour(key, this.app.theme.dark), mark: mark(key) };
  }

  /** How an element is filled that stands for a client. */
  _filled(/** @type {Row} */ c) {
    const look = this._look(c);
    return `background-color:${look.colour}${tile(look.mark, this.app.theme.bg)}`;
  }
}

/** What is not as usual with a client now. @param {Row} c */
function state({ open, waiting, held, failed }) {
  return [held && `${digits(held)} held back`, failed && `${digits(failed)} failed`, waiting && `${digits(waiting)} waiting`, !open && "closed"].filter(Boolean);
}

/** All there is to tell of a client, in words. @param {Row} c */
function facts(c) {
  const bytes = isFinite(c.most) ? `${bytesText(c.bytes)} of ${bytesText(c.most)}` : bytesText(c.bytes);
  return [`asked for share ${c.share}`, c.priority && `priority ${c.priority}`, count(c.launches, "launch", "launches"), ...state(c), `${bytes} on all devices together`].filter(Boolean);
}

/** Heights of names one above the other, each as near to its wish as the others let it. @param {number[]} wishes from the lowest up @param {number} low @param {number} high */
function spaced(wishes, low, high) {
  const at = [...wishes];
  at.forEach((y, i) => (at[i] = Math.min(y, i ? at[i - 1] - APART : low - APART / 2)));
  for (let i = at.length - 1; i >= 0; i--) at[i] = Math.max(at[i], i + 1 < at.length ? at[i + 1] + APART : high + APART / 2);
  return at;
}
