// A run as the page knows it: columns of nodes, and the logs that views follow.
//
// Facts may come twice (another page was behind) and in any number of chunks; `last` says what is known already,
// and a row of a chunk whose number is not above it is skipped. Views keep their place in the logs and read on.

import { ById, Column, f4, f8, had, i4, sum, Table, u1, u4 } from "./columns.js";
import { decode } from "./decode.js";
import { oneLine, sourceText } from "./text.js";
import { DONE, FAILED, HOST, LAUNCHED, PREPARED, QUEUED, STATES, WAITING } from "./states.js";

/** @typedef {{id: number, name: string, chip: string, devices: number[], chips: number[], capacity: number}} Island */
/** @typedef {{id: number, name: string, island: number, devices: number[], mapped: boolean}} Slice */
/** @typedef {{id: number, name: string, client: string, cell: string, line: number, text: string, opened: number,
 *   ended: number, state: number, counts: number[]}} Program */
/** @typedef {{time: number, seconds: number, reason: string, cell: string, line: number, text: string, buffer: number}} Wait */
/** When the controller was at work. @typedef {{time: number, seconds: number, busy: number, events: number, launches: number}} Work */

/** @typedef {{no: number, time: number, name: string, kind: "known" | "gone" | "seen", share: number, most: number, priority: number}} Told */

export class Store {
  constructor() {
    this.texts = [""];
    /** Number of the last fact that is known. */
    this.last = 0;
    this.lost = 0;
    this.origin = NaN;
    /** From when on numbers are counted: of a recording whose oldest detail is gone, from where it is whole. */
    this.since = -Infinity;
    /** What a reader must know of a recording first, and whether what runs at its end is not known to have ended. */
    this.doubts = "";
    this.cut = false;
    /** Seconds since the origin of the newest fact, and of the kernel's clock when it last spoke. */
    this.newest = 0;
    this.heardNow = 0;
    this.heardAt = 0;
    this.running = false;
    this.closed = false;
    this.version = 0;
    /** The moment that a replay shows, as moments.js sets it; NaN shows all there is. */
    this.moment = NaN;
    /** Nodes that were recorded by then. */
    this.past = 0;
    /** How often a replay went back: what follows the logs then begins again. */
    this.turns = 0;
    /** @type {Map<number, Island>} */
    this.islands = new Map();
    /** @type {Map<number, Slice>} */
    this.slices = new Map();
    /** @type {Map<number, Program>} */
    this.programs = new Map();
    this.nodes = new Table({
      id: u4, program: u4, name: u4, kind: u1, slice: u4,
      parts: u4, link: u1, moved: f8, cell: u4, line: u4,
      text: u4, added: f8, prepared: f8, queued: f8, launched: f8,
      start: f8, end: f8, ended: f8, state: u1, fate: u1, island: i4,
      devices: u4, error: u4, cause: u4, compile: f4,
      spread: u1, held: f8, account: u4, short: f8, scratch: f8,
      ins: u4, insN: u4, outs: u4, outsN: u4, after: u4, afterN: u4,
    });
    this.inputs = new Column(u4);
    this.outputs = new Column(u4);
    this.orders = new Column(u4);
    this.indexOf = new ById(i4, -1);
    this.producer = new ById(i4, -1);
    this.bytes = new ById(f8, 0);
    /** Of each buffer the text of its shape, `f32[8,128]`. */
    this.shape = new ById(u4, 0);
    /** Bytes on each device; -1 where they are divided evenly. */
    this.each = new ById(f8, -1);
    this.freedAt = new ById(f8, NaN);
    /** Logs: nodes in the order in which they were launched, compiled, ended; buffers as they were freed. */
    this.launches = new Column(u4);
    this.compiles = new Column(u4);
    this.ends = new Column(u4);
    this.frees = new Column(u4);
    /** When programs were opened, and when they ended. */
    this.opens = new Column(f8);
    this.closes = new Column(f8);
    /** Buffers that went to host memory, or came back. @type {{time: number, buffer: number, away: boolean}[]} */
    this.travels = [];
    /** Slices that moved. @type {{time: number, slice: number, devices: number[]}[]} */
    this.moves = [];
    /** @type {Wait[]} */
    this.waits = [];
    /** Those of the waits that are over, in that order; and those that go on. @type {number[]} */
    this.waited = [];
    /** @type {Set<number>} */
    this.begun = new Set();
    /** @type {Work[]} */
    this.works = [];
    /** @type {{time: number, text: string}[]} */
    this.notes = [];
    this.openPrograms = 0;
    /** Programs in the order in which they ended, and clients in that of their first program. @type {number[]} */
    this.over = [];
    /** @type {Set<string>} */
    this.users = new Set();
    /** What was told of clients, in order. @type {Told[]} */
    this.told = [];
    /** Nodes on devices now. @type {Set<number>} */
    this.open = new Set();
    /** Nodes that have not ended. @type {Set<number>} */
    this.alive = new Set();
    /** Nodes that the page has let go of. */
    this.thinned = 0;
    this.counts = STATES.map(() => 0);
    this.firstActive = Infinity;
    /** @type {Map<number, number[]>} */
    this.deviceSets = new Map([[0, []]]);
  }

