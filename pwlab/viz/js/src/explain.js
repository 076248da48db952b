// What the words mean, for learners.

import { h } from "./dom.js";

/** @type {Record<string, string>} */
export const WORDS = {
  island: "An island is a group of accelerators joined by a fast network of their own.",
  slice: "A virtual slice is a share of an island's devices, as a program asked for it.",
  gang: "A computation on many devices is a gang: all its members launch together or none does.",
  DCN: "DCN is the data-centre network between islands: far slower than the network within one.",
  ICI: "ICI is the fast network between the devices of one island.",
  client: "A client is one who submits programs; many can share the same islands.",
  program: "A program is one run of a cell, or one call of a @pw.program.",
  waits: "Where the cell's own thread waited for a value, such as float(x).",
  compiling: "XLA turns a computation into machine code, once for each new shape.",
  computing: "The device ran a computation.",
  preparing: "The next computation was being compiled.",
  "waiting for input": "The next computation was known, but what it reads was still being computed.",
  transfer: "What the next computation reads was on its way between slices.",
  dispatch: "All inputs were there: the controller or the host was preparing the launch.",
  "nothing queued": "No computation was known for this device; the program had not got there yet.",
};

/** A word; with its meaning where the dashboard explains. @param {any} app @param {string} text */
export function word(app, text) {
  return app.options.explain && WORDS[text] ? h("abbr", { title: WORDS[text] }, text) : text;
}
