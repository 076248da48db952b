import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "../src/axis.js";
import { Colours, NAMES } from "../src/colours.js";
import { LIMIT, Picture } from "../src/picture.js";
import { Selection } from "../src/select.js";
import { Store } from "../src/store.js";
import { bytesText, oneLine, percent, rangesText, secondsText, sourceText, width } from "../src/text.js";
import { Clients, Idle, Memory, PARTS, Steps, totals } from "../src/totals.js";
import { Tracks } from "../src/tracks.js";

/** A store with two islands of two devices; `add` puts a node into it. */
function run() {
  const store = new Store();
  store.origin = 0;
  for (const id of [0, 1]) {
    store.islands.set(id, { id, name: `island${id}`, chip: "tpu", devices: [2 * id, 2 * id + 1] });
    store.slices.set(id, { id, name: `s${id}`, island: id, devices: [2 * id, 2 * id + 1], mapped: true });
  }
  const text = (word) => {
    const at = store.strings.indexOf(word);
    return at >= 0 ? at : store.strings.push(word) - 1;
  };
  const add = (node) => {
    const i = store.nodes.add(), c = store.nodes.c;
    const { name = "f", cell = "Cell In[1]", inputs = [], program = 1, devices = "", bytes = 100, kind = 0, ...more } = node;
    if (!store.programs.has(program)) store.programs.set(program, { id: program, name: "p", client: `c${program}`, opened: 0, ended: NaN, counts: [0, 0, 0, 0, 0, 0, 0] });
    for (const key of ["added", "prepared", "queued", "launched", "start", "end", "ended"]) c[key][i] = NaN;
    for (const key in more) c[key][i] = more[key];
    c.id[i] = i + 1;
    c.name[i] = text(name);
    c.cell[i] = text(cell);
    c.program[i] = program;
    c.kind[i] = kind;
    c.parts[i] = 1;
    c.island[i] = more.slice ?? 0;
    c.devices[i] = devices ? text(devices) : 0;
    c.ins[i] = store.inputs.n;
    c.insN[i] = inputs.length;
    for (const from of inputs) store.inputs.push(from + 1);
    c.outs[i] = store.outputs.n;
    c.outsN[i] = 1;
    store.outputs.push(i + 1);
    store.indexOf.set(i + 1, i);
    store.producer.set(i + 1, i);
    store.bytes.set(i + 1, bytes);
    store.counts[c.state[i]]++;
    if (c.state[i] >= 4) store.ends.push(i);
    if (c.launched[i] >= 0) store.launches.push(i);
    store.newest = Math.max(store.newest, more.end ?? 0);
    store.firstActive = 0;
    return i;
  };
  return { store, add };
}

test("numbers and names are written as in Python", () => {
  assert.deepEqual([0, 5e-5, 0.00123, 0.0456, 0.789, 1.2, 34, 125, 7300].map(secondsText),
    ["0 ms", "50 µs", "1.23 ms", "45.6 ms", "789 ms", "1.20 s", "34.0 s", "2 min 05 s", "2 h 01 min"]);
  assert.deepEqual([12, 4096, 5 << 20].map(bytesText), ["12 B", "4.0 KB", "5.0 MB"]);
  assert.deepEqual([0, 0.001, 0.42, 0.999, 1].map(percent), ["0%", "<1%", "42%", ">99%", "100%"]);
  assert.equal(rangesText([3, 0, 1, 2, 8]), "0–3, 8");
  assert.equal(sourceText("/a/b/run.py", 3), "run.py:3");
  assert.equal(oneLine("a\nb\u202ec\x00d"), "a bc d");
  assert.equal(width("🙂é漢"), 5);
  const long = oneLine("<script>" + "🙂".repeat(10_000), 20);
  assert.ok(width(long) <= 20 && long.endsWith("…"));
});

