// The graph tab: which program is shown, how its nodes are grouped, and where one looks. graphdraw.js draws it,
// graphinput.js hears the pointer and the keys.

import { button, canvas, choices, h } from "./dom.js";
import { paint, trace } from "./graphdraw.js";
import { listen, press } from "./graphinput.js";
import { left, middle, Picture } from "./picture.js";
import { LINKS } from "./states.js";
import { count, oneLine, within } from "./text.js";

/** Room for the tools above the graph. */
const TOP = 40;

export class Graph {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.picture = new Picture(app.store);
    this.element = h("div.pw-view");
    const { element, context, fit } = canvas(this.element, "Dataflow graph; press ? for keys");
    this.canvas = element;
    this.context = context;
    this.size = fit;
    this.scale = 1;
    this.x = this.y = 0;
    /** Whether the view still fits the graph as it grows. */
    this.fitted = true;
    this.program = choices("which program is shown", [], (program) => this._choose(Number(program)));
    this.note = h("span.pw-note");
    this.by = choices("what is shown as one", [["", "each node"], ["cell", "by cell"], ["slice", "by slice"], ["client", "by client"]], (by) => this.group(by));
    this.close = button("Close groups", "close the groups that were opened", () => this.group(this.picture.by), { hidden: true });
    this.element.append(h("div.pw-tools", this.program, this.by, this.close, button("Tidy", "lay everything out anew (R)", () => this.tidy()), this.note));
    this._programs = -1;
    this.view = { left: 0, top: 0, right: 0, bottom: 0 };
    listen(this);
  }

  fit() {
    this.fitted = true;
    this.app.draw();
  }

  tidy() {
    this.picture.reset();
    this.fit();
  }

  /** Shows nodes of a slice as one that have this in common: cell, slice or client; "" shows nodes. */
  group(/** @type {string} */ by) {
    this.picture.by = by;
    this.picture.opened.clear();
    this.tidy();
  }

  _choose(/** @type {number} */ program) {
    this.picture.program = program;
    this.picture.opened.clear();
    this.tidy();
  }

  /** Shows a node's program, and the node. */
  reveal(/** @type {number} */ node) {
    this.picture.update();
    const box = this.picture.boxOf.get(node);
    if (!box || !this.w) return;
    const x = middle(box) * this.scale + this.x, y = (box.y + box.h / 2) * this.scale + this.y;
    if (x > 20 && x < this.w - 20 && y > 20 && y < this.h - 20 && this.scale > 0.3) return;
    this.fitted = false;
    this.scale = Math.max(this.scale, 0.8);
    this.x = this.w / 2 - middle(box) * this.scale;
    this.y = this.h / 2 - (box.y + box.h / 2) * this.scale;
  }

  draw() {
    const { w, h: tall } = this.size();
    this.w = w;
    this.h = tall;
    this.picture.update();
    this._tools();
    if (this.fitted) this._fit();
    this.view = { left: -this.x / this.scale, top: -this.y / this.scale, right: (w - this.x) / this.scale, bottom: (tall - this.y) / this.scale };
    paint(this);
  }

  /** @returns {boolean} whether the key was taken */
  key(/** @type {string} */ key) {
    return press(this, key);
  }

  _fit() {
    const { width: wide, height: tall } = this.picture;
    const room = this.h - TOP - 8;
    this.scale = Math.max(0.02, Math.min(1.15, (this.w - 24) / (wide + 10), room / (tall + 10)));
    // Fitted, a tall graph would be a thread: it is read from the top, or while it runs from where it grows.
    this.scale = Math.max(this.scale, Math.min(0.6, (this.w - 24) / (wide + 10)));
    this.x = (this.w - wide * this.scale) / 2;
    const over = tall * this.scale - room, { store, player } = this.app;
    if (over <= 0) this.y = TOP - over / 2;
    else if (!store.replays) this.y = store.running ? TOP - over : TOP;
    else {
      const newest = this.picture.boxOf.get(store.launches.n ? store.launches.a[store.launches.n - 1] : 0);
      const wish = TOP - within(0, (newest?.y ?? 0) * this.scale - room * 0.55, over);
      this.y = player?.playing ? this.y + (wish - this.y) * 0.12 : wish;
    }
  }

  _tools() {
    const { programs } = this.app.store;
    this.note.textContent = this.picture.note;
    this.close.hidden = !this.picture.opened.size;
    // A list that is open must not change under the pointer.
    if (this._programs === programs.size || document.activeElement === this.program) return;
    this._programs = programs.size;
    const newest = [...programs.values()].slice(-200).reverse();
    this.program.replaceChildren(
      h("option", { value: "0" }, `all: ${count(programs.size, "program")}`),
      ...newest.map((p) => h("option", { value: String(p.id) }, `${oneLine(p.name, 32)} #${p.id}`)),
    );
    this.program.value = String(this.picture.program);
    if (this.program.selectedIndex < 0) this.program.value = "0";
  }

  // --- what stands where ---------------------------------------------------------------------

  /** The box under a point. */
  hit(/** @type {number} */ px, /** @type {number} */ py) {
    const x = (px - this.x) / this.scale, y = (py - this.y) / this.scale;
    return this.picture.boxes.find((b) => x >= left(b) && x <= left(b) + b.w && y >= b.y && y <= b.y + b.h);
  }

  /** @returns {string[]} */
  tipOf(/** @type {import("./picture.js").Box} */ box) {
    const { app, picture } = this;
    if (box.key[0] === "g") return [picture.textsOf(box).filter(Boolean).join(" · "), picture.errorOf(box), "double-click opens the group"].filter(Boolean);
    return [...app.nodeTip(box.nodes[0]), picture.opened.has(picture.groupOf(box.nodes[0])) ? "double-click closes its group" : ""].filter(Boolean);
  }

  /** What flows along the edge under a point. @returns {string[] | null} */
  edgeTip(/** @type {number} */ px, /** @type {number} */ py) {
    const x = (px - this.x) / this.scale, y = (py - this.y) / this.scale, g = this.context, { picture } = this;
    if (this.scale < 0.3) return null;
    g.save();
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.lineWidth = 8 / this.scale;
    const edge = picture.edges.find((edge) => {
      if (y < edge.from.y || y > edge.to.y + 8) return false;
      g.beginPath();
      trace(g, edge, false);
      return g.isPointInStroke(x, y);
    });
    g.restore();
    if (!edge) return null;
    const name = (/** @type {import("./picture.js").Box} */ box) => picture.textsOf(box)[0];
    return [picture.flowOf(edge) + (edge.link ? ` over ${LINKS[edge.link]}` : ""), `${name(edge.from)} ${edge.both ? "⇄" : "→"} ${name(edge.to)}`];
  }

  zoom(/** @type {number} */ factor, x = this.w / 2, y = this.h / 2) {
    const scale = within(0.02, this.scale * factor, 4);
    this.x = x - ((x - this.x) / this.scale) * scale;
    this.y = y - ((y - this.y) / this.scale) * scale;
    this.scale = scale;
    this.fitted = false;
    this.app.draw();
  }
}

/** Sheets behind: several computations in one launch, or several nodes in a group. */
export function sheets(/** @type {import("./store.js").Store} */ s, /** @type {import("./picture.js").Box} */ box) {
  return box.key[0] === "g" || s.nodes.c.parts[box.nodes[0]] > 1 ? 2 : 0;
}
