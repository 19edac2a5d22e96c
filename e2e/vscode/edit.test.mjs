// Inline edits in a real VS Code: an instruction for the selected lines, and its changes,
// which are accepted and rejected in the document.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { stepsOf } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-edit-"));
const start = "def price(amount):\n    return amount * 2\n\n\ndef tax(amount):\n    note = 'keep'\n    return amount / 5\n";
const prompts = [];
const replies = [];
let editor, model;

before(async () => {
  model = http.createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(404).end();
      const last = JSON.parse(body).messages.at(-1);
      if (last.role === "user") prompts.push(JSON.stringify(last.content));
      const { text, ...calls } = replies.shift();
      const tool_calls = Object.entries(calls).map(([name, args], index) => ({ index, id: `c${replies.length}`, type: "function", function: { name, arguments: JSON.stringify(args) } }));
      const event = (choice) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, ...choice }] })}\n\n`;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.end(`${event({ delta: text ? { content: text } : { tool_calls } })}${event({ finish_reason: text ? "stop" : "tool_calls" })}data: [DONE]\n\n`);
    });
  });
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"), files: { "pricing.py": start },
    hermes: `model: {provider: custom, base_url: "http://127.0.0.1:${model.address().port}/v1", default: gpt-5, api_key: none}\n`,
  });
  await idle(); // the key does nothing before
});

after(async () => {
  await editor?.close();
  model?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("edit", () => editor);
const lens = (title) => editor.page.locator(".codelens-decoration a").filter({ hasText: new RegExp(`^${title}$`) });
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();
const becomes = async (text) => {
  for (const end = Date.now() + 120_000; editor.read("pricing.py") !== text && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(editor.read("pricing.py"), text);
};

async function edit(instruction, ...says) {
  replies.push(...says);
  await editor.page.locator(".editor-instance .view-line").filter({ hasText: "def price" }).click();
  await editor.page.keyboard.press("Control+Home");
  for (let i = 0; i < 7; i++) await editor.page.keyboard.press("Shift+ArrowDown");
  await editor.page.keyboard.press("Control+Alt+i");
  await editor.page.locator(".quick-input-title").filter({ hasText: "Edit pricing.py, lines 1–7" }).waitFor();
  await editor.answer(instruction);
}

const rewrite = (content) => [{ write_file: { path: "pricing.py", content } }, { text: "Done as you said." }];

step("an instruction changes the selected lines, and each change is accepted or rejected in place", async () => {
  await editor.openFile("pricing.py");
  const changed = start.replace("* 2", "* 3").replace("    note = 'keep'\n", "").replace("/ 5", "/ 4");
  await edit("triple it, and a tax of a quarter", ...rewrite(changed));
  await lens("Reject All").waitFor();
  await idle();
  assert.match(prompts[0], /Edit pricing\.py, lines 1–7: triple it, and a tax of a quarter/);
  assert.match(prompts[0], /return amount \* 2/);
  await becomes(changed);
  assert.equal(await lens("Accept").count(), 2);
  await editor.shot("inline-edit");
  await lens("Accept").first().click();
  await lens("Reject All").waitFor({ state: "detached" });
  await becomes(changed);
  await lens("Reject").click();
  await lens("Reject").waitFor({ state: "detached" });
  await becomes(start.replace("* 2", "* 3"));
});

step("at the cursor, commands accept and reject", async () => {
  const now = editor.read("pricing.py");
  await edit("halve it", ...rewrite(now.replace("* 3", "/ 2")));
  await lens("Reject").waitFor();
  await idle();
  await editor.page.locator(".editor-instance .view-line").filter({ hasText: "amount / 2" }).click();
  await editor.run("Hermes: Reject Change");
  await becomes(now);
  await lens("Reject").waitFor({ state: "detached" });
});

const message = () => editor.chat.getByLabel("Message to Hermes");

step("an edit that changes nothing shows the answer, and none of the lines of an earlier turn", async () => {
  const now = editor.read("pricing.py").replace("note = 'keep'", "note = 'from the chat'");
  replies.push({ read_file: { path: "pricing.py" } }, ...rewrite(now));
  await editor.run("Hermes: Open Chat");
  await message().fill("change the note");
  await message().press("Enter");
  await editor.chat.getByText("Done as you said.").last().waitFor();
  await idle();
  await becomes(now);
  await edit("is this right?", { text: "It is right as it is." });
  await editor.notification("It is right as it is.").waitFor();
  await editor.shot("inline-edit-nothing");
  assert.equal(await lens("Reject").count(), 0);
  await editor.run("Hermes: Open Chat");
  await editor.chat.getByText("Edit pricing.py, lines 1–7: is this right?").waitFor();
  assert.doesNotMatch(await editor.chat.locator("body").innerText(), /Change only these lines|Then say in one sentence/);
});

step("reject leaves the lines that the user has typed since", async () => {
  const now = editor.read("pricing.py");
  await edit("halve the tax", ...rewrite(now.replace("amount / 5", "amount / 10")));
  await lens("Reject").waitFor();
  await idle();
  await editor.page.locator(".editor-instance .view-line").filter({ hasText: "def price" }).click();
  await editor.page.keyboard.press("Control+Home");
  await editor.page.keyboard.type("# mine\n");
  await lens("Reject").click();
  await lens("Reject").waitFor({ state: "detached" });
  await editor.page.keyboard.press("Control+s");
  await becomes(`# mine\n${now}`);
});
