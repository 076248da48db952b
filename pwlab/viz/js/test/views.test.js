import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "../src/axis.js";
import { Colours, KEY, NAMES } from "../src/colours.js";
import { CheckedUsage } from "../src/checkpoints.js";
import { ById } from "../src/columns.js";
import { Moments } from "../src/moments.js";
import { LIMIT, Picture } from "../src/picture.js";
import { Selection } from "../src/select.js";
import { shares } from "../src/shares.js";
import { Store } from "../src/store.js";
import { bytesText, oneLine, percent, rangesText, secondsText, sourceText, width, wrapped } from "../src/text.js";
import { thin } from "../src/thin.js";
import { sliding, totals } from "../src/totals.js";
import { Tracks } from "../src/tracks.js";
import { PARTS, Usage } from "../src/usage.js";

/** A store with two islands of two devices; `add` puts a node into it. */
function run() {
  const store = new Store();
  store.origin = 0;
  for (const id of [0, 1]) {
    store.islands.set(id, { id, name: `island${id}`, chip: "tpu", devices: [2 * id, 2 * id + 1], chips: [], capacity: id ? Infinity : 200 });
    store.slices.set(id, { id, name: `s${id}`, island: id, devices: [2 * id, 2 * id + 1], mapped: true });
  }
  const text = (word) => {
    const at = store.texts.indexOf(word);
    return at >= 0 ? at : store.texts.push(word) - 1;
  };
  const add = (node) => {
    const i = store.nodes.add(), c = store.nodes.c;
    const { name = "f", cell = "Cell In[1]", inputs = [], program = 1, devices = "", bytes = 100, kind = 0, ...more } = node;
    if (!store.programs.has(program)) store.opens.push(0);
    if (!store.programs.has(program)) store.programs.set(program, { id: program, name: "p", client: `c${program}`, opened: 0, ended: NaN, counts: [0, 0, 0, 0, 0, 0, 0] });
    for (const key of ["added", "prepared", "queued", "launched", "start", "end", "ended", "held"]) c[key][i] = NaN;
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
    c.fate[i] = c.state[i];
    if (c.state[i] >= 4) {
      c.ended[i] = c.end[i];
      store.ends.push(i);
    } else store.alive.add(i);
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
  assert.deepEqual([0, 0.001, 0.025, 0.42, 0.999, 1].map(percent), ["0%", "<1%", "3%", "42%", ">99%", "100%"]);
  assert.equal(rangesText([3, 0, 1, 2, 8]), "0–3, 8");
  assert.equal(sourceText("/a/b/run.py", 3), "run.py:3");
  assert.equal(oneLine("a\nb\u202ec\x00d"), "a bc d");
  assert.equal(width("🙂é漢"), 5);
  const long = oneLine("<script>" + "🙂".repeat(10_000), 20);
  assert.ok(width(long) <= 20 && long.endsWith("…"));
});

test("a text is broken into lines between words, and a long word is cut", () => {
  assert.deepEqual(wrapped("no data here at all", 10), ["no data", "here at", "all"]);
  assert.deepEqual(wrapped("shapes (8,128)-and-(4,128) differ", 10), ["shapes", "(8,128)-a…", "differ"]);
  assert.deepEqual(wrapped("short", 10), ["short"]);
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
  const { store, add } = run();
  const far = add({ state: 4, added: 0, prepared: 0, launched: 0, start: 0, end: 4, devices: "2", slice: 1 });
  const move = add({ kind: 1, link: 2, state: 4, added: 0, launched: 5, start: 5, end: 7, inputs: [far], devices: "0" });
  add({ state: 4, added: 1, prepared: 3, held: 7, launched: 9, start: 10, end: 12, inputs: [move], devices: "0" });
  const parts = new Usage(store).view(14).devices.get(0);
  const expected = { computing: 2, preparing: 2, "waiting for input": 2, transfer: 2, memory: 2, dispatch: 1, "nothing queued": 1 + 2 };
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
  assert.deepEqual(sum.names.map((n) => [store.texts[n.name], n.seconds]), [["a", 2], ["b", 1]]);
});