  /**
   * Takes a batch. Returns false where something before it is missing.
   * @param {any} batch @param {any[]} buffers
   */
  take(batch, buffers) {
    if (batch.strings_from > this.texts.length) return false;
    batch.strings.forEach((/** @type {string} */ text, /** @type {number} */ i) => (this.texts[batch.strings_from + i] = text));
    if (isNaN(this.origin) && (batch.chunks.length || this.last)) this.origin = batch.origin;
    for (let i = 0; i < batch.chunks.length; i++) {
      const chunk = batch.chunks[i];
      if (chunk.to <= this.last) continue;
      if (chunk.from > this.last + 1) return false;
      this._apply(chunk, decode(chunk, buffers[i]));
      this.last = chunk.to;
    }
    this.lost = batch.lost;
    this.since = batch.since ?? -Infinity;
    this.doubts = batch.doubts ?? "";
    this.cut = batch.cut ?? false;
    this.running = batch.running;
    this.closed = batch.closed;
    this.heardNow = isNaN(this.origin) ? 0 : batch.now - this.origin;
    this.heardAt = performance.now() / 1000;
    this.version++;
    return true;
  }

  /** The present: it goes on while something runs, but not far beyond what the kernel last said. */
  now() {
    if (this.replays) return this.moment;
    if (!this.running || this.closed) return this.newest;
    return Math.max(this.newest, this.heardNow + Math.min(2.5, performance.now() / 1000 - this.heardAt));
  }

  /** Whether a moment of a run is shown that is known to its end. */
  get replays() {
    return !isNaN(this.moment);
  }

  /** What is said of a program that has not ended. */
  going() {
    return this.cut && this.now() >= this.newest ? "cut off" : "running";
  }

  /** Where what is known ends: the present, or of a replay the end. */
  horizon() {
    return this.replays ? this.newest : this.now();
  }

  /** Nodes that are there by now; they are the first ones. */
  get known() {
    return this.replays ? this.past : this.nodes.n;
  }

  /** Where anything began to happen; what comes before is the session's start. */
  begin() {
    return isFinite(this.firstActive) ? this.firstActive : 0;
  }

  node(/** @type {number} */ i, /** @type {string} */ field) {
    return this.nodes.c[field][i];
  }

  /** A text field of a node. */
  word(/** @type {number} */ i, /** @type {string} */ field) {
    return this.texts[this.nodes.c[field][i]] ?? "";
  }

  /** The name of a node, in a line of so many columns. */
  name(/** @type {number} */ i, columns = 32) {
    return oneLine(this.word(i, "name"), columns);
  }

  /** Where a node was written. */
  source(/** @type {number} */ i) {
    return sourceText(this.word(i, "cell"), this.nodes.c.line[i]);
  }

  /** Seconds that a node ran; 0 where it did not, or still does. */
  ran(/** @type {number} */ i) {
    return Math.max(0, this.nodes.c.end[i] - this.nodes.c.start[i]) || 0;
  }

  /** The node whose failure became this one's; -1 where it failed of its own, or did not. */
  cause(/** @type {number} */ i) {
    const { id, cause } = this.nodes.c;
    return cause[i] && cause[i] !== id[i] ? this.indexOf.get(cause[i]) : -1;
  }

