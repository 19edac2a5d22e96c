// The page outside the editor: served with its own policy, with a host that only
// listens, and the colours of the real themes (themes.json has them from VS Code).

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { html } from "../../chat/html";
import type { ToHost, ToPage } from "../../shared/messages";
import themes from "./themes.json";

export type Theme = keyof typeof themes;
export const themeNames = Object.keys(themes) as Theme[];

const classes: Record<Theme, string> = {
  dark: "vscode-dark",
  light: "vscode-light",
  "high-contrast": "vscode-high-contrast",
  "high-contrast-light": "vscode-high-contrast vscode-high-contrast-light",
};

const fonts: Record<string, string> = {
  "--vscode-font-family": "system-ui, Ubuntu, 'Droid Sans', sans-serif",
  "--vscode-font-size": "13px",
  "--vscode-editor-font-family": "'Droid Sans Mono', monospace",
  "--vscode-editor-font-size": "12px",
};

const types: Record<string, string> = { ".js": "text/javascript", ".css": "text/css", ".ttf": "font/ttf" };

export class Harness {
  private readonly idle: Page[] = []; // a new one has a process of its own, which takes its time

  private constructor(
    private readonly browser: Browser,
    private readonly server: Server,
    private readonly origin: string,
    private readonly scale: number,
  ) {}

  /** start serves the files of a folder, the page itself at /. Pictures are sharper with a scale of 2, and slower. */
  static async start(dist: string, scale = 1): Promise<Harness> {
    const server = createServer((request, response) => {
      const path = request.url ?? "/";
      if (path === "/") {
        response.setHeader("content-type", "text/html").end(html({ script: "/webview.js", style: "/webview.css", source: "'self'", nonce: "test" }));
        return;
      }
      if (path === "/favicon.ico") {
        response.writeHead(204).end();
        return;
      }
      try {
        const file = readFileSync(join(dist, path.slice(1).replace(/\?.*/, "")));
        response.setHeader("content-type", types[extname(path.replace(/\?.*/, ""))] ?? "text/plain").end(file);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const browser = await chromium.launch({
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-precise-memory-info",
        "--js-flags=--expose-gc",
      ],
    });
    return new Harness(browser, server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, scale);
  }

  /** open starts with an empty page. */
  async open(o: { theme?: Theme; width?: number; height?: number } = {}): Promise<View> {
    const size = { width: o.width ?? 400, height: o.height ?? 800 };
    const page = this.idle.pop() ?? (await this.page());
    const problems: string[] = [];
    page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
    page.on("pageerror", (e) => problems.push(String(e)));
    page.on("request", (r) => new URL(r.url()).origin === this.origin || r.url().startsWith("data:") || problems.push(`asked for ${r.url()}`));
    await page.setViewportSize(size);
    await page.goto(this.origin);
    const view = new View(page, problems);
    await view.paint(o.theme ?? "dark");
    return view;
  }

  /** close takes a page back. */
  async close({ page }: View): Promise<void> {
    page.removeAllListeners();
    await page.mouse.move(0, 0);
    this.idle.push(page);
  }

  private async page(): Promise<Page> {
    const page = await this.browser.newPage({ reducedMotion: "reduce", deviceScaleFactor: this.scale });
    await page.addInitScript(() => {
      const w = window as unknown as { posted: unknown[]; acquireVsCodeApi(): unknown };
      let state: unknown;
      w.posted = [];
      w.acquireVsCodeApi = () => ({ postMessage: (m: unknown) => w.posted.push(m), getState: () => state, setState: (s: unknown) => (state = s) });
    });
    return page;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    this.server.close();
  }
}

/** View is an open page and its host. */
export class View {
  constructor(
    readonly page: Page,
    readonly problems: string[],
  ) {}

  /** paint gives the page a theme's colours, as the editor does. */
  async paint(theme: Theme): Promise<void> {
    await this.page.evaluate(
      ({ colours, name }) => {
        document.body.className = name;
        document.documentElement.removeAttribute("style");
        for (const [k, v] of Object.entries(colours)) document.documentElement.style.setProperty(k, v);
      },
      { colours: { ...fonts, ...themes[theme] } as Record<string, string>, name: classes[theme] },
    );
  }

  /** tell sends messages as the host does, and waits until they are drawn. */
  async tell(...messages: ToPage[]): Promise<void> {
    await this.page.evaluate(async (all) => {
      window.postMessage(all, "*");
      await new Promise((done) => setTimeout(done));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }, messages);
  }

  /** heard returns the messages of a type that the page has sent to its host. */
  async heard<T extends ToHost["type"]>(type: T): Promise<Extract<ToHost, { type: T }>[]> {
    const all = await this.page.evaluate(() => (window as unknown as { posted: ToHost[] }).posted);
    return all.filter((m): m is Extract<ToHost, { type: T }> => m.type === type);
  }
}

export const dist = import.meta.dirname;
