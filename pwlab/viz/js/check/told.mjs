// Reads chunks as the pump sends them, and prints what a page knows then; for tests/dashboard/test_encode.py.

import { readFileSync } from "node:fs";
import { Store } from "../src/store.js";
import { STATES } from "../src/states.js";

const given = JSON.parse(readFileSync(0, "utf8"));
const store = new Store();
for (const { header, data } of given.messages) {
  store.take(
    { chunks: [header], strings: given.strings, strings_from: 0, origin: given.origin, now: given.origin, lost: 0, running: false, closed: false },
    [new Uint8Array(Buffer.from(data, "base64"))],
  );
}
const c = store.nodes.c;
/** The words of pwlab.events.NodeState; views say "running". */
const words = STATES.map((word) => (word === "running" ? "launched" : word));
const nodes = Array.from({ length: store.nodes.n }, (_, i) => ({
  name: store.word(i, "name"),
  state: words[c.state[i]],
  devices: store.devices(i),
  error: store.word(i, "error"),
  sources: store.sources(i).map((j) => c.id[j]),
  seconds: c.end[i] - c.start[i],
}));
const waits = store.waits.map((w) => [w.reason, w.cell, w.seconds]), waited = store.waited, begun = [...store.begun];
const works = store.works.map((w) => [w.time, w.seconds, w.busy, w.events, w.launches]);
console.log(JSON.stringify({ nodes, waits, waited, begun, works, counts: store.counts, islands: [...store.islands.values()].map((i) => i.name) }));
