import * as vscode from "vscode";

import { editorState } from "./editorstate";

import {
  CommandTypes,
  ContentBlock,
  LoadSessionResponse,
  Method,
  PromptResponse,
  SessionConfigOption,
  SessionModeState,
  SessionNotification,
  SubagentsReady,
  Update,
  UsageUpdate,
} from "./protocol";
import { CommandArgs, CommandResult, isAnswer, message, ServerProcess } from "./server/process";

/** The current session. */
export interface SessionState {
  /** Its id; undefined until the first prompt needs one. */
  readonly session?: string;
  readonly title?: string;
  readonly modes?: SessionModeState;
  readonly options: readonly SessionConfigOption[];
  readonly usage?: UsageUpdate;
}

/** Reports whether the current session has had a prompt. */
export const begun = (s: SessionState) => s.session !== undefined && (s.title !== undefined || s.usage !== undefined);

/** A change of the current session, with its cause. */
export interface SessionChange {
  readonly session: string | undefined;
  /** load: its history follows as updates, until loaded; resume, restart: the view shows it already. */
  readonly reason: "new" | "load" | "loaded" | "resume" | "restart" | "fork" | "closed";
}

/**
 * Sessions holds the state of the current session and counts the running turns of all
 * sessions. It keeps no messages; listeners get the updates.
 */
export class Sessions implements vscode.Disposable {
  private current: SessionState = { options: [] };
  /** The number of running turns, by session. */
  private readonly turns = new Map<string, number>();
  private running = false; // a turn of the current session
  private opening: Promise<string> | undefined;

  private readonly updates = new vscode.EventEmitter<SessionNotification>();
  private readonly states = new vscode.EventEmitter<SessionState>();
  private readonly changes = new vscode.EventEmitter<SessionChange>();
  private readonly ready = new vscode.EventEmitter<SubagentsReady>();
  private readonly works = new vscode.EventEmitter<{ session: string; running: boolean }>();
  private readonly turnsChanged = new vscode.EventEmitter<boolean>();

  /** Each session/update of each session, in order. */
  readonly onUpdate = this.updates.event;
  readonly onState = this.states.event;
  readonly onSession = this.changes.event;
  /** Results of background subagents wait for the next prompt. */
  readonly onSubagentsReady = this.ready.event;
  /** The first turn of a session starts, or its last one ends; also of sessions that are not shown. */
  readonly onWork = this.works.event;
  /** The first turn of the current session starts (true), or its last one ends (false). */
  readonly onTurn = this.turnsChanged.event;

  constructor(
    private readonly server: ServerProcess,
    private readonly log: vscode.LogOutputChannel,
  ) {
    server.onNotification(Method.SessionUpdate, (n: SessionNotification) => this.updated(n));
    server.onNotification(Method.SubagentsReady, (n: SubagentsReady) => this.ready.fire(n));
  }

  dispose(): void {
    for (const emitter of [this.updates, this.states, this.changes, this.ready, this.works, this.turnsChanged]) {
      emitter.dispose();
    }
  }

  get state(): SessionState {
    return this.current;
  }

  /** The current session's id; undefined until the first prompt needs one. */
  get session(): string | undefined {
    return this.current.session;
  }

  /** Whether a turn of the current session runs. */
  get busy(): boolean {
    return this.running;
  }

  /** Whether a turn of any session runs. */
  get working(): boolean {
    return this.turns.size > 0;
  }

  /** Sends a prompt to the current session. If there is none, it creates one. */
  async prompt(prompt: ContentBlock[], meta?: Record<string, unknown>): Promise<PromptResponse> {
    const sessionId = await this.ensureSession();
    await this.tellEditor();
    return this.turn(sessionId, () => this.server.request(Method.SessionPrompt, { sessionId, prompt, ...(meta && { _meta: meta }) }));
  }

  /** Starts a turn with the results of background subagents. */
  async continue(sessionId: string): Promise<PromptResponse> {
    return this.turn(sessionId, () => this.server.request(Method.SessionPrompt, { sessionId, prompt: [], _meta: { hermes: { continue: true } } }));
  }

  /** Runs a command that starts a turn in the current session, and waits until the turn ends. */
  async commandTurn<C extends keyof CommandTypes>(command: C, args: CommandArgs<C>): Promise<CommandResult<C>> {
    const sessionId = await this.ensureSession();
    await this.tellEditor();
    return this.turn(sessionId, () => this.server.command(command, { ...args, sessionId, wait: true }));
  }

  /** Tells the server where the user works, for the prompt that follows. */
  private async tellEditor(): Promise<void> {
    await this.server.notify(Method.Editor, editorState());
  }

  /** Cancels the turns of the current session. */
  async cancel(): Promise<void> {
    if (this.session !== undefined) {
      await this.server.notify(Method.SessionCancel, { sessionId: this.session });
    }
  }

  /** Resolves when no turn of the current session runs. */
  async idle(): Promise<void> {
    while (this.running) {
      await new Promise<void>((resolve) => {
        const listening = this.onTurn(() => (listening.dispose(), resolve()));
      });
    }
  }

