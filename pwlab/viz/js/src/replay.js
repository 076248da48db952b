// The entry of a run that is known to its end: a widget, or a page of its own. Each view of it has a store of its own.

import { App } from "./app.js";
import { unpack } from "./decode.js";
import { Player } from "./player.js";
import { Store } from "./store.js";
import { settings, standIn } from "./widget.js";

/** Gives what ends it. @param {HTMLElement} el @param {Uint8Array | DataView} packed @param {import("./app.js").Options} options */
async function mount(el, packed, options) {
  const store = new Store(), { batch, buffers } = await unpack(packed);
  store.take(batch, buffers);
  const app = new App(store, options, Player);
  el.append(app.root);
  return app.start();
}

/** @param {{model: any, el: HTMLElement}} place */
async function render({ model, el }) {
  const stop = await mount(el, model.get("snapshot"), settings(model));
  standIn(model, el);
  return stop;
}

/** A report has its run beside it, and nobody who calls. */
function open() {
  const place = document.getElementById("pwlab-replay"), data = document.getElementById("pwlab-packed");
  if (!place || !data) return;
  place.hidden = false;
  // The still pictures say the same; they stay for paper.
  for (const still of document.querySelectorAll("details.still")) /** @type {HTMLDetailsElement} */ (still).open = false;
  mount(place, Uint8Array.from(atob(data.textContent ?? ""), (char) => char.charCodeAt(0)), JSON.parse(place.getAttribute("data-settings") ?? ""));
}

open();
export default { render };
