// Bundles src/ into ../dashboard/static, which is committed: pip never needs node.
// dashboard.js follows a session; replay.js plays a run that is known to its end.

import { writeFileSync } from "node:fs";
import * as esbuild from "esbuild";
import { names } from "./names.mjs";
import { shorten } from "./shorten.mjs";

const out = new URL("../dashboard/static/", import.meta.url).pathname;
const src = new URL("./src/", import.meta.url).pathname;
/** The first that have nesting. */
const target = ["chrome120", "firefox117", "safari17.2"];
const { kept, foreign } = names(src);
/** @type {esbuild.CommonOptions} */
const plain = { format: "esm", target, charset: "utf8", legalComments: "none" };

const { outputFiles } = await esbuild.build({
  ...plain,
  entryPoints: { dashboard: src + "main.js", replay: src + "replay.js" },
  outdir: out,
  bundle: true,
  write: false,
  minifySyntax: true,
  mangleProps: /./,
  reserveProps: new RegExp(`^(${kept.join("|")})$`),
});
for (const { path, text } of outputFiles) {
  const { code } = await esbuild.transform(shorten(text, foreign), { ...plain, minify: true });
  writeFileSync(path, code);
}
await esbuild.build({
  entryPoints: { dashboard: src + "style.css", replay: src + "player.css" },
  outdir: out,
  bundle: true,
  minify: true,
  target,
});
