// What happened in a stretch of time, as plain data.

import { above } from "./columns.js";
import { COMPUTE, TRANSFER } from "./states.js";

/**
 * @param {import("./store.js").Store} store @param {import("./tracks.js").Tracks} tracks @param {number} from @param {number} to
 */
export function totals(store, tracks, from, to) {
  const c = store.nodes.c;
  /** @type {Map<number, {busy: number, devices: number}>} */
  const islands = new Map();
  /** @type {Map<number, {name: number, launches: number, seconds: number}>} */
  const names = new Map();
  const seen = new Set();
  let moved = 0, transfers = 0;
  for (const track of tracks.devices.values()) {
    const row = track.rows[0];
    const island = islands.get(track.island) ?? { busy: 0, devices: 0 };
    islands.set(track.island, island);
    island.busy += row.busy(from, to);
    island.devices++;
    const [first, last] = row.range(from, to);
    for (let i = first; i < last; i++) {
      const node = row.ref.a[i], id = c.name[node];
      let name = names.get(id);
      if (!name) names.set(id, (name = { name: id, launches: 0, seconds: 0 }));
      name.seconds += Math.min(row.end.a[i], to) - Math.max(row.start.a[i], from);
      if (!seen.has(node)) {
        seen.add(node);
        name.launches++;
      }
    }
  }
  let waited = 0, waits = 0;
  for (const track of tracks.all) {
    if (track.kind !== "transfer" && track.kind !== "wait") continue;
    for (const row of track.rows) {
      const [first, last] = row.range(from, to);
      for (let i = first; i < last; i++) {
        if (track.kind === "transfer") {
          transfers++;
          moved += c.moved[row.ref.a[i]];
        } else {
          waits++;
          waited += Math.min(row.end.a[i], to) - Math.max(row.start.a[i], from);
        }
      }
    }
  }
  const span = to - from;
  return {
    from, to, launches: seen.size, transfers, moved, waits, waited,
    islands: [...islands].map(([id, { busy, devices }]) => ({ id, share: span > 0 ? Math.min(1, busy / (span * devices)) : 0, busy })),
    names: [...names.values()].sort((a, b) => b.seconds - a.seconds),
  };
}

/**
 * Of each device: how it spent the time in which programs were open, in seconds.
 *
 * A gap before a launch is taken apart with what is known of the launch that ended it: nothing was queued until it
 * was submitted; then it was prepared; then inputs were computed elsewhere or moved; the rest is dispatch.
 */
export const PARTS = ["computing", "preparing", "waiting for input", "transfer", "dispatch", "nothing queued"];

export class Idle {
  /** @param {import("./store.js").Store} store @param {import("./tracks.js").Tracks} tracks */
  constructor(store, tracks) {
    this.store = store;
    this.tracks = tracks;
    /** @type {Map<number, {done: number, at: number, parts: Float64Array}>} */
    this._devices = new Map();
  }

  /** Seconds by part for a device, up to now. */
  of(/** @type {number} */ device, /** @type {number} */ now) {
    const row = this.tracks.devices.get(device)?.rows[0];
    let d = this._devices.get(device);
    if (!d || (row && row.n < d.done)) this._devices.set(device, (d = { done: 0, at: this.store.begin(), parts: new Float64Array(PARTS.length) }));
    if (row) {
      for (; d.done < row.n; d.done++) {
        const start = row.start.a[d.done], end = row.end.a[d.done];
        if (start > d.at) this._gap(d.parts, d.at, start, row.ref.a[d.done]);
        d.parts[0] += end - start;
        d.at = Math.max(d.at, end);
      }
    }
    const parts = d.parts.slice();
    if (now > d.at) {
      const running = [...this.store.open].find((i) => this.store.nodes.c.kind[i] === COMPUTE && this.store.devices(i).includes(device));
      if (running === undefined) parts[5] += now - d.at;
      else {
        const start = Math.max(d.at, this.store.nodes.c.launched[running]);
        this._gap(parts, d.at, start, running);
        parts[0] += now - start;
      }
    }
    return parts;
  }

