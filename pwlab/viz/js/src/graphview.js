// The graph tab: which program is shown, how its nodes are grouped, and where one looks. graphdraw.js draws it,
// graphinput.js hears the pointer and the keys.

import { button, canvas, choices, h } from "./dom.js";
import { paint, trace } from "./graphdraw.js";
import { listen, press } from "./graphinput.js";
import { isGroup, left, middle, Picture } from "./picture.js";
import { LINKS } from "./states.js";
import { count, oneLine, within } from "./text.js";

/** Room for the tools above the graph. */
export const TOP = 40;
/** From this scale on all of a box's text can be read, and from this one on its name. */
export const READABLE = 0.6;
const NAMED = 0.42;
/** Launches that the view follows: the lowest of so many last ones. */
const LAST = 8;

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
    /** What the view does as the graph grows: fits "all" of it, or follows the "last" launches; "" stays. */
    this.mode = "last";
    /** Whether the view goes where it should even if something is chosen, which it else holds still for. */
    this._goes = true;
    this.program = choices("which program is shown", [], (program) => this._choose(Number(program)));
    this.note = h("span.pw-note");
    this.by = choices("what is shown as one", [["", "each node"], ["cell", "by cell"], ["slice", "by slice"], ["client", "by client"]], (by) => this.group(by));
    this.close = button("Close groups", "close the groups that were opened", () => this.group(this.picture.by), { hidden: true });
    this.element.append(h("div.pw-tools", this.program, this.by, this.close, button("Tidy", "lay everything out anew (R)", () => this.tidy()), this.note));
    this._programs = -1;
    this.view = { left: 0, top: 0, right: 0, bottom: 0 };
    listen(this);
  }

  fit(mode = "all") {
    this.mode = mode;
    this._goes = true;
    this.app.draw();
  }

  tidy() {
    this.picture.reset();
    this.fit("last");
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

  /** Brings a node into view, by no more than it takes; where nothing can be read it also zooms, unless it may `not`. */
  reveal(/** @type {number} */ node, not = false) {
    this._look();
    const box = this.picture.boxOf.get(node);
    if (!box) return;
    if (!not && this.scale < 0.3) this.zoom(0.8 / this.scale);
    const { scale, x, y } = this, edge = 24, at = left(box) * scale, top = box.y * scale;
    this.x = within(edge - at, x, this.w - edge - at - box.w * scale);
    // Clear of the names above, and with room for a tag below.
    this.y = within(TOP + 40 - top, y, this.h - 2 * edge - top - box.h * scale);
    if (this.x !== x || this.y !== y) this.mode = "";
    this.app.draw();
  }

  draw() {
    this._look();
    this._tools();
    const { x, y, w, h: tall, scale } = this;
    this.view = { left: -x / scale, top: -y / scale, right: (w - x) / scale, bottom: (tall - y) / scale };
    paint(this);
  }

  /** Takes what is new, and goes where the view should be; what one looks at stays where it is. */
  _look() {
    const { picture, scale } = this, { store, selection } = this.app;
    ({ w: this.w, h: this.h } = this.size());
    if (!store.replays) picture.room = this.w;
    const centre = (this.w / 2 - this.x) / scale, away = (/** @type {import("./picture.js").Lane} */ lane) => Math.abs(lane.x + lane.w / 2 - centre);
    const near = [...picture.lanes.values()].sort((a, b) => away(a) - away(b))[0], was = near?.x;
    picture.update();
    if (this.by.value !== picture.grouping) {
      this.by.value = picture.grouping;
      this.fit("last");
    }
    if (near) this.x -= (near.x - was) * scale;
    if (this.mode && picture.boxes.length && (this._goes || !selection.choice)) this._go();
  }

  /** @returns {boolean} whether the key was taken */
  key(/** @type {string} */ key) {
    return press(this, key);
  }

  _go() {
    const { picture, scale, app } = this, { width: wide, height: tall } = picture, { launches, replays } = app.store;
    const room = this.h - TOP - 8, across = (this.w - 24) / (wide + 10);
    this._goes = false;
    this.scale = Math.max(0.02, Math.min(1.15, across, room / (tall + 10)));
    // All of a tall graph cannot be read: then the view goes along with what is launched.
    if (this.mode === "last" && this.scale < NAMED) this.scale = Math.max(this.scale, Math.min(READABLE, across));
    this.x = (this.w - wide * this.scale) / 2;
    const over = tall * this.scale - room;
    let lowest = 0;
    for (let k = launches.n, seen = 0; k-- && seen < LAST; ) {
      const box = picture.boxOf.get(launches.a[k]);
      if (!box) continue;
      seen++;
      lowest = Math.max(lowest, box.y);
    }
    const wish = TOP - (over > 0 ? within(0, lowest * this.scale - room * 0.55, over) : over / 2), by = wish - this.y;
    // It glides, unless another picture is shown.
    const glides = scale === this.scale && Math.abs(by) > 1 && (!replays || app.player?.playing);
    this.y += glides ? by * 0.12 : by;
    if (glides) app.draw();
  }

  _tools() {
    const { programs } = this.app.store;
    this.note.textContent = this.note.title = this.picture.note;
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
    if (isGroup(box)) return [picture.textsOf(box).filter(Boolean).join(" · "), picture.errorOf(box), "double-click opens the group"].filter(Boolean);
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
    this.mode = "";
    this.app.draw();
  }
}

/** Sheets behind: several computations in one launch, or several nodes in a group. */
export function sheets(/** @type {import("./store.js").Store} */ s, /** @type {import("./picture.js").Box} */ box) {
  return isGroup(box) || s.nodes.c.parts[box.nodes[0]] > 1 ? 2 : 0;
}
