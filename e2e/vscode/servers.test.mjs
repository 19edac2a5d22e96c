// MCP servers in a real VS Code: forms of the official server-everything; login, restart, log and logout in the view, with a
// real authorization server; memory and learnings that are undone and forgotten.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open, root } from "./host.mjs";
import { call, script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-servers-"));
const server = path.join(root, "e2e/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
let editor, authority, corp;

before(async () => {
  authority = spawn(process.execPath, [path.join(root, "e2e/node/authority.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  const failed = once(authority, "exit").then(([code]) => Promise.reject(new Error(`the authorization server ended with ${code}`)));
  failed.catch(() => {}); // it also ends after the tests
  corp = JSON.parse(String((await Promise.race([once(authority.stdout, "data"), failed]))[0]));
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"),
    files: { "pricing.py": "def price(amount):\n    return amount * 2\n", "../hermes/memories/USER.md": "Prefers tabs.\n" },
    hermes: JSON.stringify({
      model: { provider: "embedded" },
      mcp_servers: {
        everything: { command: process.execPath, args: [server], trust: "full", defer: "never" },
        brief: { command: process.execPath, args: [server], trust: "full", defer: "never", elicitation: { timeout: 3 } },
        corp: { url: corp.resource },
      },
    }),
  });
  await editor.status.waitFor();
  await editor.openFile("pricing.py");
  await editor.openChat(() => editor.run("Hermes: Open Chat"));
});

after(async () => {
  await editor?.close();
  authority?.kill();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("servers", () => editor);
const form = () => editor.chat.getByRole("form", { name: "asks: Please provide inputs" });
const button = (name) => form().getByRole("button", { name, exact: true });

/** Sends a prompt whose first words tell the turns apart, with the responses of the model. */
async function send(name, ...responses) {
  await editor.openChat(() => editor.run("Hermes: Open Chat")); // a list may be in its place
  const { box } = editor;
  await box.fill(`${name}\n${script(...responses, [{ text: `Done: ${name}.` }])}`);
  await box.press("Enter");
}

const done = (name) => editor.chat.locator("article.answer").filter({ hasText: `Done: ${name}.` }).waitFor();

/** Has the model call the tool that asks for values. */
async function ask(name, server = "everything") {
  await send(name, [call(`mcp__${server}__trigger-elicitation-request`, {})]);
  await form().filter({ hasText: `${server} (MCP server) asks` }).waitFor();
}

/** Returns the server's input, which it writes into the result of the call. */
async function got(name) {
  await done(name);
  // A call that came before the server was ready has the tool's name instead of its title.
  const results = editor.chat.locator(".log").getByText(/Raw result: /);
  const before = await results.count();
  const rows = editor.chat.locator('.log .row[aria-expanded="false"]').filter({ hasText: /trigger[- ]elicitation[- ]request/i });
  await rows.last().click();
  await results.nth(before).waitFor();
  const text = await results.last().textContent();
  return JSON.parse(/Raw result: (\{.*\})/s.exec(text.replaceAll("\\n", "\n").replaceAll('\\"', '"'))[1]);
}

step("a form is shown whole, and refuses what does not fit with a sentence at the field", async () => {
  await ask("First");
  for (const label of ["String (required)", "String with default (optional)", "String with email format (optional)", "Integer (optional)"]) {
    await form().getByLabel(label, { exact: true }).waitFor();
  }
  const labels = await form().locator(".field").allTextContents();
  assert.equal(labels.length, 13);
  ["String", "Boolean", "String with default", "String with email format"].forEach((l, i) => assert.ok(labels[i].trim().startsWith(l), labels.join("\n")));
  await form().getByText("Your full, legal name").waitFor();
  await form().getByText("Enter a whole number from 1 to 100.").waitFor();
  await editor.shot("form");
  await form().getByLabel("String with email format (optional)").fill("ann");
  await form().getByLabel("Integer (optional)", { exact: true }).fill("500");
  await button("Send").click();
  await form().getByRole("alert").nth(2).waitFor();
  assert.deepEqual(await form().getByRole("alert").allTextContents(), [
    "This field is required.",
    "Enter an email address, such as name@example.org.",
    "Enter a whole number from 1 to 100.",
  ]);
  await editor.shot("form-refused");
});

step("what was corrected arrives at the server", async () => {
  await form().getByLabel("String (required)", { exact: true }).fill("Ann");
  await form().getByLabel("String with email format (optional)").fill("ann@example.org");
  await form().getByLabel("String with uri format (optional)").fill("https://example.org/ann");
  await form().getByLabel("String with date format (optional)").fill("2001-02-03");
  await form().getByLabel("Integer (optional)", { exact: true }).fill("7");
  await form().getByLabel("Boolean").check();
  await form().getByRole("radiogroup", { name: "Titled Single Select Enum (optional)", exact: true }).getByLabel("Wonder Woman").check();
  await form().getByRole("combobox", { name: "Untitled Single Select Enum (optional)" }).selectOption("Phoebe");
  await form().getByRole("group", { name: "Untitled Multiple Select Enum (optional)" }).getByLabel("Violin").check();
  await form().getByRole("radiogroup", { name: "Legacy Titled Single Select Enum (optional)" }).getByLabel("No answer").check();
  await button("Send").click();
  assert.deepEqual(await got("First"), {
    action: "accept",
    content: {
      name: "Ann", email: "ann@example.org", homepage: "https://example.org/ann", birthdate: "2001-02-03", check: true, integer: 7, number: 3.14,
      firstLine: "It was a dark and stormy night.", titledMultipleSelectEnum: ["fish-1"], titledSingleSelectEnum: "hero-3",
      untitledMultipleSelectEnum: ["Guitar", "Violin"], untitledSingleSelectEnum: "Phoebe",
    },
  });
  await editor.shot("form-sent");
});

step("declined and canceled are two answers", async () => {
  await ask("Second");
  await button("Decline").click();
  assert.deepEqual(await got("Second"), { action: "decline" });
  await ask("Third");
  await button("Cancel").click();
  assert.deepEqual(await got("Third"), { action: "cancel" });
});

step("a form without an answer is canceled at its timeout, and with its turn", async () => {
  const shown = editor.chat.locator("body").evaluate((body) => new Promise((resolve) => { // it is soon gone
    const look = () => body.innerText.includes("brief (MCP server) asks") && resolve();
    new MutationObserver(look).observe(body, { subtree: true, childList: true, characterData: true });
  }));
  await send("Fourth", [call("mcp__brief__trigger-elicitation-request", {})]);
  await shown;
  assert.deepEqual(await got("Fourth"), { action: "cancel" });
  await form().waitFor({ state: "detached" });
  await ask("Fifth");
  await editor.chat.getByRole("button", { name: "Stop (Escape)" }).click();
  await form().waitFor({ state: "detached" });
  await editor.chat.locator(".log").getByText("Cancelled.").waitFor();
  await editor.shot("form-canceled");
});

const row = (text) => editor.item(text);

/** Opens the view, and a group of it. */
async function unfold(name) {
  await editor.run("Hermes Lists: Focus on Extensions View");
  await editor.unfold(row(name));
}

step("a login at a real authorization server, from the view", async () => {
  await unfold("MCP servers");
  await row("corp").filter({ hasText: "needs login" }).waitFor();
  await editor.page.locator('[id="hermes-ls.hermes-ls.hermes.servers"]').filter({ hasText: "corp needs login" }).waitFor();
  let page;
  await editor.again(async () => {
    const opened = editor.page.context().waitForEvent("page", { timeout: 20_000 });
    await Promise.all([opened, editor.act(row("corp"), "Log in at MCP Server…", row("corp"))]);
    page = await opened;
  });
  // code-server opens addresses of this machine through itself. The login pages have to be at their own address.
  await page.goto(page.url().replace(/^http:\/\/[^/]+\/proxy\/(\d+)\//, "http://127.0.0.1:$1/"));
  await page.getByText("corp").first().waitFor();
  await page.close();
  await row("corp").filter({ hasText: "3 tools" }).waitFor();
  await send("Who am I?", [call("mcp__corp__whoami", {})]);
  await done("Who am I?");
  await editor.shot("logged-in");
});

step("a server is restarted, its log is opened, and the user logs out", async () => {
  await editor.run("Hermes Lists: Focus on Extensions View");
  await editor.act(row("everything"), "Restart MCP Server…", editor.notification("The MCP server everything starts again."));
  await row("everything").filter({ hasText: "tools" }).waitFor(); // the view is listed again when it is ready
  await editor.menu(row("everything"), ["Show Log of MCP Server…"], editor.page.locator(".tab.active").filter({ hasText: "mcp-everything.log" }));
  const left = row("corp").filter({ hasText: "needs login" });
  await Promise.all([editor.notification("corp is logged out.").waitFor(), editor.menu(row("corp"), ["Log out at MCP Server…"], left)]);
  for (const name of fs.readdirSync(path.join(dir, "host/hermes/mcp-auth")).filter((n) => n.endsWith(".json"))) {
    assert.doesNotMatch(fs.readFileSync(path.join(dir, "host/hermes/mcp-auth", name), "utf8"), /access_token|refresh_token":/);
  }
});

step("the last write of the memory is undone, and a learning is forgotten", async () => {
  const memory = () => editor.read("../hermes/memories/USER.md");
  await send("Remember: Prefers tea", [call("memory", { action: "add", target: "user", content: "Prefers tea." })]);
  await done("Remember: Prefers tea");
  assert.match(memory(), /tea/);
  await editor.run("Hermes Lists: Focus on Extensions View");
  await editor.unfold(row("MCP servers"), false); // the view has no room for all rows
  await unfold("Memory");
  await editor.act(row("Memory"), "Undo Last Write of Memory", editor.chat.locator("article.answer").filter({ hasText: "USER.md" }).last());
  await until("the memory to be as before", () => !/tea/.test(memory()));
  assert.match(memory(), /Prefers tabs/);

  const ls = (option) => [call("terminal", { command: `ls ${option} pricing.py` })];
  await send("Learn it", ls("--no-such-option"), ls("-l"));
  await done("Learn it");
  await editor.run("Hermes Lists: Focus on Extensions View");
  await editor.unfold(row("Memory"), false);
  await unfold("Learnings");
  await row("ls -l pricing.py").waitFor();
  await editor.shot("learning");
  await editor.act(row("ls -l pricing.py"), "Forget Learning…", row("ls -l pricing.py"), "detached");
});
