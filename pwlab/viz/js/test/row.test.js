import assert from "node:assert/strict";
import { test } from "node:test";
import { Row } from "../src/row.js";

/** The same numbers in every run. */
function chance(seed) {
  return () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
}

function filled(n, seed = 1) {
  const row = new Row(), random = chance(seed);
  let at = 0;
  for (let i = 0; i < n; i++) {
    const start = at + random() * 2, end = start + 0.01 + random();
    row.add(start, end, i, i % 5);
    at = end;
  }
  return row;
}

function busyBetween(row, from, to) {
  let sum = 0;
  for (let i = 0; i < row.n; i++) sum += Math.max(0, Math.min(row.end.a[i], to) - Math.max(row.start.a[i], from));
  return sum;
}

test("busy seconds are those of all spans", () => {
  for (const n of [0, 1, 7, 8, 9, 64, 65, 1000]) {
    const row = filled(n), random = chance(n);
    for (let k = 0; k < 20; k++) {
      const from = random() * n * 1.5, to = from + random() * n;
      assert.ok(Math.abs(row.busy(from, to) - busyBetween(row, from, to)) < 1e-9 * Math.max(1, n));
    }
  }
});

test("pixels are covered by what is busy in them", () => {
  const row = filled(5000), width = 300;
  for (const [from, to] of [[0, row.last], [10, 60], [row.last / 2, row.last * 2]]) {
    const scale = width / (to - from);
    const cover = new Float32Array(width), best = new Float32Array(width), keys = new Uint16Array(width);
    row.paint(from, scale, cover, best, keys);
    const sum = cover.reduce((a, b) => a + b, 0) / scale;
    // A block that is put down whole may reach over the edge by a pixel.
    assert.ok(Math.abs(sum - busyBetween(row, from, to)) < 3 / scale, `${sum}`);
    assert.ok(cover.every((part) => part < 2.1));
  }
});

test("spans that overlap begin where the one before ends, in whatever order they come", () => {
  const row = new Row();
  row.add(0, 2, 1, 0);
  row.add(1, 3, 2, 0);
  row.add(5, 6, 4, 0);
  row.add(3.5, 5.5, 3, 0);
  assert.deepEqual([...row.start.a.subarray(0, 4)], [0, 2, 3.5, 5]);
  assert.deepEqual([...row.end.a.subarray(0, 4)], [2, 3, 5, 6]);
  assert.deepEqual([...row.ref.a.subarray(0, 4)], [1, 2, 3, 4]);
  assert.equal(row.busy(0, 10), 5.5);
});

test("what is added after painting is painted too", () => {
  const row = filled(100), cover = () => {
    const out = new Float32Array(50);
    row.paint(0, 50 / 400, out, new Float32Array(50), new Uint16Array(50));
    return out.reduce((a, b) => a + b, 0);
  };
  const before = cover();
  for (let i = 0; i < 500; i++) row.add(row.last, row.last + 0.1, i, 0);
  assert.ok(cover() > before + 5);
});

test("the span at a time, and the nearest within reach", () => {
  const row = new Row();
  row.add(1, 2, 7, 0);
  row.add(4, 5, 8, 0);
  assert.equal(row.at(1.5), 0);
  assert.equal(row.at(3), -1);
  assert.equal(row.at(3.9, 0.2), 1);
  assert.equal(row.at(2.1, 0.2), 0);
  assert.deepEqual(row.range(1.5, 4.5), [0, 2]);
  assert.deepEqual(row.range(2.5, 3.5), [1, 1]);
});
