// The usage of a run that is known to its end: going back begins at the checkpoint before, and not at the start.

import { Usage } from "./usage.js";

/** So many checkpoints, evenly over the run. */
const MARKS = 40;

export class CheckedUsage extends Usage {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    super(store);
    /** What was known at each checkpoint, in order. @type {Record<string, any>[]} */
    this._marks = [];
  }

  update(now = Infinity) {
    const { store, _marks: marks } = this, begin = store.begin(), step = (store.newest - begin) / MARKS;
    if (this._turns !== store.turns && marks.length) {
      const passed = Math.min(marks.length, Math.floor((now - begin) / step));
      if (passed > 0) Object.assign(this, twin(marks[passed - 1]), { _turns: store.turns });
    }
    while (marks.length < MARKS && begin + (marks.length + 1) * step <= now) {
      super.update(begin + (marks.length + 1) * step);
      const { store: _, _marks: __, ...known } = this;
      marks.push(twin(known));
    }
    super.update(now);
  }
}

/** A copy to any depth, in which what was one thing is one thing. @param {any} value @param {Map<any, any>} made @returns {any} */
function twin(value, made = new Map()) {
  if (typeof value !== "object" || value === null) return value;
  if (made.has(value)) return made.get(value);
  if (ArrayBuffer.isView(value)) return /** @type {any} */ (value).slice();
  const copy = Array.isArray(value) ? [] : value instanceof Map ? new Map() : Object.create(Object.getPrototypeOf(value));
  made.set(value, copy);
  if (value instanceof Map) for (const [key, one] of value) copy.set(key, twin(one, made));
  else for (const key of Object.keys(value)) copy[key] = twin(/** @type {any} */ (value)[key], made);
  return copy;
}
