// Who got the devices, as plain data: pwlab/viz/shares.py in JavaScript; a test compares the two.

import { Amounts, BinClock } from "./bins.js";
import { sum, times } from "./columns.js";
import { sliding } from "./totals.js";

/** So many clients have a band of their own; more are one band. */
const BANDS = 7;
/** So many clients stand in the order in which they came; of more, those first that got the least of what they asked for. */
const IN_ORDER = 8;

/** @typedef {import("./usage.js").ClientRow} Row */
/** A client, or all others as one: their part of the device time in each bin, 0 to 1, and what their shares come to in all. @typedef {{clients: Row[], parts: number[], asked: number}} Band */
/** A client's part in each bin, and what its share came to there: 0 where it had no program open. @typedef {{client: Row, parts: ArrayLike<number>, asked: ArrayLike<number>}} Trend */

/**
 * @param {import("./usage.js").Usage} usage @param {ReturnType<import("./usage.js").Usage["view"]>} view
 * @param {(client: Row) => boolean} [wanted] has a band of its own before others
 */
export function shares(usage, view, wanted = () => false) {
  const { used, clients } = view, names = new Set([...usage.store.programs.values()].map(({ client }) => client));
  const came = [...names].map((name) => clients.find((c) => c.client === name)).filter((c) => c !== undefined);
  const seconds = worked(usage, view), weights = came.map((c) => (seconds.get(c.client) ?? []).map((/** @type {number} */ s) => s * c.share));
  const got = came.map((c) => view.byClient.get(c.client) ?? []), given = total(got, used), whole = total(weights, used);
  // What was given out in each bin, by the shares of those that had a program open.
  const entitled = weights.map((weight) => times(used, (bin) => (given[bin] * weight[bin]) / whole[bin] || 0));
  const { rows: parts, bins } = sliding(got, used), { rows: asked } = sliding(entitled, used);
  const trends = new Map(came.map((client, k) => [client, { client, parts: parts[k], asked: asked[k].map((part, bin) => (weights[k][bin] ? part : 0)) }]));
  const order = clients.length > IN_ORDER ? [...clients].sort((a, b) => met(a) - met(b)) : clients;
  const most = [...came].sort((a, b) => +wanted(b) - +wanted(a) || b.parts[0] - a.parts[0]).slice(0, came.length > BANDS + 1 ? BANDS : came.length);
  const groups = [...came.filter((c) => most.includes(c)).map((c) => [c]), came.filter((c) => !most.includes(c))].filter((group) => group.length);
  const all = sum(entitled, sum);
  const bands = groups.map((group) => {
    const rows = group.map((c) => came.indexOf(c));
    return { clients: group, parts: total(rows.map((k) => parts[k]), used), asked: sum(rows, (k) => sum(entitled[k])) / all || 0 };
  });
  return { bins, bands, trends: order.map((client) => trends.get(client) ?? { client, parts: [], asked: [] }) };
}

/**
 * Seconds of each bin in which each client had a program open.
 * @param {import("./usage.js").Usage} usage @param {{step: number, seconds: number}} view
 */
function worked(usage, { step, seconds }) {
  const { store } = usage, amounts = new Amounts(new BinClock(step)), until = new Map();
  for (const { client, opened, ended } of store.programs.values()) {
    if (opened > store.now()) continue;
    const from = Math.max(usage.place(opened), until.get(client) ?? 0), to = isNaN(ended) ? seconds : usage.place(ended);
    if (to <= from) continue;
    amounts.add(client, from, to, 1);
    until.set(client, to);
  }
  return amounts.of;
}

/** @param {ArrayLike<number>[]} rows @param {number} used */
function total(rows, used) {
  return times(used, (bin) => sum(rows, (row) => row[bin] ?? 0));
}

/** How much it got of what it asked for, in tenths. */
function met(/** @type {Row} */ { asked, got }) {
  return asked ? Math.round((10 * got) / asked) : Infinity;
}
