// What is chosen, for all views: a node, a program, a client, a device, a cell, a wait or a stretch of the controller's
// work. One at a time.

/** @typedef {{kind: "node" | "program" | "device" | "slice" | "wait" | "work", id: number} | {kind: "client" | "cell" | "name", id: string}} Choice */

/** What a row of a table is about; it is marked where one of these belongs to what is chosen. */
/** @typedef {{devices?: number[], client?: string, node?: number, name?: string, cell?: string, line?: number, slice?: number, program?: number}} About */

export class Selection {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Choice | null} */
    this.choice = null;
    /** @type {(() => void)[]} */
    this.listeners = [];
    this._reached = { choice: /** @type {Choice | null} */ (null), at: 0, devices: new Set(), clients: new Set() };
  }

  /** Chooses; nothing with null. */
  set(/** @type {Choice | null} */ choice) {
    if (choice && this.is(choice)) return;
    this.choice = choice;
    for (const listener of this.listeners) listener();
  }

  /** Whether a node belongs to what is chosen; true where nothing is. */
  has(/** @type {number} */ node) {
    const choice = this.choice;
    if (!choice) return true;
    const c = this.store.nodes.c;
    switch (choice.kind) {
      case "node": return node === choice.id;
      case "program": return c.program[node] === choice.id;
      case "slice": return c.slice[node] === choice.id;
      case "client": return this.store.client(node) === choice.id;
      case "cell": return this.store.texts[c.cell[node]] === choice.id;
      case "name": return this.store.texts[c.name[node]] === choice.id;
      case "device": return this.store.devices(node).includes(/** @type {number} */ (choice.id));
      case "wait": return node === this.store.producer.get(this.store.waits[choice.id].buffer);
      default: return false;
    }
  }

  /** Whether a span of the timeline belongs to what is chosen; true where nothing is. @param {import("./tracks.js").Of} of @param {number} id */
  lights(of, id) {
    const { choice, store } = this;
    if (!choice || of === "node" || of === "compile") return this.has(id);
    if (choice.kind === of) return choice.id === id;
    if (of === "work") return false;
    if (of === "wait") return choice.kind === "cell" ? store.waits[id].cell === choice.id : this.has(store.producer.get(store.waits[id].buffer));
    const program = store.programs.get(id);
    if (choice.kind === "client" || choice.kind === "cell") return program?.[choice.kind] === choice.id;
    return choice.kind === "node" && store.nodes.c.program[choice.id] === id;
  }

  is(/** @type {Choice} */ choice) {
    return this.choice?.kind === choice.kind && this.choice.id === choice.id;
  }

  /** What a row about a node is about; of `all` nodes of its line, or of itself alone. */
  aboutNode(/** @type {number} */ node, all = false) {
    const s = this.store, c = s.nodes.c;
    /** @type {About} */
    const about = { node, devices: s.gang(node), client: s.client(node), name: s.texts[c.name[node]], cell: s.texts[c.cell[node]], slice: c.slice[node] };
    return all ? { ...about, line: c.line[node] } : { ...about, program: c.program[node] };
  }

  /** Whether a row belongs to what is chosen; false where nothing is. */
  marks(/** @type {About} */ about) {
    const { choice, store: s } = this, c = s.nodes.c;
    if (!choice) return false;
    if (choice.kind === "device" && about.devices) return about.devices.includes(choice.id);
    const own = about[/** @type {"name"} */ (choice.kind)];
    if (choice.kind === "node" && about.line !== undefined) {
      return about.name === s.texts[c.name[choice.id]] && about.cell === s.texts[c.cell[choice.id]] && about.line === c.line[choice.id] && about.slice === c.slice[choice.id];
    }
    if (own !== undefined) return own === choice.id;
    if (about.node !== undefined) return this.has(about.node);
    const { devices, clients } = this._reach();
    return about.client !== undefined ? clients.has(about.client) : about.devices?.some((id) => devices.has(id)) ?? false;
  }

  /** The devices and the clients of what is chosen; of a run that goes on, as they were a moment ago. */
  _reach() {
    const { choice, store } = this, now = performance.now();
    if (this._reached.choice === choice && now - this._reached.at < 1_000) return this._reached;
    const devices = new Set(), clients = new Set();
    for (let i = 0; i < store.known; i++) {
      if (!this.has(i)) continue;
      for (const device of store.gang(i)) devices.add(device);
      clients.add(store.client(i));
    }
    return (this._reached = { choice, at: now, devices, clients });
  }

  node() {
    return this.choice?.kind === "node" ? this.choice.id : -1;
  }
}
