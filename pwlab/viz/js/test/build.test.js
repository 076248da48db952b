import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";

const HERE = new URL(".", import.meta.url), skip = existsSync(new URL("../node_modules/typescript", HERE)) ? false : "npm ci";

/** Has what the steps look for, and what they must leave as it is. */
const CODE = `
class Base {
  constructor(n) { this.n = n, this.no = this.never = !1, this.few = []; this.m = n; this.k = n; this.one = this.other = []; this.log = ["made", "made", "made", "made"]; this.add(0); this.n = 7; }
  get twice() { return this.n + this.n + this.m - this.m + this.k - this.k; }
  add(by = this.n) { this.n += by; this.m += by; this.k += by; return [this.n, this.m, this.k, () => this.n].map((one) => one?.call?.(this) ?? one); }
}
class More extends Base {
  constructor(n) {
    super(n * 2), this.j = this.n + this.m;
    const inner = { n: -1, all() { return [this.n, this.n, this.n, this.n, this.n].join(); } };
    this.inner = inner.all();
    this.m = Math.max(this.n, this.k) + Math.max(this.m, 1) + Math.max(1, 2) + Math.min(1, 2) + Math.max(3, 4);
    this.words = this.log.filter((word) => word === "made").concat("made");
  }
  add(by) { return super.add(by).filter((one) => !isNaN(one)).filter(Boolean); }
}
class Lone { constructor() { this.seen = new Map(); } }
function plain({ n, filter: kind = "none" }, ...rest) { return { n, filter: kind, "made": rest.filter(Boolean).length, filters: [kind, rest?.filter(isFinite)] }; }
async function later(value) { return await value; }
function* counted(to) { for (let i = 0; i < to; i++) yield i; }
function summed(list) { let all = 0; for (let i = 0; i < list.length; i++) all += list[i].length; return all + list.length; }
function own() { return arguments.length; }
const it = new More(3);
const result = [it.no, it.never, it.few, it.one === it.other, new Lone().seen.size, it.twice, it.add(2), it.inner, it.m, it.words, plain({ n: 1, filter: "some" }, 0, 2), plain({ n: 2 }), [...counted(3)], own(1, 2), summed(["a", "bc"]), typeof later(1).then];
export { result };
`;

const loaded = (code) => import(`data:text/javascript,${encodeURIComponent(code)}`);
const run = async (code) => (await loaded(code)).result;

test("what is shortened does the same", { skip }, async () => {
  const { arrows, fields, named, shared, shorten, spelt } = await import("../shorten.mjs"), foreign = new Set(["filter", "concat", "length", "twice"]);
  const expected = await run(CODE);
  for (const step of [fields, named, arrows, shared, (code) => spelt(code, foreign), (code) => shorten(code, foreign)]) assert.deepEqual(await run(step(CODE)), expected);
  assert.match(named(CODE), /super\(n \* 2\), this\.j = this\.n \+ this\.m;let \$this = this;/);
  assert.match(named(CODE), /all\(\) \{let \$this = this; return \[\$this\.n/);
  assert.match(fields(CODE), /no = !1; never = !1; few = \[\]; constructor\(n\) \{\nthis\.n = n;\nthis\.m = n;[^}]*this\.n = 7;\n\}/);
  assert.match(fields(CODE), /class Lone \{ seen = new Map\(\);  \}/);
  assert.match(arrows(CODE), /var later = async \(value\) =>/);
  assert.match(arrows(CODE), /function own\(\)/);
  assert.match(spelt(CODE, foreign), /\["filter"\]: kind = "none"/);
  assert.match(shared(CODE), /= Math\.max/);
  assert.ok(shared(CODE).split("Math.max").length === 2);
  assert.match(spelt(CODE, foreign), /i < list\.length; i\+\+\) all \+= list\[i\]\.length; return all \+ list\["length"\];/);
});

test("a name that nobody defines stops the build, since it would become short", { skip }, async () => {
  const { names } = await import("../names.mjs"), folder = `${mkdtempSync(`${tmpdir()}/pwlab-`)}/`;
  try {
    writeFileSync(`${folder}wire.d.ts`, "export interface Batch { strings_from: number }");
    writeFileSync(`${folder}a.js`, 'export const f = (batch) => { const own = { mine: batch.strings_from }; own.yours = batch["theirs"]; return own.mine.toFixed(own.yours); };');
    const { kept, foreign } = names(folder);
    assert.deepEqual(["strings_from", "theirs", "toFixed", "mine", "yours"].map((name) => kept.includes(name)), [true, true, true, false, false]);
    assert.deepEqual(["strings_from", "theirs", "toFixed"].map((name) => foreign.has(name)), [false, false, true]);
    writeFileSync(`${folder}b.js`, "export const g = (list) => list.newerThanWeKnow();");
    assert.throws(() => names(folder), /nobody defines newerThanWeKnow: if the browser does/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("both bundles load, and export what their hosts call", async () => {
  Object.assign(globalThis, { document: { getElementById: () => null }, requestAnimationFrame() {}, cancelAnimationFrame() {} });
  const [dashboard, replay] = await Promise.all(["dashboard", "replay"].map((name) => loaded(readFileSync(new URL(`../../dashboard/static/${name}.js`, HERE), "utf8"))));
  assert.deepEqual(Object.keys(dashboard.default), ["initialize", "render"]);
  assert.deepEqual(Object.keys(replay.default), ["render"]);
});
