import assert from "node:assert/strict";
import { test } from "node:test";
import { ACK, Page } from "../src/page.js";

/** A page in a browser of its own, and what it said. */
function opened(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const quiet = { addEventListener() {}, removeEventListener() {} }, said = [];
  Object.assign(globalThis, { document: { ...quiet, hidden: false }, window: { ...quiet, setTimeout: (...a) => setTimeout(...a) } });
  const page = new Page({ on() {}, get() {}, send: ({ kind }) => said.push(kind) });
  const hear = (more = {}) => page.hear({ kind: "facts", chunks: [], strings: [], strings_from: 0, origin: 0, now: 0, lost: 0, running: true, closed: false, ...more }, []);
  return { page, said, hear, pass: (ms) => t.mock.timers.tick(ms) };
}

test("what was sent is acknowledged within a time, the last of it too", (t) => {
  const { said, hear, pass } = opened(t);
  for (let ms = 0; ms < 2.5 * ACK; ms += 100) {
    hear();
    pass(100);
  }
  assert.deepEqual(said, ["ack", "ack"]);
  pass(ACK);
  assert.deepEqual(said, ["ack", "ack", "ack"]);
  pass(10 * ACK);
  assert.equal(said.length, 3);
});

test("a page that is not seen or was closed acknowledges nothing", (t) => {
  const { page, said, hear, pass } = opened(t);
  hear();
  document.hidden = true;
  pass(ACK);
  document.hidden = false;
  hear();
  page.close();
  pass(ACK);
  assert.deepEqual(said, []);
});

test("what is missing is asked for", (t) => {
  const { page, said, hear } = opened(t);
  page._asked = -1_000;
  hear({ strings_from: 7 });
  assert.deepEqual(said, ["ready"]);
});
