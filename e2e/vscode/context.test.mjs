// The first request that a model gets from a real VS Code: where the user works, and the
// references of the prompt.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

import { open } from "./host.mjs";
import { becomes } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-context-"));
const prompts = [];
let editor, model;

before(async () => {
  model = http.createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(404).end();
      prompts.push(JSON.parse(body).messages.at(-1).content);
      const event = (choice) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, ...choice }] })}\n\n`;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.end(`${event({ delta: { content: "All seen." } })}${event({ finish_reason: "stop" })}data: [DONE]\n\n`);
    });
  });
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"),
    files: { "pricing.py": "def price(amount):\n    return amount * 2\n\n\nprint(price(3))\n", "broken.json": '{"a": 1,}\n' },
    hermes: `model: {provider: custom, base_url: "http://127.0.0.1:${model.address().port}/v1", default: gpt-5, api_key: none}\n`,
  });
  await editor.status.waitFor();
});

after(async () => {
  await editor?.close();
  model?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

test("the model learns where the user works, and reads what the prompt refers to", async () => {
  await editor.openFile("broken.json");
  await editor.page.locator(".squiggly-error").first().waitFor();
  await editor.openFile("pricing.py");
  await editor.again(async () => {
    await editor.page.locator(".view-line").filter({ hasText: "return amount" }).click({ timeout: 20_000 });
    await editor.page.keyboard.press("Home");
    await editor.page.keyboard.press("Home"); // before the indentation
    await editor.page.keyboard.press("Shift+ArrowDown");
    await editor.page.locator(".statusbar").getByText("Ln 3, Col 1 (").waitFor({ timeout: 20_000 });
  });
  await editor.openChat(() => editor.run("Hermes: Open Chat"));
  const { box } = editor;
  await box.pressSequentially("Look at @file:pri");
  await editor.chat.getByRole("option", { name: /pricing\.py/ }).first().waitFor();
  await box.press("Tab");
  await becomes("Look at @file:pricing.py ", () => box.inputValue());
  await box.pressSequentially("and @problems ");
  await box.press("Escape");
  await box.press("Enter");
  await editor.chat.locator("article.answer").filter({ hasText: "All seen." }).waitFor();
  for (const want of [
    /\nactive: pricing\.py:3:1, selected lines 2-2, visible 1-\d+\n/, /\nopen: pricing\.py, broken\.json\n/, /\nproblems: broken\.json 1 error\n/,
    /\nfiles: broken\.json, pricing\.py\n/, /instructions: pricing\.py\n```\n1\|def price/, /broken\.json:1:\d+: error: /,
  ]) {
    assert.match(prompts[0], want);
  }
  await becomes("Look at @file:pricing.py and @problems", async () => (await editor.chat.locator("article.user").last().innerText()).trim());
});