  /** Whether a node failed, and of its own. */
  broke(/** @type {number} */ i) {
    const { id, cause, state } = this.nodes.c;
    return state[i] === FAILED && (!cause[i] || cause[i] === id[i]);
  }

  /** The devices of a node. */
  devices(/** @type {number} */ i) {
    return this._set(this.nodes.c.devices[i]);
  }

  /** Where a node ran or will run; -1 where that is not known. */
  islandOf(/** @type {number} */ i) {
    const island = this.nodes.c.island[i];
    return island >= 0 ? island : this.slices.get(this.nodes.c.slice[i])?.island ?? -1;
  }

  /** The devices of a node, or those on which it will run. */
  gang(/** @type {number} */ i) {
    const devices = this.devices(i);
    if (devices.length || this.nodes.c.kind[i] === HOST) return devices;
    const slice = this.slices.get(this.nodes.c.slice[i])?.devices ?? [];
    return this.nodes.c.spread[i] ? slice : slice.slice(0, 1);
  }

  client(/** @type {number} */ i) {
    return this.programs.get(this.nodes.c.program[i])?.client ?? "";
  }

  /** Bytes that a node writes. */
  written(/** @type {number} */ i) {
    const { outs, outsN } = this.nodes.c;
    return sum(this.outputs.a.subarray(outs[i], outs[i] + outsN[i]), (buffer) => this.bytes.get(buffer));
  }

  /** Nodes that a node reads from, each once. */
  sources(/** @type {number} */ i) {
    const { ins, insN } = this.nodes.c;
    const found = new Set();
    for (let k = 0; k < insN[i]; k++) {
      const from = this.producer.get(this.inputs.a[ins[i] + k]);
      if (from >= 0 && from !== i) found.add(from);
    }
    return /** @type {number[]} */ ([...found]);
  }

  /** Nodes that read what a node writes; looks at no more than `far` later ones. */
  readers(/** @type {number} */ i, far = 20_000) {
    const found = [];
    for (let j = i + 1; j < Math.min(this.nodes.n, i + far) && found.length < 50; j++) if (this.sources(j).includes(i)) found.push(j);
    return found;
  }

  // --- facts ---------------------------------------------------------------------------

  _set(/** @type {number} */ at) {
    return had(this.deviceSets, at, () => (this.texts[at] ? this.texts[at].split(" ").map(Number) : []));
  }

