import assert from "node:assert/strict";
import { test } from "node:test";
import { tagAt } from "../src/graphdraw.js";
import { place } from "../src/layout.js";
import { left, Picture } from "../src/picture.js";
import { Store } from "../src/store.js";

/** Two slices on two islands, two clients; nodes are [cell, slice, client, inputs, more]. */
function graph(...nodes) {
  const store = new Store();
  store.origin = 0;
  for (const id of [0, 1]) {
    store.islands.set(id, { id, name: `island${id}`, chip: "tpu", devices: [id] });
    store.slices.set(id, { id, name: `s${id}`, island: id, devices: [id], mapped: true });
  }
  return grown(store, ...nodes);
}

function grown(store, ...nodes) {
  const text = (word) => (store.texts.includes(word) ? store.texts.indexOf(word) : store.texts.push(word) - 1);
  for (const [cell, slice, client, inputs, more = {}] of nodes) {
    const i = store.nodes.add(), c = store.nodes.c, fields = { id: i + 1, name: text(`f${i}`), cell: text(cell), program: client, slice, island: slice, parts: 1, ins: store.inputs.n, insN: inputs.length, outs: store.outputs.n, outsN: 1, added: i, ...more };
    store.programs.set(client, { id: client, client: `c${client}` });
    for (const from of inputs) store.inputs.push(from + 1);
    store.outputs.push(i + 1);
    for (const key in fields) c[key][i] = typeof fields[key] === "string" ? text(fields[key]) : fields[key];
    store.indexOf.set(i + 1, i);
    store.producer.set(i + 1, i);
    store.bytes.set(i + 1, 4096);
    store.shape.set(i + 1, text("f32[8,128]"));
  }
  return store;
}

function grouped(store, by) {
  const picture = new Picture(store);
  picture.by = by;
  picture.update();
  return picture;
}

const RUN = () => graph(["Cell In[1]", 0, 1, []], ["Cell In[2]", 0, 2, [0]], ["Cell In[2]", 1, 2, [0, 1], { link: 2 }], ["Cell In[2]", 1, 1, [0, 2]]);

test("nodes are grouped by what was asked for, in their slice", () => {
  const labels = (by) => grouped(RUN(), by).boxes.map((box) => [box.name, box.nodes]);
  assert.deepEqual(labels(""), [["", [0]], ["", [1]], ["", [2]], ["", [3]]]);
  assert.deepEqual(labels("cell"), [["Cell In[1]", [0]], ["Cell In[2]", [1]], ["Cell In[2]", [2, 3]]]);
  assert.deepEqual(labels("slice"), [["all of the slice", [0, 1]], ["all of the slice", [2, 3]]]);
  assert.deepEqual(labels("client"), [["c1", [0]], ["c2", [1]], ["c2", [2]], ["c1", [3]]]);
  assert.equal(grouped(RUN(), "slice").note, "4 nodes shown as 2 groups, by slice");
  assert.equal(grouped(RUN(), "client").note, "4 nodes shown as 4 groups, by client and slice");
});

test("a group opens, and closes around any of its nodes", () => {
  const picture = grouped(RUN(), "slice");
  assert.ok(picture.turn(picture.boxes[1]));
  picture.update();
  assert.deepEqual(picture.boxes.map((box) => box.nodes), [[0, 1], [2], [3]]);
  assert.ok(picture.turn(picture.boxes[2]));
  picture.update();
  assert.deepEqual(picture.boxes.map((box) => box.nodes), [[0, 1], [2, 3]]);
  assert.ok(!grouped(RUN(), "").turn(picture.boxes[0]), "without groups there is nothing to close");
  picture.turn(picture.boxes[0]);
  picture.update();
  assert.equal(picture.note, "4 nodes shown as 1 group and 2 nodes, by slice");
});

test("of a script a group is a line, called by what it computes", () => {
  const script = "/home/ada/train.py", picture = grouped(graph([script, 0, 1, [], { line: 4, name: "step" }], [script, 0, 1, [0], { line: 4, name: "step" }], [script, 0, 1, [0], { line: 5 }], [script, 0, 1, [1], { line: 5 }], ["", 1, 1, []]), "cell");
  assert.deepEqual(picture.boxes.map((box) => [...picture.textsOf(box).slice(0, 2), box.nodes]), [["train.py:4", "step, 2 nodes", [0, 1]], ["train.py:5", "2 nodes", [2, 3]], ["no cell", "f4, 1 node", [4]]]);
  assert.equal(picture.note, "5 nodes shown as 3 groups, by line and slice");
  assert.deepEqual(picture.boxes.slice(0, 2).map((box) => picture.commonOf(box)), [{ kind: "name", id: "step" }, { kind: "cell", id: script }]);
});

test("what has been placed stays where it is, whatever comes", () => {
  const store = RUN(), picture = new Picture(store), places = (boxes) => boxes.map((box) => [left(box), box.y]);
  picture.room = 800;
  picture.update();
  const first = [...picture.boxes], was = places(first), lanes = [...picture.lanes.values()].map(({ x, w }) => [x, w]);
  for (let k = 0; k < 3; k++) {
    const n = store.nodes.n, wide = Array.from({ length: 12 }, () => ["Cell In[3]", 0, 1, [0]]);
    grown(store, ...wide, ...wide.map((_, i) => ["Cell In[3]", 0, 1, [n + i, n + (5 * i) % 12]]), ["Cell In[3]", 1, 1, [n, n + 12]]);
    picture.update();
    assert.deepEqual(places(first), was);
    assert.deepEqual([...picture.lanes.values()].map(({ x, w }) => [x, w]), lanes);
  }
  for (const a of picture.boxes) {
    assert.ok(a.rel >= 0 && a.rel + a.w <= a.lane.w);
    for (const b of picture.boxes) assert.ok(a === b || left(a) + a.w <= left(b) || left(b) + b.w <= left(a) || a.y + a.h <= b.y || b.y + b.h <= a.y);
  }
});

