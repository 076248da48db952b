// Places the graphs on its standard input, and prints where; for tests/dashboard/test_js.py.

import { readFileSync } from "node:fs";
import { place } from "../src/layout.js";

const cases = JSON.parse(readFileSync(0, "utf8"));
const item = ([lane, w, h]) => ({ lane, w, h });
console.log(JSON.stringify(cases.map(([items, edges, widths, gaps]) => place(items.map(item), edges, widths, gaps))));
