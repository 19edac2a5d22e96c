// A folder that is not trusted, in a real VS Code; trust, and the end of the server.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { call, script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-trust-"));
let editor;

before(async () => {
  editor = await open({ dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"), files: { "pricing.py": "print(3)\n" }, trusted: false });
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("trust", () => editor);
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();

async function send(words, ...replies) {
  await editor.box.fill(`${words}\n${script(...replies)}`);
  await editor.box.press("Enter");
}

step("a workspace that is not trusted is only read", async () => {
  await editor.status.filter({ hasText: "read-only" }).waitFor();
  await editor.openChat();
  await editor.chat.getByText(/Restricted mode/i).waitFor();
  await send("Write.", [call("write_file", { path: "new.txt", content: "x" }), call("terminal", { command: "touch other.txt" })], [{ text: "I tried." }]);
  await editor.chat.locator("article.answer").last().getByText("I tried.").waitFor();
  assert.ok(!fs.existsSync(editor.file("new.txt")) && !fs.existsSync(editor.file("other.txt")));
  await editor.shot("restricted");
  assert.deepEqual(await editor.offered(["Ask…"], ["Delegate…"]), []);
});

step("trust lifts the restriction", async () => {
  await editor.chat.getByRole("region", { name: "Restricted mode" }).getByRole("button", { name: "Manage" }).click();
  await editor.page.locator(".workspace-trust-editor").getByRole("button", { name: /^Trust/ }).first().click();
  await editor.page.locator(".monaco-modal-editor-block").getByRole("button", { name: /^Close/ }).click();
  await editor.page.locator(".monaco-modal-editor-block").waitFor({ state: "detached" });
  await editor.chat.getByText(/Restricted mode:/).waitFor({ state: "detached" });
  await editor.status.filter({ hasNotText: "read-only" }).waitFor();
  await idle();
  await editor.openChat();
  await editor.shot("trusted");
  await editor.chat.locator(".note").getByRole("button", { name: "New Session" }).click();
  await editor.chat.locator("article.user").first().waitFor({ state: "detached" });
  await send("Write.", [call("write_file", { path: "new.txt", content: "x" }), call("terminal", { command: "touch other.txt" })], [{ text: "I did." }]);
  await editor.chat.locator("article.answer").last().getByText("I did.").waitFor();
  assert.ok(fs.existsSync(editor.file("new.txt")) && fs.existsSync(editor.file("other.txt")));
  await editor.offered(["Delegate…"], []);
});

step("the server ends with the window", async () => {
  await until("there to be one server", () => editor.servers().length === 1);
  await editor.close();
  await until("the server to end", () => editor.servers().length === 0);
});
