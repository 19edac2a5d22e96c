import * as vscode from "vscode";

import { command } from "./commands/guard";
import { Hermes } from "./hermes";
import { literal } from "./literal";
import { isRow, nest, SessionRow, HitRow, grouped } from "./sessionrows";
import { folders } from "./sessions";
import { Command, Method, SessionInfo } from "./protocol";
import { ago } from "./words";
import * as show from "./show";

/** The sessions of the workspace, newest first, without those of subagents. */
export async function sessionsHere(hermes: Hermes): Promise<SessionInfo[]> {
  const found: SessionInfo[] = [];
  let cursor: string | undefined;
  do {
    const page = await hermes.server.request(Method.SessionList, { cwd: folders().cwd, ...(cursor && { cursor }) });
    found.push(...page.sessions.filter((s) => !isSubagent(s)));
    cursor = page.nextCursor;
  } while (cursor && found.length < 1000);
  return found;
}

/** Subagents have sessions, too; they are looked at from their parents'. */
const isSubagent = (s: SessionInfo) => (s._meta?.hermes as { subagent?: boolean } | undefined)?.subagent === true;

type Row = SessionRow | HitRow;

/** SessionTree lists the sessions of the workspace, forks below their origin, or the hits of a search. */
export class SessionTree implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Row>;
  private readonly subscriptions: vscode.Disposable[];
  private query = "";
  private shown = "";

  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly hermes: Hermes) {
    this.view = vscode.window.createTreeView<Row>("hermes.sessions", { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [
      this.view,
      this.changed,
      this.view.onDidChangeVisibility(() => this.refresh()),
      hermes.sessions.onWork(() => this.refresh()),
      hermes.onState((s) => {
        const now = [s.session, s.title, s.phase === "stopped" || s.phase === "starting"].join("\n");
        if (now !== this.shown) {
          this.shown = now;
          this.refresh();
        }
      }),
      command("hermes.sessions.search", () => this.search()),
      command("hermes.sessions.clear", () => this.find("")),
      command("hermes.sessions.refresh", () => this.refresh()),
      command(Command.SessionDelete, (row?: SessionRow) => this.remove(row)),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((s) => s.dispose());
  }

  private refresh(): void {
    if (this.view.visible) {
      this.changed.fire();
    }
  }

  private async search(): Promise<void> {
    const query = await show.ask({ title: "Search sessions", prompt: "Words of prompts, answers, titles and notes.", value: this.query });
    if (query !== undefined) {
      await vscode.commands.executeCommand("hermes.sessions.focus");
      this.find(query.trim());
    }
  }

  private find(query: string): void {
    this.query = query;
    this.view.message = undefined;
    void vscode.commands.executeCommand("setContext", "hermes.sessions.found", query !== "");
    this.changed.fire();
  }

  private async remove(row?: SessionRow): Promise<void> {
    const picked = row?.session ?? (await this.pick());
    if (!picked) {
      return;
    }
    const yes = await show.warn(
      `Delete “${picked.title || "Untitled"}”?`,
      { modal: true, detail: "The session cannot be restored. Files do not change." },
      "Delete",
    );
    if (yes) {
      await this.hermes.sessions.delete(picked.sessionId);
      this.refresh();
    }
  }

  private async pick(): Promise<SessionInfo | undefined> {
    const items = (await sessionsHere(this.hermes)).map((session) => ({ label: session.title || "Untitled", description: ago(session.updatedAt), session }));
    return (await show.pick(items, { title: "Delete a session" }))?.session;
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (row) {
      return isRow(row) ? row.children : [];
    }
    const { phase } = this.hermes.state;
    if (phase === "stopped" || phase === "starting") {
      return [];
    }
    if (!this.query) {
      return nest(await sessionsHere(this.hermes));
    }
    const { hits } = await this.hermes.server.request(Method.SessionSearch, { cwd: folders().cwd, query: this.query, limit: 100 });
    this.view.message = literal(hits.length > 0 ? `Sessions with “${this.query}”` : `No session has “${this.query}”.`);
    return grouped(hits);
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return isRow(row) ? this.sessionItem(row) : hitItem(row);
  }

  private sessionItem(row: SessionRow): vscode.TreeItem {
    const { sessionId, title, updatedAt } = row.session;
    const state = row.children.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(literal(title || "Untitled"), state);
    const current = sessionId === this.hermes.sessions.session;
    item.id = `${this.query}/${sessionId}`; // VS Code keeps rows of one id folded as they were
    item.description = current ? `${ago(updatedAt)} · current` : ago(updatedAt);
    item.tooltip = title;
    item.contextValue = "session";
    item.iconPath = new vscode.ThemeIcon(current ? "comment-discussion" : row.fork ? "repo-forked" : "comment");
    item.command = { command: Command.SessionLoad, title: "Resume Session", arguments: [{ sessionId }] };
    return item;
  }
}

function hitItem({ hit }: HitRow): vscode.TreeItem {
  const item = new vscode.TreeItem(literal(hit.snippet));
  item.tooltip = hit.snippet;
  item.iconPath = new vscode.ThemeIcon(hit.role === "user" ? "account" : hit.role ? "sparkle" : "tag");
  item.command = { command: Command.SessionLoad, title: "Resume Session", arguments: [{ sessionId: hit.sessionId }] };
  return item;
}