  async ensureSession(): Promise<string> {
    await this.server.restarted();
    if (this.session !== undefined) {
      return this.session;
    }
    this.opening ??= this.newSession().finally(() => (this.opening = undefined));
    return this.opening;
  }

  async newSession(): Promise<string> {
    const opened = await this.server.request(Method.SessionNew, { ...folders(), mcpServers: [] });
    this.switchTo(opened.sessionId, "new", opened);
    return opened.sessionId;
  }

  /** Opens a stored session and replays its history. A session with a running turn is open already and is shown as it is. */
  async loadSession(sessionId: string): Promise<void> {
    if (this.turns.has(sessionId)) {
      this.switchTo(sessionId, "resume", await this.server.request(Method.SessionResume, { sessionId, ...folders() }));
      return;
    }
    this.switchTo(sessionId, "load");
    try {
      this.opened(await this.server.request(Method.SessionLoad, { sessionId, ...folders(), mcpServers: [] }));
    } finally {
      this.changes.fire({ session: sessionId, reason: "loaded" });
    }
  }

  /** Creates a session from the history of another, up to a message. */
  async forkSession(sessionId: string, messageId?: string): Promise<string> {
    const fork = await this.server.request(Method.SessionFork, { sessionId, ...folders(), mcpServers: [], ...(messageId && { messageId }) });
    await this.loadSession(fork.sessionId);
    return fork.sessionId;
  }

  /** Deletes a session. If it is the current one, the chat is empty afterwards. */
  async delete(sessionId: string): Promise<void> {
    await this.server.request(Method.SessionDelete, { sessionId });
    if (sessionId === this.session) {
      this.switchTo(undefined, "closed");
    }
  }

  /** Resumes the current session in a server that has just started, if its store has the session. */
  async serverStarted(): Promise<void> {
    this.turns.clear();
    this.followTurns();
    const sessionId = this.session;
    if (sessionId === undefined) {
      return;
    }
    try {
      this.switchTo(sessionId, "restart", await this.server.request(Method.SessionResume, { sessionId, ...folders() }));
    } catch (error) {
      this.log.info(`session ${sessionId} is not opened again: ${message(error)}`);
      if (isAnswer(error)) this.switchTo(undefined, "closed"); // else the next server is asked
    }
  }

  private async turn<R>(session: string, run: () => Promise<R>): Promise<R> {
    this.count(session, 1);
    try {
      return await run();
    } finally {
      this.count(session, -1);
    }
  }

  private count(session: string, by: number): void {
    const before = this.turns.get(session) ?? 0;
    if (before + by > 0) {
      this.turns.set(session, before + by);
    } else {
      this.turns.delete(session);
    }
    if (before > 0 !== before + by > 0) {
      this.works.fire({ session, running: by > 0 });
    }
    this.followTurns();
  }

  private followTurns(): void {
    const running = this.session !== undefined && this.turns.has(this.session);
    if (running !== this.running) {
      this.running = running;
      this.turnsChanged.fire(running);
    }
    this.change({});
  }

  private updated(n: SessionNotification): void {
    if (n.sessionId === this.session) {
      this.apply(n);
    }
    this.updates.fire(n);
  }

  /** Applies an update to the state of the current session. */
  private apply({ update }: SessionNotification): void {
    switch (update.sessionUpdate) {
      case Update.Info:
        return update.title === undefined ? undefined : this.change({ title: update.title });
      case Update.Usage:
        return this.change({ usage: update });
      case Update.Options:
        return this.change({ options: update.configOptions });
      case Update.Mode:
        return this.change({ modes: this.current.modes && { ...this.current.modes, currentModeId: update.currentModeId } });
    }
  }

  private switchTo(session: string | undefined, reason: SessionChange["reason"], opened?: LoadSessionResponse): void {
    this.leave(session);
    const kept = reason === "restart" ? {} : { title: undefined, usage: undefined };
    this.change({ session, ...kept, ...(session === undefined && { modes: undefined, options: [] }) });
    if (opened) {
      this.opened(opened);
    }
    this.changes.fire({ session, reason });
    this.followTurns();
  }

  /** Closes the current session if it never had a prompt. */
  private leave(next: string | undefined): void {
    const left = this.session;
    if (left === undefined || left === next || begun(this.current) || this.turns.has(left)) return;
    void this.server.request(Method.SessionClose, { sessionId: left }).catch(() => {}); // a new server does not know it
  }

  private opened(o: LoadSessionResponse): void {
    this.change({ modes: o.modes, options: o.configOptions ?? [] });
  }

  private change(part: Partial<SessionState>): void {
    this.current = { ...this.current, ...part };
    this.states.fire(this.current);
  }
}

/** The folders of a session: the first workspace folder, and the others. */
export function folders(): { cwd: string; additionalDirectories?: string[] } {
  const paths = (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file").map((f) => f.uri.fsPath);
  const [cwd = process.cwd(), ...others] = paths;
  return { cwd, ...(others.length > 0 && { additionalDirectories: others }) };
}
