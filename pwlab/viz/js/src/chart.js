// Small charts over the time in which programs ran, drawn from bins.

import { ticks } from "./axis.js";
import { block, face, sharpen, write } from "./brush.js";
import { f8 } from "./columns.js";
import { h } from "./dom.js";
import { BOX_MARKS } from "./palette.js";
import { pattern } from "./patterns.js";
import { within } from "./text.js";

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
    paint(sharpen(this.element, wide, this.tall).g, wide, this.tall);
  }

  /** Tells of the bin under the pointer. @param {number} bins @param {(bin: number) => (string | false)[]} told */
  tells(bins, told) {
    const { element } = this;
    element.onpointermove = (/** @type {PointerEvent} */ e) =>
      element.setAttribute("data-tip", told(within(0, Math.floor((e.offsetX / element.clientWidth) * bins), bins - 1)).filter(Boolean).join("\n"));
  }
}

/** A mark is in the colour of the paper, or in one of its `own`. @typedef {{values: ArrayLike<number>, colour: string, mark: string, own?: string, faint?: boolean}} Layer */

/**
 * Layers on top of each other, a step a bin, with their marks over them.
 * @param {CanvasRenderingContext2D} g @param {Layer[]} layers @param {string} paper
 * @param {number} each width of a bin @param {number} low the y of zero @param {number} unit pixels of 1
 */
export function areas(g, layers, paper, each, low, unit) {
  const bins = layers.reduce((most, { values }) => Math.max(most, values.length), 0), floor = new f8(bins);
  for (const { values, colour, mark, own, faint } of layers) {
    g.globalAlpha = faint ? 0.3 : 1;
    g.beginPath();
    for (let b = 0; b < bins; b++) {
      const value = values[b] * unit;
      if (!(value > 0)) continue;
      g.rect(b * each, low - floor[b] - value, each + 0.3, value);
      floor[b] += value;
    }
    g.fillStyle = colour;
    g.fill();
    if (!mark) continue;
    g.fillStyle = pattern(g, BOX_MARKS[/** @type {"dots"} */ (mark)], own ?? paper) ?? colour;
    g.fill();
  }
  g.globalAlpha = 1;
}

/** The mark as the background of an element. @param {string} mark @param {string} ink */
export function tile(mark, ink) {
  if (!mark) return "";
  const [side, path, stroke, opacity] = BOX_MARKS[/** @type {"dots"} */ (mark)], drawn = stroke ? `fill="none" stroke="${ink}" stroke-width="${stroke}"` : `fill="${ink}"`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}"><path d="${path}" opacity="${opacity}" ${drawn}/></svg>`;
  return `;background-image:url("data:image/svg+xml,${encodeURIComponent(svg)}")`;
}

/**
 * The axis of time below a chart.
 * @param {CanvasRenderingContext2D} g @param {import("./theme.js").Theme} theme @param {number} span @param {number} w @param {number} y
 */
export function timeAxis(g, theme, span, w, y) {
  for (const tick of ticks(0, span, w / span)) {
    const x = (tick.time / span) * w;
    if (x > 14 && x < w - 20) write(g, 10.5, theme.muted, tick.text, x, y + 9, "center");
    block(g, theme.muted, x, y, 1, 3);
  }
}

/** A word on a plate of paper. @param {CanvasRenderingContext2D} g @param {import("./theme.js").Theme} theme @param {string} text @param {number} x @param {number} y */
export function plate(g, theme, text, x, y) {
  face(g, "600 11");
  block(g, theme.bg, x - 4, y - 8, g.measureText(text).width + 8, 16, 0.85);
  write(g, "600 11", theme.fg, text, x, y + 0.5);
}
