// Spans of one row of a timeline, with a pyramid of blocks, so that a frame costs what it shows and not what there is.
//
// Level 0 are the spans, by start. A block of level k stands for four of level k-1: from its first start to its last
// end, with its busy seconds and the colour that most of them have. To paint, blocks narrower than a pixel are put
// down whole and wider ones are opened; so a row of W pixels opens about W blocks a level. Blocks of indices and not
// of time need no bin width to be chosen, and a row may hold microseconds and hours.

import { above, Column, f8, grown, u2, u4 } from "./columns.js";

const FAN = 4, BITS = 2;

/** Spans are busy from their start to their end. @typedef {{start: Float64Array, end: Float64Array, key: Uint16Array, busy?: Float64Array, n: number}} Level */

export class Row {
  constructor() {
    this.start = new Column(f8);
    this.end = new Column(f8);
    this.ref = new Column(u4);
    this.key = new Column(u2);
    /** @type {Level[]} */
    this.levels = [];
    /** Spans of which the blocks are right. */
    this._built = 0;
    this._reach = -Infinity;
  }

  get n() {
    return this.start.n;
  }

  get last() {
    return this._reach;
  }

  /**
   * Adds a span. A device runs one computation at a time, but one is measured from its handing over, while its
   * predecessor still runs: so a span begins where the one before it ends.
   */
  add(/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ ref, /** @type {number} */ key) {
    const at = this.n && start < this.start.a[this.n - 1] ? above(this.start.a, start, 0, this.n) : this.n;
    if (at > 0) start = Math.min(end, Math.max(start, this.end.a[at - 1]));
    if (at < this.n) end = Math.max(start, Math.min(end, this.start.a[at]));
    this.start.insert(at, start);
    this.end.insert(at, end);
    this.ref.insert(at, ref);
    this.key.insert(at, key);
    this._built = Math.min(this._built, at);
    if (end > this._reach) this._reach = end;
  }

  /** Colours it anew. */
  rekey(/** @type {(ref: number) => number} */ keyOf) {
    for (let i = 0; i < this.n; i++) this.key.a[i] = keyOf(this.ref.a[i]);
    this._built = 0;
  }

  /**
   * Adds to `cover` how much of each pixel is busy, and to `keys` the colour that covers most of it.
   * @param {number} from @param {number} scale pixels a second
   * @param {Float32Array} cover @param {Float32Array} best @param {Uint16Array} keys
   */
  paint(from, scale, cover, best, keys) {
    this._build();
    const width = cover.length, to = from + width / scale;
    const put = (/** @type {number} */ px, /** @type {number} */ part, /** @type {number} */ key) => {
      cover[px] += part;
      if (part > best[px]) {
        best[px] = part;
        keys[px] = key;
      }
    };
    const span = (/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ key) => {
      const a = Math.max(0, (start - from) * scale), b = Math.min(width, (end - from) * scale);
      const first = Math.floor(a), last = Math.min(width - 1, Math.floor(b));
      if (first >= width || b <= 0) return;
      if (first === last) return put(first, b - a, key);
      put(first, first + 1 - a, key);
      for (let px = first + 1; px < last; px++) put(px, 1, key);
      put(last, b - last, key);
    };
    const visit = (/** @type {number} */ level, /** @type {number} */ low, /** @type {number} */ high) => {
      if (level === 0) {
        const s = this.start.a, e = this.end.a, k = this.key.a;
        for (let i = low; i < high; i++) {
          const a = (s[i] - from) * scale, b = (e[i] - from) * scale, px = a | 0;
          if (a < 0 || b >= px + 1) {
            if (e[i] > from && s[i] < to) span(s[i], e[i], k[i]);
          } else if (px < width) {
            // Nearly all are within one pixel; a call each would cost most of the frame.
            const part = b - a;
            cover[px] += part;
            if (part > best[px]) {
              best[px] = part;
              keys[px] = k[i];
            }
          }
        }
        return;
      }
      const { start, end, busy, key } = this.levels[level - 1], below = this._level(level - 1).n;
      for (let i = low; i < high; i++) {
        if (end[i] <= from || start[i] >= to) continue;
        const px = Math.floor((start[i] - from) * scale);
        if (px >= 0 && (end[i] - start[i]) * scale <= 1) put(px, busy[i] * scale, key[i]);
        else visit(level - 1, i << BITS, Math.min((i + 1) << BITS, below));
      }
    };
    visit(this.levels.length, 0, this._level(this.levels.length).n);
  }

  /** The blocks of a level; those of level 0 are the spans. @param {number} level @returns {Level} */
  _level(level) {
    return level ? this.levels[level - 1] : { start: this.start.a, end: this.end.a, key: this.key.a, n: this.n };
  }

  /** Busy seconds between two times. */
  busy(/** @type {number} */ from, /** @type {number} */ to) {
    this._build();
    let sum = 0;
    const visit = (/** @type {number} */ level, /** @type {number} */ low, /** @type {number} */ high) => {
      const { start, end, busy } = this._level(level);
      for (let i = low; i < high; i++) {
        if (end[i] <= from) continue;
        if (start[i] >= to) return;
        if (level && (start[i] < from || end[i] > to)) visit(level - 1, i << BITS, Math.min((i + 1) << BITS, this._level(level - 1).n));
        else sum += busy ? busy[i] : Math.min(end[i], to) - Math.max(start[i], from);
      }
    };
    visit(this.levels.length, 0, this._level(this.levels.length).n);
    return sum;
  }

  /** Indices of the spans that touch a stretch of time: [first, after the last]. */
  range(/** @type {number} */ from, /** @type {number} */ to) {
    return [above(this.end.a, from, 0, this.n), above(this.start.a, to, 0, this.n)];
  }

  /** Index of the span at a time, or -1; `slack` seconds beside it count too. */
  at(/** @type {number} */ time, slack = 0) {
    const i = above(this.start.a, time, 0, this.n) - 1;
    if (i >= 0 && this.end.a[i] >= time) return i;
    const left = i >= 0 ? time - this.end.a[i] : Infinity;
    const right = i + 1 < this.n ? this.start.a[i + 1] - time : Infinity;
    if (Math.min(left, right) > slack) return -1;
    return left <= right ? i : i + 1;
  }

  _build() {
    if (this._built === this.n) return;
    let low = this._built, count = this.n;
    for (let level = 0; count > FAN; level++) {
      const blocks = Math.ceil(count / FAN);
      let out = this.levels[level];
      if (!out || out.start.length < blocks) {
        const room = Math.max(32, blocks * 2), none = new f8(0), { start = none, end = none, busy = none, key = new u2(0) } = out ?? {};
        out = this.levels[level] = { start: grown(start, room), end: grown(end, room), busy: grown(busy, room), key: grown(key, room), n: 0 };
      }
      const { start, end, busy: parts, key } = this._level(level);
      for (let b = low >> BITS; b < blocks; b++) {
        const first = b << BITS, last = Math.min(first + FAN, count);
        let busy = 0, most = -1;
        for (let i = first; i < last; i++) {
          const part = parts ? parts[i] : end[i] - start[i];
          busy += part;
          if (part > most) {
            most = part;
            out.key[b] = key[i];
          }
        }
        out.start[b] = start[first];
        out.end[b] = end[last - 1];
        out.busy[b] = busy;
      }
      out.n = blocks;
      low >>= BITS;
      count = blocks;
      if (count <= FAN) this.levels.length = level + 1;
    }
    this._built = this.n;
  }
}
