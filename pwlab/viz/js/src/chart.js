// Small charts over time, on the axis of the whole run.

import { ticks } from "./axis.js";
import { h } from "./dom.js";

/** A canvas of its own height; `draw(paint)` gives `paint(context, width, height)`. */
export class Chart {
  /** @param {number} tall @param {string} label */
  constructor(tall, label) {
    this.element = h("canvas.pw-chart", { style: `height:${tall}px`, role: "img", "aria-label": label });
    this.tall = tall;
  }

  /** @param {(g: CanvasRenderingContext2D, w: number, h: number) => void} paint */
  draw(paint) {
    const wide = this.element.clientWidth;
    if (!wide) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1), g = /** @type {CanvasRenderingContext2D} */ (this.element.getContext("2d"));
    this.element.width = Math.round(wide * ratio);
    this.element.height = Math.round(this.tall * ratio);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(g, wide, this.tall);
  }
}

/**
 * The axis of time below a chart.
 * @param {CanvasRenderingContext2D} g @param {import("./theme.js").Theme} theme @param {number} span @param {number} w @param {number} y
 */
export function timeAxis(g, theme, span, w, y) {
  g.font = "10.5px system-ui, sans-serif";
  g.fillStyle = theme.muted;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const tick of ticks(0, span, w / span)) {
    const x = (tick.time / span) * w;
    if (x > 14 && x < w - 20) g.fillText(tick.text, x, y + 8);
    g.fillRect(x, y, 1, 3);
  }
  g.textAlign = "left";
}
