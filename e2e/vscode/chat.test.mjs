// The chat view in a real VS Code: what the page alone cannot show, since it needs the
// editor and the server on the other side.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before } from "node:test";

import { open, root } from "./host.mjs";
import { becomes, script, stepsOf } from "./steps.mjs";

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "hermes-chat-"));
let editor;

before(async () => {
  editor = await open({
    dir: path.join(dir, "host"), vsix: process.env.HERMES_VSIX, extensions: path.join(dir, "extensions"),
    files: { "pricing.py": "def price(amount):\n    return amount * 2\n\n\nprint(price(3))\n", "docs/a note.md": "Two words.\n", "broken.json": '{"a": 1,}\n' },
    settings: { "editor.wordWrap": "on" },
  });
  await editor.status.waitFor();
  await editor.openFile("pricing.py");
  await openChat();
});

after(async () => {
  await editor?.close();
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const step = stepsOf("chat", () => editor);

const box = () => editor.box;
const openChat = () => editor.openChat(() => editor.run("Hermes: Open Chat"));
const users = () => editor.chat.locator("article.user");
const lastUser = () => users().last();
const answered = (text) => editor.chat.locator("article.answer").filter({ hasText: text }).last().waitFor();
const stop = () => editor.chat.getByRole("button", { name: "Stop (Escape)" });
const idle = () => stop().waitFor({ state: "detached" });
const activeText = () => editor.page.locator(".editor-instance .view-lines").first();

step("mentions of a file and of the selection go with the message", async () => {
  await editor.select("pricing.py", 2);
  await box().click();
  await box().pressSequentially("Compare @note");
  await editor.chat.getByRole("option", { name: /a note\.md/ }).waitFor();
  await box().press("Enter");
  await becomes('Compare @"docs/a note.md" ', () => box().inputValue());
  await box().pressSequentially("with @sel");
  await editor.chat.getByRole("option", { name: /selection/ }).waitFor();
  await box().press("Tab");
  await becomes('Compare @"docs/a note.md" with @selection ', () => box().inputValue());
  await box().evaluate((area, more) => {
    area.value += more;
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }, `please\n${script([{ text: "They differ." }])}`);
  await box().press("Enter");
  await answered("They differ.");
  await becomes(["docs/a note.md", "pricing.py#L1-L2"], () => lastUser().locator(".mention").allTextContents());
  assert.equal(await editor.chat.getByText("is not attached").count(), 0);
});

step("a mention leads to its file", async () => {
  await lastUser().locator(".mention").first().click();
  await editor.page.locator(".tab.active").filter({ hasText: "a note.md" }).waitFor();
  await editor.page.locator(".tab").filter({ hasText: "pricing.py" }).click();
  await editor.page.locator(".tab.active").filter({ hasText: "pricing.py" }).waitFor();
});

step("files in an answer are links to their lines, and maths are set", async () => {
  const answer = "Look at `pricing.py:2`, a note.md and gone.py:1.\n\n| file | sum |\n| --- | --: |\n| docs/a note.md | $\\frac{n(n+1)}{2}$ |\n\n$$\n\\int_0^1 x^2 \\, dx = \\frac{1}{3}\n$$\n";
  await box().fill(`Where?\n${script([{ text: answer }])}`);
  await box().press("Enter");
  const said = editor.chat.locator("article.answer").last();
  await said.locator("math").nth(1).waitFor();
  await said.getByRole("link", { name: "pricing.py:2" }).click();
  await editor.page.locator(".statusbar").getByText(/^Ln 2, Col 1/).waitFor();
  assert.deepEqual(await said.locator("a").allInnerTexts(), ["pricing.py:2"]);
  await editor.shot("links-and-maths");
});

step("code goes to the place that it changes, and can be compared and undone", async () => {
  const code = "def price(amount):\n    tax = 1.2\n    return amount * 2 * tax\n\n\nprint(price(3))";
  await box().fill(`Add tax\n${script([{ text: `So:\n\n\`\`\`python\n${code}\n\`\`\`\n` }])}`);
  await box().press("Enter");
  await answered("So:");
  await idle();
  const block = editor.chat.locator("article.answer .code").last();
  await block.getByRole("button", { name: "Apply to the file" }).click();
  await activeText().filter({ hasText: "tax" }).waitFor();
  await editor.noted("not saved yet").getByRole("button", { name: "Compare" }).click();
  await editor.page.locator(".tab.active").filter({ hasText: "pricing.py (this call)" }).waitFor();
  const compared = editor.page.locator(".tab").filter({ hasText: "pricing.py (this call)" });
  await editor.key("Control+w", async () => (await compared.count()) === 0);
  await editor.openFile("pricing.py"); // it gets the focus
  await editor.key("Control+z", async () => (await activeText().filter({ hasText: "tax" }).count()) === 0);
});

step("a message waits for the turn, or stops it", async () => {
  const slow = (text) => script([{ text: `${text} begins. ` }, { sleep_ms: 300_000 }, { text: "never" }]);
  await box().fill(`First\n${slow("First")}`);
  await box().press("Enter");
  await answered("First begins.");
  await editor.chat.getByLabel("While Hermes works, a message").waitFor({ state: "detached" });
  await box().fill(`Third\n${script([{ text: "Third is here." }])}`);
  await box().press("Alt+Enter");
  await editor.chat.getByRole("list", { name: "1 message waits" }).waitFor();
  await box().fill(`Second\n${script([{ text: "Second is here." }])}`);
  await box().press("Enter");
  await answered("Third is here.");
  const order = await editor.chat.locator("article.user, article.answer, .note").allTextContents();
  const at = (text) => order.findIndex((o) => o.includes(text) && !o.includes("hermes-script"));
  assert.ok(at("First begins.") < at("Cancelled.") && at("Cancelled.") < at("Second is here.") && at("Second is here.") < at("Third is here."), order.join("\n---\n"));
});

step("a question is answered in its card", async () => {
  await box().fill(`Ask me\n${script([{ call: { name: "clarify", args: { question: "Tabs or spaces?", choices: ["Tabs", "Spaces"] } } }], [{ text: "Thank you." }])}`);
  await box().press("Enter");
  await editor.chat.locator(".card").getByRole("button", { name: "Spaces" }).click();
  await answered("Thank you.");
});

step("the server's commands are offered and answered", async () => {
  await idle();
  await box().click();
  await box().pressSequentially("/sta");
  await editor.chat.getByRole("option", { name: /\/status/ }).waitFor();
  await box().press("Enter");
  await box().press("Enter");
  await answered("embedded");
});

step("a pasted picture goes with the message", async () => {
  await box().evaluate((area) => {
    const png = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
    const pasted = new DataTransfer();
    pasted.items.add(new File([png], "shot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true, cancelable: true }));
  });
  await editor.chat.getByText("shot.png").waitFor();
  await box().fill(`Look\n${script([{ text: "Seen." }])}`);
  await box().press("Enter");
  await answered("Seen.");
  await becomes(1, () => lastUser().locator("img").count());
});

step("a call that reads a picture shows it, small and large", async () => {
  fs.writeFileSync(editor.file("red.png"), Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64"));
  await box().fill(`Read it\n${script([{ call: { name: "read_file", args: { path: "red.png" } } }], [{ text: "It is red." }])}`);
  await box().press("Enter");
  await answered("It is red.");
  const row = editor.chat.locator(".entry.call").last();
  const picture = row.getByRole("button", { name: "Picture 1" });
  await picture.click();
  await row.locator(".picture.large img").waitFor();
  await editor.shot("picture-of-a-call");
  await picture.click();
  await row.locator(".picture.large").waitFor({ state: "detached" });
});

step("a mentioned picture goes with the message", async () => {
  const sent = () => execFileSync(path.join(root, "bin/hermes-ls"), ["sessions", "export", "--all"], {
    env: { ...process.env, HERMES_HOME: path.join(editor.dir, "hermes") }, encoding: "utf8", maxBuffer: 1 << 26,
  }).split('"red.png"').length;
  await idle();
  const before = sent();
  await box().fill(`What is @red.png\n${script([{ text: "A dot in red.png." }])}`);
  await box().press("Enter");
  await answered("A dot in red.png.");
  await becomes(before + 1, sent);
  await editor.shot("mentioned-picture");
});

step("code wraps as in the editor", async () => {
  const long = Array.from({ length: 60 }, (_, i) => `word${i}`).join(" ");
  await box().fill(`Code\n${script([{ text: "```\n" + long + "\n```\nLong." }])}`);
  await box().press("Enter");
  await answered("Long.");
  const code = editor.chat.locator("article.answer").last().locator("pre").last();
  await becomes(true, () => code.evaluate((pre) => pre.scrollWidth <= pre.clientWidth));
});

step("another session is empty, and the one before comes back whole", async () => {
  await idle();
  const count = (await users().count()) - 1; // /status is no part of the conversation
  await editor.chat.getByRole("button", { name: "New session" }).click();
  await users().first().waitFor({ state: "detached" });
  await editor.chat.getByRole("button", { name: "Resume a session" }).click();
  await editor.title("Resume a session");
  await editor.pick("Compare");
  await answered("Seen.");
  await becomes(count, () => users().count());
  await becomes(1, () => editor.chat.getByRole("button", { name: /^Ask: Tabs or spaces\?/ }).count());
});

step("a session that goes on elsewhere can still ask", async () => {
  await box().fill(`Clear\n${script([{ call: { name: "terminal", args: { command: "rm -rf build" } } }], [{ text: "Then not." }])}`);
  await box().press("Enter");
  await editor.chat.locator(".card").waitFor();
  await editor.chat.getByRole("button", { name: "New session" }).click();
  await editor.chat.getByText("Another session of this window").waitFor();
  await editor.chat.locator(".card").getByRole("button", { name: "Deny" }).click();
  await editor.chat.locator(".entry.call").waitFor({ state: "detached" });
  await box().fill(`Other\n${script([{ text: "Here I am." }])}`);
  await box().press("Enter");
  await answered("Here I am.");
  await editor.chat.getByRole("button", { name: "Resume a session" }).click();
  await editor.title("Resume a session");
  await editor.pick("Compare");
  await answered("Then not.");
});

step("the problems that the editor shows go with the message", async () => {
  await editor.openFile("broken.json");
  await editor.page.locator(".squiggly-error").first().waitFor();
  await box().fill(`What about @diagnostics?\n${script([{ text: "A comma too many." }])}`);
  await box().press("Enter");
  await answered("A comma too many.");
  await becomes(["broken.json#diagnostics"], () => lastUser().locator(".mention").allTextContents());
});

step("after the window is loaded again one can go on", async () => {
  await editor.page.reload();
  await editor.status.waitFor();
  await openChat();
  await editor.chat.getByRole("button", { name: /^Go on with “Compare/ }).click();
  await answered("A comma too many.");
  await editor.shot("chat-gone-on");
});
