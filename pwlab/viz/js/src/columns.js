// Typed arrays that grow.

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
    /** @type {any} */
    this.types = types;
    this.n = 0;
    this.room = 256;
    /** @type {Record<string, any>} */
    this.c = {};
    for (const name in types) this.c[name] = new types[name](this.room);
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

/** Numbers by id, where ids are small and dense; `empty` where nothing was set. */
export class ById {
  /** @param {any} Type @param {number} empty */
  constructor(Type, empty) {
    this.empty = empty;
    this.a = new Type(1024).fill(empty);
  }

  get(/** @type {number} */ id) {
    return id < this.a.length ? this.a[id] : this.empty;
  }

  set(/** @type {number} */ id, /** @type {number} */ value) {
    if (id >= this.a.length) {
      const old = this.a.length;
      this.a = grown(this.a, Math.max(id + 1, old * 2));
      this.a.fill(this.empty, old);
    }
    this.a[id] = value;
  }
}

function grown(/** @type {any} */ old, /** @type {number} */ room) {
  const more = new old.constructor(room);
  more.set(old);
  return more;
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
