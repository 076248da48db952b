// How the timeline hears the pointer and the keys.

import { grab, on, wheels } from "./dom.js";
import { within } from "./text.js";
import { AXIS, GUTTER } from "./timeline.js";

/** @typedef {import("./timeline.js").Timeline} View */

export function listen(/** @type {View} */ v) {
  const { canvas: element, app } = v;
  /** @type {{x: number, from: number, to: number, pan: boolean, moved: boolean} | null} */
  let drag = null;
  // The present of a replay is taken hold of where it stands on the axis, or beside its line.
  const grips = (/** @type {PointerEvent} */ e) => app.player && e.offsetX > GUTTER - 6 && (e.offsetY < AXIS || Math.abs(e.offsetX - v.x(app.store.now())) < 4);
  let gripped = false;
  const timeOf = (/** @type {PointerEvent} */ e) => v.time(within(GUTTER, e.offsetX, v.w - 8));
  const seek = (/** @type {PointerEvent} */ e) => app.player?.seek(timeOf(e));
  on(element, {
    pointerdown: (/** @type {PointerEvent} */ e) => {
      if (e.button > 1) return;
      gripped = !!grips(e);
      if (gripped) seek(e);
      else drag = { x: e.offsetX, from: v.from, to: v.to, pan: e.shiftKey || e.button === 1, moved: false };
      grab(element, e);
    },
    pointermove: (/** @type {PointerEvent} */ e) => {
      v.pointer = { x: e.offsetX, y: e.offsetY };
      element.style.cursor = gripped || grips(e) ? "ew-resize" : "";
      if (gripped) return seek(e);
      if (drag && (drag.moved || Math.abs(e.offsetX - drag.x) > 3)) {
        drag.moved = true;
        // While one chooses a stretch, the picture must stand still.
        v.mode = "free";
        if (drag.pan) {
          const by = (drag.x - e.offsetX) / v.scale;
          v.from = drag.from + by;
          v.to = drag.to + by;
        } else v.span = [v.time(Math.max(GUTTER, drag.x)), timeOf(e)];
        app.tip(null);
        app.draw();
        return;
      }
      const hit = v.hit(e.offsetX, e.offsetY);
      const word = hit && e.offsetX < GUTTER && app.options.words[hit.line.track || hit.line.island < 0 ? hit.line.label.split(" ")[0] : "island"];
      app.tip(hit && hit.ref >= 0 ? app.spanTip(hit.of, hit.ref) : word ? [hit.line.label, word] : null, e);
    },
    pointerup: (/** @type {PointerEvent} */ e) => {
      const was = drag;
      drag = null;
      if (gripped) {
        gripped = false;
        return;
      }
      if (was?.moved) {
        if (!v.span || was.pan) return;
        v.span.sort((a, b) => a - b);
        app.choose(null);
        return;
      }
      const hit = v.hit(e.offsetX, e.offsetY), track = hit?.line.track;
      v.span = null;
      if (hit && hit.ref >= 0) app.choose({ kind: hit.of === "compile" ? "node" : hit.of, id: hit.ref });
      else if (e.offsetX < GUTTER && track?.kind === "device") app.choose({ kind: "device", id: track.device });
      else app.choose(e.offsetX < GUTTER && track?.client ? { kind: "client", id: track.client } : null);
    },
    pointerleave: () => {
      v.pointer = null;
      app.tip(null);
    },
    dblclick: (/** @type {MouseEvent} */ e) => {
      const hit = v.hit(e.offsetX, e.offsetY);
      if (hit && hit.end > hit.start) v.frame(hit.start, hit.end);
    },
  });
  wheels(element, (e, factor) => {
    if (factor) v.zoom(factor, v.time(Math.max(GUTTER, e.offsetX)));
    else if (e.shiftKey) v.pan((e.deltaX || e.deltaY) / v.scale);
    return factor > 0 || e.shiftKey;
  });
}

/** @returns {boolean} whether the key was taken */
export function press(/** @type {View} */ v, /** @type {string} */ key) {
  const span = v.to - v.from;
  const about = v.pointer && v.pointer.x > GUTTER ? v.time(v.pointer.x) : undefined;
  switch (key) {
    case "w": v.zoom(1 / 1.4, about); break;
    case "s": v.zoom(1.4, about); break;
    case "a": case "ArrowLeft": v.pan(-span * 0.12); break;
    case "d": case "ArrowRight": v.pan(span * 0.12); break;
    case "ArrowUp": v.scroll = Math.max(0, v.scroll - 40); break;
    case "ArrowDown": v.scroll = Math.min(v.deepest ?? 0, v.scroll + 40); break;
    case "f": case "Enter": if (v.span) v.frame(...v.span); else if (key === "f") v.fit(); break;
    case "End": v.present(); break;
    case "Home": v.pan(v.app.store.begin() - v.from); break;
    case ".": step(v, 1); break;
    case ",": step(v, -1); break;
    default: return false;
  }
  v.app.draw();
  return true;
}

/** Chooses the next or previous span of the row of what is chosen; of a device, or else the first, where no span is. */
function step(/** @type {View} */ v, /** @type {number} */ by) {
  const { app } = v, { choice } = app.selection, { all } = app.tracks;
  const found = v.placeOf(choice), track = found?.track ?? all.find((t) => (choice?.kind === "device" ? t.device === choice.id : t.kind === "device" && t.rows[0].n));
  const row = found?.row ?? track?.rows[0];
  if (!track || !row?.n) return;
  const at = within(0, (found?.at ?? (by > 0 ? -1 : row.n)) + by, row.n - 1);
  app.choose({ kind: /** @type {any} */ (track.of), id: row.ref.a[at] });
  v.show(row.start.a[at], row.end.a[at]);
}
