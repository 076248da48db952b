// What the three tabs of numbers share: tables whose rows choose what they are about, and are marked where they belong
// to what is chosen.

import { fill, h, on } from "./dom.js";
import { count, secondsText, within } from "./text.js";

/** @typedef {import("./select.js").About} About */

export class Panel {
  /** @param {import("./app.js").App} app @param {string} title */
  constructor(app, title) {
    this.app = app;
    this.note = h("p.pw-note.pw-about");
    /** Charts, and what is below them. */
    this.where = h("div");
    this.list = h("div");
    this.element = h("div.pw-view.pw-scroll", { "tabindex": "0" }, h("h4.pw-h", title), this.note, this.where, this.list);
    this._version = -1;
    this._at = this._late = 0;
    this._moved = this._pressed = false;
    // A table that is made anew under a finger would lose the click.
    const release = () => (this._pressed = false);
    on(this.element, {
      pointerdown: () => (this._pressed = true), pointerup: release, pointercancel: release,
      pointermove: (e) => this._tip(e),
      pointerleave: () => {
        release();
        app.tip(null);
      },
      click: (e) => e.target.closest("[data-row]")?.choose?.(),
    });
  }

  fit() {}

  reveal() {}

  /** Up and down go from row to row. */
  key(/** @type {string} */ key) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (!by) return false;
    const all = [...this.element.querySelectorAll("[data-row] .pw-pick")], at = all.indexOf(this._focused());
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : within(0, at + by, all.length - 1)];
    next?.focus();
    return all.length > 0;
  }

  /** Tables are made anew at most four times a second, and only where something changed. */
  draw() {
    const { store } = this.app, now = performance.now();
    if (this._version === store.version && !store.running) return;
    if (now - this._at < 250 || this._pressed) {
      this._late ||= window.setTimeout(() => {
        this._late = 0;
        this.app.draw();
      }, 250);
      return;
    }
    this._version = store.version;
    this._at = now;
    const focused = this._focused()?.dataset.key;
    this.render(this.app.usage.view(store.now()));
    if (focused) /** @type {any} */ (this.element.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
    if (this._moved) {
      this.element.querySelector(".pw-chosen")?.scrollIntoView({ block: "nearest" });
      this.element.scrollLeft = 0; // a row may be wider than the view
    }
    this._moved = false;
  }

  /** Something else was chosen, or the tab was opened. */
  changed() {
    this._version = -1;
    this._at = 0;
    this._moved = !this._focused();
  }

  render(/** @type {ReturnType<import("./usage.js").Usage["view"]>} */ _view) {}

  /** The button of a row that has the focus. @returns {any} */
  _focused() {
    const active = /** @type {any} */ (this.element.getRootNode()).activeElement;
    return active && this.element.contains(active) && active.dataset.key ? active : null;
  }

  _tip(/** @type {PointerEvent} */ e) {
    const text = /** @type {any} */ (e.target).closest?.("[data-tip]")?.getAttribute("data-tip");
    this.app.tip(text ? text.split("\n") : null, e);
  }

  // --- pieces --------------------------------------------------------------------------------

  /** A heading; with what it means, and for learners what its word does. @param {string} text @param {string} about */
  heading(text, about) {
    return [h("h4.pw-h", text), h("p.pw-note.pw-about", about)];
  }

  /** Attributes that explain a word, where the dashboard explains. @param {string} text @param {string} [more] */
  means(text, more) {
    const meaning = this.app.options.words[text];
    return meaning || more ? { "data-tip": [text, meaning, more].filter(Boolean).join("\n") } : {};
  }

  /** The part of a row that chooses it, by pointer and by key. @param {string} key @param {string} text */
  pick(key, text) {
    return h("button.pw-link.pw-pick", { "data-key": key }, text);
  }

  /**
   * Makes an element a row: a click chooses, again clears, and it is marked where it belongs to what is chosen.
   * @param {any} element @param {import("./select.js").Choice} choice @param {About} about
   */
  row(element, choice, about) {
    const { selection } = this.app;
    element.setAttribute("data-row", "");
    element.classList.toggle("pw-chosen", selection.marks(about));
    element.choose = () => {
      if (selection.is(choice)) this.app._clear();
      else this.app.choose(choice);
    };
    return element;
  }

  /**
   * A table that is a table to screen readers too; heads that begin with `>` stand at the right, those with `?` only
   * where there is room. A row that is chosen tells `more`.
   * @param {string} none what is said instead where there are no rows @param {string[]} heads
   * @param {any[]} all @param {(one: any) => {choice: any, about: About, cells: any[], tip?: string, more?: string}} row
   * @param {number} most so many are shown @param {string} rest about the others
   */
  table(none, heads, all, row, most = Infinity, rest = "") {
    if (!all.length) return h("p.pw-note", none);
    const kinds = heads.map((text) => ({ "class": (text.includes(">") ? "pw-right " : "") + (text.startsWith("?") ? "pw-room" : "") }));
    const words = heads.map((text) => text.replace(/[?>]+/, ""));
    return [h("table",
      h("thead", h("tr", words.map((text, i) => h("th", { ...kinds[i], ...this.means(text) }, text)))),
      h("tbody", all.slice(0, most).map((one) => {
        const { choice, about, cells, tip, more } = row(one);
        const line = this.row(h("tr", { "data-tip": tip }, cells.map((cell, i) => h("td", kinds[i], cell))), choice, about);
        return [line, more && this.app.selection.marks(about) && h("tr.pw-chosen", h("td.pw-note", { "colspan": heads.length }, more))];
      }))), all.length > most && h("p.pw-note", `and ${count(all.length - most, "other")}${rest}`)];
  }

  /** How fine the charts are. @param {HTMLElement} element @param {{seconds: number, step: number}} view */
  grain(element, { seconds, step }) {
    fill(element, [`${secondsText(seconds)} in which a program ran, without the pauses between; a step of the charts is ${secondsText(step)}, wider as the run goes on`]);
  }
}