  /** @param {any} chunk @param {Record<string, any>} t */
  _apply(chunk, t) {
    const base = chunk.base - this.origin;
    // Rows from here on are new; a whole chunk has no numbers of its own.
    const skip = chunk.whole ? -1 : this.last - chunk.from;
    const s = this.texts;
    const each = (/** @type {string} */ name, /** @type {(r: any, i: number, t: number) => void} */ f) => {
      const rows = t[name];
      if (!rows) return;
      for (let i = 0; i < rows.rows; i++) {
        if (rows.no[i] <= skip) continue;
        const time = rows.time ? base + rows.time[i] * 1e-6 : 0;
        if (time > this.newest) this.newest = time;
        f(rows, i, time);
      }
    };
    each("joins", (r, i) => this.islands.set(r.id[i], { id: r.id[i], name: s[r.name[i]], chip: s[r.chip[i]], devices: this._set(r.gang[i]), chips: this._set(r.chips[i]), capacity: r.hbm[i] < 0 ? Infinity : r.hbm[i] }));
    each("slices", (r, i, time) => {
      const devices = this._set(r.gang[i]), was = this.slices.get(r.id[i]);
      if (was && was.devices !== devices) this.moves.push({ time, slice: r.id[i], devices });
      this.slices.set(r.id[i], { id: r.id[i], name: s[r.name[i]], island: r.island[i] - 1, devices, mapped: true });
    });
    const told = (/** @type {any} */ r, /** @type {number} */ i, /** @type {number} */ time, /** @type {string} */ name, /** @type {Told["kind"]} */ kind) =>
      this.told.push({ no: chunk.from + r.no[i], time, name, kind, share: r.share?.[i], most: r.most?.[i] >= 0 ? r.most[i] : Infinity, priority: r.priority?.[i] });
    each("clients", (r, i, time) => told(r, i, time, s[r.name[i]], "known"));
    each("gone", (r, i, time) => told(r, i, time, s[r.name[i]], "gone"));
    each("unmapped", (r, i) => {
      const slice = this.slices.get(r.id[i]);
      if (slice) slice.mapped = false;
    });
    each("begins", (r, i, time) => {
      this.programs.set(r.id[i], {
        id: r.id[i], name: s[r.name[i]], client: s[r.client[i]], cell: s[r.cell[i]], line: r.line[i], text: s[r.text[i]],
        opened: time, ended: NaN, state: -1, counts: STATES.map(() => 0),
      });
      told(r, i, time, s[r.client[i]], "seen");
      this.users.add(s[r.client[i]]);
      this.openPrograms++;
      this.opens.push(time);
      if (time < this.firstActive) this.firstActive = time;
    });
    this.told.sort((a, b) => a.no - b.no);
    this._addNodes(t, skip, base);
    let laid = 0;
    for (let i = 0; t.moves && i < t.moves.rows; laid += t.moves.written[i++]) {
      const node = t.moves.written[i] ? this.indexOf.get(t.moves.id[i]) : -1, c = this.nodes.c;
      for (let k = 0; node >= 0 && k < c.outsN[node]; k++) this.each.set(this.outputs.a[c.outs[node] + k], t.written.bytes[laid + k]);
    }
    each("moves", (r, i, time) => this._moved(this.indexOf.get(r.id[i]), r, i, time));
    each("holds", (r, i, time) => {
      const node = this.indexOf.get(r.id[i]), c = this.nodes.c;
      if (node < 0) return;
      if (!(c.held[node] <= time)) c.held[node] = time;
      c.account[node] = r.account[i];
      c.short[node] = r.bytes[i];
    });
    each("ends", (r, i, time) => this._ended(this.indexOf.get(r.id[i]), r, i, time, base));
    const lists = (/** @type {string} */ name, /** @type {(buffer: number, time: number) => void} */ f) => {
      const rows = t[name];
      for (let i = 0, at = 0; rows && i < rows.rows; at += rows.buffers[i++]) {
        for (let k = 0; k < rows.buffers[i] && rows.no[i] > skip; k++) f(t[`${name}_buffers`].buffer[at + k], base + rows.time[i] * 1e-6);
      }
    };
    lists("freed", (buffer, time) => {
      this.freedAt.set(buffer, time);
      this.frees.push(buffer);
    });
    lists("offloaded", (buffer, time) => this.travels.push({ time, buffer, away: true }));
    lists("restored", (buffer, time) => this.travels.push({ time, buffer, away: false }));
    this.travels.sort((a, b) => a.time - b.time);
    const wait = (/** @type {any} */ r, /** @type {number} */ i, /** @type {number} */ time) =>
      this.waits.push({ time, seconds: NaN, reason: s[r.reason[i]], cell: s[r.cell[i]], line: r.line[i], text: s[r.text[i]], buffer: r.buffer[i] }) - 1;
    each("waiting", (r, i, time) => this.begun.add(wait(r, i, time)));
    each("waits", (r, i, time) => {
      // A time is rounded in each chunk.
      const at = [...this.begun].find((k) => Math.abs(this.waits[k].time - time) < 2e-6) ?? wait(r, i, time);
      this.begun.delete(at);
      this.waits[at].seconds = r.seconds[i];
      this.waited.push(at);
      this.newest = Math.max(this.newest, time + r.seconds[i]);
      if (time < this.firstActive) this.firstActive = time;
    });
    each("works", (r, i, time) => {
      this.works.push({ time, seconds: r.seconds[i], busy: r.busy[i], events: r.events[i], launches: r.launches[i] });
      this.newest = Math.max(this.newest, time + r.seconds[i]);
    });
    for (const name of ["notes", "notes2"]) each(name, (r, i, time) => this.notes.push({ time, text: s[r.text[i]] }));
    each("programs_ended", (r, i, time) => {
      const program = this.programs.get(r.id[i]);
      if (program && program.state < 0) {
        this.openPrograms--;
        this.closes.push(time);
        this.over.push(r.id[i]);
        program.ended = time;
        program.state = r.state[i];
      }
    });
  }

