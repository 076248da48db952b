// The bar below a replay: play and pause, a scrubber over what the devices did, and the pace.

import { block } from "./brush.js";
import { Chart } from "./chart.js";
import { CheckedUsage } from "./checkpoints.js";
import { sum } from "./columns.js";
import { choices, fill, h } from "./dom.js";
import { Moments } from "./moments.js";
import { FAILED } from "./states.js";
import { secondsText, within } from "./text.js";

const PACES = [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 100];
/** A run plays at first at the pace at which it takes about this long, or in its own time; seconds. */
const LONG = 12;
const TALL = 22;

export class Player {
  /** For the help. */
  static get keys() {
    return [["Space", "play, pause"], ["←  →", "a little earlier, later"], ["Home  End", "the beginning, the end"], ["<  >", "slower, faster"], ["drag the axis", "another moment"]];
  }

  /** @param {import("./app.js").App} app whose store holds all of a run */
  constructor(app) {
    this.app = app;
    const { store } = app;
    this.begin = store.begin();
    this.end = Math.max(store.newest, this.begin + 1e-9);
    this.moments = new Moments(store);
    this.playing = false;
    this._frame = 0;
    this._last = 0;
    const fit = (this.end - this.begin) / LONG;
    this.pace = PACES.filter((pace) => pace <= within(PACES[0], fit, 1)).pop() ?? 1;
    this.button = h("button.pw-button.pw-play", { onclick: () => this.toggle() });
    this.strip = new Chart(TALL, "how many devices computed, over time");
    this.range = h("input", {
      type: "range", min: "0", max: String(this.end - this.begin), step: "any", "aria-label": "moment of the run",
      oninput: () => this.seek(this.begin + Number(this.range.value)),
      onkeydown: (/** @type {KeyboardEvent} */ e) => this.key(e.key) && (e.preventDefault(), e.stopPropagation()),
    });
    this.clock = h("span.pw-clock");
    this.speed = choices("pace (< and >)", PACES.map((pace) => [String(pace), `${pace}×`]), (pace) => this.hurry(Number(pace)));
    this.element = h("div.pw-player", this.button, h("div.pw-scrub", this.strip.element, this.range), this.clock, this.speed);
    this.hurry(this.pace);
    this.seek(this.end);
  }

  /** @param {import("./store.js").Store} store */
  static usageOf(store) {
    return new CheckedUsage(store);
  }

  /** Shows the run as it was at a time, in seconds of the store. */
  seek(/** @type {number} */ time) {
    this.moments.seek(within(this.begin, time, this.end));
    const at = Number((this.app.store.moment - this.begin).toFixed(9));
    this.range.value = String(at);
    this.range.setAttribute("aria-valuetext", secondsText(at));
    this.clock.textContent = `${secondsText(at)} / ${secondsText(this.end - this.begin)}`;
    this._say();
    this.app.draw();
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.app.store.moment >= this.end) this.seek(this.begin);
    this.playing = true;
    this._last = performance.now();
    this._frame = requestAnimationFrame((now) => this._step(now));
    this._say();
  }

  pause() {
    this.playing = false;
    cancelAnimationFrame(this._frame);
    this._say();
    this.app.draw();
  }

  hurry(/** @type {number} */ pace) {
    this.pace = pace;
    this.speed.value = String(pace);
  }

  /** @returns {boolean} whether the key was taken */
  key(/** @type {string} */ key) {
    const at = PACES.indexOf(this.pace), step = (this.end - this.begin) / 200;
    switch (key) {
      case " ": this.toggle(); break;
      case "ArrowLeft": this.seek(this.app.store.moment - step); break;
      case "ArrowRight": this.seek(this.app.store.moment + step); break;
      case "Home": this.seek(this.begin); break;
      case "End": this.seek(this.end); break;
      case "<": case ">": this.hurry(PACES[within(0, at + (key === ">" ? 1 : -1), PACES.length - 1)]); break;
      default: return false;
    }
    return true;
  }

  /** What the devices did, under the scrubber: how many computed, and a mark where something failed. */
  draw() {
    const { theme, tracks, store } = this.app, devices = [...tracks.devices.values()], { begin } = this;
    this.strip.draw((g, wide) => {
      const each = (this.end - begin) / wide;
      for (let x = 0; x < wide; x++) {
        const busy = sum(devices, ({ rows }) => rows[0].busy(begin + x * each, begin + (x + 1) * each));
        const tall = (TALL - 2) * Math.min(1, busy / (each * Math.max(1, devices.length)));
        block(g, theme.accent, x, TALL - tall, 1, tall, 0.45);
      }
      const { fate, id } = store.nodes.c, { whole } = this.moments;
      for (let i = 0; i < store.nodes.n; i++) {
        const own = !whole.cause[i] || whole.cause[i] === id[i];
        if (fate[i] === FAILED && own) block(g, theme.bad, Math.min(wide - 2, (whole.ended[i] - begin) / each), 0, 2, TALL);
      }
    });
  }

  close() {
    cancelAnimationFrame(this._frame);
  }

  _step(/** @type {number} */ now) {
    const time = this.app.store.moment + ((now - this._last) / 1000) * this.pace;
    this._last = now;
    this.seek(time);
    if (time >= this.end) return this.pause();
    this._frame = requestAnimationFrame((next) => this._step(next));
  }

  _say() {
    const text = this.playing ? "pause" : "play";
    if (this.button.title.startsWith(text)) return;
    this.button.title = `${text} (space)`;
    this.button.setAttribute("aria-label", text);
    fill(this.button, [this.playing ? "❚❚" : "▶"]);
  }
}
