// The colours of the page that the dashboard stands in: Lab, VS Code, Colab and plain pages, light and dark.

import { DARK, LIGHT } from "./palette.js";

/** @typedef {{dark: boolean, bg: string, fg: string, muted: string, line: string, band: string,
 *   lane: string, accent: string, bad: string, link: string[],
 *   fill: string[], rim: string[], mark: string[]}} Theme */

/** What style.css says, too, for light and for dark. */
const NAMED = ["muted", "line", "band", "lane", "accent", "bad"];

/** Fill, outline and pattern of each state, and colours of networks. */
const THEMES = [LIGHT, DARK].map(({ states, links }) => {
  const [fill, rim, mark] = [0, 1, 2].map((k) => states.map((tone) => tone[k]));
  return { link: links, fill, rim, mark };
});

/** Reads the host's colours and marks the root as dark or light. @returns {Theme} */
export function readTheme(/** @type {HTMLElement} */ root) {
  root.classList.remove("pw-dark");
  const style = getComputedStyle(root), dark = luminance(style.backgroundColor) < 0.4;
  root.classList.toggle("pw-dark", dark);
  const named = Object.fromEntries(NAMED.map((name) => [name, style.getPropertyValue(`--${name}`)]));
  return /** @type {any} */ ({ dark, bg: style.backgroundColor, fg: style.color, ...named, ...THEMES[+dark] });
}

function luminance(/** @type {string} */ rgb) {
  const [r, g, b] = (rgb.match(/[\d.]+/g) || ["255", "255", "255"]).map(Number);
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

/** Calls `changed` when the host's theme may have changed; returns what ends this. */
export function watchTheme(/** @type {() => void} */ changed) {
  const observer = new MutationObserver(changed);
  for (const place of [document.documentElement, document.body]) observer.observe(place, { attributes: true });
  const media = window.matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", changed);
  };
}
