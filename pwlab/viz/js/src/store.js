// A run as the page knows it: columns of nodes, and the logs that views follow.
//
// Facts may come twice (another page was behind) and in any number of chunks; `last` says what is known already,
// and a row of a chunk whose number is not above it is skipped. Views keep their place in the logs and read on.

import { ById, Column, Table } from "./columns.js";
import { decode } from "./decode.js";
import { DONE, LAUNCHED, PREPARED, QUEUED, WAITING } from "./states.js";

/** @typedef {{id: number, name: string, chip: string, devices: number[]}} Island */
/** @typedef {{id: number, name: string, island: number, devices: number[], mapped: boolean}} Slice */
/** @typedef {{id: number, name: string, client: string, cell: string, line: number, text: string, opened: number,
 *   ended: number, state: number, counts: number[]}} Program */
/** @typedef {{time: number, seconds: number, reason: string, cell: string, line: number, text: string, buffer: number}} Wait */

export class Store {
  constructor() {
    this.strings = [""];
    /** Number of the last fact that is known. */
    this.last = 0;
    this.lost = 0;
    this.origin = NaN;
    /** Seconds since the origin of the newest fact, and of the kernel's clock when it last spoke. */
    this.newest = 0;
    this.heardNow = 0;
    this.heardAt = 0;
    this.running = false;
    this.closed = false;
    this.version = 0;
    /** @type {Map<number, Island>} */
    this.islands = new Map();
    /** @type {Map<number, Slice>} */
    this.slices = new Map();
    /** @type {Map<number, Program>} */
    this.programs = new Map();
    this.nodes = new Table({
      id: Uint32Array, program: Uint32Array, name: Uint32Array, kind: Uint8Array, slice: Uint32Array,
      parts: Uint32Array, link: Uint8Array, moved: Float64Array, cell: Uint32Array, line: Uint32Array,
      text: Uint32Array, added: Float64Array, prepared: Float64Array, queued: Float64Array, launched: Float64Array,
      start: Float64Array, end: Float64Array, ended: Float64Array, state: Uint8Array, island: Int32Array,
      devices: Uint32Array, error: Uint32Array, cause: Uint32Array, compile: Float32Array,
      ins: Uint32Array, insN: Uint32Array, outs: Uint32Array, outsN: Uint32Array, after: Uint32Array, afterN: Uint32Array,
    });
    this.inputs = new Column(Uint32Array);
    this.outputs = new Column(Uint32Array);
    this.orders = new Column(Uint32Array);
    this.indexOf = new ById(Int32Array, -1);
    this.producer = new ById(Int32Array, -1);
    this.bytes = new ById(Float64Array, 0);
    this.freedAt = new ById(Float64Array, NaN);
    /** Logs: nodes in the order in which they were launched, compiled, ended; buffers as they were freed. */
    this.launches = new Column(Uint32Array);
    this.compiles = new Column(Uint32Array);
    this.ends = new Column(Uint32Array);
    this.frees = new Column(Uint32Array);
    /** @type {Wait[]} */
    this.waits = [];
    /** @type {{time: number, text: string}[]} */
    this.notes = [];
    this.openPrograms = 0;
    /** Share that each client asked for. @type {Record<string, number>} */
    this.shares = {};
    /** Nodes on devices now. @type {Set<number>} */
    this.open = new Set();
    this.counts = [0, 0, 0, 0, 0, 0, 0];
    this.firstActive = Infinity;
    /** @type {Map<number, number[]>} */
    this.deviceSets = new Map([[0, []]]);
  }

  /**
   * Takes a batch. Returns false where something before it is missing.
   * @param {any} batch @param {any[]} buffers
   */
  take(batch, buffers) {
    if (batch.strings_from > this.strings.length) return false;
    batch.strings.forEach((/** @type {string} */ text, /** @type {number} */ i) => (this.strings[batch.strings_from + i] = text));
    if (Number.isNaN(this.origin) && (batch.chunks.length || this.last)) this.origin = batch.origin;
    for (let i = 0; i < batch.chunks.length; i++) {
      const chunk = batch.chunks[i];
      if (chunk.to <= this.last) continue;
      if (chunk.from > this.last + 1) return false;
      this._apply(chunk, decode(chunk, buffers[i]));
      this.last = chunk.to;
    }
    this.lost = batch.lost;
    this.running = batch.running;
    this.closed = batch.closed;
    this.shares = batch.shares ?? this.shares;
    this.heardNow = Number.isNaN(this.origin) ? 0 : batch.now - this.origin;
    this.heardAt = performance.now() / 1000;
    this.version++;
    return true;
  }

  /** The present: it goes on while something runs, but not far beyond what the kernel last said. */
  now() {
    if (!this.running || this.closed) return this.newest;
    return Math.max(this.newest, this.heardNow + Math.min(2.5, performance.now() / 1000 - this.heardAt));
  }

  /** Where anything began to happen; what comes before is the session's start. */
  begin() {
    return Number.isFinite(this.firstActive) ? this.firstActive : 0;
  }

  node(/** @type {number} */ i, /** @type {string} */ field) {
    return this.nodes.c[field][i];
  }

