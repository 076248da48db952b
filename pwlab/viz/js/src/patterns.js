// Patterns, so that nothing is told by colour alone: tiles of a path from the palette, in a colour.

import { had } from "./columns.js";

/** @type {Map<string, CanvasPattern | null>} */
const made = new Map();

/**
 * @param {CanvasRenderingContext2D} g @param {any[]} mark [side, path, width of the stroke or 0, opacity]
 * @param {string} colour
 */
export function pattern(g, [side, path, stroke, opacity], colour) {
  const key = `${side}${path}${colour}`;
  return had(made, key, () => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = side;
    const t = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d")), drawn = new Path2D(path);
    t.strokeStyle = t.fillStyle = colour;
    t.lineWidth = stroke;
    t.globalAlpha = opacity;
    if (stroke) t.stroke(drawn);
    else t.fill(drawn);
    return g.createPattern(tile, "repeat");
  });
}
