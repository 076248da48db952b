// How the graph hears the pointer and the keys.

import { grab, on, wheels } from "./dom.js";
import { isGroup } from "./picture.js";
import { within } from "./text.js";

/** @typedef {import("./graphview.js").Graph} View */

export function listen(/** @type {View} */ v) {
  const { canvas: element, app } = v;
  /** @type {{x: number, y: number, left: number, top: number, moved: boolean} | null} */
  let drag = null;
  on(element, {
    pointerdown: (/** @type {PointerEvent} */ e) => {
      drag = { x: e.offsetX, y: e.offsetY, left: v.x, top: v.y, moved: false };
      grab(element, e);
    },
    pointermove: (/** @type {PointerEvent} */ e) => {
      if (drag && (drag.moved || Math.hypot(e.offsetX - drag.x, e.offsetY - drag.y) > 3)) {
        drag.moved = true;
        v.x = drag.left + e.offsetX - drag.x;
        v.y = drag.top + e.offsetY - drag.y;
        v.mode = "";
        app.tip(null);
        app.draw();
        return;
      }
      const box = v.hit(e.offsetX, e.offsetY);
      element.style.cursor = box ? "pointer" : "grab";
      app.tip(box ? v.tipOf(box) : v.edgeTip(e.offsetX, e.offsetY), e);
    },
    pointerup: (/** @type {PointerEvent} */ e) => {
      const was = drag;
      drag = null;
      if (was?.moved) return;
      const box = v.hit(e.offsetX, e.offsetY);
      app.choose(box ? (isGroup(box) ? v.picture.commonOf(box) : { kind: "node", id: box.nodes[0] }) : null);
      if (box) v.reveal(box.nodes[0], true);
    },
    dblclick: (/** @type {MouseEvent} */ e) => {
      const box = v.hit(e.offsetX, e.offsetY);
      if (box && v.picture.turn(box)) v.fit("last");
    },
    pointerleave: () => app.tip(null),
  });
  wheels(element, (e, factor) => {
    if (!factor) return false;
    v.zoom(1 / factor, e.offsetX, e.offsetY);
    return true;
  });
}

/** @returns {boolean} whether the key was taken */
export function press(/** @type {View} */ v, /** @type {string} */ key) {
  const by = 60;
  switch (key) {
    case "w": case "+": v.zoom(1.25); return true;
    case "s": case "-": v.zoom(0.8); return true;
    case "a": case "ArrowLeft": v.x += by; break;
    case "d": case "ArrowRight": v.x -= by; break;
    case "ArrowUp": v.y += by; break;
    case "ArrowDown": v.y -= by; break;
    case "f": v.fit(); return true;
    case "End": v.fit("last"); return true;
    case "r": v.tidy(); return true;
    case ".": step(v, 1); return true;
    case ",": step(v, -1); return true;
    default: return false;
  }
  v.mode = "";
  v.app.draw();
  return true;
}

function step(/** @type {View} */ v, /** @type {number} */ by) {
  const { boxes, boxOf } = v.picture;
  if (!boxes.length) return;
  const now = boxOf.get(v.app.selection.node()), at = now ? boxes.indexOf(now) : by > 0 ? -1 : boxes.length;
  const box = boxes[within(0, at + by, boxes.length - 1)];
  v.app.choose({ kind: "node", id: box.nodes[0] });
  v.reveal(box.nodes[0]);
}
