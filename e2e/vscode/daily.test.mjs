// The daily work of a user in a real VS Code: edits are on disk or the chat says that they are not, other programs
// change open files, mode careful asks before each edit, and a cancel ends all of a turn.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { call, script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-daily-"));
const names = ["locked.txt", "slow.txt", "broken.txt", "formatted.txt", "shown.txt", "clean.txt", "dirty.txt", "unsaved.txt", "asked.txt", "other.txt", "rolled.txt", "reverted.txt", "unlocked.txt"];
const files = Object.fromEntries(names.map((name) => [name, "one\ntwo\nthree\n"]));
let editor;

// An extension of the user's, which takes part in saving: it never answers, throws, or formats.
const participant = {
  "package.json": JSON.stringify({ name: "participant", publisher: "test", version: "1.0.0", engines: { vscode: "^1.91.0" }, main: "./main.js", activationEvents: ["onStartupFinished"] }),
  "main.js": `const vscode = require("vscode");
require("fs").writeFileSync(__dirname + "/active", "");
const saving = (name, run) => vscode.workspace.onWillSaveTextDocument((event) => event.document.fileName.endsWith("/" + name) && run(event));
exports.activate = (context) => context.subscriptions.push(
  saving("slow.txt", (event) => event.waitUntil(new Promise(() => {}))),
  saving("formatted.txt", (event) => event.waitUntil(Promise.resolve([vscode.TextEdit.insert(new vscode.Position(0, 0), "formatted\\n")]))),
  saving("broken.txt", (event) => { event.waitUntil(Promise.reject(new Error("it is broken"))); throw new Error("it is broken"); }),
);
`,
};

before(async () => {
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"), files, development: participant,
    settings: { "hermes.model.provider": "embedded", "files.readonlyInclude": { "**/shown.txt": true } }, hermes: "model: {provider: openai}\n",
  });
  await editor.status.waitFor();
  await editor.openChat();
  await until("the other extension to be active", () => fs.existsSync(path.join(editor.dir, "development/active")));
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("daily", () => editor);
const idle = () => editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"] .codicon-sparkle').waitFor();
const answers = () => editor.chat.locator("article.answer");
const patch = (name, from = "two", to = "2") => call("patch", { path: name, old_string: from, new_string: to });
const text = (line) => editor.page.locator(".editor-instance .view-line").filter({ hasText: new RegExp(`^${line}$`) }).first();
const unsaved = (name) => editor.page.locator(".tab.dirty").filter({ hasText: name });

/** Sends a message from the chat. Its last words are the end of the answer. */
async function send(words, ...replies) {
  await editor.openChat();
  await editor.box.fill(`${words}\n${script(...replies)}`);
  await editor.box.press("Enter");
}

async function answered(words) {
  await answers().last().getByText(words).waitFor();
  await idle();
}

/** Has the agent edit a file that is open, and returns the results of the calls, as the model got them. */
async function edit(name, ...calls) {
  await editor.openFile(name);
  const words = `Done with ${name}${calls.length}.`;
  await send(`Edit ${name}`, ...calls.map((c) => [c]), [{ text: words }]);
  await answered(words);
  return editor.results(calls.length);
}

step("an edit is on disk when the tool returns, whatever takes part in saving", async () => {
  for (const name of ["slow.txt", "broken.txt", "formatted.txt"]) {
    const [result, seen] = await edit(name, patch(name), call("terminal", { command: `cat ${name}` }));
    assert.match(seen, /one\\n2\\nthree/, `${name}: ${result}`);
    assert.doesNotMatch(result + seen, /not saved/);
    assert.equal(await unsaved(name).count(), 0);
  }
  assert.match(editor.read("formatted.txt"), /^formatted\n/);
});

step("a save that fails is told to the model and to the user", async () => {
  if (process.getuid() === 0) return; // root writes all files
  fs.chmodSync(editor.file("locked.txt"), 0o444);
  const [result, seen] = await edit("locked.txt", patch("locked.txt"), call("terminal", { command: "cat locked.txt" }));
  await editor.shot("save-failed");
  assert.match(result, /it was not saved \(VS Code could not save it\): the disk has the old text/);
  assert.match(seen, /one\\ntwo\\nthree.*not saved in the editor: locked\.txt/);
  await editor.chat.getByText("Not verified: commands ran while locked.txt was not saved in the editor").first().waitFor();
  assert.equal(editor.read("locked.txt"), files["locked.txt"]);
});

step("a document that is read-only in the editor is not changed: VS Code would lose the text without a question", async () => {
  const [result] = await edit("shown.txt", patch("shown.txt"));
  assert.match(result, /the editor refused the edit of shown\.txt: it is read-only in VS Code\. Nothing was changed/);
  await text("two").waitFor();
  assert.equal(editor.read("shown.txt"), files["shown.txt"]);
});

