// The commands of the palette, the context menu and the light bulb, each as a user
// runs it, in a real VS Code: from the first start without a model on.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { becomes, call, script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-commands-"));
const pricing = "def price(amount):\n    return amount * 2\n\n\nprint(price(3))\n";
let editor;

before(async () => {
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"),
    files: { "pricing.py": pricing, "broken.json": '{"a": 1,}\n' },
    settings: { "hermes.model.fallback": ["second"] },
    hermes: "model: {provider: openai}\n", // and no key
  });
  await editor.status.waitFor();
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("commands", () => editor);

const box = () => editor.box;
const written = (text) => becomes(text, () => box().inputValue());
const users = () => editor.chat.locator("article.user");
const answers = () => editor.chat.locator("article.answer");
const answered = (text) => answers().filter({ hasText: text }).last().waitFor();
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();
const title = (text) => editor.title(text);
const pick = (words) => editor.pick(words);
const tab = (text) => editor.tab(text);
const settings = () => JSON.parse(fs.readFileSync(path.join(editor.dir, "data/User/settings.json"), "utf8"));

async function send(words, ...replies) {
  await box().fill(replies.length > 0 ? `${words}\n${script(...replies)}` : words);
  await box().press("Enter");
}

/** Runs a command, and waits for the turn that it begins. It returns the prompt in the chat. */
async function asks(run, words) {
  const before = await answers().count();
  await run();
  await users().last().getByText(words).waitFor();
  await answers().nth(before).waitFor();
  await idle();
}

const line = (text) => editor.page.locator(".editor-instance .view-line").filter({ hasText: text }).first();

step("without a model it says what to do, and what was asked is not lost", async () => {
  await editor.openFile("pricing.py");
  await editor.ask("Hello");
  const note = editor.chat.locator(".note.error").filter({ hasText: "No API key for openai" });
  for (const way of ["Set API Key…", "Choose Provider…"]) await note.getByRole("button", { name: way }).waitFor();
  await written("Hello");
  await editor.shot("no-model");
});

step("the walkthrough leads to the choice of a provider", async () => {
  await editor.run("Welcome: Open Walkthrough...");
  await editor.row("Get started with Hermes").waitFor(); // the list of walkthroughs has no title
  await pick("Get started with Hermes");
  const start = editor.page.locator(".gettingStartedContainer");
  await start.getByRole("button", { name: "Choose Provider" }).waitFor();
  const ticked = () => start.locator(".getting-started-step").filter({ has: editor.page.locator(".complete") }).locator(".step-title").allInnerTexts();
  await editor.shot("walkthrough");
  await start.getByRole("button", { name: "Choose Provider" }).click();
  await title("Who serves the model?");
  await pick("Embedded");
  await editor.status.filter({ hasText: "embedded" }).waitFor();
  await becomes("embedded", () => settings()["hermes.model.provider"]);
  await editor.page.waitForFunction(() => document.querySelectorAll(".getting-started-step .complete").length > 0);
  assert.deepEqual(await ticked(), ["Choose a model"], "nothing was asked, and no key is set");
  await written("Hello");
  await box().press("Enter");
  await answered("embedded");
  await idle();
  await start.locator(".getting-started-step").filter({ hasText: "Ask a question" }).locator(".complete").waitFor();
  await becomes(["Choose a model", "Ask a question"], ticked);
  assert.deepEqual(editor.loud, [], "the chat is visible, and there is a toast");
  await editor.shot("embedded");
});

/**
 * A model endpoint with one key and one model. It calls a tool if it is offered ping, as in the test of a model, and
 * answers other prompts with the text.
 */
