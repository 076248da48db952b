// What esbuild leaves long: a bundle is rewritten before it is minified, so that the sources need not be terse.
//
// Each step takes code and gives code that does the same. They change its text where its syntax tree says, no more.

import ts from "typescript";

/** Globals that may have a shorter name. */
const GLOBALS = new Set(["Array", "Boolean", "Float64Array", "Infinity", "Map", "Number", "Object", "Set", "String", "Uint32Array", "Uint8Array", "cancelAnimationFrame", "document", "isFinite", "isNaN", "performance", "requestAnimationFrame"]);
/** Values that are the same wherever they are written, and new objects that are alike. */
const PLAIN = /^(-?[\d.]+|-?1 \/ 0|NaN|null|![01]|"")$/, NEW = /^(\[\]|(\/\* @__PURE__ \*\/ )?new (Map|Set)\(\))$/;
/** So often a function must say `this` for a name to pay. */
const OFTEN = 4;
/** So many letters a name must have for a string to pay. */
const LONG = 4;

/** @param {string} code @param {Set<string>} foreign names of properties of the browser and the language */
export function shorten(code, foreign) {
  return shared(spelt(arrows(named(fields(code))), foreign));
}

/** What a constructor sets to the same always, before it does anything else, is a field: `n = 0`. @param {string} code */
export function fields(code) {
  const edits = [];
  visit(parse(code), (node) => {
    if (!ts.isConstructorDeclaration(node)) return;
    let made = "", sets = true;
    const left = node.body.statements.map((one) => {
      if (!ts.isExpressionStatement(one)) return one.getText();
      const rest = parts(one.expression).filter((part) => {
        sets &&= /^(this\.\w+ = |super\()/.test(part.getText());
        const fields = sets ? constants(part) : "";
        made += fields;
        return !fields;
      });
      return rest.map((part) => part.getText()).join(", ") + ";";
    });
    const body = left.join("\n").replace(/^;$/gm, "").trim();
    if (made) edits.push([node.getStart(), node.end, made + (body && `constructor(${node.parameters.map((one) => one.getText())}) {\n${body}\n}`)]);
    return false;
  });
  return edited(code, edits);
}

/** What stands between commas. @returns {import("typescript").Expression[]} */
function parts(node) {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken ? [...parts(node.left), node.right] : [node];
}

/** `this.a = this.b = 0` as fields; "" where it is none, where its value may differ, or where several are one object. */
function constants(node) {
  const names = [];
  let value = node;
  for (; ts.isBinaryExpression(value); value = value.right) names.push(value.left.getText().match(/^this\.(\w+)$/)?.[1]);
  const text = value.getText(), same = PLAIN.test(text) || (NEW.test(text) && names.length === 1);
  return same && names.every(Boolean) ? names.map((name) => `${name} = ${text}; `).join("") : "";
}

/** Methods that say `this` often have a name for it, which can be a letter. @param {string} code */
export function named(code) {
  const edits = [];
  visit(parse(code), (node) => {
    if (!(ts.isMethodDeclaration(node) || ts.isAccessor(node) || ts.isConstructorDeclaration(node))) return;
    // In a class that extends another there is no `this` before `super()`.
    const begun = ts.isConstructorDeclaration(node) && node.body.statements.find((one) => /\bsuper\(/.test(one.getText()));
    const from = begun ? begun.end : node.body.getStart() + 1, uses = [];
    visit(node.body, (inner) => {
      if ((ts.isFunctionLike(inner) && !ts.isArrowFunction(inner)) || ts.isClassLike(inner)) return false;
      if (inner.kind === ts.SyntaxKind.ThisKeyword && inner.getStart() >= from) uses.push(inner);
    });
    if (uses.length < OFTEN) return;
    edits.push([from, from, "let $this = this;"], ...uses.map((use) => [use.getStart(), use.end, "$this"]));
  });
  return edited(code, edits);
}

/** Functions of the bundle are arrow functions. @param {string} code */
export function arrows(code) {
  const edits = [];
  for (const node of parse(code).statements) {
    if (!ts.isFunctionDeclaration(node) || node.asteriskToken || /\b(this|arguments)\b/.test(node.getText())) continue;
    const waits = node.modifiers?.some((one) => one.kind === ts.SyntaxKind.AsyncKeyword) ? "async " : "";
    edits.push([node.getStart(), node.parameters.pos - 1, `var ${node.name.text} = ${waits}`], [node.body.getStart(), node.body.getStart(), "=> "], [node.end, node.end, ";"]);
  }
  return edited(code, edits);
}

/**
 * Long names of properties, `x.textBaseline`, are strings, which can be shared: `x["textBaseline"]`. Not so in loops
 * `length` and our own: very many numbers are read there, and that should be as quick as can be.
 * @param {string} code @param {Set<string>} foreign
 */
export function spelt(code, foreign) {
  const edits = [], looped = new Set();
  visit(parse(code), (node) => {
    const { parent } = node;
    if (ts.isForStatement(node) || ts.isForOfStatement(node) || ts.isWhileStatement(node)) visit(node, (inner) => void looped.add(inner));
    if (!ts.isIdentifier(node) || node.text.length < LONG) return;
    const text = `["${node.text}"]`, often = node.text === "length" || !foreign.has(node.text);
    if (often && (looped.has(node) || !ts.isPropertyAccessExpression(parent))) return;
    if (ts.isPropertyAccessExpression(parent) && parent.name === node && parent.expression.getText() !== "Math") {
      edits.push(parent.questionDotToken ? [node.getStart(), node.end, text] : [parent.expression.end, node.end, text]);
    } else if ((ts.isPropertyAssignment(parent) && parent.name === node) || (ts.isBindingElement(parent) && parent.propertyName === node)) edits.push([node.getStart(), node.end, text]);
  });
  return edited(code, edits);
}

/** What is written more than once, `Math.max` or a long string, is written once and has a name. @param {string} code */
export function shared(code) {
  /** @type {Map<string, import("typescript").Node[]>} */
  const found = new Map();
  visit(parse(code), (node) => {
    if (ts.isExportDeclaration(node)) return false;
    const isMath = ts.isPropertyAccessExpression(node) && node.expression.getText() === "Math";
    const isName = node.parent?.name === node || node.parent?.propertyName === node;
    if (!isMath && (isName || !(ts.isStringLiteral(node) || (ts.isIdentifier(node) && GLOBALS.has(node.text))))) return;
    const text = node.getText();
    found.set(text, [...(found.get(text) ?? []), node]);
    return false;
  });
  const worth = [...found].filter(([text, nodes]) => (nodes.length - 1) * text.length > 2 * nodes.length + 4);
  const edits = worth.flatMap(([, nodes], i) => nodes.map((node) => [node.getStart(), node.end, `$${i}`]));
  return `var ${worth.map(([text], i) => `$${i} = ${text}`)};\n${edited(code, edits)}`;
}

function parse(code) {
  return ts.createSourceFile("bundle.js", code, ts.ScriptTarget.ES2022, true);
}

/** Walks a tree; not below a node for which `see` gives false. */
function visit(node, see) {
  if (see(node) !== false) ts.forEachChild(node, (child) => visit(child, see));
}

/** @param {string} code @param {[number, number, string][]} edits from, to, and what stands there instead */
function edited(code, edits) {
  for (const [from, to, text] of edits.sort((a, b) => b[0] - a[0])) code = code.slice(0, from) + text + code.slice(to);
  return code;
}
