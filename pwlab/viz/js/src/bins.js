// Amounts and levels over time in a fixed number of bins, as pwlab/observe/bins.py: the same facts give the same bins.

import { f8, had, times } from "./columns.js";

export const COUNT = 512;
const FIRST_WIDTH = 2 ** -10;

/** The bins that several series share; times begin at 0. */
export class BinClock {
  constructor(width = FIRST_WIDTH) {
    this.width = width;
    /** @type {{melt: () => void}[]} */
    this.followers = [];
  }

  /** Where a time stands, in bins from the origin; bins widen as they must. */
  place(/** @type {number} */ time) {
    while (time / this.width >= COUNT) {
      this.width *= 2;
      for (const follower of this.followers) follower.melt();
    }
    return time / this.width;
  }

  used(/** @type {number} */ now) {
    return Math.floor(this.place(now)) + 1;
  }
}

/** Seconds by key and bin. */
export class Amounts {
  constructor(/** @type {BinClock} */ clock) {
    this.clock = clock;
    /** @type {Map<any, Float64Array>} */
    this.of = new Map();
    clock.followers.push(this);
  }

  /** @param {any} key @param {number} start @param {number} end @param {number} weight */
  add(key, start, end, weight) {
    this.clock.place(end); // the bins may widen
    const first = this.clock.place(start), last = this.clock.place(end), scale = this.clock.width * weight;
    const row = had(this.of, key, () => new f8(COUNT));
    for (let bin = Math.floor(first); bin < Math.ceil(last); bin++) row[bin] += (Math.min(last, bin + 1) - Math.max(first, bin)) * scale;
  }

  /** The same on a clock of its own, for what is added only to be looked at. */
  copy() {
    const twin = new Amounts(new BinClock(this.clock.width));
    for (const [key, row] of this.of) twin.of.set(key, row.slice());
    return twin;
  }

  melt() {
    for (const row of this.of.values()) {
      for (let bin = 0; bin < COUNT / 2; bin++) row[bin] = row[2 * bin] + row[2 * bin + 1];
      row.fill(0, COUNT / 2);
    }
  }
}

/** A number that changes at moments: the most of it in each bin. Changes of one moment count together. */
export class Level {
  constructor(/** @type {BinClock} */ clock) {
    this.clock = clock;
    this.now = this._peak = 0;
    /** The last moment, and where it stands in the time of the bins. */
    this._moment = -Infinity;
    this._at = 0;
    this._most = new f8(COUNT).fill(NaN);
    this._last = new f8(COUNT).fill(NaN);
    clock.followers.push(this);
  }

  /** @param {number} moment @param {number} at @param {number} by */
  change(moment, at, by) {
    // A moment that is told in two chunks may differ by a microsecond.
    if (moment > this._moment + 1.5e-6) {
      this._settle();
      this._moment = moment;
      this._at = at;
    }
    this.now += by;
  }

  get peak() {
    return Math.max(this._peak, this.now);
  }

  /** The most in each of the first `used` bins. */
  series(/** @type {number} */ used) {
    const present = this._bin();
    let held = 0;
    return times(used, (bin) => {
      const [top, last] = bin === present ? [most(this._most[bin], this.now), this.now] : [this._most[bin], this._last[bin]], shown = most(top, held);
      if (!isNaN(last)) held = last;
      return shown;
    });
  }

  /** The bin of the last moment, which may not be over; -1 before the first. */
  _bin() {
    return this._moment === -Infinity ? -1 : Math.floor(this.clock.place(this._at));
  }

  /** The moment is over. */
  _settle() {
    const bin = this._bin();
    if (bin < 0) return;
    this._peak = this.peak;
    this._most[bin] = most(this._most[bin], this.now);
    this._last[bin] = this.now;
  }

  melt() {
    const { _most: top, _last: last } = this;
    for (let bin = 0; bin < COUNT / 2; bin++) {
      top[bin] = most(top[2 * bin], top[2 * bin + 1]);
      last[bin] = isNaN(last[2 * bin + 1]) ? last[2 * bin] : last[2 * bin + 1];
    }
    top.fill(NaN, COUNT / 2);
    last.fill(NaN, COUNT / 2);
  }
}

/** The larger; the other where one is NaN. */
function most(/** @type {number} */ a, /** @type {number} */ b) {
  return isNaN(a) ? b : isNaN(b) ? a : Math.max(a, b);
}
