import * as path from "node:path";
import * as vscode from "vscode";

import { literal } from "../literal";
import { counted } from "../words";
import { Change, Missed, Turn } from "./changes";
import { Review } from "./review";

/** A row of the list: a turn, or a file of one. */
export type Row = { readonly turn: Turn; readonly change?: Change };

/** A row of a turn without a checkpoint, or of a file of it; "": what commands have changed. */
export type MissedRow = { readonly missed: Missed; readonly file?: string };

type AnyRow = Row | MissedRow;

/** ChangesView lists the files whose changes are to be accepted or rejected, below their turns if there are several. */
export class ChangesView implements vscode.TreeDataProvider<AnyRow>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly view: vscode.TreeView<AnyRow>;
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

  getChildren(row?: AnyRow): AnyRow[] {
    const { turns, missed } = this.review.changes;
    if (row) {
      return "missed" in row ? missedFiles(row.missed) : filesOf(row.turn);
    }
    return turns.length === 1 && missed.length === 0 ? filesOf(turns[0]) : newestFirst(turns, missed);
  }

  getTreeItem(row: AnyRow): vscode.TreeItem {
    if ("missed" in row) {
      return row.file === undefined ? missedItem(row.missed) : missedFileItem(row.missed, row.file);
    }
    return row.change ? fileItem(row.change, row) : turnItem(row.turn, row.turn === this.review.changes.turns[0]);
  }
}

/** The rows of turns with and without a checkpoint. */
const newestFirst = (turns: readonly Turn[], missed: readonly Missed[]): AnyRow[] =>
  [...turns.map((turn) => ({ turn, at: turn.began })), ...missed.map((missed) => ({ missed, at: missed.created }))].sort((a, b) => b.at - a.at);

const missedFiles = (missed: Missed): MissedRow[] => [...missed.files, ...(missed.commands ? [""] : [])].map((file) => ({ missed, file }));

function missedItem(missed: Missed): vscode.TreeItem {
  const item = new vscode.TreeItem(literal(missed.title), vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `missed-${missed.session}-${missed.checkpoint}`;
  item.description = literal(`cannot be reverted: ${missed.why}`);
  item.tooltip = `There is no checkpoint of this turn, so its changes cannot be reverted: ${missed.why}`;
  item.contextValue = "missed";
  item.iconPath = new vscode.ThemeIcon("warning");
  return item;
}

function missedFileItem(missed: Missed, file: string): vscode.TreeItem {
  const item = file === "" ? new vscode.TreeItem("What commands have changed") : new vscode.TreeItem(vscode.Uri.file(file));
  item.id = `missed-${missed.session}-${missed.checkpoint}-${file}`;
  item.contextValue = "unreverted";
  if (file === "") {
    return item;
  }
  item.label = literal(path.basename(file));
  item.tooltip = file;
  item.iconPath = vscode.ThemeIcon.File;
  item.command = { command: "vscode.open", title: "Open File", arguments: [vscode.Uri.file(file)] };
  return item;
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
