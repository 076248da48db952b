// The colours of the page that the dashboard stands in: Lab, VS Code, Colab and plain pages, light and dark.

/** @typedef {{dark: boolean, bg: string, fg: string, muted: string, line: string, faint: string, band: string,
 *   lane: string, accent: string, warn: string, bad: string, edge: string, link: string[],
 *   fill: string[], rim: string[], mark: string[]}} Theme */

/** Fill, outline and pattern of each state, as in pwlab/viz/svg_style.py. */
const LIGHT = {
  muted: "#5f6978", line: "#d5dce6", faint: "#eef1f5", band: "#f2f5f9", lane: "#ffffff", accent: "#1f6feb",
  warn: "#a87400", bad: "#c92a2a", edge: "#8d97a5", link: ["#8d97a5", "#0b7fab", "#c2570c", "#7a6a00"],
  fill: ["#ffffff", "#f3f5f8", "#fff7e0", "#e3efff", "#e7f6ec", "#fdebea", "#f6f1f9"],
  rim: ["#8b95a3", "#727d8c", "#a87400", "#1f6feb", "#1e8449", "#c92a2a", "#8e6aa8"],
  mark: ["", "", "#e9cf8d", "#bcd7ff", "", "#f6c9c6", "#ebe0f2"],
};
const DARK = {
  muted: "#a0aab8", line: "#333b47", faint: "#20252e", band: "#1a1e26", lane: "#14171d", accent: "#6cb0ff",
  warn: "#e3b341", bad: "#ff8078", edge: "#7b8695", link: ["#7b8695", "#4cc3ee", "#ff9d57", "#d6c14a"],
  fill: ["#1b1f27", "#262b35", "#332910", "#12294a", "#12311f", "#3d1618", "#2b2233"],
  rim: ["#7d8794", "#9aa4b2", "#e3b341", "#6cb0ff", "#4cc27a", "#ff8078", "#c39fdc"],
  mark: ["", "", "#5d4a1a", "#21426f", "", "#662628", "#3a2d45"],
};

/** Reads the host's colours and marks the root as dark or light. @returns {Theme} */
export function readTheme(/** @type {HTMLElement} */ root) {
  root.classList.remove("pw-dark");
  const style = getComputedStyle(root);
  const dark = luminance(style.backgroundColor) < 0.4;
  root.classList.toggle("pw-dark", dark);
  return { dark, bg: style.backgroundColor, fg: style.color, ...(dark ? DARK : LIGHT) };
}

function luminance(/** @type {string} */ rgb) {
  const [r, g, b] = (rgb.match(/[\d.]+/g) || ["255", "255", "255"]).map(Number);
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

/** Calls `changed` when the host's theme may have changed; returns what ends this. */
export function watchTheme(/** @type {() => void} */ changed) {
  const observer = new MutationObserver(changed);
  const options = { attributes: true, attributeFilter: ["class", "theme", "data-jp-theme-light", "data-theme", "data-vscode-theme-kind", "style"] };
  observer.observe(document.documentElement, options);
  observer.observe(document.body, options);
  const media = window.matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", changed);
  };
}