  /** @param {Float64Array} parts @param {number} from @param {number} to @param {number} node */
  _gap(parts, from, to, node) {
    const s = this.store, c = s.nodes.c;
    let at = from;
    const until = (/** @type {number} */ time, /** @type {number} */ part) => {
      const stop = Math.min(to, time);
      if (!(stop > at)) return;
      parts[part] += stop - at;
      at = stop;
    };
    until(c.added[node], 5);
    until(c.prepared[node], 1);
    for (const from of s.sources(node).sort((a, b) => c.end[a] - c.end[b])) {
      if (c.kind[from] === TRANSFER) {
        until(c.start[from], 2);
        until(c.end[from], 3);
      } else until(c.end[from], 2);
    }
    until(to, 4);
  }
}

/** Bytes over time: steps in order of time. */
export class Steps {
  constructor() {
    /** @type {number[]} */
    this.time = [];
    /** @type {number[]} */
    this.delta = [];
    /** @type {number[]} */
    this.value = [];
    this._right = 0;
  }

  add(/** @type {number} */ time, /** @type {number} */ delta) {
    let at = this.time.length;
    if (at && time < this.time[at - 1]) at = above(this.time, time);
    this.time.splice(at, 0, time);
    this.delta.splice(at, 0, delta);
    this.value.splice(at, 0, 0);
    this._right = Math.min(this._right, at);
  }

  /** The sums, up to date. */
  sums() {
    for (; this._right < this.time.length; this._right++) this.value[this._right] = (this._right ? this.value[this._right - 1] : 0) + this.delta[this._right];
    return this.value;
  }
}

/** Bytes held on each island over time: outputs exist from the launch of their node until they are freed. */
export class Memory {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Map<number, Steps>} */
    this.islands = new Map();
    this._launches = this._frees = 0;
    /** Buffers that exist. @type {Set<number>} */
    this.held = new Set();
  }

  update() {
    const s = this.store, c = s.nodes.c;
    for (; this._launches < s.launches.n; this._launches++) {
      const node = s.launches.a[this._launches];
      const time = Number.isNaN(c.launched[node]) ? c.ended[node] : c.launched[node];
      const steps = this._steps(s.islandOf(node));
      for (let k = 0; k < c.outsN[node]; k++) {
        const buffer = s.outputs.a[c.outs[node] + k];
        steps.add(time, s.bytes.get(buffer));
        this.held.add(buffer);
      }
    }
    for (; this._frees < s.frees.n; this._frees++) {
      const buffer = s.frees.a[this._frees], node = s.producer.get(buffer);
      if (node < 0 || !this.held.delete(buffer)) continue;
      this._steps(s.islandOf(node)).add(s.freedAt.get(buffer), -s.bytes.get(buffer));
    }
  }

  /** The largest values that are held, by computation and cell. */
  holders(most = 12) {
    const s = this.store, c = s.nodes.c;
    /** @type {Map<string, {node: number, bytes: number, buffers: number}>} */
    const by = new Map();
    for (const buffer of this.held) {
      const node = s.producer.get(buffer), key = `${c.name[node]} ${c.cell[node]} ${c.line[node]} ${c.slice[node]}`;
      const entry = by.get(key) ?? { node, bytes: 0, buffers: 0 };
      by.set(key, entry);
      entry.bytes += s.bytes.get(buffer);
      entry.buffers++;
    }
    return [...by.values()].sort((a, b) => b.bytes - a.bytes).slice(0, most);
  }

  _steps(/** @type {number} */ island) {
    let steps = this.islands.get(island);
    if (!steps) this.islands.set(island, (steps = new Steps()));
    return steps;
  }
}

/** Each client: its programs, launches, and device seconds; follows the log of ends. */
export class Clients {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Map<string, {client: string, launches: number, seconds: number, failed: number}>} */
    this.all = new Map();
    this._ends = 0;
  }

  update() {
    const s = this.store, c = s.nodes.c;
    for (const program of s.programs.values()) this._of(program.client);
    for (; this._ends < s.ends.n; this._ends++) {
      const node = s.ends.a[this._ends], entry = this._of(s.client(node));
      if (c.state[node] === 5) entry.failed++;
      if (c.kind[node] !== COMPUTE || !(c.end[node] > c.start[node])) continue;
      entry.launches++;
      entry.seconds += (c.end[node] - c.start[node]) * s.devices(node).length;
    }
    return [...this.all.values()].sort((a, b) => b.seconds - a.seconds || (a.client < b.client ? -1 : 1));
  }

  _of(/** @type {string} */ client) {
    let entry = this.all.get(client);
    if (!entry) this.all.set(client, (entry = { client, launches: 0, seconds: 0, failed: 0 }));
    return entry;
  }
}
