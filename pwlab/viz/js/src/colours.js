// One stable colour a name: by a hash of it, so that it has the same in every run; the next free one where two names
// of a run meet. Colours are numbers into a palette, of which a theme has a light and a dark form.

/** Hues far apart first; each [light, dark]. Text on light ones is dark and the reverse. */
export const PALETTE = [
  ["#4a7fd6", "#6c9ff2"], ["#e08a2e", "#f0a04b"], ["#3d9a5f", "#58bf7d"], ["#b455b0", "#d07fd0"],
  ["#c9a227", "#dcc052"], ["#2b9c9c", "#4bbfbf"], ["#d1607f", "#ea829d"], ["#7b68c8", "#9d8ce8"],
  ["#7f9c2c", "#a3c14f"], ["#a56b46", "#c58d68"], ["#3f93c4", "#63b5e3"], ["#cf6f4e", "#e98f70"],
  ["#5b8c7b", "#7fb3a1"], ["#9d6a94", "#c08db7"], ["#6f7f99", "#93a4c0"], ["#5d9e46", "#82c26a"],
];
export const NAMES = PALETTE.length;
/** Keys beyond the names. */
export const KEY = { ici: NAMES, dcn: NAMES + 1, pcie: NAMES + 2, wait: NAMES + 3, compile: NAMES + 4, failed: NAMES + 5 };
const SPECIAL = [
  ["#0b7fab", "#4cc3ee"], ["#c2570c", "#ff9d57"], ["#7a6a00", "#d6c14a"],
  ["#b08a3c", "#c9a659"], ["#7d8794", "#8f99a8"], ["#c92a2a", "#ff6b63"],
];

export function colour(/** @type {number} */ key, /** @type {boolean} */ dark) {
  return (key < NAMES ? PALETTE[key] : SPECIAL[key - NAMES])[dark ? 1 : 0];
}

export function hash(/** @type {string} */ text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
  return h;
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
      key = hash(name) % NAMES;
      if (this._taken.size < NAMES) while (this._taken.has(key)) key = (key + 1) % NAMES;
      this._taken.add(key);
      this.keys.set(name, key);
    }
    return key;
  }
}
