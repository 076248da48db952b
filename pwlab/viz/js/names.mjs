// Which names of properties stay as they are in the bundle; all others are our own, and become short.
//
// They stay where somebody else knows them: the browser and the language (as TypeScript declares them), and Python
// and anywidget (as src/wire.d.ts declares them). So do those that a string in the sources may mean, as in `c[key]`.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import ts from "typescript";

const LIBRARIES = /^lib\.(dom|es5|es20(1[5-9]|2[01]))(\.(?!full).*)?\.d\.ts$/;

/** Tags are no properties; and these parts of the browser no view uses. */
const UNUSED = /TagNameMap$|^(Atomics|Audio|Credential|HTMLTrack|Image(Capture|Decoder)|LargestContentful|Media|RTC|TableDescriptor|Track|VTT)/;

/** @param {string} src the folder of the sources */
export function kept(src) {
  const lib = dirname(createRequire(import.meta.url).resolve("typescript")), names = new Set(["constructor"]);
  const declared = [...readdirSync(lib).filter((file) => LIBRARIES.test(file)).map((file) => `${lib}/${file}`), `${src}wire.d.ts`];
  for (const path of declared) {
    walk(path, (node) => {
      if (ts.isInterfaceDeclaration(node) && UNUSED.test(node.name.text)) return false;
      if (ts.isTypeElement(node) || ts.isClassElement(node) || ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node)) names.add(node.name?.text);
    });
  }
  for (const file of readdirSync(src).filter((name) => name.endsWith(".js"))) {
    walk(src + file, (node) => void (ts.isStringLiteralLike(node) && names.add(node.text)));
  }
  return [...names].filter((name) => /^[\w$]+$/.test(name ?? "")).sort();
}

function walk(path, visit) {
  const each = (node) => {
    if (visit(node) === false) return;
    ts.forEachChild(node, each);
  };
  each(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.ES2021));
}