async function endpoint(key, text) {
  const server = http.createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${key}`) {
      return response.writeHead(401).end(JSON.stringify({ error: { message: "wrong key" } }));
    }
    if (request.url.endsWith("/models")) return response.end(JSON.stringify({ data: [{ id: "house-model" }, { id: "attic-model" }] }));
    if (!request.url.endsWith("/chat/completions")) return response.writeHead(404).end();
    let body = "";
    for await (const part of request) body += part;
    const { tools, messages } = JSON.parse(body);
    const test = tools?.some((t) => t.function.name === "ping") && messages.at(-1).role !== "tool";
    const tool_calls = [{ index: 0, id: "1", type: "function", function: { name: "ping", arguments: '{"text":"hello"}' } }];
    const delta = test ? { role: "assistant", tool_calls } : { role: "assistant", content: text };
    const choices = [{ index: 0, delta, finish_reason: test ? "tool_calls" : "stop" }];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 0, model: "house-model", choices })}\n\ndata: [DONE]\n\n`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

/** Chooses another endpoint, up to its key. */
async function chooseEndpoint(address, key) {
  await editor.choose("Hermes: Choose Model Provider…", "Who serves the model?", "Another endpoint…");
  await title("Address of the endpoint");
  if (key === "wrong") {
    await editor.answer("localhost:8080");
    await editor.page.locator(".quick-input-message").filter({ hasText: "An address such as" }).waitFor();
  }
  await editor.answer(address);
  await title("Key for Another");
  await editor.answer(key);
}

step("another endpoint is tested with its address, key and model before it is used", async () => {
  const house = await endpoint("hk-123", "The house answers.");
  const before = settings();
  await chooseEndpoint(house.address, "wrong");
  await editor.noted("refused the key (401)").filter({ hasText: "Nothing was changed." }).waitFor();
  assert.deepEqual(settings(), before);
  await chooseEndpoint(house.address, "hk-123");
  await title("Which model?");
  await editor.shot("models-of-endpoint");
  await pick("house-model");
  await editor.noted("It works. New sessions use custom/house-model.").waitFor();
  const { "hermes.model.provider": provider, "hermes.model.base_url": address, "hermes.model.default": model } = settings();
  assert.deepEqual([provider, address, model], ["custom", house.address, "house-model"]);
  await editor.status.filter({ hasText: "house-model" }).waitFor();
  await box().fill("Who answers?");
  await box().press("Enter");
  await answered("The house answers.");
  await editor.choose("Hermes: Set API Key…", "Key for which provider?", "Another");
  await title("Key for Another");
  await editor.answer("wrong");
  const refusal = editor.noted("refused the key (401)").getByRole("button", { name: "Keep Key Anyway" });
  await refusal.waitFor();
  await editor.shot("wrong-key");
  await refusal.click();
  await editor.told("The key for Another OpenAI-compatible endpoint is kept.");
  await box().fill("Who answers now?");
  await box().press("Enter");
  const refused = editor.chat.locator(".note.error").last();
  await refused.filter({ hasText: /The key for your endpoint 127\.0\.0\.1:\d+ was refused \(401: wrong key\)\./ }).waitFor();
  await refused.getByRole("button", { name: "Set API Key…" }).waitFor();
  await written("Who answers now?");
  assert.deepEqual(editor.loud, [], "the chat is visible, and there is a toast");
  await editor.shot("key-refused");
  await editor.choose("Hermes: Set API Key…", "Key for which provider?", "Another");
  await title("Key for Another");
  await editor.answer("hk-123");
  await editor.told("The key for Another OpenAI-compatible endpoint is kept.", 2);
  await refused.getByRole("button", { name: "Retry" }).click();
  await answered("The house answers.");
  await written("");
  house.close();
  await editor.choose("Hermes: Choose Model Provider…", "Who serves the model?", "Embedded");
  await editor.status.filter({ hasText: "embedded" }).waitFor();
  await becomes(undefined, () => settings()["hermes.model.base_url"]);
});

step("a model is chosen for the session", async () => {
  await editor.run("Hermes: Choose Model…");
  await title("Choose a model");
  await editor.shot("models");
  await pick("second");
  await editor.status.filter({ hasText: "second" }).waitFor();
  await editor.chat.locator(".picker.model .picker-value").filter({ hasText: "second" }).waitFor();
  await editor.choose("Hermes: Choose Approval Mode…", "Choose which actions require approval", "Auto");
  await editor.chat.locator(".picker.mode .picker-value").filter({ hasText: "Auto" }).waitFor();
  await editor.choose("Hermes: Choose Approval Mode…", "Choose which actions require approval", "Ask");
  await editor.chat.locator(".picker.mode .picker-value").filter({ hasText: "Ask" }).waitFor();
});

step("Explain is in the context menu", async () => {
  await editor.openFile("pricing.py");
  const words = /Explain .*pricing\.py/;
  await asks(() => editor.menu(line("return amount"), ["Hermes", "Explain"], users().filter({ hasText: words }).last()), words);
});

step("the light bulb mends the problem under the cursor", async () => {
  await editor.openFile("broken.json");
  await editor.page.locator(".squiggly-error, .squiggly-warning").first().waitFor();
  await asks(async () => {
    await editor.again(async () => {
      await editor.page.keyboard.press("Escape"); // the list of an attempt before
      await line('"a"').click({ timeout: 20_000 });
      await editor.page.keyboard.press("End");
      await editor.page.keyboard.press("ArrowLeft");
      await editor.page.keyboard.press("Control+.");
      await editor.page.locator(".action-widget").getByText("Fix with Hermes").waitFor({ timeout: 20_000 });
      await editor.shot("light-bulb");
      await editor.page.locator(".action-widget").getByText("Fix with Hermes").click({ timeout: 20_000 });
    });
  }, /Fix .*broken\.json/);
  assert.doesNotMatch(await users().last().innerText(), /Find the cause/, "what Hermes adds for the model is not shown as the user's words");
});

step("tests, documentation and reviews are asked for", async () => {
  await editor.openFile("pricing.py");
  await asks(() => editor.run("Hermes: Write Tests"), /Write tests for .*pricing\.py/);
  await asks(() => editor.run("Hermes: Document"), /Document .*pricing\.py/);
  await asks(() => editor.run("Hermes: Review File or Selection"), /Review .*pricing\.py/);
  await asks(() => editor.run("Hermes: Review Changes"), /Review the changes of this workspace/);
  await editor.shot("asked");
});

step("/undo takes a prompt back, from the files and from the screen", async () => {
  const count = await users().count();
  await send("Triple it", [call("patch", { path: "pricing.py", old_string: "amount * 2", new_string: "amount * 3" })], [{ text: "Tripled." }]);
  await answered("Tripled.");
  await idle();
  assert.match(editor.read("pricing.py"), /amount \* 3/);
  await becomes(count + 1, () => users().count());
  await send("/undo");
  await answered("Back before this prompt");
  await idle();
  await until("the file to be as before", () => editor.read("pricing.py").includes("amount * 2"));
  await editor.chat.getByText("Tripled.", { exact: true }).waitFor({ state: "detached" });
  await becomes(count + 1, () => users().count()); // and /undo itself
  await becomes("/undo", () => users().last().innerText());
  await until("the prompt to be in the input", async () => (await box().inputValue()).startsWith("Triple it"));
  await editor.shot("undone");
  await box().fill("");
  await send("Go on", [{ text: "Gone on." }]);
  await answered("Gone on.");
  await idle();
});

step("a session is copied; the list has sessions of people only", async () => {
  const goal = { goal: `Count the lines\n${script([{ text: "Five." }])}`, toolsets: ["file"] };
  await send("Share it", [call("delegate_task", { tasks: [goal] })], [{ text: "Shared." }]);
  await answered("Shared.");
  await idle();
  await editor.run("Hermes: Fork Session");
  await editor.chat.locator(".note").filter({ hasText: "this is a copy" }).waitFor();
  await answered("Shared.");
  await editor.run("Hermes: Resume Session…");
  await title("Resume a session");
  // What was undone is kept; the subagent's session is its parent's.
  await becomes(["Hello", "Hello (before going back)", "Hello (fork)"], async () => {
    const rows = await editor.page.locator(".quick-input-list .monaco-list-row").evaluateAll((all) => all.map((r) => r.getAttribute("aria-label")));
    return rows.map((r) => r.replace(/,.*$/, "")).sort();
  });
  await editor.shot("sessions");
  await editor.page.keyboard.press("Escape");
});

step("the tree of sessions has forks, finds words, and resumes and deletes", async () => {
  await send("Where is the unicorn?", [{ text: "In the garden." }]);
  await answered("In the garden.");
  await idle();
  await editor.run("Hermes Lists: Focus on Sessions View");
  const tree = editor.page.locator(".pane").filter({ has: editor.page.locator('.pane-header[aria-label^="Sessions"]') });
  const row = (text) => tree.locator(".monaco-list-row").filter({ hasText: text });
  await row("Hello (fork)").and(editor.page.locator('[aria-level="2"]')).waitFor(); // below its origin
  await editor.shot("session-tree");
  await editor.run("Hermes: Search Sessions…");
  await title("Search sessions");
  await editor.answer("garden");
  await row(/^In the garden\.$/).waitFor();
  await row("Hello (fork)").waitFor();
  await editor.shot("session-search");
  await editor.run("Hermes: Search Sessions…");
  await title("Search sessions");
  await editor.answer("yeti");
  await tree.getByText("No session has “yeti”.").waitFor();
  await editor.run("Hermes: Show All Sessions");
  const confirm = editor.page.locator(".monaco-dialog-box").getByRole("button", { name: "Delete" });
  await editor.act(row("Hello (before going back)"), /^Delete Session/, confirm);
  await confirm.click();
  await row("Hello (before going back)").waitFor({ state: "detached" });
  await row(/^\s*Hello(?! \()/).click();
  await editor.chat.getByText("In the garden.", { exact: true }).first().waitFor({ state: "detached" });
  await answered("Shared.");
});

step("the transcript, the doctor's report and the settings open", async () => {
  await editor.run("Hermes: Show Transcript");
  await tab(/\.md/);
  await line("Session").waitFor();
  await editor.shot("transcript");
  await editor.run("Hermes: Doctor");
  await tab("Hermes Doctor");
  await line("model").waitFor();
  await editor.shot("doctor");
  await editor.run("Hermes: Open Settings");
  const settings = editor.page.locator(".settings-editor");
  for (const part of ["Model", "Safety", "Subagents"]) await settings.getByRole("treeitem", { name: new RegExp(`^${part}`) }).first().waitFor();
  await editor.shot("settings");
});

step("a goal is delegated; a subagent gets a message, and is stopped", async () => {
  await editor.page.keyboard.press("Escape"); // the settings
  await editor.run("Hermes: New Session");
  await users().first().waitFor({ state: "detached" });
  await editor.run("Hermes: Delegate…");
  await title("Delegate to a subagent");
  await editor.answer("Read pricing.py");
  await editor.chat.locator(".entry.subagent.completed").filter({ hasText: "Read pricing.py" }).waitFor();
  await idle();
  const goal = { goal: `Wait for long\n${script([{ text: "I wait." }, call("read_file", { path: "pricing.py" })], [{ sleep_ms: 300_000 }])}`, toolsets: ["file"] };
  await send("Wait", [call("delegate_task", { tasks: [goal] })], [{ text: "It was stopped." }]);
  await editor.chat.locator(".entry.subagent").filter({ hasText: "Wait for long" }).waitFor();
  const steer = async (act) => {
    await editor.run("Hermes: Subagents…");
    await title("Subagents");
    await pick("Wait for long");
    await editor.row("Send a Message…").waitFor();
    await pick(act);
  };
  await editor.shot("subagent");
  await steer("Send a Message…");
  await editor.page.locator(".quick-input-widget input[placeholder='What is it to know?']").waitFor();
  await editor.answer("Do not hurry.");
  await steer("Stop");
  await answered("It was stopped.");
  await idle();
});

step("a file of the explorer is mentioned", async () => {
  await editor.page.keyboard.press("Control+Shift+e");
  const mentioned = editor.chat.getByRole("list", { name: "Attached" }).getByText("pricing.py");
  await editor.menu(editor.page.locator(".explorer-viewlet .monaco-list-row").filter({ hasText: "pricing.py" }), ["Mention in Chat"], mentioned);
});

step("the menu of the status bar restarts the server, and the session goes on", async () => {
  const before = editor.servers();
  await editor.status.click();
  await title("Hermes");
  await editor.shot("menu");
  await pick("Restart server");
  await until("another server", () => editor.servers().length === 1 && !before.includes(editor.servers()[0]));
  await idle();
  await send("Still there?", [{ text: "Here I am." }]);
  await answered("Here I am.");
  await idle();
  await editor.run("Hermes: Show Log");
  await editor.page.locator(".part.panel select:visible").filter({ has: editor.page.locator("option:checked", { hasText: "Hermes" }) }).waitFor();
});
