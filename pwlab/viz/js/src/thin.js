// Very long runs: above so many nodes the page lets go of the oldest that have ended and of which nothing is held.
//
// What views have summed up stays; what they show one by one begins later, and they say so. Rows of the store move, so
// what views remember by the number of a row is renumbered here too: a replay, which keeps all, does without this.

import { ById, f8, i4, u4 } from "./columns.js";
import { keyOf } from "./picture.js";
import { DONE } from "./states.js";

/** Nodes that a page has at most, and those that are left then. */
export const MOST = 1_000_000, LEFT = 500_000;

/** @param {import("./store.js").Store} store @param {Iterable<import("./app.js").App>} apps that show it @param {number} left */
export function thin(store, apps, left = LEFT) {
  for (const { usage, tracks } of apps) {
    usage.update();
    tracks.update();
  }
  const { nodes, inputs, outputs, orders, bytes, each, shape, freedAt } = store, c = nodes.c, n = nodes.n, moved = new i4(n).fill(-1);
  const held = (/** @type {number} */ i) => {
    for (let k = 0; k < c.outsN[i]; k++) if (isNaN(freedAt.get(outputs.a[c.outs[i] + k]))) return true;
    return false;
  };
  /** Stretches of rows that stay: the first, and how many. @type {[number, number][]} */
  const runs = [];
  nodes.n = 0;
  for (let i = 0; i < n; i++) {
    if (i < n - left && c.state[i] >= DONE && !held(i)) continue;
    if (i && moved[i - 1] >= 0) runs[runs.length - 1][1]++;
    else runs.push([i, 1]);
    moved[i] = nodes.n++;
  }
  // The lists of a node lie behind those of the node before it, so those of a stretch lie together.
  for (const { list, at } of [{ list: inputs, at: c.ins }, { list: outputs, at: c.outs }, { list: orders, at: c.after }]) {
    const all = list.n;
    list.n = 0;
    for (const [first, many] of runs) {
      const from = at[first], to = first + many < n ? at[first + many] : all, by = list.n - from;
      list.a.copyWithin(list.n, from, to);
      list.n += to - from;
      for (let i = first; i < first + many; i++) at[i] += by;
    }
    list.shrink();
  }
  for (const column of Object.values(c)) for (const [first, many] of runs) column.copyWithin(moved[first], first, first + many);
  nodes.shrink();
  Object.assign(store, {
    indexOf: new ById(i4, -1), producer: new ById(i4, -1), bytes: new ById(f8, 0), each: new ById(f8, -1), shape: new ById(u4, 0), freedAt: new ById(f8, NaN),
  });
  const { id, outs, outsN } = nodes.c;
  for (let i = 0; i < nodes.n; i++) {
    store.indexOf.set(id[i], i);
    for (let k = 0; k < outsN[i]; k++) store.producer.set(outputs.a[outs[i] + k], i);
  }
  for (const [from, into] of [[bytes, store.bytes], [each, store.each], [shape, store.shape], [freedAt, store.freedAt]]) {
    for (let k = 0; k < outputs.n; k++) into.set(outputs.a[k], from.get(outputs.a[k]));
  }
  for (const log of [store.launches, store.compiles, store.ends]) {
    const rows = log.a.subarray(0, log.n).map((/** @type {number} */ row) => moved[row] + 1).filter((/** @type {number} */ row) => row > 0);
    log.n = rows.length;
    log.a.set(rows.map((/** @type {number} */ row) => row - 1));
    log.shrink();
  }
  for (const log of [store.frees, store.opens, store.closes]) log.n = 0;
  store.moves = [];
  store.travels = [];
  for (const set of [store.open, store.alive]) {
    const rows = [...set].map((i) => moved[i]);
    set.clear();
    for (const row of rows) set.add(row);
  }
  const used = new Set(nodes.c.program.subarray(0, nodes.n));
  for (const [id, program] of store.programs) if (program.state >= 0 && !used.has(id)) store.programs.delete(id);
  store.over = store.over.filter((id) => store.programs.has(id));
  const cut = (/** @type {any[]} */ log) => log.splice(0, Math.max(0, log.length - left)).length;
  const waits = cut(store.waits), works = cut(store.works);
  const later = (/** @type {Iterable<number>} */ all) => [...all].map((at) => at - waits).filter((at) => at >= 0);
  store.waited = later(store.waited);
  store.begun = new Set(later(store.begun));
  /** The number that a span's node, program, wait or work has now; negative where it is gone. @type {Record<string, (ref: number) => number>} */
  const renumbered = { "node": (ref) => moved[ref], "compile": (ref) => moved[ref], "program": (ref) => (store.programs.has(ref) ? ref : -1), "wait": (ref) => ref - waits, "work": (ref) => ref - works };
  store.thinned += n - nodes.n;
  for (const { usage, tracks, selection, views } of apps) {
    const { choice } = selection;
    spent(usage, moved);
    for (const track of tracks.all) for (const row of track.rows) spans(row, renumbered[track.of]);
    [tracks._launches, tracks._ends, tracks._compiles, tracks._waits, tracks._works, tracks._over, tracks._named] = [store.launches.n, store.ends.n, store.compiles.n, store.waited.length, store.works.length, store.over.length, nodes.n];
    drawn(views.graph.picture, moved);
    if (typeof choice?.id === "number" && renumbered[choice.kind]) choice.id = renumbered[choice.kind](choice.id);
    if (typeof choice?.id === "number" && choice.id < 0) selection.set(null);
  }
}

