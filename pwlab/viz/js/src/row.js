// Spans of one row of a timeline, with a pyramid of blocks, so that a frame costs what it shows and not what there is.
//
// Level 0 are the spans, by start. A block of level k stands for four of level k-1: from its first start to its last
// end, with its busy seconds and the colour that most of them have. To paint, blocks narrower than a pixel are put
// down whole and wider ones are opened; so a row of W pixels opens about W blocks a level. Blocks of indices and not
// of time need no bin width to be chosen, and a row may hold microseconds and hours.

import { above, Column, f8, u2, u4 } from "./columns.js";

const FAN = 4, BITS = 2;

export class Row {
  constructor() {
    this.start = new Column(f8);
    this.end = new Column(f8);
    this.ref = new Column(u4);
    this.key = new Column(u2);
    /** @type {{start: Float64Array, end: Float64Array, busy: Float64Array, key: Uint16Array, n: number}[]} */
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
      const { start, end, busy, key, n } = this.levels[level - 1];
      const stop = Math.min(high, n), below = level === 1 ? this.n : this.levels[level - 2].n;
      for (let i = low; i < stop; i++) {
        if (end[i] <= from || start[i] >= to) continue;
        const px = Math.floor((start[i] - from) * scale);
        if (px >= 0 && (end[i] - start[i]) * scale <= 1) put(px, busy[i] * scale, key[i]);
        else visit(level - 1, i << BITS, Math.min((i + 1) << BITS, below));
      }
    };
    const top = this.levels.length;
    visit(top, 0, top ? this.levels[top - 1].n : this.n);
  }

  /** Busy seconds between two times. */
  busy(/** @type {number} */ from, /** @type {number} */ to) {
    this._build();
    let sum = 0;
    const visit = (/** @type {number} */ level, /** @type {number} */ low, /** @type {number} */ high) => {
      for (let i = low; i < high; i++) {
        const block = level ? this.levels[level - 1] : null;
        const start = block ? block.start[i] : this.start.a[i], end = block ? block.end[i] : this.end.a[i];
        if (end <= from) continue;
        if (start >= to) return;
        if (block && (start < from || end > to)) visit(level - 1, i << BITS, Math.min((i + 1) << BITS, level === 1 ? this.n : this.levels[level - 2].n));
        else sum += block ? block.busy[i] : Math.min(end, to) - Math.max(start, from);
      }
    };
    const top = this.levels.length;
    visit(top, 0, top ? this.levels[top - 1].n : this.n);
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
        const room = Math.max(32, blocks * 2), old = out;
        out = { start: new f8(room), end: new f8(room), busy: new f8(room), key: new u2(room), n: 0 };
        if (old) {
          out.start.set(old.start);
          out.end.set(old.end);
          out.busy.set(old.busy);
          out.key.set(old.key);
        }
        this.levels[level] = out;
      }
      const from = level ? this.levels[level - 1] : null;
      const start = from ? from.start : this.start.a, end = from ? from.end : this.end.a, key = from ? from.key : this.key.a;
      for (let b = low >> BITS; b < blocks; b++) {
        const first = b << BITS, last = Math.min(first + FAN, count);
        let busy = 0, most = -1;
        for (let i = first; i < last; i++) {
          const part = from ? from.busy[i] : end[i] - start[i];
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
