// Bundles src/ into ../dashboard/static, which is committed: pip never needs node.
// dashboard.js follows a session; replay.js plays a run that is known to its end.

import * as esbuild from "esbuild";
import { kept } from "./names.mjs";

const out = new URL("../dashboard/static/", import.meta.url).pathname;
const src = new URL("./src/", import.meta.url).pathname;
await esbuild.build({
  entryPoints: { dashboard: src + "main.js", replay: src + "replay.js" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2021",
  charset: "utf8",
  legalComments: "none",
  mangleProps: /./,
  reserveProps: new RegExp(`^(${kept(src).join("|")})$`),
});
await esbuild.build({
  entryPoints: { dashboard: src + "style.css", replay: src + "player.css" },
  outdir: out,
  bundle: true,
  minify: true,
  // The first that have nesting.
  target: ["chrome120", "firefox117", "safari17.2"],
});
