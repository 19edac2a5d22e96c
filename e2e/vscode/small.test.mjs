// A small window, as at 200 % zoom: 700 × 450 CSS pixels. An approval request and its buttons are in
// sight, with the lists closed and open.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open } from "./host.mjs";
import { call, script, stepsOf, until } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-small-"));
let editor;

before(async () => {
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"), files: { "a.txt": "a\n", "build/old.txt": "x\n" },
    hermes: "model: {provider: embedded}\n",
  });
  await editor.status.waitFor();
  await editor.page.setViewportSize({ width: 700, height: 450 });
  await editor.openChat(() => editor.run("Hermes: Open Chat"));
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("small", () => editor);
const card = () => editor.chat.locator(".card").last();

/** Whether all of an element is in the window and in the view, and nothing covers its middle. */
const inSight = (locator) =>
  locator.evaluate((e) => {
    const b = e.getBoundingClientRect();
    const top = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);
    return b.height > 0 && b.top >= 0 && b.bottom <= innerHeight && b.left >= 0 && b.right <= innerWidth && (e === top || e.contains(top) || top?.contains(e));
  });

async function asks(words, command, shot) {
  await editor.box.fill(`${words}\n${script([{ text: "I look first.\n\n- one\n- two\n- three\n- four" }, call("terminal", { command })], [{ text: "Done." }])}`);
  await editor.box.press("Enter");
  await card().locator(".options button").first().waitFor();
  const height = await editor.chat.locator("body").evaluate(() => innerHeight);
  await until(`the title to be in sight; the view has ${height} px`, () => inSight(card().locator(".card-title")));
  for (const button of await card().locator(".options button").all()) {
    await until(`${await button.innerText()} to be in sight; the view has ${height} px`, () => inSight(button));
  }
  await editor.shot(shot);
  await until("the view to be whole", async () => {
    const frame = await editor.page.locator("iframe.webview.ready").first().boundingBox();
    return frame.y + frame.height <= 450;
  });
  await card().getByRole("button", { name: "Deny" }).click();
  await editor.chat.getByText("Done.").last().waitFor();
}

step("an approval and its buttons are in sight without scrolling", async () => {
  await asks("Clear it.", "rm -rf build", "small-approval");
  await asks("Clear more.", `rm -rf build ${"a-rather-long-name/".repeat(12)}`, "small-approval-long");
});

step("with all lists open, the chat has room, too", async () => {
  for (const view of ["Changes", "Sessions", "Extensions"]) await editor.run(`Hermes Lists: Focus on ${view} View`);
  await editor.openChat(() => editor.run("Hermes: Open Chat"));
  await until("the chat to have more than 100 px", async () => (await editor.chat.locator("body").evaluate(() => innerHeight)) > 100);
  await editor.shot("small-all-open");
});
