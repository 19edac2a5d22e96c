import * as vscode from "vscode";

import { editing, readOnlyHere } from "../edits";
import { Hermes } from "../hermes";
import { Command } from "../protocol";
import { Place } from "../places";
import { Turn } from "./changes";
import { accepted, formatted, Hunk, hunkAt, ownHunks, rejection, withdrawn } from "./hunks";
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

/** One inline edit: its turns are those of a session after one and up to another. */
interface Run {
  readonly path: string;
  readonly session: string;
  readonly after: number;
  until: number;
}

/**
 * InlineEdits runs an instruction for some lines and shows the changes of its turn in the document,
 * with the earlier text behind the new one. Each change is accepted or rejected there.
 */
export class InlineEdits implements vscode.Disposable, vscode.CodeLensProvider {
  /** Edits whose changes are shown in place. */
  private runs: Run[] = [];
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(
    private readonly hermes: Hermes,
    private readonly review: Review,
  ) {
    this.subscriptions = [
      review.onChange(() => void this.refresh()),
      vscode.workspace.onDidChangeTextDocument((e) => this.has(e.document) && void this.refresh()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.any() && void this.refresh()),
    ];
  }

  dispose(): void {
    [...this.subscriptions, this.changed].forEach((s) => s.dispose());
  }

  /** Whether the changes of a document are shown in place. */
  has(document: vscode.TextDocument): boolean {
    const { scheme, fsPath } = document.uri;
    return scheme === "file" && (this.runs.some((r) => r.path === fsPath) || this.found(fsPath, []) !== undefined);
  }

  /**
   * Runs the instruction when the session is idle, and shows the changes as they come. If there are
   * none, it shows the answer.
   */
  async edit(place: Place, instruction: string): Promise<void> {
    const { sessions } = this.hermes;
    const session = await sessions.ensureSession();
    await sessions.idle();
    const path = vscode.Uri.parse(place.textDocument.uri).fsPath;
    const run: Run = { path, session, after: this.review.changes.newest, until: Infinity };
    this.runs.push(run);
    try {
      const result = await sessions.commandTurn(Command.Edit, { ...place, instruction });
      await this.review.settled();
      if (!this.found(path, [run])) {
        const answer = show.chatVisible() ? undefined : result.text?.trim(); // the chat has it
        void show.inform(answer || "Hermes changed nothing in this file.");
      }
    } finally {
      run.until = this.review.changes.newest;
      this.review.changes.turns.filter((t) => of(run, t)).forEach((t) => t.changes.has(path) && this.review.inline(t.changes.get(path)!));
      await this.refresh();
    }
  }

  /** Accepts a hunk, or the one at the cursor: it becomes a part of the earlier text. */
  async accept(from?: number): Promise<void> {
    const at = await this.at(from);
    if (!at) {
      return;
    }
    const before = accepted(at.before, at.hunk);
    if (before === at.left) {
      return this.review.accept(at.found.turn, at.found.change);
    }
    this.review.rebase(at.found.turn, at.found.change, before, at.left);
  }

  /** Rejects a hunk, or the one at the cursor: its earlier lines return. */
  async reject(from?: number): Promise<void> {
    const at = await this.at(from);
    if (!at) {
      return;
    }
    const { start, end, text } = rejection(at.now, at.hunk);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(at.document.uri, new vscode.Range(start[0], start[1], end[0], end[1]), text);
    const clean = !at.document.isDirty;
    const { result, readOnly } = await editing([at.document.uri.toString()], () => vscode.workspace.applyEdit(edit));
    if (readOnly.length > 0) {
      void show.warn(`Nothing was changed: the file is ${readOnlyHere}.`);
    }
    if (!result || readOnly.length > 0) {
      return;
    }
    at.found.change.after = withdrawn(at.left, at.hunk);
    if (clean && vscode.workspace.getConfiguration("hermes").get("saveEdits", true)) {
      await at.document.save();
    }
    if (at.found.change.after === at.before) {
      await this.review.accept(at.found.turn, at.found.change); // nothing of the agent's is left
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
        lens("Accept", "hermes.edit.accept", hunk.from),
        lens("Reject", "hermes.edit.reject", hunk.from),
        ...(several && i === 0 ? [lens("Accept All", "hermes.changes.accept", state.found), lens("Reject All", "hermes.changes.revert", state.found)] : []),
        ...(i === 0 ? [lens("Open Changes", "hermes.changes.open", state.found)] : []),
      ];
    });
  }

  /**
   * The hunk of the active document whose earlier text begins at a line, or the one at the cursor. The
   * earlier text has the same lines while the user types.
   */
  private async at(from?: number) {
    const document = vscode.window.activeTextEditor?.document;
    const state = document && (await this.stateOf(document));
    const cursor = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const hunk = state && (from === undefined ? hunkAt(state.hunks, cursor) : state.hunks.find((h) => h.from === from));
    if (state && !hunk) {
      void show.inform("There is no change at the cursor.");
    }
    return hunk && { ...state!, hunk, document: document! };
  }

  /** The newest change of a file by one of the edits, or by one of an earlier window. */
  private found(path: string, runs: readonly Run[]): Found | undefined {
    const inline = (t: Turn) => t.changes.get(path)?.inline === true || runs.some((r) => r.path === path && of(r, t));
    return this.review.changes.find(path, inline) as Found | undefined;
  }

  /** Whether changes are shown in place. */
  private any(): boolean {
    return this.runs.length > 0 || this.review.changes.turns.some((t) => [...t.changes.values()].some((c) => c.inline));
  }

  private async stateOf(document: vscode.TextDocument) {
    const found = this.has(document) ? this.found(document.uri.fsPath, this.runs) : undefined;
    if (!found || document.getText().length > largest) {
      return undefined;
    }
    const before = lines((await this.review.textBefore(found.turn, found.change)) ?? "");
    const now = lines(document.getText());
    const left = formatted(lines(found.change.after ?? now), now);
    return { found, before, left, now, hunks: ownHunks(before, left, now) };
  }

  private async refresh(): Promise<void> {
    this.runs = this.runs.filter((r) => r.until === Infinity || this.found(r.path, [r]));
    void vscode.commands.executeCommand("setContext", "hermes.editing", this.any());
    this.changed.fire();
    for (const editor of vscode.window.visibleTextEditors) {
      draw(editor, (await this.stateOf(editor.document))?.hunks ?? []);
    }
  }
}

/** Whether a turn is one of an edit. */
const of = (run: Run, turn: Turn) => run.session === turn.session && turn.id > run.after && turn.id <= run.until;

const lines = (text: string) => text.replace(/\r\n/g, "\n");

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
