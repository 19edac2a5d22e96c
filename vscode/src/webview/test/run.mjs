// npm test: the reducer and the other pure parts under node, and the page in Chromium.
// Further arguments go to node --test, such as --test-name-pattern=mention.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { outdir, pageOptions } from "./build.mjs";

const sources = [".", "../../chat/test", "../../test"]
  .map((f) => join(import.meta.dirname, f))
  .flatMap((folder) =>
    readdirSync(folder)
      .filter((f) => f.endsWith(".test.ts"))
      .map((f) => join(folder, f)),
  );
await Promise.all([
  esbuild.build({
    entryPoints: sources,
    outdir,
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["playwright-core", "vscode"],
    logLevel: "warning",
  }),
  esbuild.build(pageOptions),
]);
const tests = readdirSync(outdir)
  .filter((f) => f.endsWith(".test.mjs"))
  .map((f) => join(outdir, f));
process.exit(spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...process.argv.slice(2), ...tests], { stdio: "inherit" }).status ?? 1);
