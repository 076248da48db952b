// Bundles src/ into ../dashboard/static, which is committed: pip never needs node.
import * as esbuild from "esbuild";

const out = new URL("../dashboard/static/", import.meta.url).pathname;
const src = new URL("./src/", import.meta.url).pathname;
await esbuild.build({
  entryPoints: { dashboard: src + "main.js" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2021",
  charset: "utf8",
  legalComments: "none",
});
await esbuild.build({ entryPoints: { dashboard: src + "style.css" }, outdir: out, minify: true, target: "es2021" });
