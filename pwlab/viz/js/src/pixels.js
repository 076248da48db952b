// Very many spans, drawn as pixels: one line of them a row, put into a small picture that is stretched to the rows'
// heights. What is chosen is drawn again over the rest.

import { words } from "./colours.js";
import { f4, u2, u4 } from "./columns.js";
import { Row } from "./row.js";

export class Pixels {
  constructor() {
    this._picture = document.createElement("canvas");
    this._highlight = { choice: /** @type {any} */ (null), at: 0, rows: /** @type {Map<Row, Row>} */ (new Map()) };
    this._cover = this._best = new f4(0);
    this._keys = new u2(0);
  }

  /**
   * @param {import("./timeline.js").Timeline} view @param {{row: Row, y: number}[]} rows
   * @param {number} left @param {number} ratio pixels of the screen in one of the page
   */
  draw(view, rows, left, ratio) {
    const { theme } = view.app, wide = Math.round(view.plot * ratio), picture = this._picture;
    if (picture.width !== wide || picture.height < rows.length) {
      picture.width = wide;
      picture.height = rows.length;
      this._cover = new f4(wide);
      this._best = new f4(wide);
      this._keys = new u2(wide);
    }
    const context = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
    const image = context.createImageData(wide, rows.length), out = new u4(image.data.buffer);
    const rgb = words(theme.dark), lit = this._lit(view.app), scale = view.scale * ratio;
    const { _cover: cover, _best: best, _keys: keys } = this;
    rows.forEach(({ row }, r) => {
      for (const layer of lit ? [row, lit.get(row)] : [row]) {
        if (!layer) continue;
        cover.fill(0);
        best.fill(0);
        layer.paint(view.from, scale, cover, best, keys);
        const most = lit && layer === row ? 60 : 255, at = r * wide;
        for (let px = 0; px < wide; px++) {
          const part = cover[px];
          if (part <= 0) continue;
          // What is little is still to be seen.
          const alpha = (most * Math.min(1, 0.18 + 0.82 * part)) | 0;
          out[at + px] = (rgb[keys[px]] & 0xffffff) | (alpha << 24);
        }
      }
    });
    context.putImageData(image, 0, 0);
    view.context.imageSmoothingEnabled = false;
    rows.forEach(({ y }, r) => view.context.drawImage(picture, 0, r, wide, 1, left, y + 1, view.plot, Math.max(3, view.each - 2)));
  }

  /** Rows that hold only what is chosen; null where nothing is or one node alone. @param {import("./app.js").App} app */
  _lit(app) {
    const { choice } = app.selection, now = performance.now();
    if (!choice || ["node", "wait", "work"].includes(choice.kind)) return null;
    const known = this._highlight;
    if (known.choice === choice && now - known.at < 1000) return known.rows;
    const rows = new Map();
    for (const track of app.tracks.all) {
      for (const row of track.rows) {
        const lit = new Row();
        for (let i = 0; i < row.n; i++) if (app.selection.lights(track.of, row.ref.a[i])) lit.add(row.start.a[i], row.end.a[i], row.ref.a[i], row.key.a[i]);
        rows.set(row, lit);
      }
    }
    this._highlight = { choice, at: performance.now(), rows };
    return rows;
  }
}
