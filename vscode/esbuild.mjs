// Bundles the extension and the page of its chat view into dist/.
// --watch builds again on every change, --minify as for a release.
import * as esbuild from "esbuild";
import { writeNotices } from "./notices.mjs";

const flags = new Set(process.argv.slice(2));
const common = {
  bundle: true,
  outdir: "dist",
  target: "es2022",
  minify: flags.has("--minify"),
  sourcemap: flags.has("--minify") ? false : "linked",
  logLevel: "warning",
  metafile: true,
};

const builds = [
  {
    ...common,
    entryPoints: { extension: "src/main.ts" },
    platform: "node",
    format: "cjs",
    external: ["vscode"],
  },
  {
    ...common,
    entryPoints: { webview: "src/webview/main.tsx" },
    platform: "browser",
    format: "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".ttf": "file" },
    assetNames: "[name]",
  },
];

if (flags.has("--watch")) {
  const contexts = await Promise.all(builds.map((b) => esbuild.context(b)));
  await Promise.all(contexts.map((c) => c.watch()));
} else {
  writeNotices(await Promise.all(builds.map((b) => esbuild.build(b))), "dist/ThirdPartyNotices.txt");
}
