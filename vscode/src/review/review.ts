import * as path from "node:path";
import * as vscode from "vscode";

import { tellRestored } from "../commands/sessions";
import { editing, readOnlyHere } from "../edits";
import { Hermes } from "../hermes";
import { message } from "../server/process";
import { folders } from "../sessions";
import { Method, MissedChanges, RestoreResult, SessionNotification, TurnChanges, Update } from "../protocol";
import { Change, Changes, Missed, Turn, Waiting } from "./changes";
import { takenOut } from "./hunks";
import { Rests } from "./rests";
import * as show from "../show";

/** The scheme of documents that show a file as it was before a turn. */
export const beforeScheme = "hermes-before";

/** Review follows turns, records their changes, and accepts or reverts them. */
export class Review implements vscode.Disposable, vscode.TextDocumentContentProvider {
  readonly changes: Changes;
  private readonly rests: Rests;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly redrawn = new vscode.EventEmitter<vscode.Uri>();
  private readonly ending = new Set<Promise<void>>();
  private recorded = false; // the server has a list
  private looking: Promise<void> | undefined;
  private lookAfter: Promise<void> | undefined;
  private reverting: Promise<void> = Promise.resolve();

  readonly onChange = this.changed.event;
  /** The earlier text of a file has changed. */
  readonly onDidChange = this.redrawn.event;

  /** storage is the folder of what is kept for the next window, if there is one. */
  constructor(
    private readonly hermes: Hermes,
    storage: string | undefined,
  ) {
    this.rests = new Rests(storage, (error) => hermes.log.warn(`The parts of changes that you have accepted cannot be stored: ${message(error)}`));
    this.changes = new Changes(this.rests.load());
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

  /** The part of a change that was accepted is a part of the text before it. left is the text as the agent left it. */
  rebase(turn: Turn, change: Change, before: string, left: string): void {
    change.before = before;
    change.after ??= left;
    change.partly = true;
    void this.rests.keep(this.changes.kept());
    this.redrawn.fire(this.before(turn, change));
    this.changed.fire();
  }

  /** An inline edit has made this change. The next window shows it in the document, too. */
  inline(change: Change): void {
    change.inline = true;
    void this.rests.keep(this.changes.kept());
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
      const { changes, missed } = await this.hermes.server.request(Method.CheckpointChanges, folders());
      const gone = this.changes.load(changes.map(waitingOf));
      this.changes.missed = (missed ?? []).map(missedOf);
      this.recorded = true;
      void this.rests.keep(this.changes.kept());
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
    await this.judged(turn, paths);
  }

  /** Accepts the changes of a turn without a checkpoint, so that no window lists it again. */
  async acceptMissed({ session, checkpoint }: Missed): Promise<void> {
    await this.hermes.server.request(Method.CheckpointAccept, { sessionId: session, checkpointId: checkpoint });
    await this.lookAgain();
  }

  /** The server lists these files no longer. */
  private async judged({ session, checkpoint }: Turn, files: string[]): Promise<void> {
    if (checkpoint !== undefined && files.length > 0) {
      await this.hermes.server.request(Method.CheckpointAccept, { sessionId: session, checkpointId: checkpoint, files });
    }
  }

  /** Reverts a change, or all changes of a turn. If another revert runs, it waits: a session runs a single restore at a time. */
  revert(turn: Turn, change?: Change): Promise<void> {
    const done = this.reverting.then(() => this.revertNow(turn, change));
    this.reverting = done.catch(() => {}); // the caller of revert gets the error
    return done;
  }

  private async revertNow(turn: Turn, change?: Change): Promise<void> {
    const chosen = [...turn.changes.values()].filter((c) => change === undefined || c.path === change.path); // the last revert may have had it, too
    if (chosen.length === 0 || !(await this.mayRevert(chosen))) {
      return;
    }
    const paths = chosen.map((c) => c.path);
    const partly = chosen.some((c) => c.partly);
    const result = turn.checkpoint === undefined || partly ? await this.revertHere(turn, chosen) : await this.restore(turn, paths);
    const kept = new Set(result.kept.map(absolute));
    const back = paths.filter((p) => !kept.has(p));
    if (partly && turn.checkpoint !== undefined) {
      await this.judged(turn, back); // the accepted part stays, so the file is not as it was at the checkpoint
    }
    this.changes.reverted(turn.id, back);
    await this.lookAgain();
    await closeComparisons(back, this.changes.turns.length === 0);
    tellRestored(result);
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

  /**
   * revertHere takes the changes out in the editor, so that undo works. It is used without a checkpoint, and if a part was
   * accepted. What the user has written since stays; a file where that is in the same lines is kept.
   */
  private async revertHere(turn: Turn, chosen: Change[]): Promise<RestoreResult> {
    const edit = new vscode.WorkspaceEdit();
    const kept: Change[] = [];
    for (const c of chosen) {
      const file = vscode.Uri.file(c.path);
      const before = await this.textBefore(turn, c);
      const left = this.changes.find(c.path)?.change.after;
      if (before === null) {
        edit.deleteFile(file, { ignoreIfNotExists: true });
      } else if (await exists(file)) {
        const document = await vscode.workspace.openTextDocument(file);
        const text = left === undefined ? before : takenOut(plainText(before)!, plainText(left)!, plainText(document.getText())!);
        if (text === undefined) {
          kept.push(c);
        } else {
          edit.replace(file, new vscode.Range(0, 0, document.lineCount, 0), text);
        }
      } else {
        edit.createFile(file, { contents: Buffer.from(before) });
      }
    }
    const changed = chosen.filter((c) => !kept.includes(c));
    const uriOf = (c: Change) => vscode.Uri.file(c.path);
    const { result: done, readOnly } = await editing(
      changed.map((c) => uriOf(c).toString()),
      () => vscode.workspace.applyEdit(edit),
    );
    await Promise.all(changed.map((c) => vscode.workspace.save(uriOf(c))));
    const names = (of: Change[]) => of.map((c) => shownName(c.path));
    if (!done) {
      return { restored: [], kept: names(chosen), why: chosen.map(() => "the editor refused the edit") };
    }
    const isReadOnly = (c: Change) => readOnly.includes(uriOf(c).toString());
    const refused = changed.filter(isReadOnly);
    const unsaved = changed.filter((c) => isDirty(c.path)).map((c) => ({ path: shownName(c.path) }));
    return {
      restored: names(changed.filter((c) => !isReadOnly(c))),
      kept: names([...kept, ...refused]),
      why: [...kept.map(() => "you have changed the same lines since"), ...refused.map(() => `it is ${readOnlyHere}`)],
      unsaved,
    };
  }
}

const waitingOf = (t: TurnChanges): Waiting => ({
  session: t.sessionId,
  checkpoint: t.checkpointId,
  title: t.title,
  created: Date.parse(t.createdAt),
  files: t.files.map(absolute),
});

const missedOf = (m: MissedChanges): Missed => ({ ...waitingOf(m), commands: m.commands ?? false, why: m.why });

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

/** The path of a file for users: relative to the folder of the session where possible. */
function shownName(file: string): string {
  const name = path.relative(folders().cwd, file);
  return name.startsWith("..") ? file : name;
}

/** The reverse of shownName. */
const absolute = (file: string) => (path.isAbsolute(file) ? file : path.join(folders().cwd, file));

/** A text without regard to its line ends; null: there is no file. */
const plainText = (text: string | null) => text && text.replace(/\r\n/g, "\n");

/** Whether the editor has a text of a file that is not on the disk. */
const isDirty = (file: string) => vscode.workspace.textDocuments.some((d) => d.isDirty && d.uri.fsPath === file);

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
