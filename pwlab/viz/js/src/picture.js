// The dataflow graph as plain data: which rectangles there are, where they stand, and what joins them.
//
// What stands once stays: nodes that come later are laid out as a block of their own, below what their lanes hold and
// as wide as these, unless one alone is wider. Laid out at once, a graph stands as pwlab/viz/graph.py draws it.

import { BAND_HEAD, GAP, ISLAND_GAP, LANE_HEAD, place, ROW_GAP } from "./layout.js";
import { had, raise } from "./columns.js";
import { FAILED, LINKS, LOUDEST, STATES, TRANSFER } from "./states.js";
import { bytesText, count, digits, oneLine, rangesText, secondsText, sourceText, width } from "./text.js";

/** So much room a lane keeps for what may come, in pixels at most. */
const ROOM = 520;
/** Above so many nodes a picture shows groups. */
export const LIMIT = 2_000;
/** Of very long runs the newest are shown. */
const NEWEST = 50_000;

/** @typedef {{key: string, island: number, slice: number, x: number, w: number, bottom: number, gap: number}} Lane */
/** @typedef {{key: string, nodes: number[], lane: Lane, rel: number, y: number, w: number, h: number, pill: boolean, name: string, what: string | undefined}} Box `name` is that of a group, `what` the one computation of its nodes */
/** Of an edge `values` flow, the first of which has this `shape`, `bytes` together. */
/** @typedef {{from: Box, to: Box, bytes: number, values: number, shape: number, link: number, both: boolean, points: [number, number][] | null, lane: Lane | null}} Edge */

