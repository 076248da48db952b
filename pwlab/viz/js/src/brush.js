// Strokes that every picture makes.

/** Gives a canvas the screen's resolution; its context, empty, then draws in pixels of the page. @param {any} element @param {number} w @param {number} tall */
export function sharpen(element, w, tall) {
  const ratio = Math.min(2, window.devicePixelRatio || 1), width = Math.round(w * ratio), height = Math.round(tall * ratio);
  if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
  const g = /** @type {CanvasRenderingContext2D} */ (element.getContext("2d"));
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, tall);
  return { g, ratio };
}

/** @param {CanvasRenderingContext2D} g @param {string} colour @param {number} x @param {number} y @param {number} w @param {number} tall */
export function block(g, colour, x, y, w, tall, alpha = 1) {
  g.globalAlpha = alpha;
  g.fillStyle = colour;
  g.fillRect(x, y, w, tall);
  g.globalAlpha = 1;
}

/**
 * A box with round corners, filled and outlined where colours are given; it stays the path.
 * @param {CanvasRenderingContext2D} g @param {number[]} box x, y, width, height, radius @param {any} [fill] @param {string} [rim]
 */
export function rounded(g, [x, y, w, tall, radius], fill, rim) {
  g.beginPath();
  g.roundRect(x, y, w, tall, radius);
  paint(g, fill, rim);
}

/** Fills and outlines the path. @param {CanvasRenderingContext2D} g @param {any} [fill] @param {string} [rim] */
export function paint(g, fill, rim) {
  if (fill) {
    g.fillStyle = fill;
    g.fill();
  }
  if (!rim) return;
  g.strokeStyle = rim;
  g.stroke();
}

/** A polygon or an open line through points. @param {CanvasRenderingContext2D} g @param {number[][]} points */
export function through(g, points) {
  points.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
}

/** A level line across. @param {CanvasRenderingContext2D} g @param {string} colour @param {number[]} dash @param {number} w @param {number} y */
export function across(g, colour, dash, w, y) {
  g.setLineDash(dash);
  g.beginPath();
  through(g, [[0, y], [w, y]]);
  paint(g, "", colour);
  g.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} g @param {string | number} font size, after weight where it has one @param {string} colour
 * @param {string} text @param {number} x @param {number} y @param {CanvasTextAlign} align
 * @param {number} [most] so wide is the text at most; a wider one is squeezed. With Infinity nothing is drawn
 */
export function write(g, font, colour, text, x, y, align = "left", most = 1e5) {
  face(g, font);
  g.fillStyle = colour;
  g.textAlign = align;
  g.fillText(text, x, y, most);
  g.textAlign = "left";
}

/** The font of what is written and measured next; `y` is the middle of a line. @param {CanvasRenderingContext2D} g @param {string | number} font size, after weight where it has one */
export function face(g, font) {
  g.font = `${font}px system-ui, sans-serif`;
  g.textBaseline = "middle";
}
