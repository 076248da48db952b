// How numbers and names are written; the same as pwlab/viz/format.py.

/** The number between two bounds that is nearest to a number. @param {number} low @param {number} x @param {number} high */
export function within(low, x, high) {
  return Math.max(low, Math.min(high, x));
}

const CONTROL = /[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]/g;
const BIDI = /[\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const FLAT = /[\p{M}\u200d\ufe0f]/u;

/** Columns that a text takes; emoji and East Asian characters take two. */
export function width(/** @type {string} */ text) {
  // eslint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text.length;
  let columns = 0;
  for (const char of text) if (!FLAT.test(char)) columns += WIDE.test(char) ? 2 : 1;
  return columns;
}

/** A text in one line of at most `columns`, without invisible characters. */
export function oneLine(/** @type {string} */ text, columns = 32) {
  const cut = text.slice(0, 8 * columns + 64);
  let chars = [...cut];
  chars = [...chars.map((c) => (c.length === 1 ? c.replace(CONTROL, " ") : c)).join("").replace(BIDI, "").split(/\s+/).filter(Boolean).join(" ")];
  if (cut.length === text.length && width(chars.join("")) <= columns) return chars.join("");
  while (chars.length && width(chars.join("")) > columns - 1) chars.length = Math.max(0, Math.min(chars.length - 1, columns - 1));
  return chars.join("").trimEnd() + "…";
}

/** A text in lines of at most `columns`; a word that is longer is cut. */
export function wrapped(/** @type {string} */ text, /** @type {number} */ columns) {
  /** @type {string[]} */
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : oneLine(word, columns);
    if (width(longer) <= columns) line = longer;
    else {
      lines.push(line);
      line = oneLine(word, columns);
    }
  }
  return [...lines, line];
}

export function bytesText(/** @type {number} */ count) {
  if (count < 1024) return `${Math.round(count)} B`;
  let size = count, unit = "B";
  for (unit of ["KB", "MB", "GB", "TB"]) {
    size /= 1024;
    if (size < 999.5) break;
  }
  return `${size < 99.95 ? size.toFixed(1) : size.toFixed(0)} ${unit}`;
}

function threeDigits(/** @type {number} */ x) {
  return x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0);
}

export function secondsText(/** @type {number} */ seconds) {
  if (!(seconds > 0)) return "0 ms";
  if (seconds < 0.9995e-3) return seconds < 1e-6 ? `${(seconds * 1e9).toFixed(0)} ns` : `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 0.9995) return `${threeDigits(seconds * 1e3)} ms`;
  if (seconds < 99.95) return `${threeDigits(seconds)} s`;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${String(whole % 60).padStart(2, "0")} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

export function percent(/** @type {number} */ share) {
  if (share > 0 && share < 0.005) return "<1%";
  return share >= 0.995 && share < 1 ? ">99%" : `${Math.round(share * 100)}%`;
}

/** A whole number, in groups of three digits. */
export function digits(/** @type {number} */ n) {
  return n.toLocaleString("en");
}

export function count(/** @type {number} */ n, /** @type {string} */ one, many = one + "s") {
  return `${digits(n)} ${n === 1 ? one : many}`;
}

/** `Cell In[4]:3`; of a path, its end. */
export function sourceText(/** @type {string} */ cell, /** @type {number} */ line) {
  if (!cell) return "";
  const short = cell.startsWith("Cell ") ? cell : cell.replace(/\\/g, "/").split("/").pop() || cell;
  return `${oneLine(short, 24)}:${line}`;
}

/** `[0, 1, 2, 5]` as `0–2, 5`. */
export function rangesText(/** @type {number[]} */ numbers, most = 4) {
  /** @type {number[][]} */
  const runs = [];
  for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run && n === run[1] + 1) run[1] = n;
    else runs.push([n, n]);
  }
  const texts = runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`));
  return texts.slice(0, most).join(", ") + (texts.length > most ? " …" : "");
}