export class Picture {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** Which program is shown; 0 shows all. */
    this.program = 0;
    /** What nodes of a slice that are shown as one have in common: `cell`, `slice`, `client`; "" shows nodes. */
    this.by = "";
    /** Keys of groups that were opened. @type {Set<string>} */
    this.opened = new Set();
    /** So wide all lanes together may become when they are new, in pixels; 0 where nothing more comes. */
    this.room = 0;
    this.reset();
  }

  /** Forgets where things stand. */
  reset() {
    /** @type {Map<string, Lane>} */
    this.lanes = new Map();
    /** @type {Box[]} */
    this.boxes = [];
    /** @type {Edge[]} */
    this.edges = [];
    /** @type {Map<string, Box>} */
    this._byKey = new Map();
    /** @type {Map<number, Box>} */
    this.boxOf = new Map();
    /** @type {Map<string, Edge>} */
    this._edgeOf = new Map();
    /** Of edges between groups the buffers that were counted. @type {Map<Edge, Set<number>>} */
    this._counted = new Map();
    /** @type {{edge: Edge, below: boolean, side: number}[] | null} */
    this._labels = null;
    this._seen = 0;
    this.shown = 0;
    this.grouping = "";
    this.width = 200;
    this.height = 100;
  }

  /** Takes nodes that came since the last time; whether anything changed its place or is new. */
  update() {
    const s = this.store, c = s.nodes.c, n = s.nodes.n;
    if (this._seen === n) return false;
    const wanted = (/** @type {number} */ i) => !this.program || c.program[i] === this.program;
    let fresh = [];
    for (let i = Math.max(this._seen, n - NEWEST); i < n; i++) if (wanted(i)) fresh.push(i);
    const grouping = this._grouping(this.shown + fresh.length);
    if (grouping !== this.grouping) {
      // Too many to read: everything is laid out anew, in groups.
      const start = Math.max(0, n - NEWEST);
      this.reset();
      this.grouping = grouping;
      fresh = [];
      for (let i = start; i < n; i++) if (wanted(i)) fresh.push(i);
    }
    this._seen = n;
    this.shown += fresh.length;
    if (!fresh.length) return false;
    this._block(fresh);
    return true;
  }

  _grouping(/** @type {number} */ nodes) {
    if (this.by || nodes <= LIMIT) return this.by;
    return this.grouping === "slice" || nodes > 20 * LIMIT ? "slice" : "cell";
  }

  /** How many nodes are shown as how many groups, and which. */
  get note() {
    const { boxes, grouping } = this, groups = boxes.filter(isGroup).length, alone = boxes.length - groups;
    if (!grouping) return "";
    const common = grouping === "cell" && !boxes.some((box) => this._inCell(box.nodes[0])) ? "line" : grouping;
    return `${count(this.shown, "node")} shown as ${count(groups, "group")}${alone ? ` and ${count(alone, "node")}` : ""}, by ${grouping === "slice" ? "" : `${common} and `}slice`;
  }

  /** The key of the group that a node belongs to where nodes are grouped. */
  groupOf(/** @type {number} */ i) {
    return `g${this.store.islandOf(i)}/${this.store.nodes.c.slice[i]}|${this._common(i)[0]}`;
  }

  _inCell(/** @type {number} */ i) {
    return this.store.word(i, "cell").startsWith("Cell ");
  }

  /** What the nodes of a group have in common beside their slice, and what it is called. Of a script that is the line. */
  _common(/** @type {number} */ i) {
    const s = this.store, { grouping } = this, cell = s.word(i, "cell");
    if (grouping === "slice") return ["", "all of the slice"];
    if (grouping === "client") return [s.client(i), s.client(i) || "no client"];
    return this._inCell(i) || !cell ? [cell, cell || "no cell"] : [`${cell}:${s.node(i, "line")}`, s.source(i)];
  }

  _keyOf(/** @type {number} */ i) {
    const key = this.grouping && this.groupOf(i);
    return key && !this.opened.has(key) ? key : `n${i}`;
  }

  /** Opens a group, or closes the one that was opened around a node; whether there was something to do. */
  turn(/** @type {Box} */ box) {
    if (!this.grouping) return false;
    if (isGroup(box)) this.opened.add(box.key);
    else if (!this.opened.delete(this.groupOf(box.nodes[0]))) return false;
    this.reset();
    return true;
  }

  /** What the nodes of a group have in common, as a choice. @returns {import("./select.js").Choice} */
  commonOf(/** @type {Box} */ box) {
    const i = box.nodes[0];
    if (this.grouping === "slice") return { kind: "slice", id: this.store.nodes.c.slice[i] };
    if (box.what && this.grouping === "cell" && !this._inCell(i)) return { kind: "name", id: box.what };
    return this.grouping === "client" ? { kind: "client", id: this.store.client(i) } : { kind: "cell", id: this.store.word(i, "cell") };
  }

  _block(/** @type {number[]} */ fresh) {
    const s = this.store, c = s.nodes.c;
    /** @type {Box[]} */
    const made = [];
    for (const i of fresh) {
      const key = this._keyOf(i);
      let box = this._byKey.get(key);
      if (!box) {
        box = { key, nodes: [], lane: this._lane(s.islandOf(i), c.slice[i]), rel: 0, y: 0, w: 0, h: 0, pill: false, name: key[0] === "g" ? this._common(i)[1] : "", what: undefined };
        this._byKey.set(key, box);
        made.push(box);
      }
      box.nodes.push(i);
      if (c.kind[i] !== TRANSFER) box.what = [undefined, s.word(i, "name")].includes(box.what) ? s.word(i, "name") : "";
      this.boxOf.set(i, box);
    }
    for (const box of made) Object.assign(box, size(s, box));
    const at = new Map(made.map((box, i) => [box, i]));
    /** @type {[number, number][]} */
    const inside = [];
    /** @type {Edge[]} */
    const drawn = [];
    const order = new Map([...this.boxes, ...made].map((box, i) => [box, i]));
    for (const i of fresh) {
      const to = /** @type {Box} */ (this.boxOf.get(i));
      /** @type {[number, number, number][]} writer, buffer or 0, network */
      const joins = [];
      for (let k = 0; k < c.insN[i]; k++) {
        const buffer = s.inputs.a[c.ins[i] + k], from = s.producer.get(buffer);
        if (from >= 0) joins.push([from, buffer, c.link[i] || c.link[from]]);
      }
      for (let k = 0; k < c.afterN[i]; k++) {
        const from = s.indexOf.get(s.orders.a[c.after[i] + k]);
        if (from >= 0) joins.push([from, 0, 0]);
      }
      for (const [writer, buffer, link] of joins) {
        const from = this.boxOf.get(writer);
        if (!from || from === to) continue;
        const back = (order.get(from) ?? 0) > (order.get(to) ?? 0);
        const [a, b] = back ? [to, from] : [from, to];
        const key = keyOf(a, b);
        let edge = this._edgeOf.get(key);
        if (!edge) {
          edge = { from: a, to: b, bytes: 0, values: 0, shape: 0, link: 0, both: false, points: null, lane: null };
          this._edgeOf.set(key, edge);
          const x = at.get(a), y = at.get(b);
          if (x !== undefined && y !== undefined) {
            inside.push([x, y]);
            drawn.push(edge);
          }
          this.edges.push(edge);
        }
        if (buffer && this._isNew(edge, buffer)) {
          edge.bytes += s.bytes.get(buffer);
          edge.values++;
          edge.shape ||= s.shape.get(buffer);
        }
        edge.link = edge.link || link;
        edge.both ||= back;
      }
    }
    this._labels = null;
    if (made.length) this._place(made, inside, drawn);
  }

  /** Whether a buffer is counted for the first time: many nodes of a group may read it, and it flows once. @param {Edge} edge @param {number} buffer */
  _isNew(edge, buffer) {
    if (!isGroup(edge.from) && !isGroup(edge.to)) return true;
    const seen = had(this._counted, edge, () => new Set());
    return seen.size !== seen.add(buffer).size;
  }

  /** What flows along an edge: `f32[8,128] 4.0 KB`. */
  flowOf(/** @type {Edge} */ edge) {
    const what = edge.values === 1 ? this.store.texts[edge.shape] : edge.values ? count(edge.values, "value") : "";
    return [what, edge.bytes ? bytesText(edge.bytes) : ""].filter(Boolean).join(" ") || "order only";
  }

  /**
   * Where it is written what flows: once below the node that writes it if all of its edges carry the same, else above
   * where it arrives alone; at the `side` that no edge takes, 1 or -1. A transfer says in its pill what it moves.
   */
  labels() {
    if (this._labels) return this._labels;
    /** @type {Map<Box, {flows: Set<string>, sides: Set<number>}>} */
    const out = new Map();
    /** @type {Map<Box, number>} */
    const into = new Map();
    for (const edge of this.edges) {
      const { flows, sides } = had(out, edge.from, () => ({ flows: new Set(), sides: new Set() }));
      sides.add(bent(way(edge)[0][0] - middle(edge.from)));
      if (!edge.values || edge.from.pill) continue;
      flows.add(this.flowOf(edge));
      raise(into, edge.to);
    }
    const done = new Set();
    this._labels = [];
    for (const edge of this.edges) {
      const { flows, sides } = /** @type {any} */ (out.get(edge.from)), below = flows.size === 1, [x] = /** @type {number[]} */ (way(edge).at(-2) ?? [middle(edge.from)]);
      if (!edge.values || edge.from.pill || (below ? done.has(edge.from) : into.get(edge.to) !== 1)) continue;
      done.add(edge.from);
      const side = below ? [1, -1].find((side) => !sides.has(side)) : -bent(x - middle(edge.to)) || 1;
      if (side) this._labels.push({ edge, below, side });
    }
    return this._labels;
  }

  /** @param {Box[]} made @param {[number, number][]} inside @param {Edge[]} drawn */
  _place(made, inside, drawn) {
    const lanes = this._ordered(), last = lanes.length - 1, room = Math.min(ROOM, this.room / lanes.length - 2 * GAP);
    const column = new Map(lanes.map((lane, i) => [lane, i]));
    const placed = place(
      made.map((box) => ({ lane: column.get(box.lane) ?? 0, w: box.w, h: box.h })),
      inside,
      lanes.map((lane) => lane.w || Math.max(room, this._head(lane))),
      lanes.map((lane) => lane.gap),
      lanes.map((lane, i) => (i < last && lane.w) || Infinity),
    );
    // Below what their lanes hold; the first block begins at the top.
    const used = new Set(made.map((box) => box.lane));
    const floor = Math.max(...[...used].map((lane) => lane.bottom));
    const first = BAND_HEAD + LANE_HEAD + 6;
    const down = floor > 0 ? floor + ROW_GAP - first : 0;
    made.forEach((box, i) => {
      box.rel = placed.at[i][0] - placed.lanes[column.get(box.lane) ?? 0][0];
      box.y = placed.at[i][1] + down;
      box.lane.bottom = Math.max(box.lane.bottom, box.y + box.h);
      this.boxes.push(box);
    });
    drawn.forEach((edge, i) => {
      // Bends stand in the lane of the target; the first points in that of the source.
      const by = placed.lanes[column.get(edge.to.lane) ?? 0][0], source = inside[i][0];
      let points = placed.paths[i];
      if (edge.from.lane !== edge.to.lane) {
        const centre = placed.at[source][0] + edge.from.w / 2;
        while (points.length && points[0][0] === centre) points = points.slice(1);
      }
      edge.points = points.length > 2 ? points.map(([x, y]) => [x - by, y + down]) : null;
    });
    lanes.forEach((lane, i) => (lane.w = placed.lanes[i][1]));
    let x = GAP;
    for (const lane of lanes) {
      x += lane.gap * (ISLAND_GAP + GAP);
      lane.x = x;
      x += lane.w + GAP;
    }
    this.width = x;
    this.height = Math.max(...lanes.map((lane) => lane.bottom)) + 2 * GAP;
  }

  /** @param {number} island @param {number} slice */
  _lane(island, slice) {
    const key = `${island}/${slice}`;
    return had(this.lanes, key, () => ({ key, island, slice, x: 0, w: 0, bottom: 0, gap: 0 }));
  }

  _ordered() {
    const rank = (/** @type {Lane} */ l) => (l.island < 0 ? Infinity : l.island);
    const lanes = [...this.lanes.values()].sort((a, b) => (rank(a) === rank(b) ? a.slice - b.slice : rank(a) - rank(b)));
    lanes.forEach((lane, i) => (lane.gap = i && lanes[i - 1].island !== lane.island ? 1 : 0));
    return lanes;
  }

  /** Name of a lane's slice, and where it is. */
  headOf(/** @type {Lane} */ lane) {
    const slice = this.store.slices.get(lane.slice);
    if (!slice) return [`slice ${lane.slice}`, ""];
    const where = slice.island === lane.island ? `device${slice.devices.length === 1 ? "" : "s"} ${rangesText(slice.devices)}` : "";
    return [`slice ${oneLine(slice.name, 20)}`, where];
  }

  _head(/** @type {Lane} */ lane) {
    const [name, about] = this.headOf(lane);
    return 7 * width(name) + 6 * width(about) + 40;
  }

  /** Islands as bands: [island, x, width]. @returns {[number, number, number][]} */
  bands() {
    /** @type {[number, number, number][]} */
    const bands = [];
    for (const lane of this._ordered()) {
      const band = bands.at(-1);
      if (band && band[0] === lane.island) band[2] = lane.x + lane.w + GAP - band[1];
      else bands.push([lane.island, lane.x - GAP, lane.w + 2 * GAP]);
    }
    return bands;
  }

  /** Whether a box is there by now, as a replay shows it. */
  exists(/** @type {Box} */ box) {
    return box.nodes[0] < this.store.known;
  }

  /** How many nodes of a box are in which state by now. */
  countsOf(/** @type {Box} */ box) {
    const { known, nodes } = this.store, counts = STATES.map(() => 0);
    for (const i of box.nodes) if (i < known) counts[nodes.c.state[i]]++;
    return counts;
  }

  /** The state that a box shows. */
  stateOf(/** @type {Box} */ box) {
    if (box.nodes.length === 1) return this.store.nodes.c.state[box.nodes[0]];
    const counts = this.countsOf(box);
    return LOUDEST.find((state) => counts[state]) ?? 0;
  }

  /** Why a node failed, or the first of a group; "" where the cause of one alone is another's. */
  errorOf(/** @type {Box} */ box) {
    const s = this.store, own = box.nodes.find((i) => s.broke(i));
    if (own !== undefined) return (box.name ? `${s.name(own, 20)}: ` : "") + s.word(own, "error");
    const failed = this.countsOf(box)[FAILED], cause = s.cause(box.nodes.find((i) => s.cause(i) >= 0) ?? -1);
    return box.name && failed ? `${digits(failed)} of ${digits(box.nodes.length)} failed${cause >= 0 ? `, after ${s.name(cause, 30)} (${s.source(cause)})` : ""}` : "";
  }

  /** What is written on a box: [label, second line, what failed before it]. */
  textsOf(/** @type {Box} */ box) {
    return texts(this.store, box);
  }
}

