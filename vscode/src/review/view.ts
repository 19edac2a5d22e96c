import * as path from "node:path";
import * as vscode from "vscode";

import { literal } from "../literal";
import { counted } from "../words";
import { Change, Turn } from "./changes";
import { Review } from "./review";

/** A row of the list: a turn, or a file of one. */
export type Row = { readonly turn: Turn; readonly change?: Change };

/** ChangesView lists the files whose changes are to be accepted or rejected, below their turns if there are several. */
export class ChangesView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<Row>;
  private readonly listening: vscode.Disposable;

  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly review: Review) {
    this.view = vscode.window.createTreeView("hermes.changes", { treeDataProvider: this });
    this.listening = vscode.Disposable.from(
      review.onChange(() => this.refresh()),
      this.view.onDidChangeVisibility((e) => e.visible && void review.lookAgain()),
    );
  }

  dispose(): void {
    [this.listening, this.view, this.changed].forEach((d) => d.dispose());
  }

  private refresh(): void {
    const files = this.review.changes.turns.reduce((n, t) => n + t.changes.size, 0);
    this.view.badge = files > 0 ? { value: files, tooltip: `${counted(files, "changed file")} to review` } : undefined;
    void vscode.commands.executeCommand("setContext", "hermes.changes", files > 0);
    this.changed.fire();
  }

  getChildren(row?: Row): Row[] {
    const { turns } = this.review.changes;
    if (row) {
      return filesOf(row.turn);
    }
    return turns.length === 1 ? filesOf(turns[0]) : turns.map((turn) => ({ turn }));
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return row.change ? fileItem(row.change, row) : turnItem(row.turn, row.turn === this.review.changes.turns[0]);
  }
}

const filesOf = (turn: Turn): Row[] => [...turn.changes.values()].sort((a, b) => a.path.localeCompare(b.path)).map((change) => ({ turn, change }));

function turnItem(turn: Turn, newest: boolean): vscode.TreeItem {
  const item = new vscode.TreeItem(literal(turn.title), newest ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `turn-${turn.id}`;
  item.description = counted(turn.changes.size, "file");
  item.contextValue = "turn";
  item.iconPath = new vscode.ThemeIcon("history");
  return item;
}

function fileItem(change: Change, row: Row): vscode.TreeItem {
  const uri = vscode.Uri.file(change.path);
  const item = new vscode.TreeItem(uri);
  const folder = path.dirname(vscode.workspace.asRelativePath(uri));
  item.id = `file-${row.turn.id}-${change.path}`;
  item.label = literal(path.basename(change.path));
  item.description = [folder === "." ? "" : folder, change.before === null ? "new" : ""].filter(Boolean).map(literal).join(" · ");
  item.tooltip = change.path;
  item.contextValue = "file";
  item.iconPath = vscode.ThemeIcon.File;
  item.command = { command: "hermes.changes.open", title: "Open Changes", arguments: [row] };
  return item;
}
