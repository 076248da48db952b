// The dataflow graph as plain data: which rectangles there are, where they stand, and what joins them.
//
// What stands once stays: nodes that come later are laid out as a block of their own, below what their lanes hold.
// Laid out at once, a graph stands as pwlab/viz/graph.py draws it.

import { BAND_HEAD, GAP, ISLAND_GAP, LANE_HEAD, place, ROW_GAP } from "./layout.js";
import { above, had } from "./columns.js";
import { FAILED, LINKS, LOUDEST, TRANSFER } from "./states.js";
import { bytesText, count, oneLine, rangesText, secondsText, sourceText, width } from "./text.js";

/** Above so many nodes a picture shows groups. */
export const LIMIT = 2_000;
/** Of very long runs the newest are shown. */
const NEWEST = 50_000;

/** @typedef {{key: string, island: number, slice: number, x: number, w: number, bottom: number, gap: number}} Lane */
/** @typedef {{key: string, nodes: number[], lane: Lane, rel: number, y: number, w: number, h: number, pill: boolean, name: string}} Box */
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
    /** @type {{edge: Edge, below: boolean}[] | null} */
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

  get note() {
    return this.grouping ? `${count(this.shown, "node")} shown as ${count(this.boxes.length, "group")}, by ${this.grouping === "slice" ? "" : `${this.grouping} and `}slice` : "";
  }

  /** The key of the group that a node belongs to where nodes are grouped. */
  groupOf(/** @type {number} */ i) {
    return `g${this.store.islandOf(i)}/${this.store.nodes.c.slice[i]}|${this.grouping === "slice" ? "" : this._commonText(i)}`;
  }

  _commonText(/** @type {number} */ i) {
    return this.grouping === "client" ? this.store.client(i) : this.store.word(i, "cell");
  }

  _keyOf(/** @type {number} */ i) {
    const key = this.grouping && this.groupOf(i);
    return key && !this.opened.has(key) ? key : `n${i}`;
  }

  /** Opens a group, or closes the one that was opened around a node; whether there was something to do. */
  turn(/** @type {Box} */ box) {
    if (!this.grouping) return false;
    if (box.key[0] === "g") this.opened.add(box.key);
    else if (!this.opened.delete(this.groupOf(box.nodes[0]))) return false;
    this.reset();
    return true;
  }

  /** What the nodes of a group have in common, as a choice. @returns {import("./select.js").Choice} */
  commonOf(/** @type {Box} */ box) {
    const i = box.nodes[0];
    if (this.grouping === "slice") return { kind: "slice", id: this.store.nodes.c.slice[i] };
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
        box = { key, nodes: [], lane: this._lane(s.islandOf(i), c.slice[i]), rel: 0, y: 0, w: 0, h: 0, pill: false, name: "" };
        if (key[0] === "g") box.name = this.grouping === "slice" ? "all of the slice" : this._commonText(i) || `no ${this.grouping}`;
        this._byKey.set(key, box);
        made.push(box);
      }
      box.nodes.push(i);
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
    if (edge.from.key[0] !== "g" && edge.to.key[0] !== "g") return true;
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
   * where it arrives alone. A transfer says in its pill what it moves.
   */
  labels() {
    if (this._labels) return this._labels;
    /** @type {Map<Box, Set<string>>} */
    const out = new Map();
    /** @type {Map<Box, number>} */
    const into = new Map();
    const flows = this.edges.filter((edge) => edge.values && !edge.from.pill);
    for (const edge of flows) {
      had(out, edge.from, () => new Set()).add(this.flowOf(edge));
      into.set(edge.to, (into.get(edge.to) ?? 0) + 1);
    }
    const done = new Set();
    this._labels = [];
    for (const edge of flows) {
      const same = out.get(edge.from)?.size === 1;
      if (same ? done.has(edge.from) : into.get(edge.to) !== 1) continue;
      done.add(edge.from);
      this._labels.push({ edge, below: same });
    }
    return this._labels;
  }

  /** @param {Box[]} made @param {[number, number][]} inside @param {Edge[]} drawn */
  _place(made, inside, drawn) {
    const lanes = this._ordered();
    const column = new Map(lanes.map((lane, i) => [lane, i]));
    const placed = place(
      made.map((box) => ({ lane: column.get(box.lane) ?? 0, w: box.w, h: box.h })),
      inside,
      lanes.map((lane) => Math.max(lane.w, this._head(lane))),
      lanes.map((lane) => lane.gap),
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
      const band = bands[bands.length - 1];
      if (band && band[0] === lane.island) band[2] = lane.x + lane.w + GAP - band[1];
      else bands.push([lane.island, lane.x - GAP, lane.w + 2 * GAP]);
    }
    return bands;
  }

  /** Whether a box is there by now, as a replay shows it. */
  exists(/** @type {Box} */ box) {
    return box.nodes[0] < this.store.known;
  }

  /** Nodes of a box that are there by now. */
  _now(/** @type {Box} */ box) {
    return this.store.replays ? box.nodes.slice(0, above(box.nodes, this.store.known - 1)) : box.nodes;
  }

  /** The state that a box shows. */
  stateOf(/** @type {Box} */ box) {
    const states = this.store.nodes.c.state;
    if (box.nodes.length === 1) return states[box.nodes[0]];
    const have = new Set(this._now(box).map((i) => states[i]));
    return LOUDEST.find((state) => have.has(state)) ?? 0;
  }

  /** Why a node failed, or the first of a group that failed of its own; "" where the cause is another's. */
  errorOf(/** @type {Box} */ box) {
    const own = box.nodes.find((i) => this.store.broke(i));
    return own === undefined ? "" : (box.name ? `${this.store.name(own, 20)}: ` : "") + this.store.word(own, "error");
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

/** @param {import("./store.js").Store} s @param {Box} box */
function texts(s, box) {
  const i = box.nodes[0], c = s.nodes.c;
  if (box.name) return [oneLine(box.name, 26), count(box.nodes.length, "node"), ""];
  const took = s.ran(i) ? secondsText(s.ran(i)) : "";
  if (box.pill) return [`${LINKS[c.link[i]] || "move"} ${bytesText(c.moved[i])}`, took, ""];
  const cause = s.cause(i), error = c.error[i] && cause >= 0 ? `after ${s.name(cause, 30)} failed` : "";
  return [s.name(i, 26), [s.source(i), took].filter(Boolean).join(" · "), error];
}

/** Width and height that hold a box's texts, with room for what comes later: how long it ran, and an error. */
function size(/** @type {import("./store.js").Store} */ s, /** @type {Box} */ box) {
  const i = box.nodes[0], c = s.nodes.c, later = "000 ms";
  if (box.key[0] === "n" && c.kind[i] === TRANSFER && c.state[i] !== FAILED) {
    const label = `${LINKS[c.link[i]] || "move"} ${bytesText(c.moved[i])}`;
    return { w: 7.4 * width(label) + 6.4 * later.length + 42, h: 24, pill: true };
  }
  const [label, sub] = texts(s, box);
  const more = box.key[0] === "g" ? 12 : 0;
  const wide = Math.max(7.7 * width(label + (c.parts[i] > 1 ? "  000" : "")) + 30, 6 * width(`${sub} · ${later}`) + 10);
  return { w: Math.max(96, wide + 14), h: (sub ? 46 : 32) + more, pill: false };
}
