// Elements without HTML: every text goes in as a text node, for names come from users.

import { sharpen } from "./brush.js";
import { within } from "./text.js";

/**
 * @param {string} tag `div.some.classes`
 * @param {...any} children before which may come attributes; `on…` are listeners
 * @returns {any}
 */
export function h(tag, ...children) {
  const [name, ...classes] = tag.split("."), element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  if (children[0]?.constructor === Object) {
    for (const [key, value] of Object.entries(children.shift())) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key === "style") element.style.cssText = value;
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value);
    }
  }
  return fill(element, children);
}

/** Puts new children in the place of the old ones. @param {any} element @param {any[]} children */
export function fill(element, children) {
  element.replaceChildren(...children.flat(4).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return element;
}

/** @param {string} text @param {string} title @param {() => void} onclick @param {Record<string, any>} [more] */
export function button(text, title, onclick, more) {
  return h("button.pw-button", { title, onclick, ...more }, text);
}

/** A list to choose from. @param {string} title @param {string[][]} options value and text @param {(value: string) => void} chosen */
export function choices(title, options, chosen) {
  const list = h("select.pw-select", { title, "aria-label": title, onchange: () => chosen(list.value) }, options.map(([value, text]) => h("option", { value }, text)));
  return list;
}

/** A bar of parts, 0 to 1, each with how it is filled. @param {[number, string][]} parts @param {Record<string, any>} [about] */
export function bar(parts, about = {}) {
  return h("span.pw-bar", about, parts.map(([part, filled]) => part > 0.001 && h("i", { style: `width:${(100 * part).toFixed(2)}%;${filled}` })));
}

/** Hears events, by their names. @param {any} element @param {Record<string, (event: any) => void>} listeners @param {any} [options] */
export function on(element, listeners, options) {
  for (const type in listeners) element.addEventListener(type, listeners[type], options);
}

/** Takes hold of the pointer, and of the keys. @param {any} element @param {PointerEvent} e */
export function grab(element, e) {
  element.setPointerCapture(e.pointerId);
  element.focus({ preventScroll: true });
}

/**
 * Hears the wheel: a factor to zoom out by where it zooms, else 0. What is not taken scrolls the page.
 * @param {any} element @param {(e: WheelEvent, factor: number) => boolean} taken
 */
export function wheels(element, taken) {
  on(element, { wheel: (e) => taken(e, e.ctrlKey || e.metaKey ? Math.exp(within(-60, e.deltaY, 60) * 0.008) : 0) && e.preventDefault() }, { passive: false });
}

/** A canvas that fills its parent; `fit()` gives its size in pixels of the page. @param {any} parent @param {string} label */
export function canvas(parent, label) {
  const element = h("canvas.pw-canvas", { "tabindex": "0", role: "img", "aria-label": label });
  parent.append(element);
  const fit = () => {
    const w = Math.max(1, parent.clientWidth), tall = Math.max(1, parent.clientHeight);
    return { w, h: tall, ratio: sharpen(element, w, tall).ratio };
  };
  return { element, context: /** @type {CanvasRenderingContext2D} */ (element.getContext("2d")), fit };
}