/** Two clients: one lets go of what it made, the other waits for memory. */
function crowded() {
  const { store, add } = run();
  store.told.push({ no: 0, time: 0, name: "c2", kind: "known", share: 3, most: 500, priority: 0 });
  add({ state: 4, added: 0, launched: 1, start: 1, end: 2, bytes: 100, devices: "0 1", program: 1, spread: 1 });
  add({ name: "keep", state: 4, added: 0, launched: 3, start: 3, end: 4, bytes: 150, devices: "0", program: 2 });
  store.freedAt.set(1, 3.5);
  store.frees.push(1);
  const late = add({ name: "late", state: 2, added: 4, held: 5, bytes: 100, devices: "0", program: 2 });
  store.nodes.c.account[late] = store.texts.push("device 0") - 1;
  store.nodes.c.short[late] = 50;
  return store;
}

const numbers = (view) => ({
  devices: [...view.devices], over: [...view.over], clients: view.clients, byClient: [...view.byClient], held: view.held.map((h) => [h.client, h.account, h.bytes, h.since]),
  memory: view.memory.map((m) => [m.label, m.bytes, m.peak, m.capacity, m.series]), holders: view.holders.map((g) => [g.client, g.values, g.bytes]),
});

test("memory, its holders, what waits for it, and clients", () => {
  const view = new Usage(crowded()).view(6), { memory, holders, held } = numbers(view);
  assert.deepEqual(memory.map((m) => m.slice(0, 4)), [["device 0", 150, 200, 200], ["device 1", 0, 50, 200], ["device 2", 0, 0, Infinity], ["device 3", 0, 0, Infinity]]);
  assert.deepEqual([memory[0][4].length, Math.max(...memory[0][4]), memory[0][4].at(-1)], [view.used, 200, 150]);
  assert.deepEqual([holders, held], [[["c2", 1, 150]], [["c2", "device 0", 50, 5]]]);
  assert.deepEqual(view.clients.map((c) => [c.client, c.asked, c.got, c.launches, c.waiting, c.held, c.bytes, c.most]),
    // Two device seconds went to c1 while both had work, one to c2 while it alone had some.
    [["c2", 2.5 / 3, 1 / 3, 1, 1, 1, 150, 500], ["c1", 0.25, 1, 1, 0, 0, 0, Infinity]]);
});

/** What a page has of a store. */
function page(store) {
  return { usage: new Usage(store), tracks: new Tracks(store), selection: new Selection(store), views: { graph: { picture: new Picture(store) } } };
}

test("each client has a track with its programs; the controller one with its work", () => {
  const { store, add } = run(), tracks = new Tracks(store);
  const end = (id, opened, ended, state = 4) => {
    add({ program: id, state: 0 });
    Object.assign(store.programs.get(id), { opened, ended, state });
    store.users.add(`c${id}`);
    store.over.push(id);
  };
  const shown = () => tracks.all.filter(({ kind }) => kind !== "device").map(({ label, rows }) => [label, rows.map((row) => [...row.start.a.subarray(0, row.n)])]);
  end(1, 0, 4);
  store.works.push({ time: 1, seconds: 0.5, busy: 0.25, events: 3, launches: 2 });
  tracks.update();
  assert.deepEqual(shown(), [["client c1", [[0]]], ["controller", [[1]]]]);
  end(2, 1, 3, 5);
  tracks.update();
  assert.deepEqual(shown(), [["client c1", [[0]]], ["client c2", [[1]]], ["controller", [[1]]]]);
  assert.equal(tracks.trackOf(store.programs.get(2)), tracks.all[1]);
  assert.deepEqual([tracks.all[0].rows[0].key.a[0], tracks.all[1].rows[0].key.a[0]], [KEY.program, KEY.failed]);
  tracks.colourBy("client");
  assert.equal(tracks.all[0].rows[0].key.a[0], tracks.colours.of("c1"));
  assert.deepEqual(totals(store, tracks, 1.25, 9).control, 0.125);
  for (let id = 3; id < 10; id++) end(id, id, id + 1);
  tracks.update();
  // So many share one, in which what overlaps lies in lanes.
  assert.deepEqual(shown(), [["clients", [[0, 4, 5, 6, 7, 8, 9], [1, 3]]], ["controller", [[1]]]]);
});