  /** A text field of a node. */
  word(/** @type {number} */ i, /** @type {string} */ field) {
    return this.strings[this.nodes.c[field][i]] ?? "";
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

  client(/** @type {number} */ i) {
    return this.programs.get(this.nodes.c.program[i])?.client ?? "";
  }

  /** Bytes that a node writes. */
  written(/** @type {number} */ i) {
    const { outs, outsN } = this.nodes.c;
    let sum = 0;
    for (let k = 0; k < outsN[i]; k++) sum += this.bytes.get(this.outputs.a[outs[i] + k]);
    return sum;
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
    let found = this.deviceSets.get(at);
    if (!found) this.deviceSets.set(at, (found = this.strings[at] ? this.strings[at].split(" ").map(Number) : []));
    return found;
  }

  /** @param {any} chunk @param {Record<string, any>} t */
  _apply(chunk, t) {
    const base = chunk.base - this.origin;
    // Rows from here on are new; a whole chunk has no numbers of its own.
    const skip = chunk.whole ? -1 : this.last - chunk.from;
    const s = this.strings;
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
    each("islands", (r, i) => this.islands.set(r.id[i], { id: r.id[i], name: s[r.name[i]], chip: s[r.chip[i]], devices: this._set(r.devices[i]) }));
    each("slices", (r, i) =>
      this.slices.set(r.id[i], { id: r.id[i], name: s[r.name[i]], island: r.island[i] - 1, devices: this._set(r.devices[i]), mapped: true }));
    each("unmapped", (r, i) => {
      const slice = this.slices.get(r.id[i]);
      if (slice) slice.mapped = false;
    });
    each("programs", (r, i, time) => {
      this.programs.set(r.id[i], {
        id: r.id[i], name: s[r.name[i]], client: s[r.client[i]], cell: s[r.cell[i]], line: r.line[i], text: s[r.text[i]],
        opened: time, ended: NaN, state: -1, counts: [0, 0, 0, 0, 0, 0, 0],
      });
      this.openPrograms++;
      if (time < this.firstActive) this.firstActive = time;
    });
    this._addNodes(t, skip, base);
    each("moves", (r, i, time) => this._moved(this.indexOf.get(r.id[i]), r, i, time));
    each("ends", (r, i, time) => this._ended(this.indexOf.get(r.id[i]), r, i, time, base));
    let at = 0;
    const freed = t.freed;
    for (let i = 0; freed && i < freed.rows; i++) {
      const n = freed.buffers[i];
      for (let k = 0; k < n && freed.no[i] > skip; k++) {
        const buffer = t.freed_buffers.buffer[at + k];
        this.freedAt.set(buffer, base + freed.time[i] * 1e-6);
        this.frees.push(buffer);
      }
      at += n;
    }
    each("waits", (r, i, time) => {
      this.waits.push({ time, seconds: r.seconds[i], reason: s[r.reason[i]], cell: s[r.cell[i]], line: r.line[i], text: s[r.text[i]], buffer: r.buffer[i] });
      this.newest = Math.max(this.newest, time + r.seconds[i]);
      if (time < this.firstActive) this.firstActive = time;
    });
    for (const name of ["notes", "notes2"]) each(name, (r, i, time) => this.notes.push({ time, text: s[r.text[i]] }));
    each("programs_ended", (r, i, time) => {
      const program = this.programs.get(r.id[i]);
      if (program && program.state < 0) {
        this.openPrograms--;
        program.ended = time;
        program.state = r.state[i];
      }
    });
  }

  /** @param {Record<string, any>} t @param {number} skip @param {number} base */
  _addNodes(t, skip, base) {
    const rows = t.nodes;
    if (!rows) return;
    let ins = 0, outs = 0, after = 0;
    for (let i = 0; i < rows.rows; i++) {
      const [inN, outN, afterN] = [rows.inputs[i], rows.outputs[i], rows.after[i]];
      if (rows.no[i] > skip && this.indexOf.get(rows.id[i]) < 0) {
        const to = this.nodes.add(), n = this.nodes.c;
        this.indexOf.set(rows.id[i], to);
        for (const key of ["id", "program", "name", "kind", "slice", "parts", "link", "moved", "cell", "line", "text"]) n[key][to] = rows[key][i];
        n.added[to] = base + rows.time[i] * 1e-6;
        for (const key of ["prepared", "queued", "launched", "start", "end", "ended"]) n[key][to] = NaN;
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
        }
        n.after[to] = this.orders.n;
        n.afterN[to] = afterN;
        for (let k = 0; k < afterN; k++) this.orders.push(t.after.node[after + k]);
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
    if (r.devices[i]) c.devices[node] = r.devices[i];
    if (state === PREPARED) {
      c.prepared[node] = time;
      c.compile[node] = r.seconds[i];
      if (r.seconds[i] > 0) this.compiles.push(node);
    } else if (state === QUEUED) c.queued[node] = time;
    else if (state === LAUNCHED) {
      c.launched[node] = c.start[node] = time;
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
    c.state[node] = state;
    const start = base + r.start[i] * 1e-6, end = base + r.end[i] * 1e-6;
    c.ended[node] = time;
    c.start[node] = end > start ? start : NaN;
    c.end[node] = end > start ? end : NaN;
    if (end > start && start < this.firstActive) this.firstActive = start;
    if (r.island[i]) c.island[node] = r.island[i] - 1;
    if (r.devices[i]) c.devices[node] = r.devices[i];
    c.error[node] = r.error[i];
    c.cause[node] = r.cause[i];
    if (state === DONE && Number.isNaN(c.launched[node])) this.launches.push(node);
    this.open.delete(node);
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
