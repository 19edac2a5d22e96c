// The view of extensions in a real VS Code: MCP servers, skills, memory and learnings are listed, opened, approved.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-extensions-"));
// A server with one tool, in the protocol's own lines.
const clock = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        result = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "clock", "version": "1"}},
            "tools/list": {"tools": [{"name": "now", "description": "The time", "inputSchema": {"type": "object"}}]},
        }.get(m["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
`;
let editor;

before(async () => {
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"),
    files: {
      "pricing.py": "def price(amount):\n    return amount * 2\n",
      "clock.py": clock,
      "../watch.py": clock, // outside of the workspace, so that it needs no approval
      ".mcp.json": JSON.stringify({ mcpServers: { clock: { command: "python3", args: ["clock.py"] } } }),
      "../hermes/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Deploys the shop.\n---\nRun make deploy.\n",
      "../hermes/memories/USER.md": "Prefers tabs.\n",
    },
    hermes: "model: {provider: embedded}\nmcp_servers:\n  gone: {command: hermes-no-such-program}\n",
  });
  await editor.status.waitFor();
  await editor.openFile("pricing.py");
  await editor.openChat(() => editor.run("Hermes: Open Chat"));
  const { box } = editor;
  await box.fill(`Hello\n${script([{ text: "Here I am." }])}`);
  await box.press("Enter");
  await editor.chat.locator("article.answer").filter({ hasText: "Here I am." }).waitFor();
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("extensions", () => editor);
const row = (text) => editor.item(text);
const tab = (text) => editor.tab(text);
const text = (words) => editor.page.locator(".editor-instance .view-line").filter({ hasText: words }).first().waitFor();

step("a server that failed is named in the status bar and in the view", async () => {
  await editor.page.locator('[id="hermes-ls.hermes-ls.hermes.servers"]').filter({ hasText: "gone failed" }).click();
  await editor.unfold(row("MCP servers"));
  await row("gone").filter({ hasText: "failed" }).waitFor();
});

step("the folder is trusted and its server approved in the view", async () => {
  const trust = editor.page.getByRole("dialog").getByRole("button", { name: "Trust", exact: true });
  await editor.act(row("Not used until you trust the folder"), "Trust This Folder's Extensions…", trust);
  await trust.click();
  await row("Not used until you trust the folder").waitFor({ state: "detached" });
  await editor.act(row("clock"), "Approve MCP Server…", editor.notification("The MCP server clock").filter({ hasText: "is approved" }));
  await row("clock").filter({ hasText: "1 tool" }).waitFor();
  await editor.shot("extensions");
});

step("the approval is removed", async () => {
  await editor.choose("Hermes: Revoke Approval of MCP Server…", "MCP server", "clock");
  await editor.notification("The MCP server clock is not approved anymore.").waitFor();
  await row("clock").filter({ hasText: "not approved" }).waitFor();
});

step("a skill, the memory and the learnings are opened", async () => {
  await editor.choose("Hermes: Open Skill…", "Open skill", "deploy");
  await tab("SKILL.md");
  await text("Run make deploy.");
  await editor.choose("Hermes: Edit Memory…", "Open memory", "USER.md");
  await tab("USER.md");
  await text("Prefers tabs.");
  assert.equal(editor.read("../hermes/memories/USER.md"), "Prefers tabs.\n");
  await editor.run("Hermes: Open Learnings");
  await tab("learnings.md");
  await text("There are no learnings.");
});

step("the palette adds an MCP server, and says what is wrong with one", async () => {
  await editor.run("Hermes: Add MCP Server…");
  await editor.title("Add an MCP server");
  await editor.answer("watch");
  await editor.page.locator(".quick-input-widget input[placeholder^='https://mcp']").waitFor();
  await editor.answer(`python3 "${path.join(editor.dir, "watch.py")}"`);
  await editor.notification("watch is added. New sessions use it.").waitFor();
  assert.match(fs.readFileSync(path.join(editor.dir, "hermes/config.yaml"), "utf8"), /watch: .*python3/);
  await editor.clearNotifications(); // the next one would move when it goes
  await editor.run("Hermes: Add MCP Server…");
  await editor.title("Add an MCP server");
  await editor.answer("missing");
  await editor.page.locator(".quick-input-widget input[placeholder^='https://mcp']").waitFor();
  await editor.answer("hermes-no-such-program");
  const failed = await editor.toast("missing is added, but it cannot be connected: cannot start hermes-no-such-program");
  await editor.shot("mcp-add");
  await editor.notification("Adding missing").waitFor({ state: "detached" }); // VS Code shows at most three in 800 ms
  await editor.press(failed, "Remove Server");
  await editor.notification("missing is removed.").waitFor();
});

step("the palette installs a skill after it has shown it", async () => {
  const source = path.join(editor.dir, "tidy");
  fs.mkdirSync(source);
  fs.writeFileSync(path.join(source, "SKILL.md"), "---\nname: tidy\ndescription: Tidies the shop.\n---\nRun make tidy.\n");
  await editor.run("Hermes: Install Skill…");
  await editor.title("Install a skill");
  await editor.answer(source);
  const dialog = editor.page.locator(".monaco-dialog-box");
  await dialog.getByText("Tidies the shop.").waitFor();
  await editor.shot("skill-install");
  await dialog.getByRole("button", { name: "Install", exact: true }).click();
  await editor.notification("The skill is installed. New sessions have it.").waitFor();
  assert.ok(fs.existsSync(path.join(editor.dir, "hermes/skills/tidy/SKILL.md")));
});

step("the palette shows the usage and exports the session", async () => {
  await editor.run("Hermes: Usage");
  await editor.chat.locator("article.answer").filter({ hasText: /session/i }).last().waitFor();
  await editor.run("Hermes: Export Session…");
  const name = editor.page.locator(".quick-input-widget input").first();
  await until("the dialog to propose a name", async () => (await name.inputValue()).endsWith(".jsonl"));
  const to = path.join(editor.dir, "ws/exported.jsonl");
  await name.fill(to);
  await name.press("Enter");
  await editor.told("The session is exported.");
  assert.match(fs.readFileSync(to, "utf8"), /Here I am\./);
  await editor.shot("exported");
});
