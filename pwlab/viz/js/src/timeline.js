// The timeline: a row a device within its island, what the host did above, and the present at the right. Here is what
// is shown and where; timelinedraw.js draws it, timelineinput.js hears the pointer and the keys.

import { button, canvas, h } from "./dom.js";
import { Pixels } from "./pixels.js";
import { COMPUTE } from "./states.js";
import { oneLine, within } from "./text.js";
import { paint } from "./timelinedraw.js";
import { listen, press } from "./timelineinput.js";

/** Room for the names of rows and for the axis; a heading, and what is between islands; pixels. */
export const GUTTER = 132, AXIS = 26, HEAD = 20, PAD = 4;
/** No view is shorter than this, seconds. */
const SHORTEST = 1e-6;

/** @typedef {{y: number, h: number, label: string, track: import("./tracks.js").Track | null, island: number}} Line */

export class Timeline {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.element = h("div.pw-view");
    const { element, context, fit } = canvas(this.element, "Timeline: a row a device; press ? for keys");
    this.canvas = element;
    this.context = context;
    this.size = fit;
    this.from = 0;
    this.to = 1;
    /** `all` shows the whole run, `present` keeps the right edge at now, `free` stays. */
    this.mode = "all";
    this.scroll = 0;
    /** @type {[number, number] | null} */
    this.span = null;
    /** @type {{x: number, y: number} | null} */
    this.pointer = null;
    /** @type {Line[]} */
    this.lines = [];
    this.pixels = new Pixels();
    this.back = button("now ⇥", "back to the present, and follow it (End)", () => this.present(), { hidden: true });
    this.back.classList.add("pw-back");
    this.element.append(this.back);
    listen(this);
  }

  // --- the view ------------------------------------------------------------------------

  get plot() {
    return Math.max(10, this.w - GUTTER - 8);
  }

  get scale() {
    return this.plot / (this.to - this.from);
  }

  x(/** @type {number} */ time) {
    return GUTTER + (time - this.from) * this.scale;
  }

  time(/** @type {number} */ x) {
    return this.from + (x - GUTTER) / this.scale;
  }

  /** Shows everything, and what comes. */
  fit() {
    this.mode = "all";
    this.scroll = 0;
    this.app.draw();
  }

  /** Goes back to the present, and follows it from there. */
  present() {
    this.mode = "present";
    this.app.draw();
  }

  /** Whether what happens now is to be seen. */
  get following() {
    const now = this.app.store.now();
    return this.mode !== "free" || (now >= this.from && now <= this.to);
  }

  /** Zooms by a factor about a time. */
  zoom(/** @type {number} */ factor, about = (this.from + this.to) / 2) {
    // At the present, zooming keeps the present.
    const present = this.mode !== "free" && !this.app.store.replays && about > this.to - (this.to - this.from) * 0.25;
    const around = present ? this.to : about;
    const span = within(SHORTEST, (this.to - this.from) * factor, (this.app.store.horizon() + 1) * 20);
    const share = (around - this.from) / (this.to - this.from);
    this.from = around - span * share;
    this.to = this.from + span;
    this.mode = present ? "present" : "free";
    this.app.draw();
  }

  pan(/** @type {number} */ seconds) {
    this.from += seconds;
    this.to += seconds;
    this.mode = seconds > 0 && !this.app.store.replays && this.to >= this.app.store.now() ? "present" : "free";
    this.app.draw();
  }

  /** Brings a node into view. */
  reveal(/** @type {number} */ node) {
    const c = this.app.store.nodes.c;
    this.show(c.start[node], c.end[node]);
  }

  /** Brings a stretch of time into view, and so near that it can be seen. */
  show(/** @type {number} */ start, /** @type {number} */ end) {
    if (!(end > start)) return;
    const span = this.to - this.from;
    if (start >= this.from && end <= this.to && (end - start) * this.scale > 3) return;
    const wide = Math.max((end - start) * 12, Math.min(span, (end - start) * 400));
    this.from = (start + end - wide) / 2;
    this.to = this.from + wide;
    this.mode = "free";
  }

  _follow() {
    const { store } = this.app, begin = store.begin(), now = store.now(), span = this.to - this.from;
    if (this.mode === "all") {
      const whole = store.horizon() - begin;
      // A run of microseconds is shown whole too, with a margin.
      this.from = begin - whole * 0.01;
      this.to = begin + Math.max(whole, SHORTEST) * (store.running && !store.replays ? 1.06 : 1.01);
    } else if (this.mode === "present") {
      this.to = now + span * 0.06;
      this.from = this.to - span;
    } else if (this.app.player?.playing && !this.following) {
      // What plays turns the page when it leaves it.
      this.from = now - span * 0.05;
      this.to = this.from + span;
    }
  }

  _layout() {
    const { tracks, store } = this.app;
    /** @type {Line[]} */
    const lines = [];
    let rows = 0, heads = 0, group = NaN;
    for (const track of tracks.all) rows += track.rows.length;
    for (const track of tracks.all) if (track.island !== group) [group, heads] = [track.island, heads + 1];
    const room = this.h - AXIS - heads * (HEAD + PAD) - PAD;
    const each = within(4, room / Math.max(1, rows), 26);
    let y = AXIS + PAD - this.scroll;
    group = NaN;
    for (const track of tracks.all) {
      if (track.island !== group) {
        if (!isNaN(group)) y += PAD;
        group = track.island;
        const island = store.islands.get(group);
        lines.push({ y, h: HEAD, label: island ? `${oneLine(island.name, 16)} · ${island.devices.length} × ${oneLine(island.chip, 6)}` : "host", track: null, island: group });
        y += HEAD;
      }
      const tall = each * track.rows.length;
      lines.push({ y, h: tall, label: track.label, track, island: group });
      y += tall;
    }
    this.lines = lines;
    this.each = each;
    const over = y + this.scroll - this.h + 4;
    this.deepest = Math.max(0, over);
    if (this.scroll > this.deepest) {
      this.scroll = this.deepest;
      this._layout();
    }
  }

  draw() {
    const { w, h: tall, ratio } = this.size(), { store } = this.app;
    this.w = w;
    this.h = tall;
    this._follow();
    this._layout();
    this.back.hidden = this.following || (store.closed && !store.replays);
    paint(this, ratio);
  }

  /** @returns {boolean} whether the key was taken */
  key(/** @type {string} */ key) {
    return press(this, key);
  }

  // --- what stands where ------------------------------------------------------------------

  /** What is under a point: its row, and what its span refers to, -1 where there is none, from when until when. */
  hit(/** @type {number} */ x, /** @type {number} */ y) {
    if (y < AXIS) return null;
    const line = this.lines.find((l) => y >= l.y && y < l.y + l.h);
    if (!line) return null;
    const { track } = line, of = track?.of ?? "node", none = { line, of, ref: -1, start: NaN, end: NaN };
    if (!track || x < GUTTER) return none;
    const row = track.rows[Math.min(track.rows.length - 1, Math.floor((y - line.y) / (this.each ?? 1)))];
    const time = this.time(x), i = row.at(time, 3 / this.scale);
    if (i >= 0) return { line, of, ref: row.ref.a[i], start: row.start.a[i], end: row.end.a[i] };
    const open = [...this.running(track)].find(({ start }) => time >= start);
    return open ? { ...none, ...open } : none;
  }

  /** What runs now and is to be seen on a track. @param {import("./tracks.js").Track} track @returns {Generator<{ref: number, start: number}>} */
  *running(track) {
    const { store, tracks } = this.app, { open, programs, openPrograms, nodes: { c } } = store;
    if (track.kind === "device") {
      for (const node of open) if (c.kind[node] === COMPUTE && store.devices(node).includes(track.device)) yield { ref: node, start: c.launched[node] };
    } else if (track.kind === "transfer" || track.kind === "host") {
      for (const node of open) if (c.kind[node] !== COMPUTE && tracks.hostOf(node) === track) yield { ref: node, start: c.launched[node] };
    } else if (track.kind === "wait") {
      for (const ref of store.begun) yield { ref, start: store.waits[ref].time };
    } else if (track.kind === "client" && openPrograms) {
      for (const program of programs.values()) if (program.state < 0 && tracks.trackOf(program) === track) yield { ref: program.id, start: program.opened };
    }
  }

  /** Shows a stretch of time, and a little around it. */
  frame(/** @type {number} */ start, /** @type {number} */ end) {
    const margin = (end - start) * 0.15;
    this.from = start - margin;
    this.to = end + margin;
    this.mode = "free";
    this.app.draw();
  }

  /** Where a span that is chosen is drawn. @param {import("./select.js").Choice | null} choice */
  placeOf(choice) {
    for (const track of this.app.tracks.all) {
      if (track.of !== choice?.kind) continue;
      for (const row of track.rows) {
        const at = row.ref.a.subarray(0, row.n).indexOf(choice.id);
        if (at >= 0) return { track, row, at };
      }
    }
    return null;
  }
}
