// The graph tab: islands as bands, slices as boxes in them, nodes as rectangles that change with their state.

import { canvas, h } from "./dom.js";
import { GAP } from "./layout.js";
import { Picture } from "./picture.js";
import { CANCELLED, FAILED, GLYPHS, LAUNCHED, QUEUED, WAITING } from "./states.js";
import { bytesText, count, oneLine } from "./text.js";

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
    this.program = h("select.pw-select", { title: "which program is shown", onchange: () => this._choose(Number(this.program.value)) });
    this.note = h("span.pw-note");
    this.tools = h("div.pw-tools", {}, this.program,
      h("button.pw-button", { title: "lay everything out anew (R)", onclick: () => this.tidy() }, "Tidy"), this.note);
    this.element.append(this.tools);
    this._programs = -1;
    /** @type {Map<number, CanvasPattern | null>} */
    this._patterns = new Map();
    this._listen();
  }

  fit() {
    this.fitted = true;
    this.app.draw();
  }

  tidy() {
    this.picture.reset();
    this.fit();
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
    const x = (box.lane.x + box.rel + box.w / 2) * this.scale + this.x, y = (box.y + box.h / 2) * this.scale + this.y;
    if (x > 20 && x < this.w - 20 && y > 20 && y < this.h - 20 && this.scale > 0.3) return;
    this.fitted = false;
    this.scale = Math.max(this.scale, 0.8);
    this.x = this.w / 2 - (box.lane.x + box.rel + box.w / 2) * this.scale;
    this.y = this.h / 2 - (box.y + box.h / 2) * this.scale;
  }

  themeChanged() {
    this._patterns.clear();
  }

  // --- drawing --------------------------------------------------------------------------------

  draw() {
    const { w, h: tall } = this.size();
    this.w = w;
    this.h = tall;
    const { picture, context: g, app } = this, { theme } = app;
    picture.update();
    this._tools();
    if (this.fitted) this._fit();
    g.clearRect(0, 0, w, tall);
    if (!picture.boxes.length) {
      g.fillStyle = theme.muted;
      g.font = "12px system-ui, sans-serif";
      g.textAlign = "center";
      g.fillText("Nothing has been recorded yet. Run a %%pathways cell and watch.", w / 2, tall / 2);
      g.textAlign = "left";
      return;
    }
    g.save();
    g.translate(this.x, this.y);
    g.scale(this.scale, this.scale);
    this.view = { left: -this.x / this.scale, top: -this.y / this.scale, right: (w - this.x) / this.scale, bottom: (tall - this.y) / this.scale };
    this._lanes(g);
    this._edges(g);
    this._boxes(g);
    g.restore();
  }

  _fit() {
    const { width: wide, height: tall } = this.picture;
    const room = this.h - TOP - 8;
    this.scale = Math.max(0.02, Math.min(1.15, (this.w - 24) / (wide + 10), room / (tall + 10)));
    // Fitted, a tall graph would be a thread: it is read from the top, or while it runs from where it grows.
    this.scale = Math.max(this.scale, Math.min(0.6, (this.w - 24) / (wide + 10)));
    this.x = (this.w - wide * this.scale) / 2;
    this.y = tall * this.scale <= room ? TOP + (room - tall * this.scale) / 2 : this.app.store.running ? this.h - 8 - tall * this.scale : TOP;
  }

  _lanes(/** @type {CanvasRenderingContext2D} */ g) {
    const { picture, app } = this, { theme, store } = app, bottom = picture.height;
    g.textBaseline = "alphabetic";
    for (const [id, x, wide] of picture.bands()) {
      const island = store.islands.get(id);
      g.fillStyle = theme.band;
      g.strokeStyle = theme.line;
      g.lineWidth = 1;
      g.beginPath();
      g.roundRect(x, 0, wide, bottom - 4, 10);
      g.fill();
      g.stroke();
      this._heading(g, island ? oneLine(island.name, 24) : "not placed yet", island ? `${island.devices.length} × ${oneLine(island.chip, 10)}` : "", x + 14, 20, 13);
    }
    for (const lane of picture.lanes.values()) {
      g.fillStyle = theme.lane;
      g.strokeStyle = theme.line;
      g.beginPath();
      g.roundRect(lane.x, 30, lane.w, bottom - 30 - GAP, 8);
      g.fill();
      g.stroke();
      const [name, about] = picture.headOf(lane);
      this._heading(g, name, about, lane.x + 12, 48, 12);
    }
  }

  /** @param {CanvasRenderingContext2D} g @param {string} name @param {string} about @param {number} x @param {number} y @param {number} size */
  _heading(g, name, about, x, y, size) {
    if (this.scale < 0.12) return;
    g.font = `600 ${size}px system-ui, sans-serif`;
    g.fillStyle = this.app.theme.fg;
    g.fillText(name, x, y);
    const after = x + g.measureText(name).width + 8;
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = this.app.theme.muted;
    g.fillText(about, after, y);
  }

  _edges(/** @type {CanvasRenderingContext2D} */ g) {
    const { picture, app } = this, { theme, selection } = app, view = /** @type {any} */ (this.view);
    const far = this.scale < 0.3, dim = !!selection.choice;
    /** Edges of one look are one path. @type {Map<number, import("./picture.js").Edge[]>} */
    const looks = new Map();
    for (const edge of picture.edges) {
      const { from, to } = edge;
      const x0 = from.lane.x + from.rel, x1 = to.lane.x + to.rel;
      if (Math.max(x0 + from.w, x1 + to.w) < view.left || Math.min(x0, x1) > view.right) continue;
      if (Math.max(from.y + from.h, to.y + to.h) < view.top || Math.min(from.y, to.y) > view.bottom) continue;
      const lit = !dim || from.nodes.some((i) => selection.has(i)) || to.nodes.some((i) => selection.has(i));
      const look = edge.link * 4 + (edge.bytes ? 0 : 2) + (lit ? 1 : 0);
      const same = looks.get(look);
      if (same) same.push(edge);
      else looks.set(look, [edge]);
    }
    for (const [look, edges] of looks) {
      const link = look >> 2;
      g.globalAlpha = look & 1 ? 1 : 0.25;
      g.strokeStyle = g.fillStyle = theme.link[link];
      g.lineWidth = far ? 1 / this.scale : link ? 2.1 : 1.3;
      if (!far) g.setLineDash(look & 2 ? [1, 4] : link === 2 ? [7, 3] : link === 3 ? [2, 2] : []);
      g.beginPath();
      for (const edge of edges) this._trace(g, edge, far);
      g.stroke();
      g.setLineDash([]);
      if (far) continue;
      g.beginPath();
      for (const { to, from, both } of edges) {
        head(g, to.lane.x + to.rel + to.w / 2, to.y - (sheets(app.store, to) ? 6 : 0), 1);
        if (both) head(g, from.lane.x + from.rel + from.w / 2, from.y + from.h, -1);
      }
      g.fill();
    }
    g.globalAlpha = 1;
    if (this.scale > 0.65) this._sizes(g);
  }

  /** @param {CanvasRenderingContext2D} g @param {import("./picture.js").Edge} edge @param {boolean} far */
  _trace(g, edge, far) {
    const { from, to, points } = edge;
    let x = from.lane.x + from.rel + from.w / 2, y = from.y + from.h;
    const endX = to.lane.x + to.rel + to.w / 2, endY = to.y - 5;
    g.moveTo(x, y);
    if (far) {
      g.lineTo(endX, to.y);
      return;
    }
    const way = points ? points.slice(points[0][1] <= y + 0.5 ? 1 : 0, -1).map(([px, py]) => [px + to.lane.x, py]) : [];
    for (const [nx, ny] of [...way, [endX, endY]]) {
      if (Math.abs(nx - x) < 0.5) g.lineTo(nx, ny);
      else {
        const bend = (y + ny) / 2;
        g.bezierCurveTo(x, bend, nx, bend, nx, ny);
      }
      x = nx;
      y = ny;
    }
  }

  /** The size of a value, once, below the node that writes it. */
  _sizes(/** @type {CanvasRenderingContext2D} */ g) {
    const { app, picture } = this, view = /** @type {any} */ (this.view);
    g.font = "9.5px system-ui, sans-serif";
    g.fillStyle = app.theme.muted;
    const done = new Set();
    for (const { from, bytes, link } of picture.edges) {
      if (!bytes || link || done.has(from)) continue;
      done.add(from);
      const x = from.lane.x + from.rel + from.w / 2 + 6, y = from.y + from.h + 11;
      if (x > view.left - 60 && x < view.right && y > view.top && y < view.bottom + 10) g.fillText(bytesText(bytes), x, y);
    }
  }

  _boxes(/** @type {CanvasRenderingContext2D} */ g) {
    const { picture, app } = this, { theme, selection, store } = app, view = /** @type {any} */ (this.view), c = store.nodes.c;
    const plain = this.scale < 0.28, words = this.scale > 0.42, chosen = selection.node();
    for (const box of picture.boxes) {
      const x = box.lane.x + box.rel, { y, w, h: tall } = box;
      if (x > view.right || x + w < view.left || y > view.bottom || y + tall < view.top) continue;
      const state = picture.stateOf(box), lit = !selection.choice || box.nodes.some((i) => selection.has(i));
      g.globalAlpha = lit ? 1 : 0.28;
      if (plain) {
        g.fillStyle = theme.rim[state];
        g.globalAlpha *= state === WAITING ? 0.45 : 0.8;
        g.fillRect(x, y, w, tall);
        continue;
      }
      const radius = box.pill ? tall / 2 : c.kind[box.nodes[0]] === 2 ? 3 : 7;
      g.lineWidth = state === FAILED ? 2.2 : 1.3;
      g.strokeStyle = theme.rim[state];
      g.fillStyle = theme.fill[state];
      for (let back = sheets(store, box); back >= 0; back--) {
        g.beginPath();
        g.roundRect(x + 3 * back, y - 3 * back, w, tall, radius);
        g.fill();
        if (state === WAITING) g.setLineDash([4, 3]);
        if (state === CANCELLED) g.setLineDash([9, 3, 2, 3]);
        g.stroke();
        g.setLineDash([]);
      }
      if (theme.mark[state]) {
        g.fillStyle = this._pattern(g, state) ?? theme.fill[state];
        g.fill();
        g.stroke();
      }
      if (box.nodes.length === 1 && box.nodes[0] === chosen) {
        g.strokeStyle = theme.fg;
        g.lineWidth = 3;
        g.stroke();
      }
      if (words) this._words(g, box, state, x);
    }
    g.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} g @param {import("./picture.js").Box} box @param {number} state @param {number} x */
  _words(g, box, state, x) {
    const { theme, store } = this.app, { y, w, h: tall } = box, parts = store.nodes.c.parts[box.nodes[0]];
    const [label, sub, error] = this.picture.textsOf(box);
    g.textBaseline = "middle";
    g.fillStyle = theme.rim[state];
    g.font = "13px system-ui, sans-serif";
    const first = box.pill ? y + tall / 2 : sub || error ? y + 16 : y + tall / 2;
    g.fillText(GLYPHS[state], x + 9, first + 0.5);
    g.font = `600 ${box.pill ? 11 : 12.5}px system-ui, sans-serif`;
    g.fillStyle = theme.fg;
    g.fillText(label, x + 26, first);
    const second = error || sub;
    if (second) {
      g.fillStyle = error && state === FAILED ? theme.bad : theme.muted;
      const at = box.pill ? x + 30 + g.measureText(label).width : x + 10;
      g.font = `${error ? "600 " : ""}10.5px system-ui, sans-serif`;
      g.fillText(oneLine(second, Math.floor((x + w - at - 4) / (error ? 6.2 : 5.6))), at, box.pill ? first + 0.5 : y + 33.5);
    }
    if (box.key[0] === "g") this._shares(g, box, x);
    else if (parts > 1) {
      g.textAlign = "right";
      g.font = "700 11px system-ui, sans-serif";
      g.fillStyle = theme.muted;
      g.fillText(`×${parts}`, x + w - 8, first);
      g.textAlign = "left";
    }
    g.textBaseline = "alphabetic";
  }

  /** A bar at the foot of a group: how many of its nodes are in which state. */
  _shares(/** @type {CanvasRenderingContext2D} */ g, /** @type {import("./picture.js").Box} */ box, /** @type {number} */ x) {
    const counts = new Array(7).fill(0), states = this.app.store.nodes.c.state;
    for (const i of box.nodes) counts[states[i]]++;
    let at = x + 10;
    counts.forEach((n, state) => {
      const wide = ((box.w - 20) * n) / box.nodes.length;
      g.fillStyle = this.app.theme.rim[state];
      g.fillRect(at, box.y + box.h - 12, wide, 5);
      at += wide;
    });
  }

  /** The pattern of a state, so that it is not told by colour alone. */
  _pattern(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ state) {
    let pattern = this._patterns.get(state);
    if (pattern !== undefined) return pattern;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const t = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
    t.strokeStyle = this.app.theme.mark[state];
    t.lineWidth = state === LAUNCHED ? 2.4 : state === QUEUED ? 2 : 1.2;
    /** @type {Record<number, number[][]>} */
    const lines = {
      [QUEUED]: [[1, 2, 3, 2], [5, 6, 7, 6]],
      [LAUNCHED]: [[-2, 2, 2, -2], [0, 8, 8, 0], [6, 10, 10, 6]],
      [FAILED]: [[0, 0, 8, 8], [8, 0, 0, 8]],
      [CANCELLED]: [[0, 4, 8, 4]],
    };
    t.beginPath();
    for (const [a, b, c, d] of lines[state] ?? []) {
      t.moveTo(a, b);
      t.lineTo(c, d);
    }
    t.stroke();
    this._patterns.set(state, (pattern = g.createPattern(tile, "repeat")));
    return pattern;
  }

  _tools() {
    const { programs } = this.app.store;
    this.note.textContent = this.picture.note;
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

  // --- pointer and keys -------------------------------------------------------------------------

  /** The box under a point. */
  hit(/** @type {number} */ px, /** @type {number} */ py) {
    const x = (px - this.x) / this.scale, y = (py - this.y) / this.scale;
    return this.picture.boxes.find((b) => x >= b.lane.x + b.rel && x <= b.lane.x + b.rel + b.w && y >= b.y && y <= b.y + b.h);
  }

  zoom(/** @type {number} */ factor, x = this.w / 2, y = this.h / 2) {
    const scale = Math.max(0.02, Math.min(4, this.scale * factor));
    this.x = x - ((x - this.x) / this.scale) * scale;
    this.y = y - ((y - this.y) / this.scale) * scale;
    this.scale = scale;
    this.fitted = false;
    this.app.draw();
  }

  _listen() {
    const { canvas: element, app } = this;
    /** @type {{x: number, y: number, left: number, top: number, moved: boolean} | null} */
    let drag = null;
    element.addEventListener("pointerdown", (/** @type {PointerEvent} */ e) => {
      drag = { x: e.offsetX, y: e.offsetY, left: this.x, top: this.y, moved: false };
      element.setPointerCapture(e.pointerId);
      element.focus({ preventScroll: true });
    });
    element.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => {
      if (drag && (drag.moved || Math.hypot(e.offsetX - drag.x, e.offsetY - drag.y) > 3)) {
        drag.moved = true;
        this.x = drag.left + e.offsetX - drag.x;
        this.y = drag.top + e.offsetY - drag.y;
        this.fitted = false;
        app.tip(null);
        app.draw();
        return;
      }
      const box = this.hit(e.offsetX, e.offsetY);
      element.style.cursor = box ? "pointer" : "grab";
      app.tip(box ? (box.key[0] === "g" ? [this.picture.textsOf(box).join(" · "), "double-click opens the group"] : app.nodeTip(box.nodes[0])) : null, e);
    });
    element.addEventListener("pointerup", (/** @type {PointerEvent} */ e) => {
      const was = drag;
      drag = null;
      if (was?.moved) return;
      const box = this.hit(e.offsetX, e.offsetY);
      if (!box) app.selection.set(null);
      else if (box.key[0] === "g") app.selection.set({ kind: "cell", id: app.store.word(box.nodes[0], "cell") });
      else app.selection.set({ kind: "node", id: box.nodes[0] });
      app.showDetails();
    });
    element.addEventListener("dblclick", (/** @type {MouseEvent} */ e) => {
      const box = this.hit(e.offsetX, e.offsetY);
      if (box?.key[0] !== "g") return;
      this.picture.opened.add(box.key);
      this.picture.reset();
      this.fitted = true;
      app.draw();
    });
    element.addEventListener("pointerleave", () => app.tip(null));
    element.addEventListener("wheel", (/** @type {WheelEvent} */ e) => {
      if (!(e.ctrlKey || e.metaKey)) return; // a plain wheel scrolls the page
      this.zoom(Math.exp(-Math.max(-60, Math.min(60, e.deltaY)) * 0.008), e.offsetX, e.offsetY);
      e.preventDefault();
    }, { passive: false });
  }

  /** @returns {boolean} whether the key was taken */
  key(/** @type {string} */ key) {
    const by = 60;
    switch (key) {
      case "w": case "+": this.zoom(1.25); return true;
      case "s": case "-": this.zoom(0.8); return true;
      case "a": case "ArrowLeft": this.x += by; break;
      case "d": case "ArrowRight": this.x -= by; break;
      case "ArrowUp": this.y += by; break;
      case "ArrowDown": this.y -= by; break;
      case "f": this.fit(); return true;
      case "r": this.tidy(); return true;
      case ".": this._next(1); return true;
      case ",": this._next(-1); return true;
      default: return false;
    }
    this.fitted = false;
    this.app.draw();
    return true;
  }

  _next(/** @type {number} */ by) {
    const { boxes, boxOf } = this.picture, { selection } = this.app;
    if (!boxes.length) return;
    const now = boxOf.get(selection.node()), at = now ? boxes.indexOf(now) : by > 0 ? -1 : boxes.length;
    const box = boxes[Math.max(0, Math.min(boxes.length - 1, at + by))];
    selection.set({ kind: "node", id: box.nodes[0] });
    this.reveal(box.nodes[0]);
    this.app.showDetails();
  }
}

/** Sheets behind: several computations in one launch, or several nodes in a group. */
function sheets(/** @type {import("./store.js").Store} */ s, /** @type {import("./picture.js").Box} */ box) {
  return box.key[0] === "g" || s.nodes.c.parts[box.nodes[0]] > 1 ? 2 : 0;
}

function head(/** @type {CanvasRenderingContext2D} */ g, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ down) {
  g.moveTo(x, y);
  g.lineTo(x - 3.6, y - 7 * down);
  g.lineTo(x + 3.6, y - 7 * down);
  g.closePath();
}
