import * as path from "node:path";
import * as vscode from "vscode";

import { tellRestored } from "../commands/sessions";
import { Hermes } from "../hermes";
import { message } from "../server/process";
import { folders } from "../sessions";
import { Method, RestoreResult, SessionNotification, TurnChanges, Update } from "../protocol";
import { Change, Changes, Turn, Waiting } from "./changes";
import * as show from "../show";

/** The scheme of documents that show a file as it was before a turn. */
export const beforeScheme = "hermes-before";

/** Review follows turns, records their changes, and accepts or reverts them. */
export class Review implements vscode.Disposable, vscode.TextDocumentContentProvider {
  readonly changes = new Changes();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly redrawn = new vscode.EventEmitter<vscode.Uri>();
  private readonly ending = new Set<Promise<void>>();
  private recorded = false; // the server has a list
  private looking: Promise<void> | undefined;
  private lookAfter: Promise<void> | undefined;

  readonly onChange = this.changed.event;
  /** The earlier text of a file has changed. */
  readonly onDidChange = this.redrawn.event;

  constructor(private readonly hermes: Hermes) {
    this.subscriptions = [
      hermes.sessions.onWork(({ session, running }) => (running ? this.begin(session) : this.ended(session))),
      hermes.sessions.onUpdate((n) => this.updated(n)),
      hermes.sessions.onSession((s) => s.reason === "closed" && void this.lookAgain()),
      hermes.server.onPhase((p) => p.phase === "running" && void this.lookAgain()),
      vscode.window.onDidChangeWindowState((w) => w.focused && void this.lookAgain()), // other windows judge changes, too
      vscode.workspace.onDidSaveTextDocument((d) => this.changes.find(d.uri.fsPath) && void this.lookAgain()),
    ];
  }

  dispose(): void {
    [...this.subscriptions, this.changed, this.redrawn].forEach((s) => s.dispose());
  }

  // ---- following turns ----

  private begin(session: string): void {
    this.changes.begin(session, (session === this.hermes.sessions.session && this.hermes.state.title) || "This turn");
  }

  private updated({ sessionId, update }: SessionNotification): void {
    if (update.sessionUpdate !== Update.ToolCallNews) {
      return;
    }
    for (const c of update.content ?? []) {
      if (c.type === "diff" && c.path && c.newText !== undefined) {
        this.changes.note(sessionId, c.path, c.oldText ?? null, c.newText);
      }
    }
    this.changed.fire();
  }

  /** Resolves when the changes of all turns that have ended are known. */
  async settled(): Promise<void> {
    await Promise.all(this.ending);
  }

  /** The part of a change that was accepted is a part of the text before it. */
  rebase(turn: Turn, change: Change, before: string): void {
    change.before = before;
    change.partly = true;
    this.redrawn.fire(this.before(turn, change));
    this.changed.fire();
  }

  private ended(session: string): void {
    const ending = this.end(session).finally(() => this.ending.delete(ending));
    this.ending.add(ending);
  }

  private async end(session: string): Promise<void> {
    const turn = this.changes.end(session);
    await this.lookAgain();
    this.changes.complete(turn);
  }

  /** Reads the list of changes again. If that is running, it runs once more afterwards. */
  lookAgain(): Promise<void> {
    if (!this.looking) {
      this.looking = this.look().finally(() => (this.looking = undefined));
      return this.looking;
    }
    this.lookAfter ??= this.looking.then(() => {
      this.lookAfter = undefined;
      return this.lookAgain();
    });
    return this.lookAfter;
  }

  /** Takes the list of the server, which has all sessions of the folder. Without checkpoints it compares the files. */
  private async look(): Promise<void> {
    try {
      const { changes } = await this.hermes.server.request(Method.CheckpointChanges, folders());
      const gone = this.changes.load(changes.map(waitingOf));
      this.recorded = true;
      await closeComparisons(gone, this.changes.turns.length === 0);
    } catch (error) {
      this.hermes.log.debug(`changes: ${message(error)}`);
      if (!this.recorded) await this.compare();
    }
    this.changed.fire();
  }

  /** Removes the changes from the list whose files have their earlier text again. */
  private async compare(): Promise<void> {
    for (const turn of [...this.changes.turns].reverse()) {
      for (const change of [...turn.changes.values()].slice(0, lookedAt)) {
        const before = await this.textBefore(turn, change).catch(() => undefined);
        if (before !== undefined && plainText(before) === plainText((await textOf(vscode.Uri.file(change.path))) ?? null)) {
          this.changes.reverted(turn.id, [change.path]);
          await closeComparisons([change.path], false);
        }
      }
    }
  }

  // ---- looking ----

  /** The address of a file as it was before a turn. */
  before(turn: Turn, change: Change): vscode.Uri {
    return vscode.Uri.file(change.path).with({ scheme: beforeScheme, query: String(turn.id) });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const turn = this.changes.turn(Number(uri.query));
    const change = turn?.changes.get(uri.with({ scheme: "file", query: "" }).fsPath);
    return turn && change ? ((await this.textBefore(turn, change)) ?? "") : "";
  }

  async textBefore(turn: Turn, change: Change): Promise<string | null> {
    if (change.before === undefined && turn.checkpoint !== undefined) {
      const file = { sessionId: turn.session, checkpointId: turn.checkpoint, path: change.path };
      change.before = (await this.hermes.server.request(Method.CheckpointFile, file)).content;
    }
    return change.before ?? null;
  }

