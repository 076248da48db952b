// Round marks on an axis of time.

import { secondsText } from "./text.js";

/** The round step of at least `least` seconds. */
export function step(/** @type {number} */ least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const times of [1, 2, 5, 10]) if (power * times >= least * 0.999999) return power * times;
  return power * 10;
}

/**
 * Marks from `from` to `to`, at least `apart` pixels from each other.
 * @param {number} from @param {number} to @param {number} scale pixels a second
 * @returns {{time: number, text: string}[]}
 */
export function ticks(from, to, scale, apart = 90) {
  const by = step(apart / scale);
  const marks = [];
  for (let k = Math.ceil(from / by); k * by <= to && marks.length < 200; k++) {
    const time = k * by;
    marks.push({ time, text: k === 0 ? "0" : `${time < 0 ? "−" : ""}${label(Math.abs(time), by)}` });
  }
  return marks;
}

/** As many digits as the step needs, and no more. */
function label(/** @type {number} */ time, /** @type {number} */ by) {
  if (time >= 100) return secondsText(time) + (by < 1 ? ` ${((time % 1) * 1000).toFixed(0)}` : "");
  const [unit, size] = time >= 1 || by >= 0.1 ? ["s", 1] : time >= 1e-3 || by >= 1e-4 ? ["ms", 1e-3] : ["µs", 1e-6];
  const digits = Math.max(0, Math.ceil(-Math.log10(by / size) - 1e-9));
  return `${(time / size).toFixed(Math.min(7, digits))} ${unit}`;
}
