// What happened in a stretch of time, as plain data.

import { f8, had, sum } from "./columns.js";

/**
 * @param {import("./store.js").Store} store @param {import("./tracks.js").Tracks} tracks @param {number} from @param {number} to
 */
export function totals(store, tracks, from, to) {
  const c = store.nodes.c;
  /** @type {Map<number, {busy: number, devices: number}>} */
  const islands = new Map();
  /** @type {Map<number, {name: number, launches: number, seconds: number}>} */
  const names = new Map();
  const seen = new Set();
  let moved = 0, transfers = 0;
  for (const track of tracks.devices.values()) {
    const row = track.rows[0];
    const island = had(islands, track.island, () => ({ busy: 0, devices: 0 }));
    island.busy += row.busy(from, to);
    island.devices++;
    const [first, last] = row.range(from, to);
    for (let i = first; i < last; i++) {
      const node = row.ref.a[i], id = c.name[node];
      const name = had(names, id, () => ({ name: id, launches: 0, seconds: 0 }));
      name.seconds += Math.min(row.end.a[i], to) - Math.max(row.start.a[i], from);
      if (!seen.has(node)) {
        seen.add(node);
        name.launches++;
      }
    }
  }
  let waited = 0, waits = 0, control = 0;
  for (const track of tracks.all) {
    if (track.kind !== "transfer" && track.kind !== "wait" && track.kind !== "control") continue;
    for (const row of track.rows) {
      const [first, last] = row.range(from, to);
      for (let i = first; i < last; i++) {
        const ref = row.ref.a[i], within = Math.min(row.end.a[i], to) - Math.max(row.start.a[i], from);
        if (track.kind === "transfer") {
          transfers++;
          moved += c.moved[ref];
        } else if (track.kind === "wait") {
          waits++;
          waited += within;
        } else control += within * (store.works[ref].busy / (row.end.a[i] - row.start.a[i]) || 0);
      }
    }
  }
  const span = to - from;
  return {
    from, to, launches: seen.size, transfers, moved, waits, waited, control,
    islands: [...islands].map(([id, { busy, devices }]) => ({ id, share: span > 0 ? Math.min(1, busy / (span * devices)) : 0, busy })),
    names: [...names.values()].sort((a, b) => b.seconds - a.seconds),
  };
}

/**
 * Each series' part, 0 to 1, of the sum of all in a window that ends at each bin; 0 where nothing was in it.
 * @param {ArrayLike<number>[]} series @param {number} used bins
 */
export function sliding(series, used) {
  const bins = Math.max(1, Math.round(used / 24)), sums = new f8(series.length), rows = series.map(() => new f8(used));
  for (let b = 0; b < used; b++) {
    series.forEach((values, k) => (sums[k] = Math.max(0, sums[k] + (values[b] ?? 0) - (b >= bins ? values[b - bins] ?? 0 : 0))));
    const whole = sum(sums);
    if (whole > 1e-9) rows.forEach((row, k) => (row[b] = sums[k] / whole));
  }
  return { rows, bins };
}