const rollBack = async (name) => {
  await editor.run("Hermes: Roll Back…");
  await editor.pick(`Edit ${name}`);
  await editor.page.getByRole("button", { name: "Roll Back", exact: true }).click();
};
const told = (words) => editor.chat.getByText(words).first().waitFor();

step("a roll back and a revert of a document that is read-only in the editor say so, and can be repeated", async () => {
  const lens = editor.page.locator(".codelens-decoration a").getByText("Revert", { exact: true });
  for (const [name, restore] of [["rolled.txt", rollBack], ["reverted.txt", (_, done) => editor.click(lens, done)]]) {
    await edit(name, patch(name));
    await editor.openFile(name);
    await editor.run("File: Set Active Editor Read-only in Session");
    const refused = editor.chat.getByText(new RegExp(`Not restored: ${name} \\(.*read-only in VS Code`)).first();
    await restore(name, () => refused.isVisible());
    await refused.waitFor();
    assert.equal(editor.read(name), "one\n2\nthree\n");
    await editor.openFile(name);
    await text("2").waitFor();
    await editor.run("File: Set Active Editor Writeable in Session");
    const restored = () => editor.read(name) === files[name];
    await restore(name, restored);
    await until("the earlier text on disk", restored);
  }
});

step("a roll back that cannot be saved is told, and its text outlives the window", async () => {
  if (process.getuid() === 0) return; // root writes all files
  await edit("unlocked.txt", patch("unlocked.txt"));
  fs.chmodSync(editor.file("unlocked.txt"), 0o444);
  await rollBack("unlocked.txt");
  await told("Not saved: unlocked.txt (VS Code could not save it). The disk has another text until you save.");
  await unsaved("unlocked.txt").waitFor();
  await editor.page.reload();
  await editor.status.waitFor();
  await unsaved("unlocked.txt").waitFor();
  assert.equal(editor.read("unlocked.txt"), "one\n2\nthree\n");
  fs.chmodSync(editor.file("unlocked.txt"), 0o644);
  await editor.openFile("unlocked.txt");
  await text("two").waitFor();
  await editor.save(() => editor.read("unlocked.txt") === files["unlocked.txt"]);
  await editor.openChat();
});

step("with hermes.saveEdits off, nothing is saved, and the user and the model are told", async () => {
  fs.mkdirSync(editor.file(".vscode"));
  const set = async (values, numbers) => {
    fs.writeFileSync(editor.file(".vscode/settings.json"), JSON.stringify({ ...values, "editor.lineNumbers": numbers }));
    await editor.page.locator(".editor-instance .line-numbers").first().waitFor({ state: numbers === "on" ? "visible" : "detached" }); // the settings are read
  };
  await editor.openFile("unsaved.txt");
  await set({ "hermes.saveEdits": false }, "off");
  const [result, seen] = await edit("unsaved.txt", patch("unsaved.txt"), call("terminal", { command: "cat unsaved.txt" }));
  assert.match(result, /it was not saved \(hermes\.saveEdits is off\): the disk has the old text/);
  assert.match(seen, /one\\ntwo\\nthree.*not saved in the editor: .*unsaved\.txt/);
  await editor.chat.getByText(/Not verified: commands ran while .*unsaved\.txt (was|were) not saved/).first().waitFor();
  await unsaved("unsaved.txt").waitFor();
  assert.equal(editor.read("unsaved.txt"), files["unsaved.txt"]);
  await set({ "hermes.saveEdits": true }, "on");
  await editor.openFile("unsaved.txt");
  await editor.save(() => editor.read("unsaved.txt") === "one\n2\nthree\n");
});

step("what another program changes in an open file stays, and the agent edits it", async () => {
  await editor.openFile("clean.txt");
  fs.writeFileSync(editor.file("clean.txt"), "zero\none\ntwo\nthree\n"); // as git checkout does
  await edit("clean.txt", patch("clean.txt"), call("terminal", { command: "sed -i s/three/THREE/ clean.txt" }), patch("clean.txt", "one", "1"));
  await until("the editor to show all changes", async () => (await text("zero").count()) + (await text("1").count()) + (await text("2").count()) + (await text("THREE").count()) === 4);
  assert.equal(editor.read("clean.txt"), "zero\n1\n2\nTHREE\n");
  assert.equal(await unsaved("clean.txt").count(), 0);
});

step("if the user and another program have changed a file, the edit is rejected, and both texts stay", async () => {
  await editor.select("dirty.txt", 0);
  await editor.page.keyboard.type("mine\n");
  await unsaved("dirty.txt").waitFor();
  fs.writeFileSync(editor.file("dirty.txt"), "theirs\none\ntwo\nthree\n");
  const [result] = await edit("dirty.txt", patch("dirty.txt"));
  assert.match(result, /dirty\.txt has unsaved changes in the editor, and the file has changed on disk, too/);
  await text("mine").waitFor();
  await text("two").waitFor();
  assert.equal(editor.read("dirty.txt"), "theirs\none\ntwo\nthree\n");
  await editor.shot("both-changed");
});

