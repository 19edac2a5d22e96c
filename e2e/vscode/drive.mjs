// A VS Code that a Go test drives: it reads commands as lines of JSON and answers each with a line.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

import { open } from "./host.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-drive-"));
const editor = await open({
  dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX.split(path.delimiter), extensions: path.join(dir, "extensions"), files: {}, folder: process.env.HERMES_WS,
  hermes: fs.readFileSync(path.join(process.env.HERMES_HOME, "config.yaml"), "utf8"),
});
const box = () => editor.box;
const stop = () => editor.chat.getByRole("button", { name: "Stop (Escape)" });

const commands = {
  async send(text) {
    await box().fill(text);
    await editor.chat.getByRole("button", { name: "Send (Enter)" }).click(); // the key would take a completion
  },
  async wait(...shown) {
    for (const text of shown) {
      await editor.chat.locator("body").getByText(text).last().waitFor({ state: "attached" });
    }
    await stop().waitFor({ state: "detached" });
  },
  async open(file) {
    await editor.openFile(file);
  },
  async click(name) {
    await editor.chat.getByRole("button", { name }).click();
  },
  async status(text) {
    await editor.page.locator('[id="hermes-ls.hermes-ls.hermes.status"]').filter({ hasText: text }).waitFor();
  },
  async stop() {
    await stop().click();
    await stop().waitFor({ state: "detached" });
  },
};

try {
  await editor.status.waitFor();
  await editor.openFile(process.env.HERMES_FILE);
  await editor.openChat(() => editor.run("Hermes: Open Chat"));
  console.log("done");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: name, args } = JSON.parse(line);
    await commands[name](...(args ?? []));
    console.log("done");
  }
} catch (error) {
  await editor.shot("drive-failed");
  console.log(`failed: ${String(error).split("\n")[0]}`);
} finally {
  await editor.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
