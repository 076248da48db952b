// What devices and clients spent time and memory on: the same fold as pwlab/observe/usage.py, over the store's logs.

import { Amounts, BinClock, Level } from "./bins.js";
import { above, Column, f8, had, raise, sum, times } from "./columns.js";
import { Contest } from "./contest.js";
import { COMPUTE, FAILED, HOST, TRANSFER } from "./states.js";
import { rangesText } from "./text.js";

/** Parts of a device's time; what is left of the time in which programs were open is the last. */
export const PARTS = ["computing", "preparing", "waiting for input", "transfer", "memory", "dispatch", "nothing queued"];
export const [COMPUTING, PREPARING, INPUT, MOVING, MEMORY, DISPATCH, NOTHING] = PARTS.keys();

/** @typedef {{at: number, parts: Float64Array}} Device */
/** @typedef {{name: string, level: Level, devices: number[], island: number, capacity: number}} Room */
/** @typedef {{node: number, share: number, rooms: Room[]}} Holding */
/** @typedef {{client: string, open: boolean, share: number, priority: number, asked: number, got: number, parts: Float64Array, launches: number, failed: number, waiting: number,
 *   held: number, bytes: number, most: number}} ClientRow */

/** A chip of one device is called as that device. */
function label(/** @type {Room} */ { name, devices }) {
  return devices.length > 1 ? `${name} (devices ${rangesText(devices)})` : `device ${devices[0]}`;
}