  /** @param {Record<string, any>} t @param {number} skip @param {number} base */
  _addNodes(t, skip, base) {
    const rows = t.adds;
    if (!rows) return;
    let ins = 0, outs = 0, after = 0;
    for (let i = 0; i < rows.rows; i++) {
      const [inN, outN, afterN] = [rows.inputs[i], rows.outputs[i], rows.after[i]];
      if (rows.no[i] > skip && this.indexOf.get(rows.id[i]) < 0) {
        const to = this.nodes.add(), n = this.nodes.c;
        this.indexOf.set(rows.id[i], to);
        for (const key of ["id", "program", "name", "kind", "slice", "parts", "link", "moved", "cell", "line", "text", "spread"]) n[key][to] = rows[key][i];
        n.added[to] = base + rows.time[i] * 1e-6;
        for (const key of ["prepared", "queued", "launched", "start", "end", "ended", "held"]) n[key][to] = NaN;
        n.state[to] = WAITING;
        n.island[to] = -1;
        n.ins[to] = this.inputs.n;
        n.insN[to] = inN;
        for (let k = 0; k < inN; k++) this.inputs.push(t.inputs.buffer[ins + k]);
        n.outs[to] = this.outputs.n;
        n.outsN[to] = outN;
        for (let k = 0; k < outN; k++) {
          const buffer = t.outputs.buffer[outs + k];
          this.outputs.push(buffer);
          this.producer.set(buffer, to);
          this.bytes.set(buffer, t.outputs.bytes[outs + k]);
          this.each.set(buffer, t.outputs.each[outs + k]);
          this.shape.set(buffer, t.outputs.shape[outs + k]);
        }
        n.after[to] = this.orders.n;
        n.afterN[to] = afterN;
        for (let k = 0; k < afterN; k++) this.orders.push(t.after.node[after + k]);
        this.alive.add(to);
        this._count(to, -1, WAITING);
        if (n.added[to] > this.newest) this.newest = n.added[to];
      }
      ins += inN;
      outs += outN;
      after += afterN;
    }
  }

  /** @param {number} node @param {any} r @param {number} i @param {number} time */
  _moved(node, r, i, time) {
    const c = this.nodes.c;
    if (node < 0 || c.state[node] >= DONE) return;
    const state = r.state[i];
    this._count(node, c.state[node], state);
    c.state[node] = state;
    if (r.island[i]) c.island[node] = r.island[i] - 1;
    if (r.gang[i]) c.devices[node] = r.gang[i];
    if (state === WAITING) c.prepared[node] = c.held[node] = NaN;
    else if (state === PREPARED) {
      c.prepared[node] = time;
      c.compile[node] = r.seconds[i];
      if (r.seconds[i] > 0) this.compiles.push(node);
    } else if (state === QUEUED) c.queued[node] = time;
    else if (state === LAUNCHED) {
      c.launched[node] = c.start[node] = time;
      c.scratch[node] = r.scratch[i];
      this.launches.push(node);
      this.open.add(node);
    }
  }

  /** @param {number} node @param {any} r @param {number} i @param {number} time @param {number} base */
  _ended(node, r, i, time, base) {
    const c = this.nodes.c;
    if (node < 0 || c.state[node] >= DONE) return;
    const state = r.state[i];
    this._count(node, c.state[node], state);
    c.state[node] = c.fate[node] = state;
    const start = base + r.start[i] * 1e-6, end = base + r.end[i] * 1e-6;
    c.ended[node] = time;
    c.start[node] = end > start ? start : NaN;
    c.end[node] = end > start ? end : NaN;
    if (end > start && start < this.firstActive) this.firstActive = start;
    if (r.island[i]) c.island[node] = r.island[i] - 1;
    if (r.gang[i]) c.devices[node] = r.gang[i];
    c.error[node] = r.error[i];
    c.cause[node] = r.cause[i];
    if (state === DONE && isNaN(c.launched[node])) this.launches.push(node);
    this.open.delete(node);
    this.alive.delete(node);
    this.ends.push(node);
  }

  /** @param {number} node @param {number} left @param {number} entered */
  _count(node, left, entered) {
    const program = this.programs.get(this.nodes.c.program[node]);
    if (left >= 0) {
      this.counts[left]--;
      if (program) program.counts[left]--;
    }
    this.counts[entered]++;
    if (program) program.counts[entered]++;
  }
}
