// Bundled packages keep their licences: dist/ThirdPartyNotices.txt has the name, the
// version and the licence texts of every package that the builds have taken from.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export function writeNotices(results, file) {
  const folders = new Set(results.flatMap((r) => Object.keys(r.metafile.inputs).map(packageOf)).filter(Boolean));
  const notices = [...folders].sort().map(notice);
  writeFileSync(file, `Hermes for VS Code contains parts of these packages.\n\n${notices.join("\n")}`);
}

/** packageOf is the folder of the package that a source file belongs to. */
function packageOf(path) {
  const m = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
  return m?.[1];
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = licences(folder).map((f) => readFileSync(f, "utf8").trim());
  if (texts.length === 0) throw new Error(`${name}: no licence text in ${folder}`);
  return `${"=".repeat(72)}\n${name} ${version} (${license})\n\n${texts.join("\n\n")}\n`;
}

/** licences are the texts in a package; one of a family may have its text a folder up. */
function licences(folder) {
  const found = readdirSync(folder).filter((f) => /^(licen[cs]e|notice|copying)/i.test(f)).map((f) => join(folder, f));
  const above = dirname(folder);
  return found.length > 0 || !existsSync(join(above, "package.json")) ? found : licences(above);
}
