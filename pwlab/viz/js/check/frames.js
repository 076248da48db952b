// How long frames take with very many launches; for benchmarks/views.py, in a page that has the sources beside it.

import { App } from "../src/app.js";
import { place } from "../src/layout.js";
import { Store } from "../src/store.js";

/** The same numbers in every run. */
function chance(seed) {
  return () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
}

const middle = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/** A run of `count` launches on `devices` devices of eight islands; with `joined` each reads two earlier ones. */
function run(count, devices, joined) {
  const store = new Store(), random = chance(1), each = devices / 8, at = new Float64Array(devices);
  store.origin = store.firstActive = 0;
  for (let id = 0; id < 8; id++) {
    const mine = Array.from({ length: each }, (_, k) => id * each + k);
    store.islands.set(id, { id, name: `island${id}`, chip: "tpu", devices: mine });
    store.slices.set(id, { id, name: `s${id}`, island: id, devices: mine, mapped: true });
  }
  for (let k = 0; k < 20; k++) store.texts.push(`computation_${k}`);
  store.texts.push("Cell In[4]");
  store.programs.set(1, { id: 1, name: "p", client: "main", cell: "Cell In[4]", line: 1, text: "", opened: 0, ended: NaN, state: -1, counts: [0, 0, 0, 0, 0, 0, 0] });
  for (let d = 0; d < devices; d++) store.deviceSets.set(1e6 + d, [d]);
  for (let i = 0; i < count; i++) {
    const n = store.nodes.add(), c = store.nodes.c, d = i % devices, start = at[d] + random() * 2e-4, end = start + 1e-4 + random() * 1e-3;
    at[d] = end;
    store.newest = Math.max(store.newest, end);
    const fields = { id: i + 1, program: 1, name: 1 + Math.floor(random() * 20), slice: Math.floor(d / each), parts: 1, cell: 21, line: 1 + (i % 40), state: 4, island: Math.floor(d / each), devices: 1e6 + d, start, end, outs: store.outputs.n, outsN: 1, ins: store.inputs.n };
    for (const key in fields) c[key][n] = fields[key];
    store.indexOf.set(i + 1, n);
    store.producer.set(i + 1, n);
    store.outputs.push(i + 1);
    store.bytes.set(i + 1, 1024);
    store.ends.push(n);
    store.counts[4]++;
    for (let k = 0; joined && k < 2; k++) {
      const from = i - 1 - Math.floor(random() * 40);
      if (from <= 0) continue;
      store.inputs.push(from);
      c.insN[n]++;
    }
  }
  return store;
}

async function shown(store, tab) {
  const app = new App(store, { tab, single: false, words: {}, height: 720 });
  document.body.replaceChildren(app.root);
  app.start();
  await frame();
  await frame();
  return app;
}

/** Milliseconds of each frame; one pixel is read back, so that what was drawn is really there. */
async function frames(view, move) {
  const times = [];
  for (let k = 0; k < 120; k++) {
    await frame();
    move(k);
    const began = performance.now();
    view.draw();
    view.context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }
  return middle(times);
}

/** Zooming into and panning over a million launches on 64 rows. */
export async function timeline() {
  const store = run(1_000_000, 64, false), app = await shown(store, "timeline"), view = app.timeline;
  view.mode = "free";
  return frames(view, (k) => {
    const span = store.newest * (k < 60 ? 0.93 ** k : 0.3);
    view.from = store.newest * 0.3 + (k < 60 ? 0 : span * 0.2 * Math.sin(k / 9));
    view.to = view.from + span;
  });
}

/** Zooming into and panning over a graph of 5,000 nodes that are not grouped. */
export async function graph() {
  const app = await shown(run(5_000, 64, true), "graph"), view = app.views.graph;
  view.picture._grouping = () => "";
  view.tidy();
  await frame();
  view.mode = "";
  return frames(view, (k) => {
    view.scale = 0.05 * 1.03 ** k;
    view.x = -9 * k;
    view.y = -12 * k;
  });
}

/** Laying out 5,000 nodes in eight lanes. */
export function layout() {
  const random = chance(7), items = [], edges = [], times = [];
  for (let i = 0; i < 5_000; i++) {
    items.push({ lane: Math.floor(random() * 8), w: 96 + Math.floor(random() * 60), h: 46 });
    const from = new Set([0, 1].map(() => i - 1 - Math.floor(random() * 40)));
    for (const a of from) if (a >= 0) edges.push([a, i]);
  }
  for (let k = 0; k < 15; k++) {
    const began = performance.now();
    place(items, edges, Array(8).fill(100), [0, 1, 1, 1, 1, 1, 1, 1]);
    times.push(performance.now() - began);
  }
  return middle(times);
}