test("a choice lights the spans that belong to it", () => {
  const { store, add } = run(), selection = new Selection(store);
  add({ cell: "Cell In[1]", program: 1 });
  add({ cell: "Cell In[2]", program: 2 });
  store.programs.get(2).cell = "Cell In[2]";
  store.works.push({ time: 1, seconds: 0.5, busy: 0.25, events: 3, launches: 2 });
  store.waits.push({ time: 0, seconds: 1, reason: "float(x)", cell: "Cell In[3]", line: 1, text: "", buffer: 2 });
  const lit = (choice) => {
    selection.set(choice);
    return [["node", 0], ["node", 1], ["program", 1], ["program", 2], ["work", 0], ["wait", 0]].filter(([of, id]) => selection.lights(of, id)).map(([of, id]) => of + id);
  };
  assert.equal(lit(null).length, 6);
  assert.deepEqual(lit({ kind: "program", id: 2 }), ["node1", "program2", "wait0"]);
  assert.deepEqual(lit({ kind: "client", id: "c1" }), ["node0", "program1"]);
  assert.deepEqual(lit({ kind: "cell", id: "Cell In[3]" }), ["wait0"]);
  assert.deepEqual(lit({ kind: "cell", id: "Cell In[2]" }), ["node1", "program2"]);
  assert.deepEqual(lit({ kind: "node", id: 1 }), ["node1", "program2", "wait0"]);
  assert.deepEqual(lit({ kind: "work", id: 0 }), ["work0"]);
});

test("what a page lets go of stays in its totals", () => {
  const store = crowded(), app = page(store), { usage, selection } = app;
  selection.set({ kind: "node", id: 2 });
  const before = numbers(usage.view(6));
  thin(store, [app], 0);
  assert.deepEqual(numbers(usage.view(6)), before);
  assert.deepEqual([store.thinned, store.nodes.n, [...store.alive], store.word(0, "name")], [1, 2, [1], "keep"]);
  assert.deepEqual([store.producer.get(1), store.producer.get(2), store.written(0), store.launches.n, store.ends.n], [-1, 0, 150, 1, 1]);
  assert.equal(selection.node(), 1);
  assert.ok(selection.marks(selection.aboutNode(1)));
});

test("what stays after letting go stays where it was, in the timeline and in the graph", () => {
  const { store, add } = run(), app = page(store), { tracks } = app, { picture } = app.views.graph;
  for (let i = 0; i < 40; i++) {
    add({ name: `n${i}`, state: 4, start: i, end: i + 1, devices: "0", inputs: i % 3 ? [i - 1] : [] });
    store.waited.push(store.waits.push({ time: i, seconds: 0.5, reason: `w${i}`, cell: "", line: 0, text: "", buffer: 0 }) - 1);
    store.works.push({ time: i, seconds: 0.5, busy: 0.5, events: i, launches: 0 });
    if (i % 10) store.freedAt.set(i + 1, i + 1);
  }
  picture.update();
  tracks.update();
  const shown = () => new Map(picture.boxes.map((box) => [store.word(box.nodes[0], "name"), [box.lane.x + box.rel, box.y]]));
  const rows = () => tracks.all.map((track) => track.rows.map((row) => Array.from({ length: row.n }, (_, i) => [row.start.a[i], track.of === "wait" ? store.waits[row.ref.a[i]].reason : track.of === "work" ? store.works[row.ref.a[i]].events : store.word(row.ref.a[i], "name")])));
  const places = shown(), [works, waits, device] = rows();
  thin(store, [app], 15);
  // The newest fifteen, and those whose results are held.
  const left = [0, 10, 20, ...Array.from({ length: 15 }, (_, i) => 25 + i)];
  assert.deepEqual([...shown()], left.map((i) => [`n${i}`, places.get(`n${i}`)]));
  assert.deepEqual(rows()[2][0], left.map((i) => device[0][i]));
  assert.deepEqual([rows()[0][0], rows()[1][0]], [works[0].slice(25), waits[0].slice(25)]);
  for (const [i, name] of [[0, "n0"], [1, "n10"], [17, "n39"]]) assert.equal(store.word(i, "name"), name);
  assert.deepEqual(store.sources(17).map((i) => store.word(i, "name")), []);
  assert.deepEqual(store.sources(16).map((i) => store.word(i, "name")), ["n37"]);
  assert.ok(picture.edges.every(({ from, to }) => picture.boxes.includes(from) && picture.boxes.includes(to)));
  add({ name: "new", state: 4, start: 50, end: 51, devices: "0", inputs: [39] });
  assert.ok(picture.update() && tracks.update());
  for (const [name, at] of shown()) if (name !== "new") assert.deepEqual(at, places.get(name));
});

