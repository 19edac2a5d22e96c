import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../../..");

/** Where the tests and their page are built. */
export const outdir = join(root, "build/test");
rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir, { recursive: true });

/** The page as it is shipped. */
export const pageOptions = {
  entryPoints: { webview: join(root, "src/webview/main.tsx") },
  outdir,
  bundle: true,
  minify: true,
  platform: "browser",
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
  logLevel: "warning",
};
