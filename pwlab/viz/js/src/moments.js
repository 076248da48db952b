// A run that is known to its end, shown as it was at a moment.
//
// The store's columns say when each node entered each state, so any moment is one walk over them: what had not
// happened yet is taken out of the columns and the logs, of which the whole is kept here. Views then draw the store as
// they always do. Where things stand (rows of the timeline, places in the graph) is told from the whole, so nothing
// moves while it plays.

import { above, f8 } from "./columns.js";
import { LAUNCHED, PREPARED, QUEUED, WAITING } from "./states.js";

/** What is known of a node only when it has ended. */
const LATE = ["end", "ended", "error", "cause"];
const TIMES = ["prepared", "queued", "launched"];

export class Moments {
  /** @param {import("./store.js").Store} store known to its end */
  constructor(store) {
    this.store = store;
    const c = store.nodes.c, n = store.nodes.n;
    /** @type {Record<string, any>} */
    this.whole = {};
    for (const key of [...TIMES, "start", ...LATE]) this.whole[key] = c[key].slice(0, n);
    this._added = rising(n, (i) => c.added[i]);
    const of = (/** @type {any} */ log, /** @type {(at: number) => number} */ time) => ({ log, times: rising(log.n, (k) => time(log.a[k])) });
    this._logs = [
      of(store.launches, (i) => (isNaN(c.launched[i]) ? c.ended[i] : c.launched[i])),
      of(store.compiles, (i) => c.prepared[i]),
      of(store.ends, (i) => c.ended[i]),
      of(store.frees, (buffer) => store.freedAt.get(buffer)),
    ];
    this._programs = [...store.programs.values()].map((program) => ({ program, ended: program.ended, state: program.state }));
    this._counts = new Map(this._programs.map(({ program }) => [program.id, program.counts]));
  }

  /** Shows the run as it was at a time. */
  seek(/** @type {number} */ time) {
    const { store, whole } = this, c = store.nodes.c, n = store.nodes.n;
    if (time < store.moment) store.turns++;
    store.moment = time;
    store.past = above(this._added, time);
    for (const { log, times } of this._logs) log.n = above(times, time);
    store.counts.fill(0);
    store.open.clear();
    store.openPrograms = 0;
    for (const { program, ended, state } of this._programs) {
      const over = ended <= time;
      program.ended = over ? ended : NaN;
      program.state = over ? state : -1;
      program.counts.fill(0);
      if (program.opened <= time && !over) store.openPrograms++;
    }
    store.running = store.openPrograms > 0;
    for (let i = 0; i < n; i++) {
      const known = i < store.past, over = whole.ended[i] <= time;
      let state = WAITING;
      if (over) state = c.fate[i];
      else if (whole.launched[i] <= time) state = LAUNCHED;
      else if (whole.queued[i] <= time) state = QUEUED;
      else if (whole.prepared[i] <= time) state = PREPARED;
      c.state[i] = state;
      for (const key of TIMES) c[key][i] = whole[key][i] <= time ? whole[key][i] : NaN;
      c.start[i] = over ? whole.start[i] : c.launched[i];
      // In columns of whole numbers this is 0: no text, no cause.
      for (const key of LATE) c[key][i] = over ? whole[key][i] : NaN;
      if (!known) continue;
      if (state === LAUNCHED) store.open.add(i);
      store.counts[state]++;
      const counts = this._counts.get(c.program[i]);
      if (counts) counts[state]++;
    }
    store.version++;
  }
}

/** Times that do not fall: the greatest so far. @param {number} n @param {(i: number) => number} time */
function rising(n, time) {
  const out = new f8(n);
  let most = -Infinity;
  for (let i = 0; i < n; i++) {
    const at = time(i);
    if (at > most) most = at;
    out[i] = most;
  }
  return out;
}
