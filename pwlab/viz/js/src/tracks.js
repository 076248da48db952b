// The rows of the timeline: what the host did (clients, controller, compilation, waits), transfers by network, and each
// device within its island.

import { Colours, KEY } from "./colours.js";
import { had } from "./columns.js";
import { Row } from "./row.js";
import { COMPUTE, FAILED, TRANSFER } from "./states.js";
import { oneLine } from "./text.js";

/** Rows that a track of overlapping spans may take; clients that have a track of their own. */
const LANES = 4, CLIENTS = 8;

/** @typedef {"client" | "control" | "compile" | "wait" | "host" | "transfer" | "device"} Kind in the order in which they are drawn */
/** What the spans of a track refer to: a node itself, or its compilation, … @typedef {"node" | "compile" | "program" | "work" | "wait"} Of */
/** @type {Kind[]} */
const ORDER = ["client", "control", "compile", "wait", "host", "transfer", "device"];
/** @type {Partial<Record<Kind, Of>>} */
const REFERS = { "client": "program", "control": "work", "compile": "compile", "wait": "wait" };

/** One named line of the timeline; where its spans may overlap it has several rows. */
export class Track {
  /** @param {Kind} kind @param {string} label @param {number} island @param {number} device @param {number} lanes @param {string} client */
  constructor(kind, label, island, device, lanes = LANES, client = "") {
    this.kind = kind;
    this.of = REFERS[kind] ?? "node";
    this.label = label;
    this.island = island;
    this.device = device;
    this.lanes = lanes;
    this.client = client;
    this.rows = [new Row()];
  }

  /** Adds a span where there is room for it. */
  add(/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ ref, /** @type {number} */ key) {
    let row = this.rows.find((r) => r.last <= start);
    if (!row && this.rows.length < this.lanes) this.rows.push((row = new Row()));
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
    this._launches = this._ends = this._waits = this._works = this._over = this._users = this._compiles = this._islands = this._named = 0;
    /** @type {Map<string, Track>} */
    this.clients = new Map();
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

  /** The colour of a span. */
  key(/** @type {Of} */ of, /** @type {number} */ ref) {
    if (of === "node") return this.keyOf(ref);
    if (of !== "program") return KEY[of === "work" ? "control" : of];
    const program = this.store.programs.get(ref);
    return program?.state === FAILED ? KEY.failed : this.by === "client" ? this.colours.of(program?.client ?? "") : KEY.program;
  }

  /** Colours by `name` or by `client`. */
  colourBy(/** @type {string} */ by) {
    this.by = by;
    this.colours = new Colours();
    this._named = 0;
    this._name();
    for (const { of, rows } of this.all) for (const row of rows) row.rekey((ref) => this.key(of, ref));
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
      else this.hostOf(node).add(start, end, node, key);
    }
    // What is launched is shown while it runs, and takes its place then.
    for (; this._launches < s.launches.n; this._launches++) if (c.kind[s.launches.a[this._launches]] !== COMPUTE) this.hostOf(s.launches.a[this._launches]);
    for (; this._compiles < s.compiles.n; this._compiles++) {
      const node = s.compiles.a[this._compiles];
      this._host("compile", "compiling").add(c.prepared[node] - c.compile[node], c.prepared[node], node, KEY.compile);
      changed = true;
    }
    if (s.waits.length) this._host("wait", "waits");
    for (; this._waits < s.waited.length; this._waits++) {
      const at = s.waited[this._waits], { time, seconds } = s.waits[at];
      this._host("wait", "waits").add(time, time + seconds, at, KEY.wait);
      changed = true;
    }
    for (; this._works < s.works.length; this._works++) {
      const work = s.works[this._works];
      this._host("control", "controller").add(work.time, work.time + work.seconds, this._works, KEY.control);
      changed = true;
    }
    return this._programs() || changed;
  }

  /** Puts programs that have ended on the tracks of their clients; whether there are any. */
  _programs() {
    const { over, programs, users } = this.store;
    if (this._users === users.size && this._over === over.length) return false;
    if (this._users !== users.size) {
      // Each has as many lanes as there is room for.
      this._users = users.size;
      this._over = 0;
      this.all = this.all.filter(({ kind }) => kind !== "client");
      this.clients.clear();
      for (const name of users) this._client(name);
    }
    for (; this._over < over.length; this._over++) {
      const program = programs.get(over[this._over]);
      if (program && program.ended > program.opened) this._client(program.client).add(program.opened, program.ended, program.id, this.key("program", program.id));
    }
    return true;
  }

  /** Where a program is drawn. */
  trackOf(/** @type {import("./store.js").Program} */ { client }) {
    return this.clients.get(this._users > CLIENTS ? "" : client);
  }

  /** The track of a client's programs; where there are many, of all. */
  _client(/** @type {string} */ name) {
    const many = this._users > CLIENTS, label = many ? "clients" : `client ${oneLine(name, 12)}`;
    return had(this.clients, many ? "" : name, () => this._new(new Track("client", label, -1, -1, many ? LANES : Math.max(1, LANES / this._users | 0), name)));
  }

  /** The track of a transfer, or of a function on a host. */
  hostOf(/** @type {number} */ node) {
    const { kind, link } = this.store.nodes.c;
    return kind[node] === TRANSFER ? this._host("transfer", ["transfers", "ICI transfers", "DCN transfers", "PCIe transfers"][link[node]]) : this._host("host", "host functions");
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
    const rank = (/** @type {Track} */ { kind }) => ORDER.indexOf(kind);
    this.all = [...this.all, track].sort((a, b) => rank(a) - rank(b) || a.island - b.island || a.device - b.device || (a.label < b.label ? -1 : 1));
    return track;
  }
}
