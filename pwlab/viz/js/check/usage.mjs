// Reads chunks as the pump sends them, and prints what the page makes of time and memory; for tests/dashboard/test_usage.py.

import { readFileSync } from "node:fs";
import { shares } from "../src/shares.js";
import { Store } from "../src/store.js";
import { Usage } from "../src/usage.js";

const given = JSON.parse(readFileSync(0, "utf8"));
const store = new Store(), usage = new Usage(store);
for (const { header, data } of given.messages) {
  store.take(
    { chunks: [header], strings: given.strings, strings_from: 0, origin: given.origin, now: given.origin, lost: 0, running: false, closed: false, ...given.about },
    [new Uint8Array(Buffer.from(data, "base64"))],
  );
  usage.view(store.newest);
}
const c = store.nodes.c, view = usage.view(given.now - given.origin), limit = (bytes) => (Number.isFinite(bytes) ? bytes : null);
const entries = (map) => [...map].map(([key, value]) => [key, [...value].map((v) => (typeof v === "number" ? v : [...v]))]);
const { bins, bands, trends } = shares(usage, view);
console.log(JSON.stringify({
  seconds: view.seconds, step: view.step, devices: entries(view.devices), islands: entries(view.islands), over: entries(view.over), by_client: entries(view.byClient),
  clients: view.clients.map((r) => [r.client, r.open, r.share, r.priority, r.asked, r.got, [...r.parts], r.launches, r.failed, r.waiting, r.held, r.bytes, limit(r.most)]),
  memory: view.memory.map((r) => [r.label, r.island, r.devices, r.bytes, r.peak, limit(r.capacity), r.series]),
  holders: view.holders.map((r) => [c.id[r.node], store.word(r.node, "name"), r.client, r.values, r.bytes]),
  held: view.held.map((r) => [c.id[r.node], r.since, r.account, r.bytes]),
  bins, bands: bands.map((band) => [band.clients.map((r) => r.client), band.parts, band.asked]), trends: trends.map((trend) => [trend.client.client, [...trend.parts], [...trend.asked]]),
}));
