import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { outdir, pageOptions } from "./build.mjs";

const folder = process.argv[2] ?? join(outdir, "screenshots");
mkdirSync(folder, { recursive: true });
await Promise.all([
  esbuild.build({ entryPoints: [join(import.meta.dirname, "screenshots.ts")], outdir, outExtension: { ".js": ".mjs" }, bundle: true, platform: "node", format: "esm", target: "node20", external: ["playwright-core"] }),
  esbuild.build(pageOptions),
]);
process.argv[2] = folder;
await import(pathToFileURL(join(outdir, "screenshots.mjs")).href);
