// Changes that wait, in a real VS Code: of two sessions, after a kill of the server and after a reload of the window, when
// neither session is loaded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { call, script, stepsOf } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-review-"));
const extensions = process.env.HERMES_EXTENSIONS ?? path.join(dir, "extensions");
const files = { "a.txt": "one\n", "b.txt": "one\n", "c.txt": "one\n" };
let editor;

before(async () => {
  editor = await open({ dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions, files, settings: { "hermes.model.provider": "embedded" }, hermes: "model: {provider: openai}\n" });
  await editor.status.waitFor();
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("review", () => editor);
const poll = async (what, holds) => {
  for (const end = Date.now() + 60_000; !(await holds()) && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(await holds(), what);
};
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();
const row = (name) => editor.page.locator(".pane-body .monaco-list-row").filter({ hasText: name }).first();
const lens = (title) => editor.page.locator(".codelens-decoration a").filter({ hasText: new RegExp(`^${title}$`) });
const badge = () => editor.page.locator('.activitybar .action-item:has(a[aria-label^="Hermes"]) .badge-content').first();

/** The processes of the server that this editor has started. */
function servers() {
  const list = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return list.filter((line) => line.includes(`${extensions}/`) && line.trimEnd().endsWith("hermes-ls serve")).map((line) => Number.parseInt(line, 10));
}

async function write(title, ...names) {
  const input = editor.chat.getByLabel("Message to Hermes");
  await input.waitFor();
  await input.fill(`${title}\n${script(names.map((name) => call("write_file", { path: name, content: "two\n" })), [{ text: `Wrote ${names}.` }])}`);
  await input.press("Enter");
  await editor.chat.locator("article.answer").last().getByText(`Wrote ${names}.`).waitFor();
  await idle();
}

async function changes(...names) {
  await editor.run("Hermes: Focus on Changes View");
  const closed = editor.page.locator('.pane-body .monaco-list-row[aria-expanded="false"]').filter({ hasText: /(First|Second) turn/ });
  await poll("the turns to be expanded", async () => {
    await closed.first().click({ timeout: 1_000 }).catch(() => {});
    return names.length === 0 || ((await closed.count()) === 0 && (await row(names[0]).count()) > 0);
  });
  for (const name of Object.keys(files)) {
    await row(name).waitFor({ state: names.includes(name) ? "visible" : "detached" });
  }
  await poll(`the badge to be ${names.length}`, async () => (names.length === 0 ? (await badge().count()) === 0 || (await badge().innerText()).trim() === "" : (await badge().innerText()).trim() === String(names.length)));
}

async function judge(name, button) {
  await row(name).hover();
  await row(name).getByRole("button", { name: new RegExp(`^${button}`) }).click();
  await row(name).waitFor({ state: "detached" });
}

step("changes of two sessions wait", async () => {
  await editor.page.keyboard.press("Control+Alt+h");
  await write("First turn", "a.txt", "b.txt");
  await editor.run("Hermes: New Session");
  await editor.chat.locator("article.answer").first().waitFor({ state: "detached" });
  await write("Second turn", "c.txt");
  await changes("a.txt", "b.txt", "c.txt");
  await editor.shot("review-sessions");
});

step("they wait after the server was killed, and a change of the first session is reverted", async () => {
  for (const pid of servers()) process.kill(pid, "SIGKILL");
  await editor.notification("The Hermes server stopped unexpectedly").waitFor();
  await changes("a.txt", "b.txt", "c.txt");
  await judge("a.txt", "Revert");
  await poll("the earlier text", () => editor.read("a.txt") === "one\n");
  await changes("b.txt", "c.txt");
});

step("they wait after the window was reloaded: one is accepted by its lens, and the rest is reverted", async () => {
  await editor.page.reload();
  await editor.status.waitFor();
  await changes("b.txt", "c.txt");
  await editor.openFile("b.txt");
  await lens("Revert").waitFor();
  await lens("Accept").click();
  await changes("c.txt");
  await editor.page.reload();
  await editor.status.waitFor();
  await changes("c.txt");
  await editor.run("Hermes: Revert All");
  await poll("the earlier text", () => editor.read("c.txt") === "one\n");
  await changes();
  assert.equal(editor.read("b.txt"), "two\n");
});
