// Takes docs/vscode.png and docs/vscode-edit.png: the project of the demo in a real VS Code, whose
// bugs are fixed in the chat, and an edit in place. The model is the endpoint beside this file, with
// the responses of the demo.
//   HERMES_VSIX=dist/hermes-ls-VERSION.vsix node e2e/vscode/picture.mjs
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { open, root } from "./host.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-picture-"));
const project = path.join(root, "cmd/hermes-ls/demo/project");
const files = Object.fromEntries(fs.readdirSync(project, { recursive: true })
  .filter((name) => fs.statSync(path.join(project, name)).isFile())
  .map((name) => [name, fs.readFileSync(path.join(project, name), "utf8")]));

const endpoint = spawn("go", [
  "run", "./e2e/vscode/endpoint", "cmd/hermes-ls/demo/responses/job.jsonl", "e2e/vscode/picture.jsonl",
], { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
const address = await new Promise((resolve, reject) => {
  endpoint.stdout.once("data", (line) => resolve(String(line).trim()));
  endpoint.once("exit", (code) => reject(new Error(`the endpoint ended with ${code}`)));
});

const editor = await open({
  hermes: `model: {provider: custom, base_url: "${address}", default: your-model, context_window: 128000}\n`,
  dir: path.join(dir, "host"), vsix: path.resolve(process.env.HERMES_VSIX), extensions: path.join(dir, "extensions"), files,
  settings: { "workbench.colorTheme": "Dark 2026", "editor.minimap.enabled": false, "window.commandCenter": false, "hermes.progress": "statusBar" },
});
try {
  await editor.page.setViewportSize({ width: 1280, height: 980 });
  await editor.status.waitFor();
  await editor.openFile("pricing.py");
  await editor.run("Hermes: Open Chat");
  const box = editor.chat.getByLabel("Message to Hermes");
  await box.waitFor();
  await widen(editor.page, 150);
  const send = async (text) => {
    await box.fill(text);
    await box.press("Enter");
  };
  await send("The tests fail (`python3 -m unittest`). Find out why, fix the code, and run them again.");
  await editor.chat.getByRole("button", { name: /3 of 3 done/ }).waitFor();
  await editor.chat.getByRole("button", { name: "Stop (Escape)" }).waitFor({ state: "detached" });
  const edit = editor.chat.getByRole("button", { name: /^Edit / }).last();
  (await edit.getAttribute("aria-expanded")) === "true" || (await edit.click());
  await send("Run `rm -rf inventory/__pycache__`");
  await editor.chat.locator(".card").waitFor();
  for (const close of await editor.page.locator(".notification-toast .codicon-notifications-clear").all()) await close.click();
  await editor.page.mouse.move(900, 400);
  await editor.page.waitForTimeout(1500);
  await editor.page.screenshot({ path: path.join(root, "docs/vscode.png") });

  await editor.chat.getByRole("button", { name: "Allow once" }).click();
  await editor.chat.getByText("The folder is deleted.", { exact: true }).waitFor();
  await editor.page.locator(".codelens-decoration a").filter({ hasText: /^Accept$/ }).first().click(); // the changes of the first turn
  await editor.run("View: Close Primary Side Bar");
  await editor.page.setViewportSize({ width: 1000, height: 560 });
  await editor.page.locator(".editor-instance .view-line").filter({ hasText: "def line_total" }).click();
  await editor.page.keyboard.press("Home");
  for (let i = 0; i < 5; i++) await editor.page.keyboard.press("Shift+ArrowDown");
  await editor.page.keyboard.press("Control+Alt+i");
  await editor.page.locator(".quick-input-title").filter({ hasText: "Edit inventory/pricing.py" }).waitFor();
  await editor.answer("reject a discount that is not between 0 and 1");
  await editor.page.locator(".codelens-decoration a").filter({ hasText: /^Reject$/ }).first().waitFor();
  await editor.page.locator(".editor-instance .view-line").filter({ hasText: "def order_total" }).click();
  await editor.page.mouse.move(900, 500);
  await editor.page.waitForTimeout(1500);
  await editor.page.screenshot({ path: path.join(root, "docs/vscode-edit.png") });
} catch (error) {
  await editor.shot("failed-picture");
  throw error;
} finally {
  await editor.close();
  endpoint.stdin.end();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** Makes the side bar wider, by its edge. */
async function widen(page, by) {
  const { x, width } = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(x + width + 1, 400);
  await page.mouse.down();
  await page.mouse.move(x + width + by, 400, { steps: 5 });
  await page.mouse.up();
}
