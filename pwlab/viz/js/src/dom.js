// Elements without HTML: every text goes in as a text node, for names come from users.

/**
 * @param {string} tag `div.some.classes`
 * @param {Record<string, any>} [attributes] `on…` are listeners
 * @param {...any} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const key in attributes) {
    const value = attributes[key];
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value);
  }
  fill(element, children);
  return element;
}

/** Puts new children in the place of the old ones. @param {any} element @param {any[]} children */
export function fill(element, children) {
  element.replaceChildren(...children.flat(3).filter((/** @type {any} */ c) => c !== null && c !== undefined && c !== false && c !== ""));
  return element;
}

/** A canvas that fills its parent at the screen's resolution; `fit()` gives its size in CSS pixels. */
export function canvas(/** @type {any} */ parent, /** @type {string} */ label) {
  const element = h("canvas.pw-canvas", { tabindex: "0", role: "img", "aria-label": label });
  parent.append(element);
  const context = /** @type {CanvasRenderingContext2D} */ (element.getContext("2d"));
  const fit = () => {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const w = Math.max(1, parent.clientWidth), height = Math.max(1, parent.clientHeight);
    if (element.width !== Math.round(w * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(w * ratio);
      element.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { w, h: height, ratio };
  };
  return { element, context, fit };
}
