import * as vscode from "vscode";

import { command } from "./commands/guard";
import { Row, rowsOf, troubled } from "./extensionrows";
import { Hermes } from "./hermes";
import { literal } from "./literal";
import { Command, ExtensionsResult, MCPServerState, Update } from "./protocol";
import * as show from "./show";

/** How long to wait before the servers are listed again while one connects, or the user logs in at one, in milliseconds. */
const whileConnecting = 2000;

/** How long a login can take, in milliseconds. */
const loginLimit = 300_000;

type ServerCommand = "hermes.mcp.login" | "hermes.mcp.logout" | "hermes.mcp.restart" | "hermes.mcp.approve" | "hermes.mcp.revoke";

const inState =
  (...states: string[]) =>
  (s: MCPServerState) =>
    states.includes(s.state);

/** ExtensionTree is the view hermes.extensions: MCP servers, skills, memory, learnings, plugins, hooks, commands, agents. */
export class ExtensionTree implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Row>;
  private readonly status = vscode.window.createStatusBarItem("hermes.servers", vscode.StatusBarAlignment.Right, 99);
  private readonly subscriptions: vscode.Disposable[];
  private listed: ExtensionsResult | undefined;
  /** The rows that VS Code was told of last, as JSON. */
  private shown = "";
  /** Counts the listings: the answer to an earlier one is old if a later one has begun. */
  private listing = 0;
  private again: NodeJS.Timeout | undefined;
  private session: string | undefined;
  /** The server at which the user logs in, and when the login ends at the latest. */
  private login: { server: string; until: number } | undefined;

  readonly onDidChangeTreeData = this.changed.event;

  /** say sends a slash command to the current session; the chat shows its answer. */
  constructor(
    private readonly hermes: Hermes,
    private readonly say: (text: string) => Promise<unknown>,
  ) {
    this.view = vscode.window.createTreeView<Row>("hermes.extensions", { treeDataProvider: this, showCollapseAll: true });
    this.status.name = "Hermes MCP Servers";
    this.subscriptions = [
      this.view,
      this.changed,
      this.status,
      this.view.onDidChangeVisibility(() => this.refresh()),
      hermes.sessions.onWork(() => this.refresh()),
      hermes.sessions.onUpdate((n) => n.update.sessionUpdate === Update.Commands && this.refresh()),
      hermes.onState(() => {
        if (this.session !== hermes.sessions.session) {
          this.session = hermes.sessions.session;
          this.refresh();
        }
      }),
      command("hermes.extensions.refresh", () => this.refresh()),
      command(Command.MCPLogin, (row?: Row) => this.server(row, Command.MCPLogin, inState("needs login", "failed", "connected"))),
      command(Command.MCPLogout, (row?: Row) => this.server(row, Command.MCPLogout, inState("connected", "needs login"))),
      command(Command.MCPRestart, (row?: Row) => this.server(row, Command.MCPRestart, inState("connected", "failed", "needs login"))),
      command(Command.MCPApprove, (row?: Row) => this.server(row, Command.MCPApprove, inState("not approved", "needs approval"))),
      command(Command.MCPRevoke, (row?: Row) => this.server(row, Command.MCPRevoke, (s) => s.approved === true)),
      command("hermes.mcp.log", (row?: Row) => this.log(row)),
      command(Command.SkillOpen, (row?: Row) => this.open(row, Command.SkillOpen, "skill", "name")),
      command(Command.MemoryOpen, (row?: Row) => this.open(row, Command.MemoryOpen, "memory", "target")),
      command(Command.LearningsOpen, () => this.hermes.server.command(Command.LearningsOpen, this.of())),
      command("hermes.memory.undo", () => this.say("/memory undo")),
      command("hermes.learnings.forget", (row?: Row) => this.forget(row)),
      command(Command.Trust, (row?: Row) => this.trust(row)),
      command("hermes.extensions.openFile", (row: Row) => vscode.window.showTextDocument(vscode.Uri.file(row.name!))),
    ];
  }

  dispose(): void {
    clearTimeout(this.again);
    this.subscriptions.forEach((s) => s.dispose());
  }

  private of() {
    return { sessionId: this.hermes.sessions.session };
  }

  /**
   * Lists the extensions again. While a server connects, or the user logs in at one, it does so until that has ended. VS Code
   * is told only of a change: while it asks for the rows again, a click on one of them comes without its row.
   */
  private refresh(): void {
    void this.list()
      .then(() => {
        const shown = JSON.stringify(this.getChildren());
        if (shown !== this.shown) {
          this.shown = shown;
          this.changed.fire();
        }
      })
      .catch((error) => this.hermes.log.warn(`listing the extensions: ${String(error)}`));
  }

  private async list(): Promise<void> {
    clearTimeout(this.again);
    const { phase } = this.hermes.state;
    const runs = phase !== "stopped" && phase !== "starting" && this.hermes.sessions.session !== undefined;
    const number = ++this.listing;
    const listed = runs ? await this.hermes.server.command(Command.Extensions, this.of()) : undefined;
    if (number !== this.listing) {
      return;
    }
    this.listed = listed;
    this.showStatus(troubled(this.listed?.mcp ?? []));
    if (this.login && (Date.now() > this.login.until || this.listed?.mcp.some((s) => s.name === this.login!.server && s.state === "connected"))) {
      this.login = undefined;
    }
    if (this.login || this.listed?.mcp.some((s) => s.state === "connecting")) {
      this.again = setTimeout(() => this.refresh(), whileConnecting);
    }
  }

  private showStatus(servers: MCPServerState[]): void {
    const first = servers[0];
    if (!first) {
      this.status.hide();
      return;
    }
    const more = servers.length > 1 ? ` (+${servers.length - 1})` : "";
    this.status.text = `$(${first.state === "failed" ? "error" : "key"}) ${literal(first.name)} ${first.state}${more}`;
    this.status.tooltip = servers.map((s) => [s.name, s.state, s.error].filter(Boolean).join(": ")).join("\n");
    this.status.command = "hermes.extensions.focus";
    this.status.show();
  }

  getChildren(row?: Row): Row[] {
    return row ? [...(row.children ?? [])] : this.listed ? rowsOf(this.listed, this.hermes.state.restricted) : [];
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const open = row.kind === "untrusted" || row.kind === "restricted" ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(literal(row.label), row.children ? open : vscode.TreeItemCollapsibleState.None);
    item.id = row.id;
    item.description = row.detail;
    item.tooltip = row.tooltip;
    item.contextValue = row.kind;
    item.iconPath = new vscode.ThemeIcon(row.icon);
    const click: Record<string, string> = {
      skill: Command.SkillOpen,
      memory: Command.MemoryOpen,
      learning: Command.LearningsOpen,
      file: "hermes.extensions.openFile",
    };
    if (click[row.kind]) {
      item.command = { command: click[row.kind]!, title: "Open", arguments: [row] };
    }
    return item;
  }

  /** Does something with a server: that of the row, else the one that the user chooses. */
  private async server(row: Row | undefined, act: ServerCommand, suits: (s: MCPServerState) => boolean) {
    const server = row?.name ?? (await this.pickServer(suits));
    if (!server) {
      return;
    }
    const { text } = await this.hermes.server.command(act, { ...this.of(), server });
    void show.inform(text.replaceAll("`", ""));
    this.login = act === Command.MCPLogin ? { server, until: Date.now() + loginLimit } : undefined;
    this.refresh();
  }

  private async pickServer(suits: (s: MCPServerState) => boolean): Promise<string | undefined> {
    await this.list();
    const all = this.listed?.mcp ?? [];
    const servers = all.filter(suits);
    if (servers.length === 0) {
      void show.inform(all.length > 0 ? `No MCP server can do this: ${all.map((s) => `${s.name} (${s.state})`).join(", ")}.` : "There are no MCP servers.");
      return undefined;
    }
    return (
      await show.pick(
        servers.map((s) => ({ label: s.name, description: s.state, detail: s.error })),
        { title: "MCP server" },
      )
    )?.label;
  }

  private async log(row?: Row): Promise<void> {
    const name = row?.name ?? (await this.pickServer(() => true));
    const log = this.listed?.mcp.find((s) => s.name === name)?.log;
    if (log) {
      await vscode.window.showTextDocument(vscode.Uri.file(log));
    } else if (name) {
      void show.inform(`The MCP server ${name} has no log.`);
    }
  }

  private async open(row: Row | undefined, act: "hermes.skill.open" | "hermes.memory.open", kind: string, key: "name" | "target"): Promise<void> {
    let name = row?.name;
    if (!name) {
      await this.list();
      const rows = rowsOf(this.listed!).flatMap((g) => (g.children ?? []).filter((r) => r.kind === kind));
      name = (
        await show.pick(
          rows.map((r) => ({ label: r.label, description: r.detail, name: r.name })),
          { title: `Open ${kind}` },
        )
      )?.name;
    }
    if (name) {
      await this.hermes.server.command(act, { ...this.of(), [key]: name });
    }
  }

  private async forget(row?: Row): Promise<void> {
    let number = row?.name;
    if (!number) {
      await this.list();
      const items = (this.listed?.learnings ?? []).map((l) => ({ label: l.worked, description: l.program, detail: l.error, id: String(l.id) }));
      number = (await show.pick(items, { title: "Forget a learning" }))?.id;
    }
    if (number) {
      await this.say(`/learnings forget ${number}`);
      this.refresh();
    }
  }

  private async trust(row?: Row): Promise<void> {
    const folder = row?.name;
    const detail = "Skills, commands and agents of the folder then apply. Each MCP server needs your approval after that.";
    if (!(await show.warn(`Trust the contents of ${folder ?? "this folder"}?`, { modal: true, detail }, "Trust"))) {
      return;
    }
    const { text } = await this.hermes.server.command(Command.Trust, { ...this.of(), trusted: true, ...(folder && { folder }) });
    void show.inform(text.replaceAll("`", ""));
    this.refresh();
  }
}
