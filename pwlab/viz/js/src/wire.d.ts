// What Python and the page say to each other; pwlab/viz/dashboard is the other half. These names stay as they are in
// the bundle, where all other names of our own become short: build.mjs reads them here.

/** A message of the pump; a snapshot begins with the same. */
export interface Batch {
  kind: "facts";
  chunks: Chunk[];
  strings: string[];
  strings_from: number;
  origin: number;
  now: number;
  lost: number;
  running: boolean;
  closed: boolean;
  /** Of a recording: seconds from the origin from which on nothing is missing; what a reader must know first; whether
   * what ran at its end is not known to have ended. */
  since?: number;
  doubts?: string;
  cut?: boolean;
}

/** Consecutive facts: where their columns lie in the buffer that comes with them. */
export interface Chunk {
  from: number;
  to: number;
  base: number;
  whole?: boolean;
  bytes?: number;
  tables: Record<string, { rows: number; cols: Record<string, [type: string, at: number]> }>;
}

/** Tables, and their columns, as pwlab/viz/dashboard/encode.py writes them. */
export interface Tables {
  joins: { no; id; name; chip; gang; chips; hbm };
  clients: { no; time; name; share; most; priority };
  gone: { no; time; name };
  slices: { no; id; time; name; island; gang };
  unmapped: { no; id };
  begins: { no; id; time; name; client; cell; line; text };
  programs_ended: { no; id; time; state };
  adds: { no; id; time; program; name; kind; slice; parts; spread; link; moved; inputs; outputs; after; cell; line; text };
  inputs: { buffer };
  outputs: { buffer; bytes; each; shape };
  after: { node };
  moves: { no; id; time; state; island; gang; seconds; scratch; written };
  written: { bytes };
  holds: { no; id; time; account; bytes };
  ends: { no; id; time; start; end; state; island; gang; error; cause };
  freed: { no; time; buffers };
  freed_buffers: { buffer };
  offloaded: { no; time; buffers };
  offloaded_buffers: { buffer };
  restored: { no; time; buffers };
  restored_buffers: { buffer };
  waiting: { no; time; reason; buffer; cell; line; text };
  waits: { no; time; seconds; reason; buffer; cell; line; text };
  works: { no; time; seconds; busy; events; launches };
  notes: { no; time; text };
  notes2: { no; time; text };
}

/** What the widget holds. */
export interface Settings {
  key: string;
  tab: string;
  single: boolean;
  words: Record<string, string>;
  height: number;
  snapshot: DataView;
}

/** What a page says. */
export interface Said {
  kind: "ready" | "ack" | "bye";
  page: string;
  seen?: number;
  strings?: number;
}

/** What anywidget hands to a widget, and takes from it. */
export interface Widget {
  default: { initialize: unknown; render: unknown };
  model: { get: unknown; on: unknown; off: unknown; send: unknown; widget_manager: unknown };
  el: HTMLElement;
}
