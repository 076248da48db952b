// What a widget of either kind does first.

import { h } from "./dom.js";

/** What Python set. @param {any} model @returns {import("./app.js").Options} */
export function settings(model) {
  return /** @type {any} */ (Object.fromEntries(["tab", "single", "words", "height"].map((name) => [name, model.get(name)])));
}

/** Hides the static picture beside a widget, which is for where this does not run. @param {any} model @param {HTMLElement} el */
export function standIn(model, el) {
  const kind = `.pwlab-static-${model.get("key")}`;
  el.append(h("style", `${kind},.jp-OutputArea-child:has(>.jp-OutputArea-output ${kind}){display:none!important}`));
}
