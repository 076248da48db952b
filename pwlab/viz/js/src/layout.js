// Where the rectangles of a graph stand: pwlab/viz/layout.py in JavaScript. That module says how it works; a test
// compares the two, so change both or none.

import { had, times } from "./columns.js";

export const GAP = 14, ROW_GAP = 30, BAND_HEAD = 30, LANE_HEAD = 30, ISLAND_GAP = 22;
const BEND = 8;
/** All lanes together are about so wide at most, and each is at least so wide, before rows are broken; the narrowest item. */
const MOST_WIDE = 1650, LEAST_WIDE = 520, NARROWEST = 96;

/** @typedef {{lane: number, w: number, h: number}} Item */

/**
 * Places items, given in topological order; each edge leads from a smaller to a greater index.
 * @param {Item[]} items @param {[number, number][]} edges
 * @param {number[]} laneWidths least width of each lane @param {number[]} laneGaps 1 where an island begins
 * @param {number[]} most what comes later must fit into so wide a lane, where that can be
 */
export function place(items, edges, laneWidths, laneGaps, most = laneWidths.map(() => Infinity)) {
  const real = items.length, limits = most.map((wide) => wide - 2 * GAP);
  const [rows, taken] = rowsOf(items, edges, limits);
  const lanes = items.map((i) => i.lane), widths = items.map((i) => i.w);
  const chains = bend(rows, lanes, widths, edges, taken, limits);
  const cells = cellsOf(rows, lanes, laneWidths.length);
  /** @type {number[][]} */
  let up = rows.map(() => []), down = rows.map(() => []);
  const seen = new Set();
  for (const chain of chains) {
    for (let k = 1; k < chain.length; k++) {
      const a = chain[k - 1], b = chain[k], key = a * rows.length + b;
      if (seen.has(key)) continue;
      seen.add(key);
      up[b].push(a);
      down[a].push(b);
    }
  }
  const [lefts, wide] = lanesOf(cells, widths, laneWidths, laneGaps);
  const middle = new Float64Array(rows.length), wish = new Float64Array(rows.length);
  for (const row of cells) spread(row, widths, middle, lefts, wide);
  for (let n = 0; n < 4; n++) sweep(cells, n % 2 ? down : up, n % 2 === 1, widths, middle, wish, lefts, wide, true);
  for (const row of cells) spread(row, widths, middle, lefts, wide);
  [up, down] = [weighted(up, lanes, real), weighted(down, lanes, real)];
  const both = up.map((ns, i) => ns.concat(down[i]));
  [up, down, both, both, both, both].forEach((near, n) => sweep(cells, near, n % 2 === 1, widths, middle, wish, lefts, wide, false));
  straighten(chains, cells, widths, middle, lefts, wide, lanes, real);
  const [tops, heights] = topsOf(items, rows, cells.length);
  const end = (tops.length ? tops[tops.length - 1] + heights[tops.length - 1] : BAND_HEAD + LANE_HEAD) + 2 * GAP;
  return {
    at: items.map((item, i) => [middle[i] - item.w / 2, tops[rows[i]] + (heights[rows[i]] - item.h) / 2]),
    paths: chains.map((chain) => path(chain, items, rows, middle, tops, heights, real)),
    lanes: lefts.map((x, i) => [x, wide[i]]),
    top: BAND_HEAD,
    width: lefts.length ? lefts[lefts.length - 1] + wide[wide.length - 1] + GAP : 200,
    height: end,
  };
}

/**
 * The row of each item: the longest path that leads to it, or the first below in which its lane has room.
 * Beside the rows, how much of each is taken in each lane.
 * @param {Item[]} items @param {[number, number][]} edges @param {number[]} limits @returns {[number[], number[][]]}
 */
function rowsOf(items, edges, limits) {
  const common = Math.max(LEAST_WIDE, MOST_WIDE / Math.max(1, limits.length)), row = new Array(items.length).fill(0);
  const taken = limits.map(() => /** @type {number[]} */ ([])), full = limits.map(() => /** @type {number[]} */ ([]));
  const ordered = [...edges].sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  let at = 0;
  items.forEach(({ lane, w }, i) => {
    const used = taken[lane], limit = Math.min(common, limits[lane]);
    let to = past(full[lane], row[i]);
    while (used[to] && used[to] + w > limit) to = past(full[lane], to + 1);
    row[i] = to;
    used[to] = (used[to] ?? 0) + w + GAP;
    if (used[to] + NARROWEST > limit) full[lane][to] = to + 1;
    for (; at < ordered.length && ordered[at][0] === i; at++) row[ordered[at][1]] = Math.max(row[ordered[at][1]], to + 1);
  });
  return [row, taken];
}

