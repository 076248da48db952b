// What is chosen, for all views: a node, a program, a client, a device, a cell or a wait. One at a time.

/** @typedef {{kind: "node" | "program" | "device" | "wait", id: number} | {kind: "client" | "cell" | "name", id: string}} Choice */

export class Selection {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Choice | null} */
    this.choice = null;
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /** Chooses; nothing with null. */
  set(/** @type {Choice | null} */ choice) {
    if (choice && this.choice && choice.kind === this.choice.kind && choice.id === this.choice.id) return;
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
      case "client": return this.store.client(node) === choice.id;
      case "cell": return this.store.strings[c.cell[node]] === choice.id;
      case "name": return this.store.strings[c.name[node]] === choice.id;
      case "device": return this.store.devices(node).includes(/** @type {number} */ (choice.id));
      default: return false;
    }
  }

  node() {
    return this.choice?.kind === "node" ? this.choice.id : -1;
  }
}
