// Plays a packed run and prints what it shows at each of some times; for tests/dashboard/test_replay.py.

import { readFileSync } from "node:fs";
import { unpack } from "../src/decode.js";
import { Moments } from "../src/moments.js";
import { STATES } from "../src/states.js";
import { Store } from "../src/store.js";

const { packed, times } = JSON.parse(readFileSync(0, "utf8"));
const store = new Store(), { batch, buffers } = await unpack(new Uint8Array(Buffer.from(packed, "base64")));
store.take(batch, buffers);
const moments = new Moments(store), c = store.nodes.c;
const words = STATES.map((word) => (word === "running" ? "launched" : word));
console.log(JSON.stringify(times.map((time) => {
  moments.seek(time);
  return {
    states: Array.from({ length: store.known }, (_, i) => words[c.state[i]]),
    errors: Array.from({ length: store.known }, (_, i) => store.word(i, "error")),
    ran: Array.from({ length: store.known }, (_, i) => (c.end[i] > c.start[i] ? c.end[i] - c.start[i] : 0)),
    counts: [...store.counts], open: [...store.open].map((i) => c.id[i]), running: store.openPrograms, now: store.now(), begin: store.begin(), end: store.newest,
    ends: store.ends.n, frees: store.frees.n, programs: [...store.programs.values()].map((p) => p.counts.reduce((a, b) => a + b, 0)),
  };
})));
