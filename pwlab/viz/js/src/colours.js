// One stable colour a name, told by the name alone where that is free, as pwlab/viz/palette.py gives them. Colours are
// numbers: a hue, plain, striped or dotted. What is no computation has numbers of its own above them.

import { DARK, LIGHT } from "./palette.js";

const HUES = LIGHT.hues.length;
/** Names that can be told apart. */
export const NAMES = 3 * HUES;
/** Keys beyond the names; that of a network is `move` and its number. */
export const KEY = { move: NAMES, wait: NAMES + 4, compile: NAMES + 5, control: NAMES + 6, program: NAMES + 7, failed: NAMES + 8 };
/** The patterns of those after the networks. */
const MARKS = ["wait", "compile", "control", "", "failed"];
const KEYS = NAMES + 9;

/** The strong colour of each key, for lines and for what is drawn in pixels. */
const LINES = [LIGHT, DARK].map((theme) => [
  ...Array.from({ length: NAMES }, (_, key) => theme.hues[key % HUES][1]), ...theme.links, theme.wait, theme.compile, theme.control, theme.program, theme.failed,
]);

export function colour(/** @type {number} */ key, /** @type {boolean} */ dark) {
  return LINES[+dark][key];
}

/** What fills a box: a light tint of a name's hue, or the paper. */
export function tint(/** @type {number} */ key, /** @type {boolean} */ dark) {
  const theme = dark ? DARK : LIGHT;
  return key < NAMES ? theme.hues[key % HUES][0] : theme.paper;
}

/** The pattern over a box, as BOX_MARKS calls it; "" has none. */
export function mark(/** @type {number} */ key) {
  if (key < NAMES) return ["", "stripes", "dots"][Math.floor(key / HUES)];
  return MARKS[key - KEY.wait] ?? "move";
}

/** The background of a key's entry in a legend. */
export function swatch(/** @type {number} */ key, /** @type {boolean} */ dark) {
  const [line, fill, over] = [colour(key, dark), tint(key, dark), mark(key)];
  if (over === "stripes") return `repeating-linear-gradient(135deg,${line} 0 2px,${fill} 2px 4px)`;
  return over === "dots" ? `radial-gradient(${line} 40%,${fill} 45%) 0 0/4px 4px` : line;
}

/** The strong colours as the words that ImageData holds. */
export function words(/** @type {boolean} */ dark) {
  return Uint32Array.from({ length: KEYS }, (_, key) => {
    const n = parseInt(colour(key, dark).slice(1), 16);
    return (((n & 255) << 16) | (n & 0xff00) | (n >> 16) | 0xff000000) >>> 0;
  });
}

/** CRC-32 of a text as UTF-8. */
export function hash(/** @type {string} */ text) {
  let crc = -1;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** Gives colours to names. */
export class Colours {
  constructor() {
    /** @type {Map<string, number>} */
    this.keys = new Map();
    this._taken = new Set();
  }

  of(/** @type {string} */ name) {
    let key = this.keys.get(name);
    if (key === undefined) {
      const own = hash(name) % HUES;
      key = own;
      if (this._taken.has(own) && this._taken.size < NAMES) for (key = 0; this._taken.has(key); key++);
      this._taken.add(key);
      this.keys.set(name, key);
    }
    return key;
  }
}
