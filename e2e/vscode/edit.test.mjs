// Inline edits in a real VS Code: an instruction for the selected lines, and its changes,
// which are accepted and rejected in the document.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { becomes as until, stepsOf } from "./steps.mjs";

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
const becomes = (text) => until(text, () => editor.read("pricing.py"));

const question = () => editor.page.locator(".review-widget");

const gone = (title) => async () => (await lens(title).count()) === 0;

/** The first of the lenses with a title, from the top. */
async function highest(title) {
  await lens(title).first().waitFor();
  const all = await lens(title).all();
  const tops = await Promise.all(all.map(async (one) => (await one.boundingBox())?.y ?? Infinity));
  return all[tops.indexOf(Math.min(...tops))];
}

async function edit(instruction, ...says) {
  replies.push(...says);
  await editor.select("pricing.py", 7);
  await editor.page.keyboard.press("Control+Alt+i");
  const field = question();
  await field.getByText("Edit pricing.py, lines 1–7").waitFor();
  await field.locator(".monaco-editor.focused").waitFor();
  await editor.page.keyboard.type(instruction);
  await field.locator(".view-line").filter({ hasText: instruction.replaceAll(" ", "\u00a0") }).waitFor();
  await editor.page.keyboard.press("Enter");
  await field.waitFor({ state: "detached" });
}

const rewrite = (content) => [{ write_file: { path: "pricing.py", content } }, { text: "Done as you said." }];

step("the field stands below the lines, and Escape closes it", async () => {
  await editor.select("pricing.py", 1);
  await editor.page.keyboard.press("Control+Alt+i");
  await question().locator(".monaco-editor.focused").waitFor();
  await editor.shot("inline-edit-field");
  await question().getByText("Edit pricing.py, line 1").waitFor();
  const top = async (locator) => (await locator.boundingBox()).y;
  const line = (text) => editor.page.locator(".editor-instance .view-line").filter({ hasText: text }).first();
  assert.ok((await top(question())) > (await top(line("def"))) && (await top(question())) < (await top(line("return"))), "it is not below line 1");
  await editor.page.keyboard.type("nothing");
  await editor.page.keyboard.press("Escape");
  await question().waitFor({ state: "detached" });
  assert.deepEqual(prompts, []);
});

step("an instruction changes the selected lines, and each change is accepted or rejected in place", async () => {
  await editor.openFile("pricing.py");
  const changed = start.replace("* 2", "* 3").replace("    note = 'keep'\n", "").replace("/ 5", "/ 4");
  await edit("triple it, and a tax of a quarter", ...rewrite(changed));
  await lens("Reject All").waitFor();
  await idle();
  assert.match(prompts[0], /Edit pricing\.py, lines 1–7: triple it, and a tax of a quarter/);
  assert.match(prompts[0], /return amount \* 2/);
  await becomes(changed);
  await until(2, () => lens("Accept").count());
  await editor.shot("inline-edit");
  await editor.click(await highest("Accept"), gone("Reject All"));
  await becomes(changed);
  await editor.click(lens("Reject"), () => editor.read("pricing.py") === start.replace("* 2", "* 3"));
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

const openChat = () => editor.openChat(() => editor.run("Hermes: Open Chat"));

step("an edit that changes nothing shows the answer, and none of the lines of an earlier turn", async () => {
  const now = editor.read("pricing.py").replace("note = 'keep'", "note = 'from the chat'");
  replies.push({ read_file: { path: "pricing.py" } }, ...rewrite(now));
  await openChat();
  await editor.box.fill("change the note");
  await editor.box.press("Enter");
  await editor.chat.getByText("Done as you said.").last().waitFor();
  await idle();
  await becomes(now);
  await edit("is this right?", { text: "It is right as it is." });
  await editor.noted("Hermes changed nothing in this file.").waitFor();
  await editor.chat.locator("article.answer").getByText("It is right as it is.").waitFor();
  await editor.shot("inline-edit-nothing");
  assert.equal(await lens("Reject").count(), 0);
  await openChat();
  await editor.chat.getByText("Edit pricing.py, lines 1–7: is this right?").waitFor();
  assert.doesNotMatch(await editor.chat.locator("body").innerText(), /Change only these lines|Then say in one sentence/);
});

step("reject leaves the lines that the user has typed since", async () => {
  const now = editor.read("pricing.py");
  await edit("halve the tax", ...rewrite(now.replace("amount / 5", "amount / 10")));
  await lens("Reject").waitFor();
  await idle();
  await editor.select("pricing.py", 0);
  await editor.page.keyboard.type("# mine\n");
  await editor.click(lens("Reject"));
  await editor.save(() => editor.read("pricing.py") === `# mine\n${now}`);
});

step("what was accepted stays accepted when the window is loaded again: revert takes out the rest, and not the user's lines", async () => {
  const now = editor.read("pricing.py");
  await edit("dearer", ...rewrite(now.replace("* 3", "* 30").replace("amount / 5", "amount / 50")));
  await lens("Reject All").waitFor();
  await idle();
  await editor.click(await highest("Accept"), gone("Reject All"));
  const wanted = now.replace("* 3", "* 30");
  await until(true, () => accepted().some((a) => a.before === wanted));
  await editor.page.reload();
  await idle();
  await editor.openFile("pricing.py");
  await lens("Reject").first().waitFor();
  assert.equal(await lens("Reject").count(), 1);
  await editor.select("pricing.py", 0);
  await editor.page.keyboard.type("# mine, too\n");
  await editor.save(() => editor.read("pricing.py") === `# mine, too\n${wanted.replace("/ 5", "/ 50")}`);
  await editor.click(lens("Reject"), () => editor.read("pricing.py") === `# mine, too\n${wanted}`);
  await until([], accepted);
});

step("an inline edit that was neither accepted nor rejected has its buttons again when the window is loaded again", async () => {
  const now = editor.read("pricing.py");
  await edit("cheaper", ...rewrite(now.replace("* 30", "* 2").replace("amount / 5", "amount / 6")));
  await lens("Reject All").waitFor();
  await idle();
  await until(true, () => accepted().some((a) => a.inline));
  await editor.page.reload();
  await idle();
  await editor.openFile("pricing.py");
  await lens("Reject All").waitFor();
  assert.equal(await lens("Accept").count(), 2);
  await editor.click(await highest("Reject"), gone("Reject All"));
  await becomes(now.replace("amount / 5", "amount / 6"));
  await editor.click(lens("Accept"), () => accepted().length === 0);
  await lens("Reject").first().waitFor({ state: "detached" });
  await becomes(now.replace("amount / 5", "amount / 6"));
});

/** What the extension keeps of the changes of which a part was accepted. */
function accepted() {
  const storage = path.join(dir, "host", "data", "User", "workspaceStorage");
  const files = fs.globSync("*/hermes-ls.hermes-ls/accepted.json", { cwd: storage });
  return files.flatMap((f) => JSON.parse(fs.readFileSync(path.join(storage, f), "utf8") || "[]"));
}
