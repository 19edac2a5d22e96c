import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

import { literal } from "../literal";

/** Texts that VS Code's notifications draw as links (base/common/linkedText.ts), and its lists as icons (iconLabels.ts). */
const link = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;
const icon = /\$\([A-Za-z0-9-]+(?:~[A-Za-z0-9-]+)?\)/;

test("a text of the model is no link and no icon", () => {
  for (const text of [
    "rm -rf build #[see why](command:workbench.action.terminal.sendSequence?%7B%7D)",
    "[a](https://example.org 'x')",
    "[[a](command:x)](command:y)",
    "$(bell) $(sync~spin)",
    "]($(bell)(",
    "$$(x)",
  ]) {
    const shown = literal(text);
    assert.doesNotMatch(shown, link);
    assert.doesNotMatch(shown, icon);
    assert.equal(shown.replaceAll("\u2060", ""), text);
  }
  assert.equal(literal("ls $HOME [a] (b) {c}"), "ls $HOME [a] (b) {c}");
});

/** The tests are bundled into build/test and are started in the folder of package.json. */
const sources = path.resolve("src");

test("texts are shown by show.ts alone", () => {
  const own =
    /\.(showInformationMessage|showWarningMessage|showErrorMessage|showQuickPick|createQuickPick|showInputBox|createInputBox|withProgress|setStatusBarMessage)\b/;
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".ts") && !f.includes("test"));
  assert.ok(files.length > 20);
  const others = files.filter((f) => f !== "show.ts" && own.test(readFileSync(path.join(sources, f), "utf8")));
  assert.deepEqual(others, []);
  const trusting = files.filter((f) =>
    /isTrusted\s*=\s*true|isTrusted:\s*(true|\{)|supportHtml\s*=\s*true|supportHtml:\s*true/.test(readFileSync(path.join(sources, f), "utf8")),
  );
  assert.deepEqual(trusting, []);
});