export class Usage {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    this._reset();
  }

  _reset() {
    this._turns = this.store.turns;
    /** Until when facts count; a replay knows more. */
    this._now = Infinity;
    this.clock = new BinClock();
    /** @type {Map<number, Device>} */
    this._devices = new Map();
    this.contest = new Contest();
    /** Bytes that each client holds. @type {Map<string, number>} */
    this._bytes = new Map();
    /** Of islands and parts, and of clients. */
    this._over = new Amounts(this.clock);
    this._byClient = new Amounts(this.clock);
    /** @type {Map<number, Room>} */
    this.rooms = new Map();
    /** By chip, or by the text of a device that is none. @type {Map<number | string, Room>} */
    this._chips = new Map();
    /** What takes memory, by buffer. @type {Map<number, Holding>} */
    this.held = new Map();
    /** What lies in host memory. @type {Map<number, Holding>} */
    this._away = new Map();
    /** Stretches in which programs were open: their starts, and the seconds of all before. */
    this._starts = new Column(f8);
    this._before = new Column(f8);
    this._active = { seconds: 0, open: 0, since: 0 };
    this._islands = 0;
    this._at = { launches: 0, frees: 0, moves: 0, travels: 0, given: 0, ends: 0, opens: 0, closes: 0 };
  }

  /** Takes what is in the logs up to a moment. */
  update(now = Infinity) {
    const s = this.store;
    if (this._turns !== s.turns) this._reset();
    const at = this._at;
    this._now = now;
    if (this._islands !== s.islands.size) this._join();
    while (at.opens < s.opens.n || at.closes < s.closes.n) {
      const opened = at.closes >= s.closes.n || (at.opens < s.opens.n && s.opens.a[at.opens] <= s.closes.a[at.closes]);
      const told = opened ? s.opens.a[at.opens] : s.closes.a[at.closes], active = this._active, time = Math.max(told, s.since);
      if (told > now) break;
      if (opened) at.opens++;
      else at.closes++;
      if (active.open === 0) {
        active.since = time;
        this._starts.push(time);
        this._before.push(active.seconds);
      }
      active.open += opened ? 1 : -1;
      if (active.open === 0) active.seconds += Math.max(0, time - active.since);
    }
    for (; at.ends < s.ends.n; at.ends++) {
      const node = s.ends.a[at.ends], time = s.nodes.c.ended[node];
      if (!(time <= now)) break;
      this.contest.until(s, time, !(s.nodes.c.start[node] < s.nodes.c.end[node]));
      this._ended(node);
    }
    this.contest.until(s, now);
    this._remember();
  }

  /** Seconds in which programs were open until a time. */
  place(/** @type {number} */ time) {
    const k = above(this._starts.a, time, 0, this._starts.n) - 1;
    if (k < 0) return 0;
    const last = k === this._starts.n - 1, { seconds, open, since } = this._active;
    const end = last ? (open > 0 ? seconds + Math.max(0, time - since) : seconds) : this._before.a[k + 1];
    return Math.min(end, this._before.a[k] + time - this._starts.a[k]);
  }

  // --- time --------------------------------------------------------------------------------

  _ended(/** @type {number} */ node) {
    const s = this.store, c = s.nodes.c, client = this.contest.owner(s, node), start = Math.max(c.start[node], s.since);
    const ran = c.kind[node] === COMPUTE && c.end[node] > start;
    if (c.fate[node] === FAILED) client.failed++;
    if (ran) {
      client.launches++;
      this._ran(node, c.end[node], this._devices, client.parts, this._over, this._byClient);
    }
    this.contest.ended(s, node, ran ? (c.end[node] - start) * s.gang(node).length : 0);
  }

  /**
   * Counts, for each device of a node, the gap before it and what it computed; it may not have ended.
   * @param {number} node @param {number} until @param {Map<number, Device>} devices @param {Float64Array} client
   * @param {Amounts} over @param {Amounts} byClient
   */
  _ran(node, until, devices, client, over, byClient) {
    const s = this.store, c = s.nodes.c, ended = c.ended[node] <= this._now, island = s.islandOf(node), name = s.client(node);
    /** @type {Map<number, Device[]>} */
    const alike = new Map();
    for (const id of s.gang(node)) {
      const device = had(devices, id, () => ({ at: Math.max(c.added[node], s.since), parts: new f8(NOTHING) }));
      had(alike, device.at, () => []).push(device);
    }
    for (const [at, some] of alike) {
      const start = ended ? Math.min(Math.max(c.start[node], at), until) : until;
      const count = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ part) => {
        for (const device of some) device.parts[part] += high - low;
        client[part] += (high - low) * some.length;
        const [a, b] = [this.place(low), this.place(high)];
        over.add(`${island} ${part}`, a, b, some.length);
        if (part === COMPUTING) byClient.add(name, a, b, some.length);
      };
      this._gap(node, at, start, ended, count);
      if (until > start) count(start, until, COMPUTING);
      for (const device of some) device.at = Math.max(device.at, until);
    }
  }

  /**
   * What the time before a node went into.
   * @param {number} node @param {number} at @param {number} to @param {boolean} ended
   * @param {(low: number, high: number, part: number) => void} count
   */
  _gap(node, at, to, ended, count) {
    const s = this.store, c = s.nodes.c;
    const until = (/** @type {number} */ time, /** @type {number} */ part) => {
      const stop = Math.min(to, time);
      if (!(stop > at)) return;
      if (part !== NOTHING) count(at, stop, part);
      at = stop;
    };
    const reached = (/** @type {number} */ time) => (time <= this._now ? time : Infinity);
    const over = (/** @type {number} */ i) => (c.ended[i] <= this._now ? (isNaN(c.end[i]) ? c.ended[i] : c.end[i]) : Infinity);
    const launched = Math.min(reached(c.launched[node]), ended ? reached(c.start[node]) : Infinity);
    until(c.added[node], NOTHING);
    until(reached(c.prepared[node]), PREPARING);
    for (const from of s.sources(node).sort((a, b) => over(a) - over(b) || c.id[a] - c.id[b])) {
      if (c.kind[from] === TRANSFER) until(over(from) < Infinity ? Math.min(reached(c.start[from]), over(from)) : Math.min(reached(c.launched[from]), over(from)), INPUT);
      until(over(from), c.kind[from] === TRANSFER ? MOVING : INPUT);
    }
    if (c.held[node] <= this._now) {
      until(c.held[node], DISPATCH);
      until(launched, MEMORY);
    }
    until(launched, DISPATCH);
    until(to, ended ? DISPATCH : COMPUTING);
  }

  /** Of each device what runs on it, or else what is next for it; each node once, in order of submission. */
  _next() {
    const s = this.store, c = s.nodes.c, taken = new Set(), found = [];
    const everything = sum([...s.islands.values()], ({ devices }) => devices.length);
    for (const launched of [true, false]) {
      for (const node of this._alive()) {
        if (taken.size >= everything) return found;
        if (c.kind[node] !== COMPUTE || c.launched[node] <= this._now !== launched) continue;
        const gang = s.gang(node);
        if (!gang.length || gang.some((id) => taken.has(id))) continue;
        gang.forEach((id) => taken.add(id));
        found.push(node);
      }
    }
    return found;
  }

  /** Nodes that have not ended. @returns {Iterable<number>} */
  _alive() {
    const s = this.store;
    return s.replays ? times(s.known, (i) => i).filter((i) => !(s.nodes.c.ended[i] <= this._now)) : s.alive;
  }

  // --- memory ------------------------------------------------------------------------------

  _join() {
    const s = this.store;
    this._islands = s.islands.size;
    for (const island of s.islands.values()) {
      island.devices.forEach((device, i) => {
        if (this.rooms.has(device)) return;
        const chip = island.chips[i];
        const room = had(this._chips, chip ?? `${device}`, () =>
          ({ name: chip === undefined ? `device ${device}` : `chip ${chip}`, level: new Level(this.clock), devices: /** @type {number[]} */ ([]), island: island.id, capacity: island.capacity }));
        room.capacity = Math.min(room.capacity, island.capacity);
        room.devices.push(device);
        this.rooms.set(device, room);
      });
    }
  }

  /** What took memory and gave it back, in order of time; of one moment launches come first. */
  _remember() {
    const s = this.store, c = s.nodes.c, at = this._at;
    for (;;) {
      const node = at.launches < s.launches.n ? s.launches.a[at.launches] : -1, ended = at.given < s.ends.n ? s.ends.a[at.given] : -1;
      const times = [
        node < 0 ? Infinity : isNaN(c.launched[node]) ? c.ended[node] : c.launched[node],
        at.moves < s.moves.length ? s.moves[at.moves].time : Infinity,
        at.travels < s.travels.length ? s.travels[at.travels].time : Infinity,
        ended < 0 ? Infinity : c.ended[ended],
        at.frees < s.frees.n ? s.freedAt.get(s.frees.a[at.frees]) : Infinity,
      ];
      const time = Math.min(...times);
      if (time === Infinity || time > this._now) return;
      if (time === times[0]) {
        this._launch(node, time);
        at.launches++;
      } else if (time === times[1]) this._move(s.moves[at.moves++]);
      else if (time === times[2]) this._travel(s.travels[at.travels++]);
      else if (time === times[3]) {
        this._scratch(ended, time, -1);
        at.given++;
      } else {
        const buffer = s.frees.a[at.frees++], holding = this.held.get(buffer);
        this._away.delete(buffer);
        if (holding && this.held.delete(buffer)) this._count(holding, time, -1);
      }
    }
  }

  _launch(/** @type {number} */ node, /** @type {number} */ time) {
    const s = this.store, c = s.nodes.c, devices = s.devices(node), rooms = this._rooms(devices);
    if (c.kind[node] === HOST || !devices.length) return;
    for (let k = 0; k < c.outsN[node]; k++) {
      const buffer = s.outputs.a[c.outs[node] + k], each = s.each.get(buffer);
      if (this.held.has(buffer)) continue;
      const holding = { node, share: each < 0 ? Math.ceil(s.bytes.get(buffer) / devices.length) : each, rooms };
      this.held.set(buffer, holding);
      this._count(holding, time, 1);
    }
    this._scratch(node, time, 1);
  }

  _scratch(/** @type {number} */ node, /** @type {number} */ time, /** @type {number} */ sign) {
    const s = this.store, bytes = s.nodes.c.scratch[node];
    if (bytes) for (const room of this._rooms(s.devices(node))) room.level.change(Math.max(time, s.since), this.place(time), sign * bytes);
  }

  /** @param {{time: number, slice: number, devices: number[]}} move */
  _move({ time, slice, devices }) {
    const c = this.store.nodes.c;
    for (const [held, sign] of /** @type {[Map<number, Holding>, number][]} */ ([[this.held, 1], [this._away, 0]])) {
      for (const holding of held.values()) {
        if (c.slice[holding.node] !== slice) continue;
        this._count(holding, time, -sign);
        holding.rooms = this._rooms(c.spread[holding.node] ? devices : devices.slice(0, 1));
        this._count(holding, time, sign);
      }
    }
  }

  /** @param {{time: number, buffer: number, away: boolean}} travel */
  _travel({ time, buffer, away }) {
    const [from, to] = away ? [this.held, this._away] : [this._away, this.held], holding = from.get(buffer);
    if (!holding) return;
    from.delete(buffer);
    to.set(buffer, holding);
    this._count(holding, time, away ? -1 : 1);
  }

  /** @param {number[]} devices @returns {Room[]} */
  _rooms(devices) {
    return /** @type {Room[]} */ (devices.map((id) => this.rooms.get(id)).filter(Boolean));
  }

  /** @param {Holding} holding @param {number} time @param {number} sign */
  _count(holding, time, sign) {
    const at = this.place(time), told = Math.max(time, this.store.since);
    for (const room of holding.rooms) room.level.change(told, at, sign * holding.share);
    raise(this._bytes, this.store.client(holding.node), sign * holding.share * holding.rooms.length);
  }

  // --- the answer ----------------------------------------------------------------------------

  /** All of it, with what has not ended counted until `now`. */
  view(/** @type {number} */ now) {
    this.update(this.store.replays ? now : Infinity);
    const s = this.store, { clock, _active } = this;
    const seconds = _active.seconds + (_active.open > 0 ? Math.max(0, now - _active.since) : 0), used = clock.used(seconds);
    /** @type {Map<number, Device>} */
    const devices = new Map();
    for (const [id, d] of this._devices) devices.set(id, { at: d.at, parts: d.parts.slice() });
    const over = this._over.copy(), byClient = this._byClient.copy(), next = this._next();
    const parts = new Map([...this.contest.clients].map(([name, client]) => [name, client.parts.slice()]));
    for (const node of next) {
      const name = s.client(node);
      this._ran(node, now, devices, had(parts, name, () => new f8(NOTHING)), over, byClient);
    }
    const cut = (/** @type {Float64Array | undefined} */ row) => (row ? row.subarray(0, used) : new f8(used));
    const spent = new Map(), islands = new Map(), series = new Map();
    for (const island of s.islands.values()) {
      const whole = new f8(PARTS.length);
      for (const id of island.devices) {
        const counted = devices.get(id)?.parts ?? new f8(NOTHING), all = [...counted, Math.max(0, seconds - sum(counted))];
        spent.set(id, all);
        all.forEach((value, part) => (whole[part] += value));
      }
      islands.set(island.id, [...whole]);
      series.set(island.id, PARTS.slice(0, NOTHING).map((_, part) => cut(over.of.get(`${island.id} ${part}`))));
    }
    return {
      seconds, used, step: clock.width, devices: spent, islands, over: series,
      clients: this._clientRows(parts), byClient: new Map([...byClient.of].map(([name, row]) => [name, cut(row)])),
      memory: [...new Set(this.rooms.values())].map((room) =>
        ({ label: label(room), shared: room.devices.length > 1, island: room.island, devices: room.devices, capacity: room.capacity, series: room.level.series(used), bytes: room.level.now, peak: room.level.peak })),
      holders: this._holders(), held: this._heldBack(),
    };
  }

  /** @param {Map<string, Float64Array>} parts @returns {ClientRow[]} */
  _clientRows(parts) {
    const s = this.store, c = s.nodes.c, waiting = new Map(), held = new Map();
    for (const node of this._alive()) {
      if (c.launched[node] <= this._now) continue;
      raise(waiting, s.client(node));
      if (c.held[node] <= this._now) raise(held, s.client(node));
    }
    return [...this.contest.clients.values()].map((client) => {
      const { name } = client, [asked, got] = this.contest.divided(client);
      return {
        client: name, open: client.open, share: client.share, priority: client.priority, asked, got,
        parts: /** @type {Float64Array} */ (parts.get(name)), launches: client.launches, failed: client.failed,
        waiting: waiting.get(name) ?? 0, held: held.get(name) ?? 0, bytes: this._bytes.get(name) ?? 0, most: client.most,
      };
    });
  }

  /** What holds memory, by computation, line, client and slice; the largest first. */
  _holders() {
    const s = this.store, c = s.nodes.c;
    /** @type {Map<string, {node: number, client: string, values: number, bytes: number}>} */
    const groups = new Map();
    for (const { node, share, rooms } of this.held.values()) {
      const client = s.client(node), key = `${c.name[node]} ${c.cell[node]} ${c.line[node]} ${c.text[node]} ${c.slice[node]} ${client}`;
      const group = had(groups, key, () => ({ node, client, values: 0, bytes: 0 }));
      group.values++;
      group.bytes += share * rooms.length;
    }
    return [...groups.values()].sort((a, b) => b.bytes - a.bytes || c.id[a.node] - c.id[b.node]);
  }

  /** Launches that wait for memory. */
  _heldBack() {
    const s = this.store, c = s.nodes.c, found = [], labels = new Map([...this.rooms.values()].map((room) => [room.name, label(room)]));
    for (const node of this._alive()) {
      if (c.held[node] <= this._now && !(c.launched[node] <= this._now)) found.push({ node, client: s.client(node), since: c.held[node], account: labels.get(s.texts[c.account[node]]) ?? s.texts[c.account[node]], bytes: c.short[node] });
    }
    return found;
  }
}