/** The x of a box, and of its middle. */
export const left = (/** @type {Box} */ box) => box.lane.x + box.rel;
export const middle = (/** @type {Box} */ box) => left(box) + box.w / 2;

/** The key of an edge. @param {Box} a @param {Box} b */
export function keyOf(a, b) {
  return `${a.key}>${b.key}`;
}

/** Whether nodes are shown as one. */
export const isGroup = (/** @type {Box} */ box) => box.key[0] === "g";

/** The points of an edge after its first: through the gaps between rows to just above its target. @returns {number[][]} */
export function way({ from, to, points }) {
  const end = [middle(to), to.y - 5];
  return points ? [...points.slice(points[0][1] <= from.y + from.h + 0.5 ? 1 : 0, -1).map(([x, y]) => [x + to.lane.x, y]), end] : [end];
}

/** Whether a line that leaves bends to the right, 1, to the left, -1, or hardly, 0. */
function bent(/** @type {number} */ by) {
  return Math.abs(by) < 12 ? 0 : Math.sign(by);
}

/** What a box is called, in a line of so many columns. @param {import("./store.js").Store} s @param {Box} box @param {number} columns */
export function called(s, box, columns) {
  const [i] = box.nodes, c = s.nodes.c;
  return box.pill ? `${LINKS[c.link[i]] || "move"} ${bytesText(c.moved[i])}` : oneLine(box.name || s.word(i, "name"), columns);
}

