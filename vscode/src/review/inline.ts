import * as vscode from "vscode";

import { Hermes } from "../hermes";
import { Command } from "../protocol";
import { Place } from "../places";
import { accepted, Hunk, hunkAt, hunksOf, rejection } from "./hunks";
import { Review } from "./review";
import { Row } from "./view";
import * as show from "../show";

type Found = Row & Required<Pick<Row, "change">>;

const added = vscode.window.createTextEditorDecorationType({
  isWholeLine: true,
  backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
  overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
  overviewRulerLane: vscode.OverviewRulerLane.Left,
});
const removed = vscode.window.createTextEditorDecorationType({
  after: {
    margin: "0 0 0 2em",
    color: new vscode.ThemeColor("descriptionForeground"),
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
    textDecoration: "line-through",
  },
});

/**
 * InlineEdits runs an instruction for some lines and shows the changes in the document, with
 * the earlier text behind the new one. Each change is accepted or rejected there.
 */
export class InlineEdits implements vscode.Disposable, vscode.CodeLensProvider {
  /** Documents whose changes are shown in place. */
  private readonly shown = new Set<string>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private running = 0;

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(
    private readonly hermes: Hermes,
    private readonly review: Review,
  ) {
    this.subscriptions = [
      review.onChange(() => void this.refresh()),
      vscode.workspace.onDidChangeTextDocument((e) => this.has(e.document) && void this.refresh()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.shown.size > 0 && void this.refresh()),
    ];
  }

  dispose(): void {
    [...this.subscriptions, this.changed].forEach((s) => s.dispose());
  }

  /** Whether the changes of a document are shown in place. */
  has(document: vscode.TextDocument): boolean {
    return document.uri.scheme === "file" && this.shown.has(document.uri.fsPath);
  }

  /** Runs the instruction, and shows the changes as they come. If there are none, it shows the answer. */
  async edit(place: Place, instruction: string): Promise<void> {
    const path = vscode.Uri.parse(place.textDocument.uri).fsPath;
    this.shown.add(path);
    this.running++;
    try {
      const result = await this.hermes.sessions.commandTurn(Command.Edit, { ...place, instruction });
      await this.review.settled();
      if (!this.review.changes.find(path)) {
        void show.inform(result.text?.trim() || "Hermes changed nothing in this file.");
      }
    } finally {
      this.running--;
      await this.refresh();
    }
  }

  /** Accepts the hunk at a line: it becomes a part of the earlier text. */
  async accept(line?: number): Promise<void> {
    const at = await this.at(line);
    if (!at) {
      return;
    }
    const before = accepted(at.before, at.hunk);
    if (before === at.now) {
      return this.review.accept(at.found.turn, at.found.change);
    }
    this.review.rebase(at.found.turn, at.found.change, before);
  }

  /** Rejects the hunk at a line: its earlier lines return. */
  async reject(line?: number): Promise<void> {
    const at = await this.at(line);
    if (!at) {
      return;
    }
    const { start, end, text } = rejection(at.now, at.hunk);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(at.document.uri, new vscode.Range(start[0], start[1], end[0], end[1]), text);
    const clean = !at.document.isDirty;
    await vscode.workspace.applyEdit(edit);
    if (clean && vscode.workspace.getConfiguration("hermes").get("saveEdits", true)) {
      await at.document.save();
    }
    await this.review.lookAgain();
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const state = await this.stateOf(document);
    if (!state) {
      return [];
    }
    const several = state.hunks.length > 1;
    return state.hunks.flatMap((hunk, i) => {
      const line = Math.min(hunk.at, document.lineCount - 1);
      const lens = (title: string, command: string, argument: unknown) =>
        new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: [argument] });
      return [
        lens("Accept", "hermes.edit.accept", line),
        lens("Reject", "hermes.edit.reject", line),
        ...(several && i === 0 ? [lens("Accept All", "hermes.changes.accept", state.found), lens("Reject All", "hermes.changes.revert", state.found)] : []),
        ...(i === 0 ? [lens("Open Changes", "hermes.changes.open", state.found)] : []),
      ];
    });
  }

  /** The hunk at a line of the active document, or at its cursor. */
  private async at(line?: number) {
    const document = vscode.window.activeTextEditor?.document;
    const state = document && (await this.stateOf(document));
    const hunk = state && hunkAt(state.hunks, line ?? vscode.window.activeTextEditor!.selection.active.line);
    if (state && !hunk) {
      void show.inform("There is no change at the cursor.");
    }
    return hunk && { ...state!, hunk, document: document! };
  }

  private async stateOf(document: vscode.TextDocument) {
    const found = this.has(document) ? this.review.changes.find(document.uri.fsPath) : undefined;
    if (!found || document.getText().length > largest) {
      return undefined;
    }
    const before = ((await this.review.textBefore(found.turn, found.change)) ?? "").replace(/\r\n/g, "\n");
    const now = document.getText().replace(/\r\n/g, "\n");
    return { found: found as Found, before, now, hunks: hunksOf(before, now) };
  }

  private async refresh(): Promise<void> {
    if (this.running === 0) {
      [...this.shown].filter((path) => !this.review.changes.find(path)).forEach((path) => this.shown.delete(path));
    }
    void vscode.commands.executeCommand("setContext", "hermes.editing", this.shown.size > 0);
    this.changed.fire();
    for (const editor of vscode.window.visibleTextEditors) {
      draw(editor, (await this.stateOf(editor.document))?.hunks ?? []);
    }
  }
}

/** Of larger documents, changes are shown in the diff editor only. */
const largest = 1_000_000;

function draw(editor: vscode.TextEditor, hunks: readonly Hunk[]): void {
  const lines = hunks.filter((h) => h.added.length > 0);
  editor.setDecorations(
    added,
    lines.map((h) => new vscode.Range(h.at, 0, h.at + h.added.length - 1, 0)),
  );
  editor.setDecorations(
    removed,
    hunks.flatMap((h) => earlier(editor.document, h)),
  );
}

/** The earlier lines of a hunk, each behind the line that replaces it; the rest behind the last one. */
function earlier(document: vscode.TextDocument, hunk: Hunk): vscode.DecorationOptions[] {
  const rows = Math.max(hunk.added.length, 1);
  const first = hunk.added.length > 0 ? hunk.at : Math.max(hunk.at - 1, 0);
  const diff = new vscode.MarkdownString().appendCodeblock([...hunk.removed.map((l) => `-${l}`), ...hunk.added.map((l) => `+${l}`)].join("\n"), "diff");
  const options: vscode.DecorationOptions[] = [];
  for (let i = 0; i < Math.min(rows, hunk.removed.length); i++) {
    const texts = i === rows - 1 ? hunk.removed.slice(i) : [hunk.removed[i]];
    const line = Math.min(first + i, document.lineCount - 1);
    const text = texts.map((t) => t.trim()).join(" ⏎ ");
    options.push({
      range: document.lineAt(line).range,
      hoverMessage: diff,
      renderOptions: { after: { contentText: text.length > 160 ? `${text.slice(0, 160)}…` : text } },
    });
  }
  return options;
}