test("marks on the axis are round and far enough apart", () => {
  const marks = ticks(0, 1, 1000);
  assert.deepEqual(marks.map((m) => m.text), ["0", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s", "0.6 s", "0.7 s", "0.8 s", "0.9 s", "1.0 s"]);
  assert.deepEqual(ticks(2e-6, 3e-6, 3e8).map((m) => m.text), ["2.0 µs", "2.5 µs", "3.0 µs"]);
});

test("a name keeps its colour, and the first names have each their own", () => {
  const a = new Colours(), b = new Colours();
  const names = Array.from({ length: NAMES }, (_, i) => `layer${i}`);
  assert.equal(new Set(names.map((n) => a.of(n))).size, NAMES);
  assert.equal(b.of("loss"), new Colours().of("loss"));
  assert.ok(a.of("one more") < NAMES);
});

test("what stands in a graph stays while it grows", () => {
  const { store, add } = run(), picture = new Picture(store);
  const first = [add({}), add({ inputs: [0] }), add({ inputs: [1], slice: 1 })];
  picture.update();
  const before = first.map((i) => ({ ...picture.boxOf.get(i) }));
  for (let i = 3; i < 60; i++) add({ inputs: [i - 1], slice: i % 2 });
  assert.ok(picture.update());
  first.forEach((i, k) => {
    const now = picture.boxOf.get(i);
    assert.deepEqual([now.rel, now.y, now.w], [before[k].rel, before[k].y, before[k].w]);
  });
  const boxes = picture.boxes;
  assert.equal(boxes.length, 60);
  for (const a of boxes) for (const b of boxes) {
    if (a === b || a.lane !== b.lane) continue;
    assert.ok(a.rel + a.w <= b.rel || b.rel + b.w <= a.rel || a.y + a.h <= b.y || b.y + b.h <= a.y, "boxes overlap");
  }
  assert.equal(picture.edges.length, 59);
});

test("above the limit nodes are grouped by cell, and a group can be opened", () => {
  const { store, add } = run(), picture = new Picture(store);
  for (let i = 0; i < 100; i++) add({ cell: "Cell In[1]" });
  picture.update();
  assert.equal(picture.boxes.length, 100);
  for (let i = 100; i <= LIMIT; i++) add({ cell: `Cell In[${2 + (i % 3)}]`, inputs: [i - 100] });
  picture.update();
  assert.equal(picture.boxes.length, 4);
  assert.match(picture.note, /2,001 nodes shown as 4 groups, by cell and slice/);
  picture.opened.add(picture.boxes[0].key);
  picture.reset();
  picture.update();
  assert.equal(picture.boxes.length, 103);
});

test("idle time is taken apart by what the next launch waited for", () => {
  const { store, add } = run(), tracks = new Tracks(store);
  const far = add({ state: 4, added: 0, prepared: 0, launched: 0, start: 0, end: 4, devices: "2" , slice: 1 });
  const move = add({ kind: 1, link: 2, state: 4, added: 0, start: 5, end: 7, inputs: [far], devices: "0" });
  add({ state: 4, added: 1, prepared: 3, launched: 8, start: 8, end: 10, inputs: [move], devices: "0" });
  tracks.update();
  const parts = new Idle(store, tracks).of(0, 12);
  const expected = { computing: 2, preparing: 2, "waiting for input": 2, transfer: 2, dispatch: 1, "nothing queued": 1 + 2 };
  assert.deepEqual(Object.fromEntries(PARTS.map((p, i) => [p, parts[i]])), expected);
});

test("totals of a stretch", () => {
  const { store, add } = run(), tracks = new Tracks(store);
  add({ name: "a", state: 4, start: 0, end: 2, devices: "0 1" });
  add({ name: "b", state: 4, start: 2, end: 3, devices: "0" });
  tracks.update();
  const sum = totals(store, tracks, 1, 3);
  assert.equal(sum.launches, 2);
  assert.deepEqual(sum.islands, [{ id: 0, share: 0.75, busy: 3 }, { id: 1, share: 0, busy: 0 }]);
  assert.deepEqual(sum.names.map((n) => [store.strings[n.name], n.seconds]), [["a", 2], ["b", 1]]);
});

test("memory and clients", () => {
  const { store, add } = run(), memory = new Memory(store), clients = new Clients(store);
  add({ state: 4, launched: 1, start: 1, end: 2, bytes: 100, devices: "0 1", program: 1 });
  add({ state: 4, launched: 3, start: 3, end: 4, bytes: 50, devices: "0", program: 2 });
  store.freedAt.set(1, 3.5);
  store.frees.push(1);
  memory.update();
  const steps = memory.islands.get(0);
  assert.deepEqual([steps.time, [...steps.sums()]], [[1, 3, 3.5], [100, 150, 50]]);
  assert.deepEqual(memory.holders().map((e) => e.bytes), [50]);
  assert.deepEqual(clients.update().map((e) => [e.client, e.seconds]), [["c1", 2], ["c2", 1]]);
  const late = new Steps();
  for (const [time, delta] of [[1, 5], [3, 5], [2, -2]]) late.add(time, delta);
  assert.deepEqual([...late.sums()], [5, 3, 8]);
});

test("a choice tells which nodes belong to it", () => {
  const { store, add } = run(), selection = new Selection(store);
  add({ cell: "Cell In[1]", devices: "0 1", program: 1 });
  add({ cell: "Cell In[2]", devices: "2", program: 2 });
  const which = (choice) => {
    selection.set(choice);
    return [0, 1].filter((i) => selection.has(i));
  };
  assert.deepEqual(which({ kind: "cell", id: "Cell In[2]" }), [1]);
  assert.deepEqual(which({ kind: "device", id: 1 }), [0]);
  assert.deepEqual(which({ kind: "client", id: "c2" }), [1]);
  assert.deepEqual(which({ kind: "node", id: 0 }), [0]);
  assert.deepEqual(which(null), [0, 1]);
});