const card = () => editor.chat.locator(".card").last();
const shows = async (removed, added) => {
  await card().locator(".diff-line.minus").filter({ hasText: removed }).waitFor();
  await card().locator(".diff-line.plus").filter({ hasText: added }).waitFor();
};
const option = (name) => card().getByRole("button", { name, exact: true });

step("an earlier prompt is changed and sent again, and its files are restored", async () => {
  const whole = "one\ntwo\nthree\n";
  const mine = () => editor.chat.locator("article.user").last();
  const back = async () => {
    await until("the files of then", () => editor.read("other.txt") === whole);
    await until("the prompt to be in the composer", async () => (await editor.box.inputValue()).startsWith("Mend other"));
  };
  await send("Mend other", [patch("other.txt")], [{ text: "Mended once." }]);
  await answered("Mended once.");
  await until("the edit to be on disk", () => editor.read("other.txt") === "one\n2\nthree\n");
  await mine().hover();
  await editor.shot("own-prompt");
  await mine().getByRole("button", { name: "Edit and resend" }).click();
  await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Restore the files to before this prompt" }).click();
  await back();
  assert.equal(await answers().filter({ hasText: "Mended once." }).count(), 0);
  await editor.box.press("Enter");
  await answered("Mended once.");
  await until("the edit to be on disk again", () => editor.read("other.txt") === "one\n2\nthree\n");
  await mine().hover();
  await mine().getByRole("button", { name: "Restore files to here" }).click();
  await back();
  await editor.box.fill("");
});

step("in mode careful each edit shows its diff first, and the reason of a denial reaches the model", async () => {
  await editor.openFile("asked.txt");
  await editor.openChat();
  await editor.chat.getByRole("combobox", { name: "Mode", exact: true }).selectOption("careful");
  await send("Edit it", [patch("asked.txt")], [patch("other.txt")], [{ text: "Asked twice." }]);
  await card().getByText("Make this edit?").waitFor();
  await shows("two", "2");
  assert.deepEqual(await card().locator(".options button").allInnerTexts(), ["Allow once", "Allow for this session: edits of asked.txt", "Deny"]);
  assert.equal(editor.read("asked.txt"), files["asked.txt"], "the edit was made before anybody agreed");
  await editor.shot("careful");
  await option("Allow once").click();
  await until("the edit to be on disk", () => editor.read("asked.txt") === "one\n2\nthree\n");
  await option("Allow for this session: edits of other.txt").waitFor();
  await card().getByLabel("Reason for Deny").fill("two is right");
  await editor.shot("careful-reason");
  await option("Deny").click();
  await answered("Asked twice.");
  assert.match(editor.results(1)[0], /Denied by the user: two is right/);
  assert.equal(editor.read("other.txt"), files["other.txt"]);
});

step("in mode careful the edits of a subagent ask, too, and name it", async () => {
  await send("Delegate it", [call("delegate_task", { goal: `Mend other\n${script([patch("other.txt")], [{ text: "Mended." }])}`, toolsets: ["file"] })], [{ text: "Delegated." }]);
  await option("Allow for this session: edits of other.txt").waitFor();
  await shows("two", "2");
  await card().getByText("Mend other").waitFor();
  await editor.shot("careful-subagent");
  assert.equal(editor.read("other.txt"), files["other.txt"]);
  await option("Allow once").click();
  await answered("Delegated.");
  assert.equal(editor.read("other.txt"), "one\n2\nthree\n");
});

step("a cancel ends the background subagents of the turn, and no turn begins by itself", async () => {
  const waiting = `until test -e go.txt; do sleep 0.05; done; echo > went-on.txt`;
  await send("Begin it",
    [call("delegate_task", { background: true, goal: `Wait for go\n${script([call("terminal", { command: `echo > begun.txt; ${waiting}` })], [{ text: "It went." }])}`, toolsets: ["terminal"] })],
    [call("terminal", { command: "echo > turn.txt; sleep 600" })], [{ text: "Never said." }]);
  await until("the commands to run", () => fs.existsSync(editor.file("begun.txt")) && fs.existsSync(editor.file("turn.txt")));
  await editor.chat.getByRole("button", { name: "Stop (Escape)" }).click();
  await editor.chat.locator(".entry.subagent.failed").filter({ hasText: "Wait for go" }).waitFor();
  await idle();
  await editor.shot("cancelled-background");
  fs.writeFileSync(editor.file("go.txt"), "");
  await send("And now?", [{ text: "Nothing goes on." }]);
  await answered("Nothing goes on.");
  assert.ok(!fs.existsSync(editor.file("went-on.txt")), "the subagent's command went on");
  assert.doesNotMatch(await editor.chat.locator("body").innerText(), /Hermes continues with|^It went\.|^Never said\./m);
});
