// Typed arrays that grow.

/** Types of numbers, as numpy and the wire call them. */
export const u1 = Uint8Array, u2 = Uint16Array, u4 = Uint32Array, i4 = Int32Array, f4 = Float32Array, f8 = Float64Array;

/** A column of numbers. */
export class Column {
  /** @param {any} Type a typed array @param {number} room */
  constructor(Type, room = 256) {
    this.a = new Type(room);
    this.n = 0;
  }

  /** @param {number} value */
  push(value) {
    if (this.n === this.a.length) this.a = grown(this.a, this.n * 2);
    this.a[this.n++] = value;
  }

  /** Gives back the room that is not needed. */
  shrink() {
    this.a = grown(this.a.subarray(0, this.n), Math.max(256, this.n * 2));
  }

  /** Puts `value` at `at` and moves what is behind it. */
  insert(/** @type {number} */ at, /** @type {number} */ value) {
    this.push(value);
    if (at < this.n - 1) {
      this.a.copyWithin(at + 1, at, this.n - 1);
      this.a[at] = value;
    }
  }
}

/** Columns of one length. */
export class Table {
  /** @param {Record<string, any>} types name → typed array */
  constructor(types) {
    this.n = 0;
    this.room = 256;
    /** @type {Record<string, any>} */
    this.c = {};
    for (const name in types) this.c[name] = new types[name](this.room);
  }

  /** Gives back the room that is not needed. */
  shrink() {
    this.room = Math.max(256, this.n * 2);
    for (const name in this.c) {
      this.c[name] = grown(this.c[name].subarray(0, this.n), this.room);
    }
  }

  /** A new row of zeros; its index. */
  add() {
    if (this.n === this.room) {
      this.room *= 2;
      for (const name in this.c) this.c[name] = grown(this.c[name], this.room);
    }
    return this.n++;
  }
}

/** Numbers by id, where ids come densely but may begin anywhere; `empty` where nothing was set. */
export class ById {
  /** @param {any} Type @param {number} empty */
  constructor(Type, empty) {
    this.empty = empty;
    this.a = new Type(1024).fill(empty);
    /** The id of the first number; of older ones there are few. */
    this.from = -1;
    /** @type {Map<number, number>} */
    this.few = new Map();
  }

  get(/** @type {number} */ id) {
    const at = id - this.from;
    return at < 0 ? this.few.get(id) ?? this.empty : at < this.a.length ? this.a[at] : this.empty;
  }

  set(/** @type {number} */ id, /** @type {number} */ value) {
    // After a gap that is large against what is there, the dense part begins anew.
    if (this.from < 0 || id - this.from >= 4 * this.a.length) this._begin(id);
    const at = id - this.from;
    if (at < 0) {
      this.few.set(id, value);
      return;
    }
    if (at >= this.a.length) {
      const old = this.a.length;
      this.a = grown(this.a, Math.max(at + 1, old * 2));
      this.a.fill(this.empty, old);
    }
    this.a[at] = value;
  }

  _begin(/** @type {number} */ id) {
    if (this.from >= 0) this.a.forEach((/** @type {number} */ value, /** @type {number} */ at) => !Object.is(value, this.empty) && this.few.set(this.from + at, value));
    this.a = new this.a.constructor(1024).fill(this.empty);
    this.from = id;
  }
}

/** The same numbers in an array with more room. */
export function grown(/** @type {any} */ old, /** @type {number} */ room) {
  const more = new old.constructor(room);
  more.set(old);
  return more;
}

/** What a map has for a key; made where there is none. @template K, V @param {Map<K, V>} map @param {K} key @param {() => V} make @returns {V} */
export function had(map, key, make) {
  let found = map.get(key);
  if (found === undefined) map.set(key, (found = make()));
  return /** @type {V} */ (found);
}

/** Adds to what a map has for a key; 0 where there is none. @template K @param {Map<K, number>} map @param {K} key */
export function raise(map, key, by = 1) {
  map.set(key, (map.get(key) ?? 0) + by);
}

/** So many things, made of their numbers. @template T @param {number} n @param {(i: number) => T} make @returns {T[]} */
export function times(n, make) {
  return Array.from({ length: n }, (_, i) => make(i));
}

/** The sum of numbers, or of what is `of` each. @param {ArrayLike<any>} all @param {(one: any) => number} [of] @returns {number} */
export function sum(all, of = (one) => one) {
  let whole = 0;
  for (let i = 0; i < all.length; i++) whole += of(all[i]);
  return whole;
}

/** First index in `a[low..high)` whose value is above `x`, where `a` is sorted. */
export function above(/** @type {any} */ a, /** @type {number} */ x, low = 0, high = a.length) {
  while (low < high) {
    const mid = (low + high) >> 1;
    if (a[mid] > x) high = mid;
    else low = mid + 1;
  }
  return low;
}
