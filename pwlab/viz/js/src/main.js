// The entry of a dashboard that follows a session: an anywidget.

import { App } from "./app.js";
import { had } from "./columns.js";
import { unpack } from "./decode.js";
import { Store } from "./store.js";
import { MOST, thin } from "./thin.js";
import { settings, standIn } from "./widget.js";

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
    this.say("ready", { seen: this.store.last, strings: this.store.texts.length });
  }

  /** @param {any} message @param {any[]} buffers */
  hear(message, buffers) {
    if (message?.kind !== "facts") return;
    const whole = this._take(message, buffers);
    const now = performance.now();
    // Something is missing, as when the pump had begun before this page was there.
    if (!whole && now - this._asked > 500) this.ready();
    else if (now - this._acked > ACK && !document.hidden) {
      this._acked = now;
      this.say("ack");
    }
  }

  /** @param {any} batch @param {any[]} buffers */
  _take(batch, buffers) {
    const whole = this.store.take(batch, buffers);
    if (this.store.nodes.n > MOST) thin(this.store, this.apps);
    for (const app of this.apps) app.draw();
    return whole;
  }

  /** Shows the run that was saved with the notebook, until a kernel tells more. */
  async restore() {
    const packed = this.model.get("snapshot");
    if (!packed?.byteLength || this.store.last) return;
    const { batch, buffers } = await unpack(packed);
    if (this.store.last) return;
    this._take(batch, buffers);
  }
}

/** @type {WeakMap<any, Shared>} */
const models = new WeakMap();

function shared(/** @type {any} */ model) {
  return had(/** @type {any} */ (models), model, () => new Shared(model));
}

function initialize(/** @type {{model: any}} */ { model }) {
  const common = shared(model);
  return () => common.close();
}

/** @param {{model: any, el: HTMLElement}} place */
async function render({ model, el }) {
  standIn(model, el);
  const common = shared(model), app = new App(common.store, settings(model));
  el.append(app.root);
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

export default { initialize, render };