/** @param {import("./usage.js").Usage} usage @param {Int32Array} moved */
function spent(usage, moved) {
  const { launches, ends } = usage.store;
  // The logs hold nothing that is new to it.
  usage.contest.nodes = usage.store.nodes.n;
  usage._at = { launches: launches.n, frees: 0, moves: 0, travels: 0, given: ends.n, ends: ends.n, opens: 0, closes: 0 };
  for (const held of [usage.held, usage._away]) for (const holding of held.values()) holding.node = moved[holding.node];
}

/** @param {import("./row.js").Row} row @param {(ref: number) => number} renumber */
function spans(row, renumber) {
  const columns = [row.start, row.end, row.key, row.ref];
  let kept = 0;
  for (let i = 0; i < row.n; i++) {
    const ref = renumber(row.ref.a[i]);
    if (ref < 0) continue;
    for (const { a } of columns) a[kept] = a[i];
    row.ref.a[kept++] = ref;
  }
  for (const column of columns) {
    column.n = kept;
    column.shrink();
  }
  row.levels = [];
  row._built = 0;
}

/** What stays in a graph, stays where it is. @param {import("./picture.js").Picture} picture @param {Int32Array} moved */
function drawn(picture, moved) {
  while (picture._seen && moved[picture._seen - 1] < 0) picture._seen--;
  if (picture._seen) picture._seen = moved[picture._seen - 1] + 1;
  picture._labels = null;
  picture._byKey.clear();
  picture.boxOf.clear();
  picture.boxes = picture.boxes.filter((box) => {
    box.nodes = box.nodes.map((i) => moved[i]).filter((i) => i >= 0);
    if (!box.nodes.length) return false;
    if (box.key[0] === "n") box.key = `n${box.nodes[0]}`;
    picture._byKey.set(box.key, box);
    for (const i of box.nodes) picture.boxOf.set(i, box);
    return true;
  });
  picture.shown = picture.boxOf.size;
  picture._edgeOf.clear();
  picture.edges = picture.edges.filter((edge) => {
    const stays = edge.from.nodes.length > 0 && edge.to.nodes.length > 0;
    if (stays) picture._edgeOf.set(keyOf(edge.from, edge.to), edge);
    else picture._counted.delete(edge);
    return stays;
  });
}