test("going back in a replay comes to the same as playing to there", () => {
  const store = crowded(), moments = new Moments(store), checked = new CheckedUsage(store);
  for (const time of [6, 1.5, 3.2, 5.5, 0.5, 4.1, 3.6, 6]) {
    moments.seek(time);
    assert.deepEqual(numbers(checked.view(time)), numbers(new Usage(store).view(time)), `at ${time}`);
  }
  assert.ok(checked._marks.length > 10);
});

test("numbers by id begin anywhere", () => {
  const by = new ById(Float64Array, NaN);
  for (const id of [5, 3, 6, 1_000_000, 1_000_001]) by.set(id, id);
  assert.deepEqual([5, 3, 6, 1_000_000, 1_000_001, 4, 7, 2_000_000].map((id) => by.get(id)), [5, 3, 6, 1_000_000, 1_000_001, NaN, NaN, NaN]);
  assert.ok(by.a.length < 3_000);
});

test("parts in a window that slides", () => {
  const { rows, bins } = sliding([[1, 1, 0, 0], [1, 3, 0, 4]], 4);
  assert.equal(bins, 1);
  assert.deepEqual(rows.map((row) => [...row]), [[0.5, 0.25, 0, 0], [0.5, 0.75, 0, 1]]);
  assert.equal(sliding([new Float64Array(480)], 480).bins, 20);
});

test("of many clients those that took most have a band, and the one that is chosen", () => {
  const { store, add } = run();
  for (let k = 0; k < 12; k++) {
    add({ state: 4, added: k, launched: k, start: k, end: k + 0.5 + k / 30, devices: "0", program: k + 1 });
    Object.assign(store.programs.get(k + 1), { opened: k, ended: k + 1 });
    store.opens.a[k] = k;
    store.closes.push(k + 1);
  }
  const usage = new Usage(store), view = usage.view(12), names = (wanted) => shares(usage, view, wanted).bands.map((band) => band.clients.map((c) => c.client).join(" "));
  assert.deepEqual(names(), ["c6", "c7", "c8", "c9", "c10", "c11", "c12", "c1 c2 c3 c4 c5"]);
  assert.deepEqual(names((c) => c.client === "c2"), ["c2", "c7", "c8", "c9", "c10", "c11", "c12", "c1 c3 c4 c5 c6"]);
  const { trends } = shares(usage, view);
  // Each was alone, and so asked for all.
  for (const { client, asked } of trends) assert.deepEqual([...new Set(asked.map((part) => Math.round(10 * part)))].filter((part) => part === 10), [10], client.client);
});

test("rows are marked where they belong to what is chosen", () => {
  const { store, add } = run(), selection = new Selection(store);
  const a = add({ cell: "Cell In[1]", devices: "0 1", program: 1 }), b = add({ cell: "Cell In[2]", devices: "2", program: 2 });
  const rows = { d1: { devices: [1] }, d2: { devices: [2] }, c1: { client: "c1" }, c2: { client: "c2" }, a: selection.aboutNode(a), b: selection.aboutNode(b, true) };
  const marked = (choice) => {
    selection.set(choice);
    return Object.keys(rows).filter((key) => selection.marks(rows[key]));
  };
  assert.deepEqual(marked(null), []);
  assert.deepEqual(marked({ kind: "device", id: 1 }), ["d1", "c1", "a"]);
  assert.deepEqual(marked({ kind: "client", id: "c2" }), ["d2", "c2", "b"]);
  assert.deepEqual(marked({ kind: "cell", id: "Cell In[1]" }), ["d1", "c1", "a"]);
  assert.deepEqual(marked({ kind: "program", id: 2 }), ["d2", "c2", "b"]);
  assert.deepEqual(marked({ kind: "node", id: a }), ["d1", "c1", "a"]);
  assert.deepEqual(marked({ kind: "node", id: b }), ["d2", "c2", "b"]);
  store.waits.push({ time: 0, seconds: 1, reason: "float(x)", cell: "Cell In[3]", line: 1, text: "", buffer: b + 1 });
  assert.deepEqual(marked({ kind: "wait", id: 0 }), ["d2", "c2", "b"]);
  assert.deepEqual(marked({ kind: "work", id: 0 }), []);
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
