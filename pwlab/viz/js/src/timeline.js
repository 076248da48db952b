// The timeline: a row a device within its island, what the host did above, and the present at the right.

import { ticks } from "./axis.js";
import { colour, KEY } from "./colours.js";
import { canvas, h } from "./dom.js";
import { Row } from "./row.js";
import { COMPUTE, FAILED, LINKS, TRANSFER } from "./states.js";
import { oneLine, secondsText, width } from "./text.js";

const GUTTER = 132, AXIS = 26, HEAD = 20, PAD = 4;
/** So many spans are drawn one by one; more are drawn as pixels. */
const EXACT = 3_000;
const ARROWS = 200;
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
    this._pixels = document.createElement("canvas");
    this._highlight = { choice: /** @type {any} */ (null), at: 0, rows: /** @type {Map<Row, Row>} */ (new Map()) };
    this._listen();
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

  /** Zooms by a factor about a time. */
  zoom(/** @type {number} */ factor, about = (this.from + this.to) / 2) {
    // At the present, zooming keeps the present.
    const present = this.mode !== "free" && about > this.to - (this.to - this.from) * 0.25;
    const around = present ? this.to : about;
    const span = Math.max(SHORTEST, Math.min((this.to - this.from) * factor, (this.app.store.now() + 1) * 20));
    const share = (around - this.from) / (this.to - this.from);
    this.from = around - span * share;
    this.to = this.from + span;
    this.mode = present ? "present" : "free";
    this.app.draw();
  }

  pan(/** @type {number} */ seconds) {
    this.from += seconds;
    this.to += seconds;
    this.mode = seconds > 0 && this.to >= this.app.store.now() ? "present" : "free";
    this.app.draw();
  }

  /** Brings a node into view. */
  reveal(/** @type {number} */ node) {
    const c = this.app.store.nodes.c, start = c.start[node], end = c.end[node];
    if (!(end > start)) return;
    const span = this.to - this.from;
    if (start >= this.from && end <= this.to && (end - start) * this.scale > 3) return;
    const wide = Math.max((end - start) * 12, Math.min(span, (end - start) * 400));
    this.from = (start + end - wide) / 2;
    this.to = this.from + wide;
    this.mode = "free";
  }

  _follow() {
    const { store } = this.app, now = store.now(), begin = store.begin();
    if (this.mode === "all") {
      const span = Math.max(now - begin, 1e-3);
      this.from = begin - span * 0.01;
      this.to = now + span * (store.running ? 0.06 : 0.01);
    } else if (this.mode === "present") {
      const span = this.to - this.from;
      this.to = now + span * 0.06;
      this.from = this.to - span;
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
    const each = Math.max(4, Math.min(26, room / Math.max(1, rows)));
    let y = AXIS + PAD - this.scroll;
    group = NaN;
    for (const track of tracks.all) {
      if (track.island !== group) {
        if (!Number.isNaN(group)) y += PAD;
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

  // --- drawing ----------------------------------------------------------------------------

  draw() {
    const { w, h: tall, ratio } = this.size();
    this.w = w;
    this.h = tall;
    this._follow();
    this._layout();
    const { context: g, app } = this, { theme } = app;
    g.clearRect(0, 0, w, tall);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    this._bands(g);
    g.save();
    g.beginPath();
    g.rect(GUTTER, AXIS, this.plot, tall - AXIS);
    g.clip();
    this._grid(g);
    const exact = this._spans(g, ratio);
    this._open(g);
    if (exact) this._arrows(g);
    this._now(g);
    g.restore();
    this._marks(g);
    this._gutter(g);
    if (!app.store.nodes.n) {
      g.fillStyle = theme.muted;
      g.textAlign = "center";
      g.fillText("Nothing has run yet. Run a %%pathways cell and watch.", GUTTER + this.plot / 2, tall / 2);
      g.textAlign = "left";
    }
  }

  _bands(/** @type {CanvasRenderingContext2D} */ g) {
    const { theme } = this.app;
    for (let i = 0; i < this.lines.length; i++) {
      if (this.lines[i].track) continue;
      let end = this.lines[i].y + HEAD;
      for (let k = i + 1; k < this.lines.length && this.lines[k].track; k++) end = this.lines[k].y + this.lines[k].h;
      g.fillStyle = theme.band;
      g.fillRect(0, this.lines[i].y, this.w, end - this.lines[i].y);
    }
    g.fillStyle = theme.lane;
    for (const line of this.lines) if (line.track) g.fillRect(GUTTER, line.y + 0.5, this.plot, line.h - 1);
  }

  _grid(/** @type {CanvasRenderingContext2D} */ g) {
    const zero = this.app.store.begin();
    g.fillStyle = this.app.theme.line;
    g.globalAlpha = 0.7;
    for (const tick of ticks(this.from - zero, this.to - zero, this.scale)) g.fillRect(Math.round(this.x(tick.time + zero)), AXIS, 1, this.h);
    g.globalAlpha = 1;
    const { choice } = this.app.selection;
    if (choice?.kind === "program") {
      const program = this.app.store.programs.get(choice.id);
      if (program) {
        const a = this.x(program.opened), b = this.x(Number.isNaN(program.ended) ? this.app.store.now() : program.ended);
        g.fillStyle = this.app.theme.accent;
        g.globalAlpha = 0.1;
        g.fillRect(a, AXIS, Math.max(2, b - a), this.h);
        g.globalAlpha = 1;
      }
    }
  }

  /** @returns {boolean} whether spans were drawn one by one */
  _spans(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ ratio) {
    let visible = 0;
    /** @type {{row: Row, line: Line, y: number, range: number[]}[]} */
    const rows = [];
    for (const line of this.lines) {
      if (!line.track || line.y + line.h < AXIS || line.y > this.h) continue;
      line.track.rows.forEach((row, k) => {
        const range = row.range(this.from, this.to);
        visible += range[1] - range[0];
        rows.push({ row, line, y: line.y + k * this.each, range });
      });
    }
    const exact = visible <= EXACT;
    if (exact) for (const { row, line, y, range } of rows) this._exact(g, row, line, y, range);
    else this._painted(g, rows, ratio);
    return exact;
  }

  /** @param {CanvasRenderingContext2D} g @param {Row} row @param {Line} line @param {number} y @param {number[]} range */
  _exact(g, row, line, y, [first, last]) {
    const { app } = this, { theme, store, selection } = app, c = store.nodes.c;
    const top = y + 1.5, tall = Math.max(3, this.each - 3), isWait = line.track?.kind === "wait";
    for (let i = first; i < last; i++) {
      const a = this.x(row.start.a[i]), b = Math.max(a + 1, this.x(row.end.a[i])), ref = row.ref.a[i];
      const mine = isWait ? !selection.choice || (selection.choice.kind === "wait" && selection.choice.id === ref) || (selection.choice.kind === "cell" && store.waits[ref].cell === selection.choice.id) : selection.has(ref);
      const fill = colour(row.key.a[i], theme.dark);
      g.globalAlpha = mine ? 1 : 0.22;
      g.fillStyle = fill;
      const left = Math.max(a, GUTTER - 2), wide = Math.min(b, this.w) - left - (b - a > 4 ? 1 : 0);
      if (wide > 6 && tall > 8) {
        g.beginPath();
        g.roundRect(left, top, wide, tall, 3);
        g.fill();
      } else g.fillRect(left, top, wide, tall);
      if (!isWait && c.state[ref] === FAILED) this._cross(g, left, top, wide, tall);
      if (wide > 26 && tall > 9) {
        const text = isWait ? `${store.waits[ref].reason} · ${store.waits[ref].cell}` : store.strings[c.name[ref]];
        const label = fitted(text, wide - 8);
        if (label) {
          g.fillStyle = theme.dark ? "#0d1014" : "#ffffff";
          g.fillText(label, left + 4, top + tall / 2 + 0.5);
        }
      }
      if (!isWait && selection.node() === ref) {
        g.globalAlpha = 1;
        g.strokeStyle = theme.fg;
        g.lineWidth = 2;
        g.strokeRect(left, top, wide, tall);
      }
    }
    g.globalAlpha = 1;
  }

  /** A pattern as well as a colour says that it failed. */
  _cross(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ w, /** @type {number} */ tall) {
    g.save();
    g.beginPath();
    g.rect(x, y, w, tall);
    g.clip();
    g.strokeStyle = this.app.theme.bg;
    g.lineWidth = 1.5;
    g.beginPath();
    for (let k = x - tall; k < Math.min(x + w, this.w); k += 7) {
      g.moveTo(k, y + tall);
      g.lineTo(k + tall, y);
      g.moveTo(k, y);
      g.lineTo(k + tall, y + tall);
    }
    g.stroke();
    g.restore();
  }

  /**
   * One line of pixels a row, put into a small picture that is stretched to the rows' heights.
   * @param {CanvasRenderingContext2D} g @param {{row: Row, y: number}[]} rows @param {number} ratio
   */
  _painted(g, rows, ratio) {
    const { theme } = this.app, wide = Math.round(this.plot * ratio), picture = this._pixels;
    if (picture.width !== wide || picture.height < rows.length) {
      picture.width = wide;
      picture.height = rows.length;
      this._cover = new Float32Array(wide);
      this._best = new Float32Array(wide);
      this._keys = new Uint16Array(wide);
    }
    const context = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
    const image = context.createImageData(wide, rows.length), words = new Uint32Array(image.data.buffer);
    if (this._rgbFor !== theme.dark) {
      this._rgbFor = theme.dark;
      this._rgb = Uint32Array.from({ length: KEY.failed + 1 }, (_, key) => abgr(colour(key, theme.dark)));
    }
    const rgb = /** @type {Uint32Array} */ (this._rgb);
    const lit = this._lit();
    const cover = /** @type {Float32Array} */ (this._cover), best = /** @type {Float32Array} */ (this._best), keys = /** @type {Uint16Array} */ (this._keys);
    const scale = this.scale * ratio;
    rows.forEach(({ row }, r) => {
      for (const layer of lit ? [row, lit.get(row)] : [row]) {
        if (!layer) continue;
        cover.fill(0);
        best.fill(0);
        layer.paint(this.from, scale, cover, best, keys);
        const most = lit && layer === row ? 60 : 255, at = r * wide;
        for (let px = 0; px < wide; px++) {
          const part = cover[px];
          if (part <= 0) continue;
          // What is little is still to be seen.
          const alpha = (most * Math.min(1, 0.18 + 0.82 * part)) | 0;
          words[at + px] = (rgb[keys[px]] & 0xffffff) | (alpha << 24);
        }
      }
    });
    context.putImageData(image, 0, 0);
    g.imageSmoothingEnabled = false;
    rows.forEach(({ y }, r) => g.drawImage(picture, 0, r, wide, 1, GUTTER, y + 1, this.plot, Math.max(3, this.each - 2)));
  }

  /** Rows that hold only what is chosen; null where nothing is or one node alone. */
  _lit() {
    const { app } = this, { choice } = app.selection, now = performance.now();
    if (!choice || choice.kind === "node" || choice.kind === "wait") return null;
    const known = this._highlight;
    if (known.choice === choice && now - known.at < 1000) return known.rows;
    const rows = new Map();
    for (const track of app.tracks.all) {
      for (const row of track.rows) {
        const lit = new Row();
        if (track.kind !== "wait") for (let i = 0; i < row.n; i++) if (app.selection.has(row.ref.a[i])) lit.add(row.start.a[i], row.end.a[i], row.ref.a[i], row.key.a[i]);
        rows.set(row, lit);
      }
    }
    this._highlight = { choice, at: performance.now(), rows };
    return rows;
  }

  /** What runs now. */
  _open(/** @type {CanvasRenderingContext2D} */ g) {
    const { store, tracks, theme } = this.app, c = store.nodes.c, now = store.now();
    let drawn = 0;
    for (const node of store.open) {
      if (drawn++ > 2_000) break;
      if (c.kind[node] !== COMPUTE) continue;
      for (const device of store.devices(node)) {
        const line = this.lines.find((l) => l.track?.kind === "device" && l.track.device === device);
        if (!line?.track) continue;
        const from = Math.max(c.launched[node], line.track.rows[0].last);
        const a = Math.max(GUTTER - 2, this.x(from)), b = this.x(Math.max(from, now));
        if (b < GUTTER || a > this.w) continue;
        const fill = colour(tracks.keyOf(node), theme.dark);
        g.globalAlpha = this.app.selection.has(node) ? 0.55 : 0.15;
        g.fillStyle = fill;
        g.fillRect(a, line.y + 1.5, Math.max(2, b - a), Math.max(3, this.each - 3));
        g.globalAlpha = 1;
        g.fillRect(b - 2, line.y + 1.5, 2, Math.max(3, this.each - 3));
      }
    }
  }

  /** Transfers, from the device that has the data to the one that gets it. */
  _arrows(/** @type {CanvasRenderingContext2D} */ g) {
    const { store, tracks, theme, selection } = this.app, c = store.nodes.c;
    /** @type {Map<number, number>} */
    const middles = new Map();
    for (const line of this.lines) if (line.track?.kind === "device") middles.set(line.track.device, line.y + line.h / 2);
    let drawn = 0;
    for (const track of tracks.all) {
      if (track.kind !== "transfer") continue;
      for (const row of track.rows) {
        const [first, last] = row.range(this.from, this.to);
        if (last - first > ARROWS) continue;
        for (let i = first; i < last && drawn < ARROWS; i++, drawn++) {
          const node = row.ref.a[i], from = store.sources(node)[0];
          if (from === undefined) continue;
          const y0 = middles.get(store.devices(from)[0]), y1 = middles.get(store.devices(node)[0]);
          if (y0 === undefined || y1 === undefined) continue;
          const x0 = this.x(c.start[node]), x1 = this.x(c.end[node]);
          g.strokeStyle = g.fillStyle = theme.link[c.link[node]];
          g.globalAlpha = selection.has(node) ? 0.9 : 0.15;
          g.lineWidth = 1.4;
          g.setLineDash(c.link[node] === 2 ? [6, 3] : []);
          g.beginPath();
          g.moveTo(x0, y0);
          const bend = Math.max(4, Math.min(50, (x1 - x0) / 2));
          g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
          g.stroke();
          g.setLineDash([]);
          g.beginPath();
          g.moveTo(x1 + 1, y1);
          g.lineTo(x1 - 6, y1 - 3.5);
          g.lineTo(x1 - 6, y1 + 3.5);
          g.fill();
        }
      }
    }
    g.globalAlpha = 1;
  }

  _now(/** @type {CanvasRenderingContext2D} */ g) {
    const { store, theme } = this.app;
    if (this.span) {
      const [a, b] = this.span.map((t) => this.x(t));
      g.fillStyle = theme.accent;
      g.globalAlpha = 0.14;
      g.fillRect(Math.min(a, b), AXIS, Math.abs(b - a), this.h);
      g.globalAlpha = 0.8;
      g.fillRect(a, AXIS, 1, this.h);
      g.fillRect(b, AXIS, 1, this.h);
      g.globalAlpha = 1;
    }
    if (store.running) {
      g.fillStyle = theme.accent;
      g.fillRect(Math.round(this.x(store.now())), AXIS, 1.5, this.h);
    }
  }

  _marks(/** @type {CanvasRenderingContext2D} */ g) {
    const { theme, store } = this.app, zero = store.begin();
    g.fillStyle = theme.bg;
    g.fillRect(0, 0, this.w, AXIS);
    g.fillStyle = theme.muted;
    g.textAlign = "center";
    for (const tick of ticks(this.from - zero, this.to - zero, this.scale)) {
      const x = this.x(tick.time + zero);
      if (x > GUTTER + 8 && x < this.w - 20) g.fillText(tick.text, x, AXIS / 2);
    }
    g.textAlign = "left";
    g.fillStyle = theme.line;
    g.fillRect(0, AXIS - 1, this.w, 1);
    if (this.span && Math.max(...this.span) > this.from && Math.min(...this.span) < this.to) {
      const [a, b] = this.span, text = secondsText(Math.abs(b - a)), middle = (this.x(a) + this.x(b)) / 2;
      const wide = 6.4 * width(text) + 14, x = Math.max(GUTTER, Math.min(this.w - wide, middle - wide / 2));
      g.fillStyle = theme.accent;
      g.beginPath();
      g.roundRect(x, 4, wide, AXIS - 8, 4);
      g.fill();
      g.fillStyle = theme.dark ? "#0d1014" : "#fff";
      g.fillText(text, x + 7, AXIS / 2);
    }
  }

  _gutter(/** @type {CanvasRenderingContext2D} */ g) {
    const { theme, selection } = this.app;
    g.save();
    g.beginPath();
    g.rect(0, AXIS, this.w, this.h);
    g.clip();
    for (const line of this.lines) {
      if (line.y + line.h < AXIS || line.y > this.h) continue;
      if (!line.track) {
        g.font = "600 11.5px system-ui, sans-serif";
        g.fillStyle = theme.fg;
        g.fillText(line.label, 8, line.y + HEAD / 2 + 1);
        g.font = "11px system-ui, sans-serif";
        continue;
      }
      const chosen = selection.choice?.kind === "device" && selection.choice.id === line.track.device;
      if (chosen) {
        g.fillStyle = theme.accent;
        g.fillRect(2, line.y + 1, 3, line.h - 2);
      }
      // Of narrow rows every second or fourth has its name.
      const nth = Math.ceil(10.5 / line.h);
      if (line.track.kind === "device" && nth > 1 && line.track.device % 2 ** Math.ceil(Math.log2(nth))) continue;
      g.fillStyle = chosen ? theme.fg : theme.muted;
      g.fillText(line.label, 14, line.y + Math.min(line.h, this.each ?? line.h) / 2 + 0.5);
    }
    g.restore();
  }

  // --- pointer and keys ---------------------------------------------------------------------

  /** What is under a point. */
  hit(/** @type {number} */ x, /** @type {number} */ y) {
    if (y < AXIS) return null;
    const line = this.lines.find((l) => y >= l.y && y < l.y + l.h);
    if (!line) return null;
    if (!line.track) return { line, ref: -1 };
    if (x < GUTTER) return { line, ref: -1 };
    const row = line.track.rows[Math.min(line.track.rows.length - 1, Math.floor((y - line.y) / (this.each ?? 1)))];
    const time = this.time(x), i = row.at(time, 3 / this.scale);
    if (i >= 0) return { line, ref: row.ref.a[i] };
    const { store } = this.app;
    for (const node of store.open) {
      if (line.track.kind === "device" && time >= store.nodes.c.launched[node] && store.devices(node).includes(line.track.device)) return { line, ref: node };
    }
    return { line, ref: -1 };
  }

  _listen() {
    const { canvas: element, app } = this;
    /** @type {{x: number, from: number, to: number, pan: boolean, moved: boolean} | null} */
    let drag = null;
    element.addEventListener("pointerdown", (/** @type {PointerEvent} */ e) => {
      if (e.button > 1) return;
      drag = { x: e.offsetX, from: this.from, to: this.to, pan: e.shiftKey || e.button === 1, moved: false };
      element.setPointerCapture(e.pointerId);
      element.focus({ preventScroll: true });
    });
    element.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => {
      this.pointer = { x: e.offsetX, y: e.offsetY };
      if (drag && (drag.moved || Math.abs(e.offsetX - drag.x) > 3)) {
        drag.moved = true;
        if (drag.pan) {
          const by = (drag.x - e.offsetX) / this.scale;
          this.from = drag.from + by;
          this.to = drag.to + by;
          this.mode = "free";
        } else {
          // While one chooses a stretch, the picture must stand still.
          this.mode = "free";
          this.span = [this.time(Math.max(GUTTER, drag.x)), this.time(Math.max(GUTTER, Math.min(this.w - 8, e.offsetX)))];
        }
        app.tip(null);
        app.draw();
        return;
      }
      const hit = this.hit(e.offsetX, e.offsetY);
      app.tip(hit && hit.ref >= 0 ? (hit.line.track?.kind === "wait" ? app.waitTip(hit.ref) : app.nodeTip(hit.ref)) : null, e);
    });
    element.addEventListener("pointerup", (/** @type {PointerEvent} */ e) => {
      const was = drag;
      drag = null;
      if (was?.moved) {
        if (this.span && !was.pan) {
          this.span.sort((a, b) => a - b);
          app.selection.set(null);
          app.showDetails();
        }
        return;
      }
      const hit = this.hit(e.offsetX, e.offsetY);
      this.span = null;
      if (!hit || (hit.ref < 0 && (!hit.line.track || e.offsetX >= GUTTER))) app.selection.set(null);
      else if (hit.ref < 0) app.selection.set(hit.line.track?.kind === "device" ? { kind: "device", id: hit.line.track.device } : null);
      else app.selection.set({ kind: hit.line.track?.kind === "wait" ? "wait" : "node", id: hit.ref });
      app.showDetails();
    });
    element.addEventListener("pointerleave", () => {
      this.pointer = null;
      app.tip(null);
    });
    element.addEventListener("dblclick", (/** @type {MouseEvent} */ e) => {
      const hit = this.hit(e.offsetX, e.offsetY), c = app.store.nodes.c;
      if (hit && hit.ref >= 0 && hit.line.track?.kind !== "wait" && c.end[hit.ref] > c.start[hit.ref]) this._frame(c.start[hit.ref], c.end[hit.ref]);
    });
    element.addEventListener("wheel", (/** @type {WheelEvent} */ e) => {
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.008), this.time(Math.max(GUTTER, e.offsetX)));
      else if (e.shiftKey) this.pan((e.deltaX || e.deltaY) / this.scale);
      else return; // a plain wheel scrolls the page
      e.preventDefault();
    }, { passive: false });
  }

  _frame(/** @type {number} */ start, /** @type {number} */ end) {
    const margin = (end - start) * 0.15;
    this.from = start - margin;
    this.to = end + margin;
    this.mode = "free";
    this.app.draw();
  }

  /** @returns {boolean} whether the key was taken */
  key(/** @type {string} */ key) {
    const span = this.to - this.from;
    const about = this.pointer && this.pointer.x > GUTTER ? this.time(this.pointer.x) : undefined;
    switch (key) {
      case "w": this.zoom(1 / 1.4, about); break;
      case "s": this.zoom(1.4, about); break;
      case "a": case "ArrowLeft": this.pan(-span * 0.12); break;
      case "d": case "ArrowRight": this.pan(span * 0.12); break;
      case "ArrowUp": this.scroll = Math.max(0, this.scroll - 40); break;
      case "ArrowDown": this.scroll = Math.min(this.deepest ?? 0, this.scroll + 40); break;
      case "f": if (this.span) this._frame(...this.span); else this.fit(); break;
      case "Enter": if (this.span) this._frame(...this.span); break;
      case ".": this._next(1); break;
      case ",": this._next(-1); break;
      case "Escape": {
        const had = this.span;
        this.span = null;
        this.app.draw();
        return !!had;
      }
      default: return false;
    }
    this.app.draw();
    return true;
  }

  /** Chooses the next or previous span of the row of what is chosen. */
  _next(/** @type {number} */ by) {
    const { app } = this, { selection, tracks, store } = app, node = selection.node();
    const c = store.nodes.c;
    const row = node >= 0
      ? this._rowOf(node)
      : tracks.all.find((t) => (selection.choice?.kind === "device" ? t.device === selection.choice.id : t.kind === "device" && t.rows[0].n))?.rows[0];
    if (!row || !row.n) return;
    let at = node >= 0 ? row.at(Math.max(row.start.a[0], c.start[node]), Infinity) : by > 0 ? -1 : row.n;
    if (node >= 0) while (at < row.n - 1 && row.ref.a[at] !== node && row.start.a[at + 1] <= c.end[node]) at++;
    const next = Math.max(0, Math.min(row.n - 1, at + by));
    selection.set({ kind: "node", id: row.ref.a[next] });
    this.reveal(row.ref.a[next]);
    app.showDetails();
  }

  _rowOf(/** @type {number} */ node) {
    const { tracks, store } = this.app;
    if (store.nodes.c.kind[node] === COMPUTE) return tracks.devices.get(store.devices(node)[0])?.rows[0];
    const kind = store.nodes.c.kind[node] === TRANSFER ? "transfer" : "host";
    for (const track of tracks.all) {
      if (track.kind !== kind || (kind === "transfer" && !track.label.startsWith(LINKS[store.nodes.c.link[node]]))) continue;
      for (const row of track.rows) if (row.ref.a[row.at(store.nodes.c.start[node], Infinity)] === node) return row;
      return track.rows[0];
    }
    return undefined;
  }
}

/** A text cut to pixels. */
function fitted(/** @type {string} */ text, /** @type {number} */ pixels) {
  const columns = Math.floor(pixels / 6.1);
  return columns < 3 ? "" : oneLine(text, columns);
}

/** `#rrggbb` as the word that ImageData holds. */
function abgr(/** @type {string} */ hex) {
  const n = parseInt(hex.slice(1), 16);
  return (((n & 255) << 16) | (n & 0xff00) | (n >> 16) | 0xff000000) >>> 0;
}