/** The first row from `row` on that is not full; each full one is told where that is. @param {number[]} full @param {number} row */
function past(full, row) {
  let end = row;
  while (full[end]) end = full[end];
  while (full[row]) [full[row], row] = [end, full[row]];
  return end;
}

/**
 * Breaks long edges where they pass rows, and where there is room.
 * @param {number[]} rows @param {number[]} lanes @param {number[]} widths @param {[number, number][]} edges
 * @param {number[][]} taken @param {number[]} limits
 */
function bend(rows, lanes, widths, edges, taken, limits) {
  let budget = Math.max(64, rows.length);
  /** @type {Map<string, number>} */
  const shared = new Map();
  const order = edges.map((_, i) => i);
  const span = (/** @type {number} */ i) => rows[edges[i][1]] - rows[edges[i][0]];
  order.sort((x, y) => span(x) - span(y) || edges[x][0] - edges[y][0] || edges[x][1] - edges[y][1]);
  /** @type {number[][]} */
  const chains = new Array(edges.length);
  for (const at of order) {
    const [a, b] = edges[at], chain = [a], lane = lanes[b], used = taken[lane];
    const between = rows[b] - rows[a] - 1, passed = times(between > budget ? 0 : between, (k) => rows[a] + 1 + k), key = (/** @type {number} */ row) => `${a} ${lane} ${row}`;
    if (passed.every((row) => shared.has(key(row)) || (used[row] ?? 0) + BEND <= limits[lane])) {
      for (const row of passed) {
        chain.push(had(shared, key(row), () => {
          used[row] = (used[row] ?? 0) + BEND + GAP;
          lanes.push(lane);
          widths.push(BEND);
          budget--;
          return rows.push(row) - 1;
        }));
      }
    }
    chain.push(b);
    chains[at] = chain;
  }
  return chains;
}

/** @param {number[]} rows @param {number[]} lanes @param {number} laneCount @returns {number[][][]} */
function cellsOf(rows, lanes, laneCount) {
  let last = -1;
  for (const row of rows) if (row > last) last = row;
  const cells = times(last + 1, () => times(laneCount, () => /** @type {number[]} */ ([])));
  rows.forEach((row, i) => cells[row][lanes[i]].push(i));
  return cells;
}

/** @param {number[]} cell @param {number[]} widths */
function total(cell, widths) {
  let sum = 0;
  for (const i of cell) sum += widths[i] + GAP;
  return sum;
}

/** @param {number[][][]} cells @param {number[]} widths @param {number[]} least @param {number[]} gaps */
function lanesOf(cells, widths, least, gaps) {
  const wide = [...least];
  for (const row of cells) row.forEach((cell, lane) => cell.length && (wide[lane] = Math.max(wide[lane], total(cell, widths) + GAP)));
  const lefts = [];
  let x = GAP;
  for (let i = 0; i < wide.length; i++) {
    x += gaps[i] * (ISLAND_GAP + GAP);
    lefts.push(x);
    x += wide[i] + GAP;
  }
  return [lefts, wide];
}

/** @param {number[][]} row @param {number[]} widths @param {Float64Array} middle @param {number[]} lefts @param {number[]} wide */
function spread(row, widths, middle, lefts, wide) {
  row.forEach((cell, lane) => {
    let x = lefts[lane] + (wide[lane] - total(cell, widths) + GAP) / 2;
    for (const i of cell) {
      middle[i] = x + widths[i] / 2;
      x += widths[i] + GAP;
    }
  });
}

/**
 * @param {number[][][]} cells @param {number[][]} near @param {boolean} upwards @param {number[]} widths
 * @param {Float64Array} middle @param {Float64Array} wish @param {number[]} lefts @param {number[]} wide @param {boolean} sort
 */
function sweep(cells, near, upwards, widths, middle, wish, lefts, wide, sort) {
  for (let n = 0; n < cells.length; n++) {
    cells[upwards ? cells.length - 1 - n : n].forEach((cell, lane) => {
      if (!cell.length) return;
      for (const i of cell) {
        const ns = near[i];
        let sum = 0;
        for (const j of ns) sum += middle[j];
        wish[i] = ns.length ? sum / ns.length : middle[i];
      }
      if (sort) cell.sort((a, b) => wish[a] - wish[b]);
      settle(cell, wish, widths, middle, lefts[lane] + GAP, lefts[lane] + wide[lane] - GAP);
    });
  }
}