test("what must fit into its lane goes into more rows; only what is wider alone widens it", () => {
  const items = [...Array(6).fill({ lane: 0, w: 100, h: 46 }), { lane: 1, w: 100, h: 46 }], edges = [[0, 5], [1, 6]];
  const at = (...most) => place(items, edges, [10, 10], [0, 1], most).lanes.map(([, wide]) => wide);
  assert.deepEqual(at(Infinity, Infinity), [5 * 114 + 14, 128]);
  assert.deepEqual(at(270, Infinity), [264, 128]);
  assert.deepEqual(at(60, Infinity), [128, 128]);
});

test("a group is chosen by what its nodes have in common", () => {
  const choice = (by) => {
    const picture = grouped(RUN(), by);
    return picture.commonOf(picture.boxes[1]);
  };
  assert.deepEqual(["cell", "slice", "client"].map(choice), [{ kind: "cell", id: "Cell In[2]" }, { kind: "slice", id: 1 }, { kind: "client", id: "c2" }]);
});

test("edges say what flows, once where it is written or where it arrives alone, where no edge leaves", () => {
  const picture = grouped(RUN(), ""), flow = ({ edge, below, side }) => [edge.from.nodes[0], picture.flowOf(edge), below, side];
  // The first goes to the right, to another slice, and down; the last bends to the right.
  assert.deepEqual(picture.labels().map(flow), [[0, "f32[8,128] 4.0 KB", true, -1], [1, "f32[8,128] 4.0 KB", true, -1], [2, "f32[8,128] 4.0 KB", true, -1]]);
  const groups = grouped(RUN(), "slice");
  // Two nodes of the group read the first value, and it flows once.
  assert.deepEqual(groups.edges.map((edge) => [groups.flowOf(edge), edge.link]), [["2 values 8.0 KB", 2]]);
});

test("what failed of its own says why, alone and in a group", () => {
  const store = graph(["Cell In[1]", 0, 1, [], { state: 5, error: "ValueError: no" }], ["Cell In[1]", 0, 1, [0], { state: 5, error: "it has no input", cause: 1 }]);
  const alone = grouped(store, "");
  assert.deepEqual(alone.boxes.map((box) => alone.errorOf(box)), ["ValueError: no", ""]);
  assert.equal(alone.textsOf(alone.boxes[1])[2], "after f0 failed");
  const group = grouped(store, "cell");
  assert.equal(group.errorOf(group.boxes[0]), "f0: ValueError: no");
});

test("a group in which nodes failed because of another's failure says how many, and after what", () => {
  const failed = { state: 5, error: "it has no input", cause: 1 };
  const store = graph(["Cell In[1]", 0, 1, [], { state: 5, error: "ValueError: no", line: 3 }], ["Cell In[2]", 1, 1, [0], failed], ["Cell In[2]", 1, 1, [0], failed], ["Cell In[2]", 1, 1, [], { state: 3 }]);
  const picture = grouped(store, "cell");
  assert.equal(picture.errorOf(picture.boxes[1]), "2 of 3 failed, after f0 (Cell In[1]:3)");
  assert.deepEqual(picture.countsOf(picture.boxes[1]), [0, 0, 0, 1, 0, 2, 0]);
});

test("a transfer that failed still says what it would have moved", () => {
  const picture = grouped(graph(["Cell In[1]", 0, 1, [], { state: 5, error: "no" }], ["Cell In[1]", 1, 1, [0], { kind: 1, link: 2, moved: 4096, state: 5, error: "no", cause: 1 }]), "");
  assert.ok(picture.boxes[1].pill);
  assert.deepEqual(picture.textsOf(picture.boxes[1]), ["DCN 4.0 KB", "failed", ""]);
});

test("of a replay only what was recorded by then is there", () => {
  const store = RUN(), picture = grouped(store, "slice");
  store.moment = 1.5;
  store.past = 2;
  assert.deepEqual(picture.boxes.map((box) => picture.exists(box)), [true, false]);
});

test("the tag of what failed stays inside the canvas, and points at its box", () => {
  const inside = { left: 0, top: 40, right: 400, bottom: 300 }, at = (x, y, wide = 200) => tagAt({ x, y, h: 46 }, wide, 19, inside);
  assert.deepEqual(at(50, 100), { x: 50, y: 150, tip: 65, below: true });
  assert.deepEqual(at(50, 240), { x: 50, y: 217, tip: 65, below: false }, "above, where there is no room below");
  assert.deepEqual(at(390, 100), { x: 200, y: 150, tip: 390, below: true }, "a box at the right edge");
  assert.deepEqual(at(-90, 100), { x: 0, y: 150, tip: 10, below: true }, "a box that begins left of the canvas");
  for (const x of [-90, 0, 150, 395]) for (const y of [-40, 0, 60, 200, 250, 299]) for (const wide of [20, 200, 400]) {
    const tag = at(x, y, wide);
    assert.ok(tag.x >= 0 && tag.x + wide <= 400 && tag.y >= 40 && tag.y + 19 <= 300 && tag.tip >= tag.x && tag.tip <= tag.x + wide);
  }
});
