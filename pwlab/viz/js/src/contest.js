// The contest for the devices: the same as pwlab/observe/contest.py, over the store's logs.

import { f8, had } from "./columns.js";

/** Parts of a device's time that are counted as they happen. */
const COUNTED = 6;

/**
 * A client, from its opening on; one that is opened again begins anew.
 * @typedef {{name: string, open: boolean, share: number, most: number, priority: number, parts: Float64Array, launches: number,
 *   failed: number, work: number, contested: number, entitled: number, given: number, level: number}} Contender
 */

export class Contest {
  constructor() {
    /** @type {Map<string, Contender>} */
    this.clients = new Map();
    /** Whose the nodes are that have not ended, by id. @type {Map<number, Contender>} */
    this._owners = new Map();
    this._asked = this._given = this._level = this.nodes = this._told = 0;
  }

  of(/** @type {string} */ name) {
    return had(this.clients, name, () => ({
      name, open: true, share: 1, most: Infinity, priority: 0, parts: new f8(COUNTED), launches: 0, failed: 0, work: 0,
      contested: 0, entitled: 0, given: 0, level: 0,
    }));
  }

  /** Who owns a node that has not ended. @param {import("./store.js").Store} store @param {number} node */
  owner(store, node) {
    return this._owners.get(store.nodes.c.id[node]) ?? this.of(store.client(node));
  }

  /** Takes clients and nodes that came before a time, or at it. @param {import("./store.js").Store} store @param {number} time @param {boolean} at */
  until(store, time, at = true) {
    const { told, nodes } = store, { added, id } = nodes.c;
    for (;;) {
      const client = this._told < told.length ? told[this._told] : undefined, next = this.nodes < nodes.n ? added[this.nodes] : Infinity;
      if (client && client.time <= Math.min(time, next)) {
        this._told++;
        this._tell(client);
      } else if (next < time || (at && next === time && next < Infinity)) {
        const owner = this.of(store.client(this.nodes));
        this._owners.set(id[this.nodes++], owner);
        this._change(owner, 1);
      } else return;
    }
  }

  /** @param {import("./store.js").Told} told */
  _tell({ name, kind, share, most, priority }) {
    if (kind === "known" && !this.of(name).open) this.clients.delete(name);
    const client = this.of(name), { work } = client;
    if (kind === "gone") client.open = false;
    if (kind !== "known") return;
    this._change(client, -work);
    Object.assign(client, { share, most, priority });
    this._change(client, work);
  }

  /**
   * A node has ended, and took so many device seconds; what comes at that very moment comes after it.
   * @param {import("./store.js").Store} store @param {number} node @param {number} seconds
   */
  ended(store, node, seconds) {
    const owner = this.owner(store, node);
    if (seconds) {
      this._given += seconds;
      this._level += seconds / this._asked;
    }
    this._owners.delete(store.nodes.c.id[node]);
    this._change(owner, -1);
  }

  /** @param {Contender} client @param {number} by */
  _change(client, by) {
    if (!by) return;
    if (!client.work) {
      client.given = this._given;
      client.level = this._level;
      this._asked += client.share;
    }
    client.work += by;
    if (client.work) return;
    [client.contested, client.entitled] = this._now(client);
    this._asked -= client.share;
  }

  /** Of the device time that was given out while it had work, the part that it asked for, and what it got. */
  divided(/** @type {Contender} */ client) {
    const [contested, entitled] = client.work ? this._now(client) : [client.contested, client.entitled];
    if (contested) return [entitled / contested, client.parts[0] / contested];
    return [client.work ? client.share / this._asked : 0, 0];
  }

  /** @param {Contender} client */
  _now({ share, contested, entitled, given, level }) {
    return [contested + this._given - given, entitled + (this._level - level) * share];
  }
}
