// The entry: an anywidget, and `mount` for pages of their own.

import { App } from "./app.js";
import { h } from "./dom.js";
import { unpack } from "./decode.js";
import { Store } from "./store.js";

/** Seconds between the page's signs of life to a kernel that sends. */
const ACK = 4_000;

/** What the views of one widget share. */
class Shared {
  constructor(/** @type {any} */ model) {
    this.model = model;
    this.store = new Store();
    this.page = Math.random().toString(36).slice(2);
    /** @type {Set<App>} */
    this.apps = new Set();
    this._asked = this._acked = 0;
    model.on("msg:custom", (/** @type {any} */ message, /** @type {any[]} */ buffers) => this.hear(message, buffers));
    this._visible = () => (document.hidden ? this.say("bye") : this.ready());
    document.addEventListener("visibilitychange", this._visible);
    // A page that is closed says so; one that is lost is found out by its silence.
    this._gone = () => this.say("bye");
    window.addEventListener("pagehide", this._gone);
  }

  close() {
    document.removeEventListener("visibilitychange", this._visible);
    window.removeEventListener("pagehide", this._gone);
  }

  say(/** @type {string} */ kind, more = {}) {
    try {
      this.model.send({ kind, page: this.page, ...more });
    } catch {
      // There is no kernel: a notebook that was opened to be read.
    }
  }

  ready() {
    this._asked = performance.now();
    this.say("ready", { seen: this.store.last, strings: this.store.strings.length });
  }

  /** @param {any} message @param {any[]} buffers */
  hear(message, buffers) {
    if (message?.kind !== "facts") return;
    const whole = this.store.take(message, buffers);
    const now = performance.now();
    // Something is missing, as when the pump had begun before this page was there.
    if (!whole && now - this._asked > 500) this.ready();
    else if (now - this._acked > ACK && !document.hidden) {
      this._acked = now;
      this.say("ack");
    }
    for (const app of this.apps) app.draw();
  }

  /** Shows the run that was saved with the notebook, until a kernel tells more. */
  async restore() {
    const packed = this.model.get("snapshot");
    if (!packed?.byteLength || this.store.last) return;
    const { batch, buffers } = await unpack(packed);
    if (this.store.last) return;
    this.store.take(batch, buffers);
    for (const app of this.apps) app.draw();
  }
}

/** @type {WeakMap<any, Shared>} */
const models = new WeakMap();

function shared(/** @type {any} */ model) {
  let found = models.get(model);
  if (!found) models.set(model, (found = new Shared(model)));
  return found;
}

function initialize(/** @type {{model: any}} */ { model }) {
  const common = shared(model);
  return () => common.close();
}

function render(/** @type {{model: any, el: HTMLElement}} */ { model, el }) {
  const common = shared(model);
  const app = new App(common.store, { tab: model.get("tab"), single: model.get("single"), explain: model.get("explain"), height: model.get("height") });
  // The static picture beside it is for where this does not run.
  const kind = `.pwlab-static-${model.get("key")}`;
  const style = h("style");
  style.textContent = `${kind},.jp-OutputArea-child:has(>.jp-OutputArea-output ${kind}){display:none!important}`;
  el.append(style, app.root);
  common.apps.add(app);
  const stop = app.start();
  const restored = () => common.restore().catch(() => {});
  model.on("change:snapshot", restored);
  common.ready();
  restored();
  return () => {
    stop();
    common.apps.delete(app);
    model.off?.("change:snapshot", restored);
    if (!common.apps.size) common.say("bye");
  };
}

/**
 * Shows a snapshot in a page of its own.
 * @param {HTMLElement} el @param {Uint8Array} packed @param {Partial<import("./app.js").Options>} [options]
 */
export async function mount(el, packed, options = {}) {
  const store = new Store(), { batch, buffers } = await unpack(packed);
  store.take(batch, buffers);
  const app = new App(store, { tab: "timeline", single: false, explain: false, height: 560, ...options });
  el.append(app.root);
  app.start();
  return app;
}

export default { initialize, render };
