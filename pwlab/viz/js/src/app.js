// The dashboard on the page: tabs, status, details, help, keys.

import { ClientsPanel } from "./clients.js";
import { colour, KEY, swatch } from "./colours.js";
import { details } from "./details.js";
import { button, choices, fill, h } from "./dom.js";
import { Graph } from "./graphview.js";
import { MemoryPanel } from "./memory.js";
import { Selection } from "./select.js";
import { CANCELLED, DONE, FAILED, GLYPHS, LINKS, STATES, TRANSFER } from "./states.js";
import { bytesText, count, digits, oneLine, rangesText, secondsText, sourceText, within } from "./text.js";
import { readTheme, watchTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { Tracks } from "./tracks.js";
import { Usage } from "./usage.js";
import { Utilisation } from "./utilisation.js";

/** `words` are what learners are told, by word; few or none. @typedef {{tab: string, single: boolean, words: Record<string, string>, height: number}} Options */
/** Plays a run that is known to its end. @typedef {typeof import("./player.js").Player} PlayerType */

const TABS = { "timeline": "Timeline", "graph": "Graph", "utilisation": "Utilisation", "memory": "Memory", "clients": "Clients" };

const KEYS = [
  ["W  S", "zoom in, out"], ["A  D", "earlier, later"], ["↑  ↓", "more rows"], ["Ctrl + wheel", "zoom"], ["Shift + wheel", "pan"],
  ["drag", "choose a stretch: totals and busy share"], ["Shift + drag", "pan"], ["click", "details"], ["double-click", "zoom to it; open a group"], [".  ,", "next, previous"],
  ["F", "fit, or show what is chosen"], ["Home  End", "the beginning; the present, and follow it"], ["1 – 5", "tabs"], ["R", "lay the graph out anew"], ["Esc", "clear; again: leave"], ["?", "this help"],
];

export class App {
  /** @param {import("./store.js").Store} store @param {Options} options @param {PlayerType} [Player] of a replay */
  constructor(store, options, Player) {
    this.store = store;
    this._Player = Player;
    this.options = options;
    this.selection = new Selection(store);
    this.tracks = new Tracks(store);
    this.usage = Player ? Player.usageOf(store) : new Usage(store);
    this.root = h("div.pw-dash", { style: `height:${options.height}px`, "data-lm-suppress-shortcuts": "true", "data-pwlab": "dashboard" });
    this.body = h("div.pw-body");
    this.legend = h("div.pw-legend.pw-foot");
    this.aside = h("aside.pw-details", { hidden: true, "aria-live": "polite" });
    this.tooltip = h("div.pw-tip", { hidden: true, role: "tooltip" });
    const facts = (/** @type {string} */ title, /** @type {string[][]} */ rows) => rows.length > 0 && [h("h4", title), h("dl", rows.map(([key, text]) => h("div.pw-fact", h("dt", key), h("dd", text))))];
    this.help = h("div.pw-help", { hidden: true },
      facts("Keys", [...(Player?.keys ?? []), ...KEYS.filter(([key]) => !(Player && key.startsWith("Home")) && !(options.single && key.startsWith("1")))]), facts("Words", Object.entries(options.words)));
    this.status = h("span.pw-status");
    this.lamp = h("span.pw-lamp");
    this.by = choices("what the colours mean", [["name", "by computation"], ["client", "by client"]], (by) => {
      this.tracks.colourBy(by);
      this._legend();
      this.draw();
    });
    this.buttons = Object.entries(TABS).map(([key, text]) => h("button.pw-tab", { role: "tab", id: `t-${key}`, onclick: () => this.open(key) }, text));
    this.timeline = new Timeline(this);
    /** @type {Record<string, any>} */
    this.views = { timeline: this.timeline, graph: new Graph(this), utilisation: new Utilisation(this), memory: new MemoryPanel(this), clients: new ClientsPanel(this) };
    fill(this.root, [
      h("header.pw-head",
        options.single ? h("b", TABS[/** @type {keyof TABS} */ (options.tab)]) : h("nav.pw-tabs", { role: "tablist" }, this.buttons),
        h("div.pw-told", this.lamp, this.status), this.by,
        button("Fit", "show everything (F)", () => this.view.fit()), button("?", "keys and words (?)", () => this.toggleHelp())),
      h("div.pw-main", h("div.pw-split", this.body, this.aside)),
      this.legend, this.tooltip, this.help,
    ]);
    this.selection.listeners.push(() => {
      this._changed();
      this.draw();
    });
    this._frame = this._timer = 0;
    this._version = -1;
    this.root.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => this._key(e));
    /** @type {import("./theme.js").Theme} */
    this.theme = readTheme(this.root);
    /** @type {InstanceType<PlayerType> | null} */
    this.player = null;
    this.open(options.tab in TABS ? options.tab : "timeline");
  }

  /** The run is known to its end: any moment of it can be shown. */
  _replay(/** @type {PlayerType} */ Player) {
    this.tracks.update();
    this.player = new Player(this);
    this.root.insertBefore(this.player.element, this.legend);
    this.timeline.back.textContent = "to the playhead";
    this.timeline.back.title = "back to the moment that is shown";
  }

  /** Begins to draw; the root is on the page. Returns what ends it. */
  start() {
    if (this._Player) this._replay(this._Player);
    const look = () => {
      this.theme = readTheme(this.root);
      this._changed();
      this._legend();
      this.showDetails();
      this.player?.draw();
      this.draw();
    };
    const unwatch = watchTheme(look);
    const sizes = new ResizeObserver(() => {
      this.view.changed?.();
      this.player?.draw();
      this.draw();
    });
    sizes.observe(this.root);
    requestAnimationFrame(look);
    return () => {
      unwatch();
      sizes.disconnect();
      this.player?.close();
      cancelAnimationFrame(this._frame);
      clearTimeout(this._timer);
    };
  }

  _changed() {
    for (const view of Object.values(this.views)) view.changed?.();
  }

  get view() {
    return this.views[this.tab];
  }

  open(/** @type {string} */ tab) {
    this.tab = tab;
    this.tip(null);
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
    if (node >= 0) return this.view.reveal(node);
    // Of many that belong together the graph shows where they begin.
    if (this.tab !== "graph" || !this.selection.choice) return;
    for (let i = 0; i < this.store.known; i++) if (this.selection.has(i)) return this.view.reveal(i);
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
      // Little by little, so that the first look at a long run, or letting go of its beginning, does not take long.
      if (!this.store.replays) this.usage.update();
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
    const failed = store.counts[FAILED], notes = store.notes.filter(({ time }) => time <= store.now());
    fill(this.status, [
      `${count(store.counts[DONE], "node")} done`,
      running ? ` · ${count(running, "program")} ${store.going()}` : "",
      store.counts[CANCELLED] ? ` · ${digits(store.counts[CANCELLED])} cancelled` : "",
      failed ? [" · ", h("button.pw-link.pw-bad", { title: "show the first that failed", onclick: () => this._failed() }, `${GLYPHS[FAILED]} ${failed} failed`)] : "",
      store.thinned ? h("span", { title: "to save memory this page shows the oldest part of the run in its totals alone" }, ` · the oldest ${count(store.thinned, "node")} in totals only`) : "",
      notes.length > 0 && h("span", { title: notes.slice(-9).reverse().map(({ text }) => oneLine(text, 200)).join("\n") }, ` · ${oneLine(notes[notes.length - 1].text, 60)}`),
      store.doubts ? h("span", { title: store.doubts }, ` · ${oneLine(store.doubts, 60)}`) : store.lost ? h("span", { title: "the oldest facts were dropped to save memory" }, ` · ${count(store.lost, "old fact")} dropped`) : "",
    ]);
    this._legend();
  }

  _failed() {
    const { store } = this;
    for (let i = 0; i < store.known; i++) {
      if (!store.broke(i)) continue;
      this.choose({ kind: "node", id: i });
      this.reveal();
      return;
    }
  }

  _legend() {
    const { tracks, theme, store } = this;
    const names = [...tracks.colours.keys].slice(0, 14), links = tracks.all.filter(({ kind }) => kind === "transfer").map(({ label }) => label);
    const shown = `${tracks.by}${names.length}${links.length}${this.tab}${theme.dark}${store.counts.map((n) => (this.tab === "graph" ? n : +(n > 0)))}`;
    if (shown === this._legendFor) return;
    this._legendFor = shown;
    this.legend.hidden = this.tab !== "timeline" && this.tab !== "graph";
    if (this.tab === "graph") {
      fill(this.legend, [
        store.counts.map((n, state) => n > 0 && h("span.pw-key", this.glyph(state), ` ${STATES[state]} ${digits(n)}`)),
        LINKS.map((name, link) => link > 0 && links.includes(`${name} transfers`) && h("span.pw-key", { title: this.options.words[name] },
          h("u", { style: `border-top:2px ${link === 1 ? "solid" : "dashed"} ${theme.link[link]}` }), name)),
      ]);
      return;
    }
    const more = tracks.colours.keys.size - names.length;
    const square = (/** @type {string} */ filled) => h("i", { style: `background:${filled}` });
    fill(this.legend, [
      names.map(([name, key]) => h("button.pw-key", { title: `highlight ${oneLine(name, 80)}`, onclick: () => this.choose({ kind: /** @type {any} */ (tracks.by), id: name }) },
        square(swatch(key, theme.dark)), oneLine(name, 26))),
      more > 0 && h("span.pw-key", `and ${more} more`),
      links.map((name) => h("span.pw-key", { title: this.options.words[name.split(" ")[0]] }, square(colour(KEY.move + Math.max(1, LINKS.indexOf(name.split(" ")[0])), theme.dark)), name)),
      store.counts[FAILED] > 0 && h("span.pw-key", square(colour(KEY.failed, theme.dark)), "failed"),
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

  /** Chooses, and tells about it; nothing with null. */
  choose(/** @type {import("./select.js").Choice | null} */ choice) {
    this.selection.set(choice);
    this.showDetails();
  }

  _clear() {
    this.timeline.span = null;
    this.choose(null);
    this.draw();
  }

  /** @param {string[] | null} lines @param {PointerEvent} [at] */
  tip(lines, at) {
    this.tooltip.hidden = !lines;
    if (!lines || !at) return;
    fill(this.tooltip, lines.map((text, i) => h(i ? "div" : "b", text)));
    const box = this.root.getBoundingClientRect(), x = at.clientX - box.left, y = at.clientY - box.top;
    this.tooltip.style.left = `${within(4, x + 14, box.width - this.tooltip.offsetWidth - 6)}px`;
    this.tooltip.style.top = `${y + 22 + this.tooltip.offsetHeight > box.height ? y - this.tooltip.offsetHeight - 10 : y + 18}px`;
  }

  /** The mark of a state in its colour. */
  glyph(/** @type {number} */ state) {
    return h("span", { style: `color:${this.theme.rim[state]}` }, GLYPHS[state]);
  }

  /** @returns {string[]} */
  nodeTip(/** @type {number} */ i) {
    const { store } = this, c = store.nodes.c;
    const took = store.ran(i) ? ` · ${secondsText(store.ran(i))}` : "";
    const from = c.kind[i] === TRANSFER ? store.sources(i)[0] : undefined;
    const way = from !== undefined && `from ${store.name(from, 30)} on ${where(store.gang(from))} to ${where(store.gang(i))}`;
    return /** @type {string[]} */ ([this._moves(i) || store.name(i, 60), way, `${GLYPHS[c.state[i]]} ${STATES[c.state[i]]}${took}`, store.source(i), oneLine(store.word(i, "error"), 100)].filter(Boolean));
  }

  /** What a transfer moves; of others nothing. */
  _moves(/** @type {number} */ i) {
    const { kind, link, moved } = this.store.nodes.c;
    return kind[i] === TRANSFER ? `${LINKS[link[i]] || "transfer"} ${bytesText(moved[i])}` : "";
  }

  /** What a span of the timeline says on itself. @param {import("./tracks.js").Of} of @param {number} ref @returns {string} */
  spanName(of, ref) {
    const { store } = this;
    if (of === "node" || of === "compile") return this._moves(ref) || store.word(ref, "name");
    if (of === "program") return store.programs.get(ref)?.name ?? "";
    const { reason, cell, line } = store.waits[ref] ?? {}, { launches, events } = store.works[ref] ?? {};
    return of === "wait" ? `${reason} · ${sourceText(cell, line)}` : launches ? count(launches, "launch", "launches") : count(events, "event");
  }

  /** What is told of a span under the pointer. @param {import("./tracks.js").Of} of @param {number} ref @returns {string[]} */
  spanTip(of, ref) {
    const { store } = this;
    if (of === "node") return this.nodeTip(ref);
    if (of === "compile") return [`compiling ${store.name(ref, 60)}`, secondsText(store.nodes.c.compile[ref]), store.source(ref)].filter(Boolean);
    if (of === "work") {
      const { seconds, busy, events, launches } = store.works[ref];
      return ["controller", `${secondsText(busy)} at work in ${secondsText(seconds)}`, `${count(events, "event")}, ${count(launches, "launch", "launches")}`];
    }
    const wait = of === "wait" ? store.waits[ref] : null, program = store.programs.get(ref);
    if (wait) return [`wait: ${oneLine(wait.reason, 60)}`, isNaN(wait.seconds) ? "goes on" : secondsText(wait.seconds), sourceText(wait.cell, wait.line)].filter(Boolean);
    if (!program) return [];
    const over = program.ended >= program.opened;
    return [`program ${oneLine(program.name, 60)}`, over ? `${STATES[program.state]} after ${secondsText(program.ended - program.opened)}` : `${store.going()}, ${secondsText(store.now() - program.opened)}`,
      `client ${oneLine(program.client, 40)}`, sourceText(program.cell, program.line)].filter(Boolean);
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
  }

  _key(/** @type {KeyboardEvent} */ e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    // What is typed into a field is for the field, and for nobody else.
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(/** @type {any} */ (e.target).tagName)) return e.stopPropagation();
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if ((key === "Enter" || key === " ") && /** @type {any} */ (e.target).tagName === "BUTTON") return;
    let taken = true;
    if (key === "?") this.toggleHelp();
    else if (key === "Escape") this._escape();
    else if (key >= "1" && key <= "5" && !this.options.single) {
      this.open(Object.keys(TABS)[Number(key) - 1]);
      (this.view.canvas ?? this.view.element).focus({ preventScroll: true });
    } else taken = this.player?.key(key) || this.view.key(key);
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

/** @param {number[]} devices */
function where(devices) {
  return devices.length ? `device${devices.length > 1 ? "s" : ""} ${rangesText(devices)}` : "a host";
}