/** @param {import("./store.js").Store} s @param {Box} box @returns {string[]} */
function texts(s, box) {
  const i = box.nodes[0], c = s.nodes.c, label = called(s, box, 26);
  if (box.name) return [label, [oneLine(box.what ?? "", 20), count(box.nodes.length, "node")].filter(Boolean).join(", "), ""];
  const took = s.ran(i) ? secondsText(s.ran(i)) : "";
  if (box.pill) return [label, c.error[i] ? STATES[FAILED] : took, ""];
  const cause = s.cause(i), error = c.error[i] && cause >= 0 ? `after ${s.name(cause, 30)} failed` : "";
  return [label, [s.source(i), took].filter(Boolean).join(" · "), error];
}

/** Width and height that hold a box's texts, with room for what comes later: how long it ran, and more nodes. */
function size(/** @type {import("./store.js").Store} */ s, /** @type {Box} */ box) {
  const i = box.nodes[0], c = s.nodes.c, later = "000 ms", group = isGroup(box);
  box.pill = !group && c.kind[i] === TRANSFER;
  const [label, sub] = texts(s, box);
  if (box.pill) return { w: 7.4 * width(label) + 6.4 * later.length + 42, h: 24 };
  const wide = Math.max(7.7 * width(label + (c.parts[i] > 1 ? "  000" : "")) + 30, 6 * width(`${sub} · ${later}`) + 10);
  return { w: Math.max(96, wide + 14), h: (sub ? 46 : 32) + (group ? 12 : 0) };
}
