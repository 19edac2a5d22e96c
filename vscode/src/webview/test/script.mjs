// Runs programs other than tests on the page as it is shipped:
//   node src/webview/test/script.mjs screenshots [FOLDER [NAME]]
//   node src/webview/test/script.mjs measure
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { outdir, pageOptions } from "./build.mjs";

const name = process.argv[2];
await Promise.all([
  esbuild.build({
    entryPoints: [join(import.meta.dirname, `${name}.ts`)],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["playwright-core"],
  }),
  esbuild.build(pageOptions),
]);
await import(pathToFileURL(join(outdir, `${name}.mjs`)).href);
