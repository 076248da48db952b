// The page of one widget: what its views share, and what is said to the kernel and heard of it.

import { unpack } from "./decode.js";
import { Store } from "./store.js";
import { MOST, thin } from "./thin.js";

/** Milliseconds within which the page tells a kernel that it got what was sent. */
export const ACK = 4_000;

export class Page {
  constructor(/** @type {any} */ model) {
    this.model = model;
    this.store = new Store();
    this.page = Math.random().toString(36).slice(2);
    /** @type {Set<import("./app.js").App>} */
    this.apps = new Set();
    this._asked = this._timer = 0;
    model.on("msg:custom", (/** @type {any} */ message, /** @type {any[]} */ buffers) => this.hear(message, buffers));
    this._visible = () => (document.hidden ? this.say("bye") : this.ready());
    document.addEventListener("visibilitychange", this._visible);
    // A page that is closed says so; one that is lost is found out by its silence.
    this._gone = () => this.say("bye");
    window.addEventListener("pagehide", this._gone);
  }

  close() {
    clearTimeout(this._timer);
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
    // Something is missing, as when the pump had begun before this page was there.
    if (!whole && performance.now() - this._asked > 500) this.ready();
    // The last batch of a run is acknowledged, too: a page that keeps silent is taken to be gone.
    this._timer ||= window.setTimeout(() => {
      this._timer = 0;
      if (!document.hidden) this.say("ack");
    }, ACK);
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