/** @param {number[][]} near @param {number[]} lanes @param {number} real */
function weighted(near, lanes, real) {
  return near.map((ns, i) => {
    const out = [];
    for (const j of ns) {
      if (lanes[j] !== lanes[i]) continue;
      const times = i >= real && j >= real ? 6 : i >= real || j >= real ? 2 : 1;
      for (let k = 0; k < times; k++) out.push(j);
    }
    return out;
  });
}

/** @param {number[]} cell @param {Float64Array} wish @param {number[]} widths @param {Float64Array} middle @param {number} left @param {number} right */
function settle(cell, wish, widths, middle, left, right) {
  const offsets = [];
  let x = 0;
  for (const i of cell) {
    offsets.push(x + widths[i] / 2);
    x += widths[i] + GAP;
  }
  const slack = Math.max(0, right - left - (x - GAP));
  const values = [], sizes = [];
  for (let k = 0; k < cell.length; k++) {
    let value = wish[cell[k]] - offsets[k], size = 1;
    while (values.length && values[values.length - 1] > value) {
      const other = values.pop() ?? 0, n = sizes.pop() ?? 0;
      value = (other * n + value * size) / (n + size);
      size += n;
    }
    values.push(value);
    sizes.push(size);
  }
  let k = 0;
  values.forEach((raw, p) => {
    const value = Math.min(Math.max(raw, left), left + slack);
    for (let n = 0; n < sizes[p]; n++, k++) middle[cell[k]] = value + offsets[k];
  });
}

/**
 * @param {number[][]} chains @param {number[][][]} cells @param {number[]} widths @param {Float64Array} middle
 * @param {number[]} lefts @param {number[]} wide @param {number[]} lanes @param {number} real
 */
function straighten(chains, cells, widths, middle, lefts, wide, lanes, real) {
  /** @type {Map<number, [number, number]>} */
  const beside = new Map();
  for (const row of cells) for (const cell of row) cell.forEach((i, k) => i >= real && beside.set(i, [k ? cell[k - 1] : -1, k + 1 < cell.length ? cell[k + 1] : -1]));
  const done = new Set();
  for (const chain of chains) {
    /** @type {number[]} */
    let run = [];
    let low = -Infinity, high = Infinity;
    for (const i of [...chain.filter((c) => c >= real && !done.has(c)), -1]) {
      let free = [0, 0];
      if (i >= 0) {
        done.add(i);
        const [left, right] = /** @type {[number, number]} */ (beside.get(i));
        const near = lefts[lanes[i]], far = near + wide[lanes[i]];
        free = [(left < 0 ? near : middle[left] + widths[left] / 2) + GAP + BEND / 2, (right < 0 ? far : middle[right] - widths[right] / 2) - GAP - BEND / 2];
        if (Math.max(low, free[0]) <= Math.min(high, free[1])) {
          low = Math.max(low, free[0]);
          high = Math.min(high, free[1]);
          run.push(i);
          continue;
        }
      }
      if (run.length) {
        let sum = 0;
        for (const k of run) sum += middle[k];
        for (const k of run) middle[k] = Math.min(Math.max(sum / run.length, low), high);
      }
      if (i >= 0) [run, low, high] = [[i], free[0], free[1]];
    }
  }
}

/** @param {Item[]} items @param {number[]} rows @param {number} n @returns {[number[], number[]]} */
function topsOf(items, rows, n) {
  /** @type {number[]} */
  const heights = new Array(n).fill(0), tops = [];
  items.forEach((item, i) => (heights[rows[i]] = Math.max(heights[rows[i]], item.h)));
  let y = BAND_HEAD + LANE_HEAD + 6;
  for (const height of heights) {
    tops.push(y);
    y += height + ROW_GAP;
  }
  return [tops, heights];
}

/**
 * @param {number[]} chain @param {Item[]} items @param {number[]} rows @param {Float64Array} middle
 * @param {number[]} tops @param {number[]} heights @param {number} real @returns {[number, number][]}
 */
function path(chain, items, rows, middle, tops, heights, real) {
  /** @type {[number, number][]} */
  const points = [];
  const put = (/** @type {number} */ x, /** @type {number} */ y) => {
    if (!points.some((p) => p[0] === x && p[1] === y)) points.push([x, y]);
  };
  chain.forEach((i, k) => {
    const y = tops[rows[i]], height = heights[rows[i]];
    const inset = i >= real ? 0 : (height - items[i].h) / 2;
    if (k || i >= real) put(middle[i], y);
    if (i >= real) put(middle[i], y + height);
    else if (k === 0) {
      put(middle[i], y + height - inset);
      put(middle[i], y + height);
    } else put(middle[i], y + inset);
  });
  return points;
}
