// Changes that wait, in a real VS Code: of two sessions, after a kill of the server and after a reload of the window, when
// neither session is loaded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { call, script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-review-"));
const files = { "a.txt": "one\n", "b.txt": "one\n", "c.txt": "one\n" };
let editor;

before(async () => {
  editor = await open({ dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"), files, settings: { "hermes.model.provider": "embedded" }, hermes: "model: {provider: openai}\n" });
  await editor.status.waitFor();
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("review", () => editor);
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();
const row = (name) => editor.item(name);
const lens = (title) => editor.page.locator(".codelens-decoration a").filter({ hasText: new RegExp(`^${title}$`) });
const badge = () => editor.page.locator('.activitybar .action-item:has(a[aria-label^="Hermes Lists"]) .badge-content').first();

async function write(title, ...names) {
  await editor.box.fill(`${title}\n${script(names.map((name) => call("write_file", { path: name, content: "two\n" })), [{ text: `Wrote ${names}.` }])}`);
  await editor.box.press("Enter");
  await editor.chat.locator("article.answer").last().getByText(`Wrote ${names}.`).waitFor();
  await idle();
}

async function changes(...names) {
  await editor.run("Hermes Lists: Focus on Changes View");
  const closed = editor.page.locator('.pane-body .monaco-list-row[aria-expanded="false"]').filter({ hasText: /(First|Second) turn/ });
  await until("the turns to be expanded", async () => {
    await closed.first().click({ timeout: 1_000 }).catch(() => {});
    return names.length === 0 || ((await closed.count()) === 0 && (await row(names[0]).count()) > 0);
  });
  for (const name of Object.keys(files)) {
    await row(name).waitFor({ state: names.includes(name) ? "visible" : "detached" });
  }
  await until(`the badge to be ${names.length}`, async () => (names.length === 0 ? (await badge().count()) === 0 || (await badge().innerText()).trim() === "" : (await badge().innerText()).trim() === String(names.length)));
}

async function judge(name, button) {
  await editor.act(row(name), new RegExp(`^${button}`), row(name), "detached");
}

step("changes of two sessions wait", async () => {
  await editor.openChat();
  await write("First turn", "a.txt", "b.txt");
  await editor.run("Hermes: New Session");
  await editor.chat.locator("article.answer").first().waitFor({ state: "detached" });
  await write("Second turn", "c.txt");
  await changes("a.txt", "b.txt", "c.txt");
  await editor.shot("review-sessions");
});

step("they wait after the server was killed, and a change of the first session is reverted", async () => {
  for (const pid of editor.servers()) process.kill(pid, "SIGKILL");
  await editor.notification("The Hermes server stopped unexpectedly").waitFor();
  await changes("a.txt", "b.txt", "c.txt");
  await judge("a.txt", "Revert");
  await until("the earlier text to be back", () => editor.read("a.txt") === "one\n");
  await changes("b.txt", "c.txt");
});

step("they wait after the window was reloaded: one is accepted by its lens, and the rest is reverted", async () => {
  await editor.page.reload();
  await editor.status.waitFor();
  await changes("b.txt", "c.txt");
  await editor.openFile("b.txt");
  await lens("Revert").waitFor();
  await editor.click(lens("Accept"));
  await changes("c.txt");
  await editor.page.reload();
  await editor.status.waitFor();
  await changes("c.txt");
  await editor.run("Hermes: Revert All");
  await until("the earlier text to be back", () => editor.read("c.txt") === "one\n");
  await changes();
  assert.equal(editor.read("b.txt"), "two\n");
});

step("a turn whose checkpoint cannot be written is listed with the reason: it can be accepted, and not reverted", async () => {
  const sessions = path.join(editor.dir, "hermes/checkpoints/sessions");
  await editor.openChat();
  await editor.run("Hermes: New Session");
  await editor.chat.locator("article.answer").first().waitFor({ state: "detached" });
  const known = new Set(fs.readdirSync(sessions));
  await write("Third turn", "a.txt");
  const [session] = fs.readdirSync(sessions).filter((name) => !known.has(name));
  fs.renameSync(path.join(sessions, session), path.join(sessions, `../${session}`));
  fs.writeFileSync(path.join(sessions, session), ""); // a file is in the way
  await write("Fourth turn", "c.txt");
  fs.rmSync(path.join(sessions, session));
  fs.renameSync(path.join(sessions, `../${session}`), path.join(sessions, session));
  await editor.run("Hermes Lists: Focus on Changes View");
  const missed = row("Fourth turn").filter({ hasText: "cannot be reverted: " });
  await editor.unfold(missed);
  await row("c.txt").waitFor();
  await missed.hover();
  await missed.getByRole("button", { name: /^Accept/ }).waitFor();
  assert.equal(await missed.getByRole("button", { name: /^Revert/ }).count(), 0);
  await editor.shot("review-missed");
  await editor.act(missed, /^Accept/, row("Fourth turn"), "detached");
  assert.equal(editor.read("c.txt"), "two\n");
});
