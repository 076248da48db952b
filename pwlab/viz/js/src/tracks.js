// The rows of the timeline: what the host did, transfers by network, and each device within its island.

import { Colours, KEY } from "./colours.js";
import { had } from "./columns.js";
import { Row } from "./row.js";
import { COMPUTE, FAILED, TRANSFER } from "./states.js";

/** Rows that a track of overlapping spans may take. */
const LANES = 4;

/** @typedef {"device" | "wait" | "compile" | "host" | "transfer"} Kind */

/** One named line of the timeline; where its spans may overlap it has several rows. */
export class Track {
  /** @param {Kind} kind @param {string} label @param {number} island @param {number} device */
  constructor(kind, label, island, device) {
    this.kind = kind;
    this.label = label;
    this.island = island;
    this.device = device;
    this.rows = [new Row()];
  }

  /** Adds a span where there is room for it. */
  add(/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ ref, /** @type {number} */ key) {
    let row = this.rows.find((r) => r.last <= start);
    if (!row && this.rows.length < LANES) this.rows.push((row = new Row()));
    row ??= this.rows.reduce((a, b) => (b.last < a.last ? b : a));
    row.add(start, end, ref, key);
  }
}

/** All tracks, kept up to date with a store. */
export class Tracks {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    this.colours = new Colours();
    this.by = "name";
    /** @type {Map<number, Track>} */
    this.devices = new Map();
    /** @type {Map<string, Track>} */
    this.host = new Map();
    this._ends = this._waits = this._compiles = this._islands = this._named = 0;
    /** In the order in which they are drawn. @type {Track[]} */
    this.all = [];
  }

  /** The colour of a node. */
  keyOf(/** @type {number} */ node) {
    const { c } = this.store.nodes;
    return c.fate[node] === FAILED ? KEY.failed : this.hueOf(node);
  }

  /** The colour of a node's name, or of its network, whatever became of it. */
  hueOf(/** @type {number} */ node) {
    const s = this.store, c = s.nodes.c;
    if (c.kind[node] === TRANSFER) return KEY.move + c.link[node];
    return this.colours.of(this.by === "name" ? s.texts[c.name[node]] : s.client(node));
  }

  /** Colours by `name` or by `client`. */
  colourBy(/** @type {string} */ by) {
    this.by = by;
    this.colours = new Colours();
    this._named = 0;
    this._name();
    for (const track of this.all) if (track.kind !== "wait" && track.kind !== "compile") for (const row of track.rows) row.rekey((ref) => this.keyOf(ref));
  }

  /** Gives colours in the order in which names were recorded, as pictures without a browser do. */
  _name() {
    const s = this.store, c = s.nodes.c;
    if (this.by === "client") for (const program of s.programs.values()) this.colours.of(program.client);
    else for (; this._named < s.nodes.n; this._named++) if (c.kind[this._named] !== TRANSFER) this.colours.of(s.texts[c.name[this._named]]);
  }

  /** Takes what came since the last time; whether anything did. */
  update() {
    const s = this.store, c = s.nodes.c;
    let changed = false;
    this._name();
    if (this._islands !== s.islands.size) {
      this._islands = s.islands.size;
      for (const island of s.islands.values()) for (const device of island.devices) this._device(device, island.id);
      changed = true;
    }
    for (; this._ends < s.ends.n; this._ends++) {
      const node = s.ends.a[this._ends];
      const start = c.start[node], end = c.end[node];
      if (!(end > start)) continue;
      changed = true;
      const key = this.keyOf(node);
      if (c.kind[node] === COMPUTE) for (const device of s.devices(node)) this._device(device, c.island[node]).rows[0].add(start, end, node, key);
      else if (c.kind[node] === TRANSFER) this._host("transfer", ["transfers", "ICI transfers", "DCN transfers", "PCIe transfers"][c.link[node]]).add(start, end, node, key);
      else this._host("host", "host functions").add(start, end, node, key);
    }
    for (; this._compiles < s.compiles.n; this._compiles++) {
      const node = s.compiles.a[this._compiles];
      this._host("compile", "compiling").add(c.prepared[node] - c.compile[node], c.prepared[node], node, KEY.compile);
      changed = true;
    }
    for (; this._waits < s.waits.length; this._waits++) {
      const wait = s.waits[this._waits];
      this._host("wait", "waits").add(wait.time, wait.time + wait.seconds, this._waits, KEY.wait);
      changed = true;
    }
    return changed;
  }

  _device(/** @type {number} */ device, /** @type {number} */ island) {
    return had(this.devices, device, () => this._new(new Track("device", `device ${device}`, island, device)));
  }

  /** @param {Kind} kind @param {string} label */
  _host(kind, label) {
    return had(this.host, label, () => this._new(new Track(kind, label, -1, -1)));
  }

  /** Takes its place among the others. @param {Track} track */
  _new(track) {
    const rank = (/** @type {Track} */ { kind }) => ["wait", "compile", "host", "transfer", "device"].indexOf(kind);
    this.all = [...this.all, track].sort((a, b) => rank(a) - rank(b) || a.island - b.island || a.device - b.device || (a.label < b.label ? -1 : 1));
    return track;
  }
}
