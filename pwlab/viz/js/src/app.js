// The dashboard on the page: tabs, status, details, help, keys.

import { ClientsPanel, MemoryPanel, Utilisation } from "./panels.js";
import { colour, KEY } from "./colours.js";
import { details } from "./details.js";
import { fill, h } from "./dom.js";
import { WORDS } from "./explain.js";
import { Graph } from "./graphview.js";
import { Selection } from "./select.js";
import { DONE, FAILED, GLYPHS, STATES } from "./states.js";
import { count, oneLine, secondsText, sourceText } from "./text.js";
import { readTheme, watchTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { Tracks } from "./tracks.js";

/** @typedef {{tab: string, single: boolean, explain: boolean, height: number}} Options */

const TABS = { timeline: "Timeline", graph: "Graph", utilisation: "Utilisation", memory: "Memory", clients: "Clients" };

const KEYS = [
  ["W  S", "zoom in, out"], ["A  D", "earlier, later"], ["↑  ↓", "more rows"], ["Ctrl + wheel", "zoom"], ["Shift + wheel", "pan"],
  ["drag", "choose a stretch: totals and busy share"], ["Shift + drag", "pan"], ["click", "details"], [".  ,", "next, previous"],
  ["F", "fit, or show what is chosen"], ["1 – 5", "tabs"], ["R", "lay the graph out anew"], ["Esc", "clear; again: leave"], ["?", "this help"],
];

export class App {
  /** @param {import("./store.js").Store} store @param {Options} options */
  constructor(store, options) {
    this.store = store;
    this.options = options;
    this.selection = new Selection(store);
    this.tracks = new Tracks(store);
    this.root = h("div.pw-dash", { style: `height:${options.height}px`, "data-lm-suppress-shortcuts": "true", "data-pwlab": "dashboard" });
    this.body = h("div.pw-body");
    this.legend = h("div.pw-legend.pw-foot");
    this.aside = h("aside.pw-details", { hidden: true, "aria-live": "polite" });
    this.tooltip = h("div.pw-tip", { hidden: true, role: "tooltip" });
    this.help = h("div.pw-help", { hidden: true },
      h("h4", {}, "Keys"), h("dl", {}, KEYS.map(([key, text]) => h("div.pw-fact", {}, h("dt", {}, key), h("dd", {}, text)))),
      options.explain && [h("h4", {}, "Words"), h("dl", {}, Object.entries(WORDS).map(([key, text]) => h("div.pw-fact", {}, h("dt", {}, key), h("dd", {}, text))))]);
    this.status = h("span.pw-status");
    this.lamp = h("span.pw-lamp");
    this.by = h("select.pw-select", { title: "what the colours mean", onchange: () => { this.tracks.colourBy(this.by.value); this.draw(); } },
      h("option", { value: "name" }, "by computation"), h("option", { value: "client" }, "by client"));
    this.buttons = Object.entries(TABS).map(([key, text]) => h("button.pw-tab", { role: "tab", id: `t-${key}`, onclick: () => this.open(key) }, text));
    this.timeline = new Timeline(this);
    /** @type {Record<string, any>} */
    this.views = { timeline: this.timeline, graph: new Graph(this), utilisation: new Utilisation(this), memory: new MemoryPanel(this), clients: new ClientsPanel(this) };
    fill(this.root, [
      h("header.pw-head", {},
        options.single ? h("b", {}, TABS[/** @type {keyof TABS} */ (options.tab)]) : h("nav.pw-tabs", { role: "tablist" }, this.buttons),
        h("span.pw-grow"), this.lamp, this.status, this.by,
        h("button.pw-button", { title: "show everything (F)", onclick: () => this.view.fit() }, "Fit"),
        h("button.pw-button", { title: "keys and words (?)", onclick: () => this.toggleHelp() }, "?")),
      h("div.pw-main", {}, this.body, this.aside),
      this.legend, this.tooltip, this.help,
    ]);
    this.selection.listeners.push(() => {
      for (const view of Object.values(this.views)) view.changed?.();
      this.draw();
    });
    this._frame = this._timer = 0;
    this._version = -1;
    this.root.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this._key(e));
    /** @type {import("./theme.js").Theme} */
    this.theme = readTheme(this.root);
    this.open(options.tab in TABS ? options.tab : "timeline");
  }

  /** Begins to draw; the root is on the page. Returns what ends it. */
  start() {
    const look = () => {
      this.theme = readTheme(this.root);
      this.views.graph.themeChanged();
      for (const view of Object.values(this.views)) view.changed?.();
      this._legendFor = "";
      this.draw();
    };
    const unwatch = watchTheme(look);
    const sizes = new ResizeObserver(() => {
      this.view.changed?.();
      this.draw();
    });
    sizes.observe(this.root);
    requestAnimationFrame(look);
    return () => {
      unwatch();
      sizes.disconnect();
      cancelAnimationFrame(this._frame);
      clearTimeout(this._timer);
    };
  }

  get view() {
    return this.views[this.tab];
  }

  open(/** @type {string} */ tab) {
    this.tab = tab;
    this.buttons.forEach((button) => {
      const on = button.id === `t-${tab}`;
      button.classList.toggle("pw-on", on);
      button.setAttribute("aria-selected", String(on));
    });
    this.by.hidden = tab !== "timeline";
    this.view.changed?.();
    fill(this.body, [this.view.element]);
    this._legend();
    this.reveal();
    this.draw();
  }

  /** Brings what is chosen into view. */
  reveal() {
    const node = this.selection.node();
    if (node >= 0) this.view.reveal(node);
  }

  /** Draws before the next frame; however often it is called, once. */
  draw() {
    if (!this._frame) this._frame = requestAnimationFrame(() => this._draw());
  }

  _draw() {
    this._frame = 0;
    if (!this.root.isConnected || !this.root.clientWidth) return;
    if (this.tracks.update() || this._version !== this.store.version) {
      this._version = this.store.version;
      this._head();
      const node = this.selection.node();
      if (node >= 0 && this._shownState !== this.store.node(node, "state")) this.showDetails();
    }
    this.view.draw();
    // While something runs, the present moves.
    if (this.store.running && !this.store.closed && !this._timer) {
      this._timer = window.setTimeout(() => {
        this._timer = 0;
        this.draw();
      }, this.tab === "timeline" ? 40 : 250);
    }
  }

  _head() {
    const { store } = this, running = store.openPrograms;
    const live = !store.closed && store.heardAt > 0;
    this.lamp.className = `pw-lamp ${store.running ? "pw-busy" : live ? "pw-live" : ""}`;
    this.lamp.title = store.running ? "programs are running" : live ? "connected; nothing runs" : "a run that has ended";
    const failed = store.counts[FAILED];
    fill(this.status, [
      `${count(store.counts[DONE], "node")} done`,
      running ? ` · ${count(running, "program")} running` : "",
      failed ? [" · ", h("button.pw-link.pw-bad", { title: "show the first that failed", onclick: () => this._failed() }, `${GLYPHS[FAILED]} ${failed} failed`)] : "",
      store.lost ? h("span", { title: "the oldest facts were dropped to save memory" }, ` · ${count(store.lost, "old fact")} dropped`) : "",
    ]);
    this._legend();
  }

  _failed() {
    const { store } = this, c = store.nodes.c;
    for (let i = 0; i < store.nodes.n; i++) {
      if (c.state[i] !== FAILED || (c.cause[i] && c.cause[i] !== c.id[i])) continue;
      this.selection.set({ kind: "node", id: i });
      this.reveal();
      this.showDetails();
      return;
    }
  }

  _legend() {
    const { tracks, theme, store } = this;
    const names = [...tracks.colours.keys].slice(0, 14), links = Object.keys(tracks.host).filter((k) => k.includes("transfer"));
    const shown = `${tracks.by}${names.length}${links.length}${this.tab}${theme.dark}${store.counts.map((n) => (this.tab === "graph" ? n : +(n > 0)))}`;
    if (shown === this._legendFor) return;
    this._legendFor = shown;
    this.legend.hidden = this.tab !== "timeline" && this.tab !== "graph";
    if (this.tab === "graph") {
      fill(this.legend, store.counts.map((n, state) => n > 0 && h("span.pw-key", {}, h(`span.pw-state${state}`, {}, GLYPHS[state]), ` ${STATES[state]} ${n.toLocaleString("en")}`)));
      return;
    }
    const more = tracks.colours.keys.size - names.length;
    fill(this.legend, [
      names.map(([name, key]) => h("button.pw-key", { title: `highlight ${oneLine(name, 80)}`, onclick: () => { this.selection.set({ kind: /** @type {any} */ (tracks.by), id: name }); this.showDetails(); } },
        h("i", { style: `background:${colour(key, theme.dark)}` }), oneLine(name, 26))),
      more > 0 && h("span.pw-key", {}, `and ${more} more`),
      links.map((name) => h("span.pw-key", { title: this.options.explain ? WORDS[name.split(" ")[0]] : undefined }, h("i", { style: `background:${colour(KEY[/** @type {"ici"} */ (name.split(" ")[0].toLowerCase())] ?? KEY.ici, theme.dark)}` }), name)),
      store.counts[FAILED] > 0 && h("span.pw-key", {}, h("i", { style: `background:${colour(KEY.failed, theme.dark)}` }), "failed"),
    ]);
  }

  // --- details, tooltip, help ---------------------------------------------------------------

  showDetails() {
    const lines = details(this), node = this.selection.node();
    this._shownState = node >= 0 ? this.store.node(node, "state") : -1;
    const was = this.aside.hidden;
    this.aside.hidden = !lines;
    if (lines) fill(this.aside, [h("button.pw-close", { title: "close (Esc)", "aria-label": "close", onclick: () => this._clear() }, "×"), lines]);
    if (was !== this.aside.hidden) this.draw();
  }

  _clear() {
    this.timeline.span = null;
    this.selection.set(null);
    this.showDetails();
    this.draw();
  }

  /** @param {string[] | null} lines @param {PointerEvent} [at] */
  tip(lines, at) {
    this.tooltip.hidden = !lines;
    if (!lines || !at) return;
    fill(this.tooltip, lines.map((text, i) => h(i ? "div" : "b", {}, text)));
    const box = this.root.getBoundingClientRect(), x = at.clientX - box.left, y = at.clientY - box.top;
    this.tooltip.style.left = `${Math.max(4, Math.min(x + 14, box.width - this.tooltip.offsetWidth - 6))}px`;
    this.tooltip.style.top = `${y + 22 + this.tooltip.offsetHeight > box.height ? y - this.tooltip.offsetHeight - 10 : y + 18}px`;
  }

  /** @returns {string[]} */
  nodeTip(/** @type {number} */ i) {
    const { store } = this, c = store.nodes.c;
    const took = c.end[i] > c.start[i] ? ` · ${secondsText(c.end[i] - c.start[i])}` : "";
    return [oneLine(store.word(i, "name"), 60), `${GLYPHS[c.state[i]]} ${STATES[c.state[i]]}${took}`, sourceText(store.word(i, "cell"), c.line[i]), oneLine(store.word(i, "error"), 100)].filter(Boolean);
  }

  /** @returns {string[]} */
  waitTip(/** @type {number} */ i) {
    const wait = this.store.waits[i];
    return [`wait: ${oneLine(wait.reason, 60)}`, secondsText(wait.seconds), sourceText(wait.cell, wait.line)].filter(Boolean);
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
  }

  _key(/** @type {KeyboardEvent} */ e) {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(/** @type {any} */ (e.target).tagName)) return;
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if ((key === "Enter" || key === " ") && /** @type {any} */ (e.target).tagName === "BUTTON") return;
    let taken = true;
    if (key === "?") this.toggleHelp();
    else if (key === "Escape") this._escape();
    else if (key >= "1" && key <= "5" && !this.options.single) {
      this.open(Object.keys(TABS)[Number(key) - 1]);
      this.view.canvas?.focus({ preventScroll: true });
    } else taken = this.view.key(key);
    if (taken) e.preventDefault();
    // The notebook's own shortcuts must not hear letters that were meant for a view.
    if (taken || key.length === 1) e.stopPropagation();
  }

  _escape() {
    if (!this.help.hidden) this.help.hidden = true;
    else if (this.selection.choice || this.timeline.span) this._clear();
    else /** @type {any} */ (document.activeElement)?.blur?.();
  }
}