  async show(turn: Turn, change: Change): Promise<void> {
    const [before, after] = await this.sides(turn, change);
    const title = `${path.basename(change.path)} (before this turn ↔ now)`;
    await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: true });
  }

  async showAll(): Promise<void> {
    const all = this.changes.turns.flatMap((turn) => [...turn.changes.values()].map((change) => ({ turn, change })));
    const sides = await Promise.all(all.map(async ({ turn, change }) => [vscode.Uri.file(change.path), ...(await this.sides(turn, change))]));
    await vscode.commands.executeCommand("vscode.changes", allTitle, sides);
  }

  private async sides(turn: Turn, change: Change): Promise<[vscode.Uri, vscode.Uri]> {
    const file = vscode.Uri.file(change.path);
    const gone = file.with({ scheme: beforeScheme, query: "none" });
    return [this.before(turn, change), (await exists(file)) ? file : gone];
  }

  // ---- judging ----

  /** Accepts changes, in the server's list, too, so that no window lists them again. */
  async accept(turn: Turn, change?: Change): Promise<void> {
    const paths = change ? [change.path] : [...turn.changes.keys()];
    if (turn.checkpoint === undefined) {
      await this.lookAgain(); // the running turn has a checkpoint by now
    }
    this.changes.settle(turn.id, paths);
    this.changed.fire();
    void closeComparisons(paths, this.changes.turns.length === 0);
    if (turn.checkpoint !== undefined) {
      await this.hermes.server.request(Method.CheckpointAccept, { sessionId: turn.session, checkpointId: turn.checkpoint, files: paths });
    }
  }

  async revert(turn: Turn, change?: Change): Promise<void> {
    const chosen = change ? [change] : [...turn.changes.values()];
    if (!(await this.mayRevert(chosen))) {
      return;
    }
    const paths = chosen.map((c) => c.path);
    const result = turn.checkpoint === undefined || chosen.some((c) => c.partly) ? await this.revertHere(turn, chosen) : await this.restore(turn, paths);
    const kept = new Set(result.kept.map(absolute));
    const back = paths.filter((p) => !kept.has(p));
    this.changes.reverted(turn.id, back);
    await this.lookAgain();
    await closeComparisons(back, this.changes.turns.length === 0);
    tellRestored(result.restored, result.kept);
  }

  private restore(turn: Turn, files: string[]): Promise<RestoreResult> {
    return this.hermes.server.request(Method.CheckpointRestore, { sessionId: turn.session, checkpointId: turn.checkpoint!, files });
  }

  /** mayRevert asks the user if chosen files have changed since the turn, because a revert would overwrite that. */
  private async mayRevert(chosen: Change[]): Promise<boolean> {
    const touched: string[] = [];
    for (const c of chosen) {
      const now = await textOf(vscode.Uri.file(c.path));
      if (c.after !== undefined && now !== undefined && plainText(now) !== plainText(c.after)) {
        touched.push(vscode.workspace.asRelativePath(c.path));
      }
    }
    if (touched.length === 0) {
      return true;
    }
    const yes = await show.warn("You have changed this since. Revert it all the same?", { modal: true, detail: touched.join("\n") }, "Revert");
    return yes !== undefined;
  }

  /** revertHere writes the earlier texts in the editor, so that undo works. It is used without a checkpoint. */
  private async revertHere(turn: Turn, chosen: Change[]): Promise<RestoreResult> {
    const edit = new vscode.WorkspaceEdit();
    for (const c of chosen) {
      const file = vscode.Uri.file(c.path);
      const before = await this.textBefore(turn, c);
      if (before === null) {
        edit.deleteFile(file, { ignoreIfNotExists: true });
      } else if (await exists(file)) {
        const document = await vscode.workspace.openTextDocument(file);
        edit.replace(file, new vscode.Range(0, 0, document.lineCount, 0), before);
      } else {
        edit.createFile(file, { contents: Buffer.from(before) });
      }
    }
    const names = chosen.map((c) => vscode.workspace.asRelativePath(c.path));
    const done = await vscode.workspace.applyEdit(edit);
    await Promise.all(chosen.map((c) => vscode.workspace.save(vscode.Uri.file(c.path))));
    return done ? { restored: names, kept: [] } : { restored: [], kept: names };
  }
}

const waitingOf = (t: TurnChanges): Waiting => ({
  session: t.sessionId,
  checkpoint: t.checkpointId,
  title: t.title,
  created: Date.parse(t.createdAt),
  files: t.files.map(absolute),
});

/** Of a turn that has changed more files than this, not all are compared again and again. */
const lookedAt = 200;

const allTitle = "Changes by Hermes";

/** Closes the diff editors of files that are judged: they have nothing to compare with. */
async function closeComparisons(paths: string[], all: boolean): Promise<void> {
  const tabs = vscode.window.tabGroups.all
    .flatMap((g) => g.tabs)
    .filter((tab) => {
      if (tab.input instanceof vscode.TabInputTextDiff) {
        const { original } = tab.input;
        return original.scheme === beforeScheme && paths.includes(original.with({ scheme: "file", query: "" }).fsPath);
      }
      return all && tab.label.startsWith(`${allTitle} (`);
    });
  await vscode.window.tabGroups.close(tabs, true);
}

const absolute = (file: string) => (path.isAbsolute(file) ? file : path.join(folders().cwd, file));

/** A text without regard to its line ends; null: there is no file. */
const plainText = (text: string | null) => text && text.replace(/\r\n/g, "\n");

async function exists(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
}

/** The text of a file as the editor has it; undefined: there is none. */
async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (open) {
    return open.getText();
  }
  return vscode.workspace.fs.readFile(uri).then(
    (bytes) => new TextDecoder().decode(bytes),
    () => undefined,
  );
}
