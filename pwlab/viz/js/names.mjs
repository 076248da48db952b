// Which names of properties stay as they are in the bundle; all others are our own, and become short.
//
// They stay where somebody else knows them: the browser and the language (as TypeScript declares them), and Python
// and anywidget (as src/wire.d.ts declares them). So do those that a string in the sources may mean, as in `c[key]`.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import ts from "typescript";

const LIBRARIES = /^lib\.(dom|es5|es20(1[5-9]|2[0-3]))(\.(?!full).*)?\.d\.ts$/;

/** Tags are no properties; and these parts of the browser no view uses. */
const UNUSED = new RegExp(`TagNameMap$|^(${[
  "Atomics", "Audio", "Cookie", "Credential", "FileSystem", "Geolocation", "History", "HTML(Html|Table|Track)", "IDB", "Image(Capture|Decoder)", "LargestContentful", "MIDI", "Media",
  "Notification", "RTC", "SVG", "Selection", "Service", "SourceBuffer", "StartView", "Storage", "TableDescriptor", "TextTrack", "Track", "VTT",
].join("|")})`);

/**
 * `kept` are all that stay; `foreign` are those of them that the browser alone knows.
 * @param {string} src the folder of the sources
 */
export function names(src) {
  const lib = dirname(createRequire(import.meta.url).resolve("typescript"));
  const browser = new Set(["constructor"]), ours = new Set(), defined = new Set(), read = new Set();
  for (const file of readdirSync(lib).filter((name) => LIBRARIES.test(name))) {
    walk(`${lib}/${file}`, (node) => (ts.isInterfaceDeclaration(node) && UNUSED.test(node.name.text) ? false : void (isDeclared(node) && browser.add(node.name?.text))));
  }
  walk(`${src}wire.d.ts`, (node) => void (isDeclared(node) && ours.add(node.name.text)));
  for (const file of readdirSync(src).filter((name) => name.endsWith(".js"))) {
    walk(src + file, (node) => {
      if (ts.isStringLiteralLike(node)) ours.add(node.text);
      if (ts.isClassElement(node) || ts.isObjectLiteralElement(node)) defined.add(node.name?.text);
      if (ts.isPropertyAccessExpression(node)) (isSet(node) ? defined : read).add(node.name.text);
      if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) read.add((node.propertyName ?? node.name).text);
    });
  }
  const kept = new Set([...browser, ...ours].filter((name) => /^[\w$]+$/.test(name ?? "")));
  const unknown = [...read].filter((name) => !defined.has(name) && !kept.has(name));
  if (unknown.length) throw new Error(`nobody defines ${unknown.join(", ")}: if the browser does, LIBRARIES or UNUSED in names.mjs must let it`);
  return { kept: [...kept].sort(), foreign: new Set([...kept].filter((name) => !ours.has(name))) };
}

function isDeclared(node) {
  return ts.isTypeElement(node) || ts.isClassElement(node) || ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node);
}

function isSet(node) {
  const { parent } = node;
  return ts.isBinaryExpression(parent) && parent.left === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
}

/** Walks the tree of a file; not below a node for which `see` gives false. */
function walk(path, see) {
  const each = (node) => {
    if (see(node) !== false) ts.forEachChild(node, each);
  };
  each(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ES2022, true));
}
