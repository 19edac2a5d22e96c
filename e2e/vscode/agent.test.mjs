// The extension in a real VS Code, used as a user uses it. The model is the
// embedded one, which plays the scripts that the prompts hold.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { axeSource, open } from "./host.mjs";
import { call, script, stepsOf, until } from "./steps.mjs";

const vsix = process.env.HERMES_VSIX;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-agent-"));

const files = {
  "pricing.py": "def price(amount):\n    return amount * 2\n\n\nprint(price(3))\n",
  "notes.json": '{"a": 1,}\n',
  "build/output.txt": "old\n",
};

let editor;

before(async () => {
  // The model is chosen in the editor's settings, which outrank config.yaml.
  const settings = { "hermes.model.provider": "embedded", "hermes.progress": "notification" };
  editor = await open({ dir: path.join(dir, "host"), vsix, files, extensions: path.join(dir, "extensions"), settings, hermes: "model: {provider: openai}\n" });
  await editor.status.waitFor();
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("agent", () => editor);

/** Sends a message from the chat. */
async function send(words, ...replies) {
  const { box } = editor;
  const before = await editor.chat.locator("article.user").count();
  await box.fill(`${words}\n${script(...replies)}`);
  await box.press("Enter");
  await editor.chat.locator("article.user").nth(before).waitFor();
}

const answers = () => editor.chat.locator("article.answer");
const status = async (text) => editor.status.filter({ hasText: text }).waitFor();
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();

/** The code of the error that the function throws. */
function code(f) {
  try {
    f();
  } catch (error) {
    return error.code;
  }
}

step("the palette offers what makes sense here", async () => {
  const always = ["Ask…", "Doctor"];
  const inFiles = ["Explain", "Fix Problems"];
  const inSessions = ["Cancel", "Fork Session"];
  assert.deepEqual(await editor.offered(always, [...inFiles, ...inSessions]), []);
  await editor.openFile("pricing.py");
  assert.deepEqual(await editor.offered(inFiles, inSessions), []);
});

step("the answer streams into the chat", async () => {
  await editor.openChat();
  await send("How do you do?", [{ thought: "A greeting." }, { text: "**Well**, " }, { sleep_ms: 300_000 }, { text: "never" }]);
  await answers().last().getByText("Well").waitFor();
  await editor.status.locator(".codicon-loading").waitFor();
  await editor.shot("streaming");
  await editor.chat.getByRole("button", { name: "Stop (Escape)" }).click();
  await idle();
  await send("Are you well?", [{ text: "**Well**, " }, { text: "thank you.\n\n```python\nprint(1)\n```\n" }]);
  await answers().last().getByText("thank you.").waitFor();
  await idle();
  await status(/embedded · \S+ tokens/);
  await answers().last().locator("strong").getByText("Well", { exact: true }).waitFor();
  await editor.shot("answered");
});

step("a command is approved in the chat", async () => {
  await send("Clear the build folder.", [call("terminal", { command: "rm -rf build" })], [{ text: "It is gone." }]);
  const card = editor.chat.locator(".card").last();
  await card.getByText("rm -rf build", { exact: true }).waitFor();
  await status("waiting for you");
  assert.ok(fs.existsSync(editor.file("build")), "it ran before anybody agreed");
  const options = await card.locator(".options button").allInnerTexts();
  assert.deepEqual(options.map((o) => /once|this session|always|deny$/i.exec(o)?.[0].toLowerCase()), ["once", "this session", "always", "deny"]);
  await editor.shot("approval");
  await card.getByRole("button", { name: "Allow once" }).click();
  await answers().last().getByText("It is gone.").waitFor();
  await idle();
  assert.ok(!fs.existsSync(editor.file("build")));
});

step("a command is refused in a notification while the chat is hidden", async () => {
  fs.mkdirSync(editor.file("build"));
  await send("Again.", [{ sleep_ms: 1500 }, call("terminal", { command: "rm -rf build" })], [{ text: "As you wish." }]);
  await editor.hideChat();
  const asks = await editor.toast("Hermes asks: rm -rf build");
  await editor.shot("approval-notification");
  await editor.press(asks, "Deny");
  await idle();
  assert.ok(fs.existsSync(editor.file("build")));
  await editor.openChat();
  await answers().last().getByText("As you wish.").waitFor();
});

// What a notification draws as a link runs a command of the editor with one click.
const link = "#[see why](command:workbench.action.terminal.sendSequence?%7B%22text%22%3A%22x%22%7D) $(bell)";

step("a command's text is no link in a notification", async () => {
  await send("Once more.", [{ sleep_ms: 1500 }, call("terminal", { command: `rm -rf build ${link}` })], [{ text: "Not this time." }]);
  await editor.hideChat();
  const asks = await editor.toast("Hermes asks: rm -rf build");
  assert.equal(await asks.locator(".notification-list-item-message a").count(), 0, "the question has a link");
  assert.match((await asks.innerText()).replaceAll("\u2060", ""), /#\[see why\]\(command:workbench/, "the question does not show the whole command");
  await editor.shot("approval-link");
  await editor.press(asks, "Deny");
  await idle();
  await editor.openChat();
  await answers().last().getByText("Not this time.").waitFor();

  await send("Wait.", [call("terminal", { command: `sleep 301 ${link}` })], [{ text: "Done." }]);
  await editor.hideChat();
  const bar = await editor.toast("sleep 301");
  assert.equal(await bar.locator(".notification-list-item-message a").count(), 0, "the progress has a link");
  await editor.press(bar, "Cancel");
  await bar.waitFor({ state: "detached" });
  await idle();
});

step("the notification cancels", async () => {
  await editor.openChat(); // the step before has hidden the chat
  const nap = `sleep 300.${process.pid}`; // as no other process of this machine
  await send("Wait.", [call("terminal", { command: `echo begun > begun.txt; ${nap}` })], [{ text: "Done." }]);
  await until("the command to begin", () => fs.existsSync(editor.file("begun.txt")));
  await editor.page.locator(".statusbar-item").filter({ hasText: "Hermes: Wait: $ echo begun" }).waitFor();
  assert.equal(await editor.notification(nap).count(), 0, "the chat is visible, and there is a toast");
  await editor.hideChat();
  const bar = await editor.toast(nap);
  await editor.shot("progress");
  await editor.press(bar, "Cancel");
  await bar.waitFor({ state: "detached" });
  await idle();
  await until("the command to end", () => !execFileSync("ps", ["-eo", "args="], { encoding: "utf8" }).split("\n").some((line) => line.trim() === nap));
  await editor.shot("cancelled");
});

step("a hidden turn says that it has failed, or that it has ended after long", async () => {
  await editor.openChat();
  await send("Take long.", [{ sleep_ms: 31_000 }, { text: "Here I am." }]);
  await editor.hideChat();
  const ended = await editor.toast(/Hermes has ended a turn of \d/);
  await editor.shot("long-turn");
  await editor.press(ended, "Show");
  await answers().last().getByText("Here I am.").waitFor();
  await send("Fail.", [call("terminal", { command: "until test -e hidden.txt; do sleep 0.1; done" })], [{ status: 400 }]);
  await editor.hideChat();
  fs.writeFileSync(editor.file("hidden.txt"), "");
  const failed = await editor.toast("(400)");
  assert.equal(await editor.notification("(400)").count(), 1);
  await editor.shot("failed-turn");
  await failed.getByRole("button", { name: "Retry" }).waitFor();
  await editor.press(failed, "Show");
  await editor.box.and(editor.chat.locator(":focus")).waitFor();
  await editor.box.fill("");
});

step("changes are compared, accepted and reverted", async () => {
  await editor.openFile("pricing.py");
  await editor.openChat();
  await send("Triple it.",
    [call("patch", { path: "pricing.py", old_string: "amount * 2", new_string: "amount * 3" }), call("write_file", { path: "CHANGES.md", content: "Tripled.\n" })],
    [{ text: "Both are written." }]);
  await answers().last().getByText("Both are written.").waitFor();
  await idle();
  await editor.run("Hermes Lists: Focus on Changes View");
  const row = (name) => editor.item(name);
  await row("pricing.py").waitFor();
  await row("CHANGES.md").waitFor();
  assert.match(editor.read("pricing.py"), /amount \* 3/, "the edit of an open file is not saved");
  await editor.shot("lenses");

  await editor.again(async () => {
    await row("pricing.py").click({ timeout: 20_000 });
    await editor.page.locator(".tab.active").filter({ hasText: "pricing.py (before this turn ↔ now)" }).waitFor({ timeout: 20_000 });
  });
  const diff = editor.page.locator(".monaco-diff-editor");
  await diff.locator(".line-delete").first().waitFor();
  await editor.shot("diff");

  await editor.act(row("CHANGES.md"), /^Accept/, row("CHANGES.md"), "detached");
  await editor.act(row("pricing.py"), /^Revert/, row("pricing.py"), "detached");
  await until("the text before", () => editor.read("pricing.py").includes("amount * 2"));
  assert.equal(editor.read("CHANGES.md"), "Tripled.\n");
  await diff.waitFor({ state: "detached" });
});

step("an edit is in the undo stack", async () => {
  await editor.openFile("pricing.py");
  await editor.openChat();
  await send("Five times.",
    [call("read_file", { path: "pricing.py" })], [call("patch", { path: "pricing.py", old_string: "amount * 2", new_string: "amount * 5" })], [{ text: "Five it is." }]);
  await answers().last().getByText("Five it is.").waitFor();
  await idle();
  const text = editor.page.locator(".editor-instance .view-lines").first();
  await editor.openFile("pricing.py");
  await text.getByText("amount * 5").waitFor();
  await editor.key("Control+z", () => text.getByText("amount * 2").isVisible());
  await editor.save(() => editor.read("pricing.py").includes("amount * 2"));
  await editor.run("Hermes: Accept All");
});

step("the problems of a file are passed on", async () => {
  await editor.openFile("notes.json");
  await editor.page.locator(".squiggly-warning, .squiggly-error").first().waitFor();
  const before = await answers().count();
  await editor.run("Hermes: Fix Problems");
  await editor.chat.locator("article.user").last().getByText(/Fix notes\.json/).waitFor();
  await answers().nth(before).waitFor();
  await idle();
  await editor.shot("fix");
  assert.match(editor.stored(), /notes\.json, diagnostics[^]*Trailing comma/);
});

step("what the editor's tools say of an edit reaches the model", async () => {
  await editor.openFile("notes.json");
  await editor.openChat();
  await send("Break it.", [call("patch", { path: "notes.json", old_string: "1,", new_string: '1, "b": ,' })], [{ text: "It is broken." }]);
  await answers().last().getByText("It is broken.").waitFor();
  await idle();
  // A slow editor reports the problem after the result: then the next prompt carries it.
  await until("the problem to reach the model", async () => {
    if (/notes\.json, line 1: error: Value expected/.test(editor.stored())) return true;
    await send("Look again.", [{ text: "I looked." }]);
    await answers().last().getByText("I looked.").waitFor();
    await idle();
    return false;
  });
});

step("a question about the selection carries it", async () => {
  await editor.openFile("pricing.py");
  await editor.again(async () => {
    await editor.page.locator(".view-line").filter({ hasText: "print" }).first().click({ timeout: 20_000 });
    await editor.page.keyboard.press("Home");
    await editor.page.keyboard.press("Shift+End");
    await editor.page.locator(".statusbar").getByText(/^Ln 5, .* selected/).waitFor({ timeout: 20_000 });
  });
  const before = await answers().count();
  await editor.page.keyboard.press("Control+Alt+Shift+h");
  await editor.title("Ask Hermes about pricing.py, line 5");
  await editor.answer("What does this print?");
  await answers().nth(before).waitFor();
  await idle();
  assert.match(editor.stored(), /pricing\.py#L5-L5[^]*print\(price\(3\)\)/);
});

step("the files are rolled back, those of commands too", async () => {
  await send("Make a mess.", [call("terminal", { command: "echo > mess.txt; mv CHANGES.md OLD.md" })], [{ text: "A mess it is." }]);
  await answers().last().getByText("A mess it is.").waitFor();
  await idle();
  await editor.run("Hermes Lists: Focus on Changes View");
  const row = (name) => editor.item(name);
  await editor.unfold(row("Make a mess."));
  await row("mess.txt").waitFor();
  await editor.choose("Hermes: Roll Back…", "Roll the files back", "Make a mess");
  await editor.page.getByRole("dialog").getByText("mess.txt").waitFor();
  await editor.shot("roll-back");
  await editor.page.getByRole("button", { name: "Roll Back", exact: true }).click();
  await until("the files to be back", () => !fs.existsSync(editor.file("mess.txt")) && fs.existsSync(editor.file("CHANGES.md")));
  await row("mess.txt").waitFor({ state: "detached" });
});

step("one of two subagents is stopped", async () => {
  const goal = (words, ...replies) => ({ goal: `${words}\n${script(...replies)}`, toolsets: ["file"] });
  await editor.openChat();
  await send("Share the work.",
    [call("delegate_task", { tasks: [
      goal("Wait for long", [{ text: "I begin." }, call("read_file", { path: "pricing.py" })], [{ sleep_ms: 300_000 }]),
      goal("Be quick", [{ sleep_ms: 1500 }, { text: "Quick it was." }]),
    ] })],
    [{ text: "One is done, one was stopped." }]);
  const agents = editor.chat.locator(".entry.subagent");
  await agents.nth(1).waitFor();
  await editor.shot("subagents");
  const long = agents.filter({ hasText: "Wait for long" });
  await long.getByRole("button", { name: /stop/i }).click();
  await answers().last().getByText("One is done, one was stopped.").waitFor();
  await idle();
  assert.equal(await editor.page.locator(".pane-body .monaco-list-row").filter({ hasText: "going back" }).count(), 0, "going back is listed as a change");
  await agents.filter({ hasText: "Be quick" }).and(editor.chat.locator(".completed")).waitFor();
  await long.and(editor.chat.locator(".failed")).waitFor();
  await editor.shot("subagent-stopped");
});

step("the server is restarted after kill -9 and the session goes on", async () => {
  const [pid] = editor.servers();
  assert.ok(pid, "there is no server");
  process.kill(pid, "SIGKILL");
  await editor.told("stopped unexpectedly");
  await idle();
  await editor.shot("restarted");
  await until("another server", () => editor.servers().some((other) => other !== pid));
  await send("Still there?", [{ text: "Here I am." }]);
  await answers().last().getByText("Here I am.").waitFor();
  await idle();
  const earlier = await editor.chat.locator("article.user").allTextContents();
  assert.ok(earlier.some((t) => t.includes("How do you do?")), "the conversation is lost");
});

step("a key is kept secret and given to the server alone", async () => {
  await editor.choose("Hermes: Set API Key…", "Key for which provider?", "Another OpenAI-compatible endpoint");
  await editor.title("Key for Another");
  await editor.answer("hk-7c1d");
  await editor.told("The key for Another OpenAI-compatible endpoint is kept.");
  const environment = (pid) => fs.readFileSync(`/proc/${pid}/environ`, "utf8");
  if (process.getuid() === 0) {
    await until("the server to have the key", () => editor.servers().some((pid) => environment(pid).includes("HERMES_API_KEY=hk-7c1d")));
  } else { // no other program of the user may see it
    await until("the server to hide its environment", () => editor.servers().length > 0 && editor.servers().every((pid) => code(() => environment(pid)) === "EACCES"));
  }
  const { status, stdout } = spawnSync("grep", ["-rlF", "hk-7c1d", editor.dir, "--include=*.json", "--include=*.log", "--include=*.db"], { encoding: "utf8" });
  assert.deepEqual([status, stdout], [1, ""]); // nowhere
});

step("axe finds nothing in the chat", async () => {
  const frame = editor.page.frames().find((f) => f.parentFrame()?.parentFrame() && f.name() === "active-frame" || f.url().includes("fake.html"));
  await frame.evaluate(axeSource);
  const { violations } = await frame.evaluate("axe.run(document)");
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(", ")}`), []);
});
