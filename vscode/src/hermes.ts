import * as vscode from "vscode";
import { CloseAction, ErrorAction, ErrorCodes, GenericRequestHandler, ResponseError, State as ClientState } from "vscode-languageclient/node";

import { Client, clientOptions } from "./client";
import { ProgressBars } from "./progress";
import { Crashes, serverPath, startServer } from "./server";
import { initializationOptions } from "./settings";
import {
  CommandTypes,
  ContentBlock,
  ElicitRequest,
  ElicitResponse,
  LoadSessionResponse,
  Method,
  MethodTypes,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionConfigOption,
  SessionModeState,
  SessionNotification,
  SubagentsReady,
  Update,
  UsageUpdate,
} from "./protocol";
import * as show from "./show";

/** Where the server and the current session stand. */
export interface State {
  /** stopped: no server; waiting: for an answer of the user's. */
  readonly phase: "stopped" | "starting" | "idle" | "working" | "waiting";
  /** Why there is no server, in words for the user. */
  readonly problem?: string;
  /** The workspace is not trusted: nothing is written, no command runs. */
  readonly restricted: boolean;
  readonly session?: string;
  readonly title?: string;
  readonly modes?: SessionModeState;
  readonly options: readonly SessionConfigOption[];
  readonly usage?: UsageUpdate;
}

/** Whether something was said in the current session. */
export const begun = (s: State) => s.session !== undefined && (s.title !== undefined || s.usage !== undefined);

/** The session that is current from now on, and how it came to be that. */
export interface SessionChange {
  readonly session: string | undefined;
  /** load: its history follows as updates, until loaded; resume, restart: the view has it already. */
  readonly reason: "new" | "load" | "loaded" | "resume" | "restart" | "fork" | "closed";
}

/** Asks the user something. Undefined: this handler cannot, the next one is asked. */
export type Ask<Q, A> = (question: Q, token: vscode.CancellationToken) => Promise<A | undefined>;

type Given<C extends keyof CommandTypes> = CommandTypes[C]["gives"];
type Taken<C extends keyof CommandTypes> = CommandTypes[C]["takes"];

/**
 * Hermes is the server, its life, and the current session. It keeps no
 * conversation: what is to see goes to who listens.
 */
export class Hermes implements vscode.Disposable {
  private client: Client;
  private readonly handlers: ((client: Client) => vscode.Disposable)[] = [];
  private readonly crashes = new Crashes();
  private readonly bars = new ProgressBars((token) => void this.notify("window/workDoneProgress/cancel", { token }));
  private readonly permissions: Ask<RequestPermissionRequest, RequestPermissionResponse>[] = [];
  private readonly elicitations: Ask<ElicitRequest, ElicitResponse>[] = [];
  private current: State;
  /** How many turns run, by their session. */
  private readonly turns = new Map<string, number>();
  private busy = false; // a turn of the current session runs
  private questions = 0;
  private opening: Promise<string> | undefined;
  private restarting?: Promise<void>;
  private stopping = false;
  private died = false;

  private readonly updates = new vscode.EventEmitter<SessionNotification>();
  private readonly states = new vscode.EventEmitter<State>();
  private readonly sessions = new vscode.EventEmitter<SessionChange>();
  private readonly ready = new vscode.EventEmitter<SubagentsReady>();
  private readonly works = new vscode.EventEmitter<{ session: string; running: boolean }>();
  private readonly turnsChanged = new vscode.EventEmitter<boolean>();

  /** Every session/update, of whatever session, in order. */
  readonly onUpdate = this.updates.event;
  readonly onState = this.states.event;
  readonly onSession = this.sessions.event;
  /** Results of subagents in the background wait for the next prompt. */
  readonly onSubagentsReady = this.ready.event;
  /** A session has begun to work, or has come to rest; also one that is not shown. */
  readonly onWork = this.works.event;
  /** Of the current session: true when its first turn begins, false when its last one has ended. */
  readonly onTurn = this.turnsChanged.event;

  constructor(private readonly context: vscode.ExtensionContext, readonly log: vscode.LogOutputChannel) {
    this.current = { phase: "stopped", restricted: !vscode.workspace.isTrusted, options: [] };
    this.client = this.newClient();
    this.listen();
  }

  /** A client whose start has failed cannot be started again, so there may be several, one after the other. */
  private newClient(): Client {
    const client = new Client("hermes", "Hermes", () => startServer(this.context, this.log), {
      ...clientOptions(this.context, this.log, this.bars),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.serverClosed(),
      },
    });
    client.onDidChangeState((e) => client === this.client && this.clientChanged(e.newState));
    this.handlers.forEach((register) => register(client));
    return client;
  }

  get state(): State {
    return this.current;
  }

  /** Whether any session works: the one that is shown, or another. */
  get working(): boolean {
    return this.turns.size > 0;
  }

  /** The current session's id; undefined until one is needed. */
  get session(): string | undefined {
    return this.current.session;
  }

  // ---- the server's life ----

  async start(): Promise<void> {
    this.stopping = this.died = false;
    this.change({ phase: "starting", problem: undefined, restricted: !vscode.workspace.isTrusted });
    try {
      await this.client.start();
    } catch (error) {
      this.client = this.newClient();
      this.change({ phase: "stopped", problem: message(error) });
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.died = false;
    if (this.client.state === ClientState.Running || this.client.state === ClientState.Starting) {
      await this.client.stop();
    }
    this.change({ phase: "stopped" });
  }

  /** Stops and starts; the session stays the current one. Prompts wait until the server is there again. */
  async restart(): Promise<void> {
    const restarted = this.stopAndStart();
    this.restarting = restarted;
    try {
      await restarted;
    } finally {
      if (this.restarting === restarted) this.restarting = undefined;
    }
  }

  private async stopAndStart(): Promise<void> {
    await this.stop().catch((error) => this.log.warn(`stopping the server: ${message(error)}`));
    this.crashes.forget();
    await this.start();
  }

  dispose(): void {
    for (const s of [this.updates, this.states, this.sessions, this.ready, this.works, this.turnsChanged]) {
      s.dispose();
    }
  }

  /** What the server gets at its start: when that changes it has to be started anew. */
  startedWith(): string {
    return JSON.stringify([initializationOptions(this.context), serverPath(this.context)]);
  }

  // ---- calls ----

  /** Calls a method of the Agent Client Protocol, or one of ours. */
  request<M extends keyof MethodTypes>(method: M, params: MethodTypes[M]["takes"]): Promise<MethodTypes[M]["gives"]>;
  request<R>(method: string, params: unknown): Promise<R>;
  request(method: string, params: unknown): Promise<unknown> {
    return this.client.sendRequest(method, params);
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.client.sendNotification(method, params);
  }

  /** Runs a command of the server. */
  command<C extends keyof CommandTypes>(command: C, args: Taken<C>): Promise<Given<C>> {
    return this.client.sendRequest<Given<C>>("workspace/executeCommand", { command, arguments: [args] });
  }

  /** Runs a command that starts a turn in the current session, and waits for its end. */
  async commandTurn<C extends keyof CommandTypes>(command: C, args: Taken<C>): Promise<Given<C>> {
    const sessionId = await this.ensureSession();
    return this.turn(sessionId, () => this.command(command, { ...args, sessionId, wait: true }));
  }

  /** Prompts the current session, which is begun where there is none. */
  async prompt(prompt: ContentBlock[], meta?: Record<string, unknown>): Promise<PromptResponse> {
    const sessionId = await this.ensureSession();
    return this.turn(sessionId, () => this.request(Method.SessionPrompt, { sessionId, prompt, ...(meta && { _meta: meta }) }));
  }

  /** Stops the turn that runs in the current session. */
  async cancel(): Promise<void> {
    if (this.session !== undefined) {
      await this.notify(Method.SessionCancel, { sessionId: this.session });
    }
  }

  // ---- sessions ----

  async ensureSession(): Promise<string> {
    await this.restarting?.catch(() => undefined); // the caller of restart reports a failure
    if (this.session !== undefined) {
      return this.session;
    }
    this.opening ??= this.newSession().finally(() => (this.opening = undefined));
    return this.opening;
  }

  async newSession(): Promise<string> {
    const opened = await this.request(Method.SessionNew, { ...place(), mcpServers: [] });
    this.switchTo(opened.sessionId, "new", opened);
    return opened.sessionId;
  }

  /** Opens a session again and has its history replayed. One in which a turn of ours runs is still open: it is shown as it is. */
  async loadSession(sessionId: string): Promise<void> {
    if (this.turns.has(sessionId)) {
      this.switchTo(sessionId, "resume", await this.request(Method.SessionResume, { sessionId, ...place() }));
      return;
    }
    this.switchTo(sessionId, "load");
    try {
      this.opened(await this.request(Method.SessionLoad, { sessionId, ...place(), mcpServers: [] }));
    } finally {
      this.sessions.fire({ session: sessionId, reason: "loaded" });
    }
  }

  /** Begins a session with the history of another, up to a message. */
  async forkSession(sessionId: string, messageId?: string): Promise<string> {
    const fork = await this.request(Method.SessionFork, { sessionId, ...place(), mcpServers: [], ...(messageId && { messageId }) });
    await this.loadSession(fork.sessionId);
    return fork.sessionId;
  }

  // ---- questions of the server's ----

  /** Answers questions of approval. The handler added last is asked first. */
  onPermission(handler: Ask<RequestPermissionRequest, RequestPermissionResponse>): vscode.Disposable {
    return add(this.permissions, handler);
  }

  /** Answers other questions. The handler added last is asked first. */
  onElicit(handler: Ask<ElicitRequest, ElicitResponse>): vscode.Disposable {
    return add(this.elicitations, handler);
  }

  // ---- inside ----

  private listen(): void {
    this.onNotification(Method.SessionUpdate, (n: SessionNotification) => this.updated(n));
    this.onNotification(Method.SubagentsReady, (n: SubagentsReady) => this.ready.fire(n));
    this.onRequest(Method.RequestPermission, (q: RequestPermissionRequest, token) =>
      this.asking(this.permissions, q, token, { outcome: { outcome: "cancelled" } }),
    );
    this.onRequest(Method.Elicit, (q: ElicitRequest, token) => this.asking(this.elicitations, q, token, { action: "cancel" }));
  }

  private onNotification<P>(method: string, handler: (params: P) => void): void {
    this.handle((client) => client.onNotification(method, handler));
  }

  /** Lets the server make requests that a part of the extension answers. */
  onRequest<P>(method: string, handler: (params: P, token: vscode.CancellationToken) => Promise<unknown>): void {
    this.handle((client) => client.onRequest(method, handler as GenericRequestHandler<unknown, void>));
  }

  private handle(register: (client: Client) => vscode.Disposable): void {
    this.handlers.push(register);
    register(this.client);
  }

  private async asking<Q, A>(handlers: Ask<Q, A>[], q: Q, token: vscode.CancellationToken, none: A): Promise<A> {
    this.questions++;
    this.change({});
    try {
      for (const handler of [...handlers].reverse()) {
        const answer = await handler(q, token);
        if (answer !== undefined) {
          return answer;
        }
      }
      return none;
    } finally {
      this.questions = Math.max(0, this.questions - 1); // a new server has begun to count
      this.change({});
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

  /** Says when the first turn of the current session begins, and when its last one has ended. */
  private followTurns(): void {
    const busy = this.session !== undefined && this.turns.has(this.session);
    if (busy !== this.busy) {
      this.busy = busy;
      this.turnsChanged.fire(busy);
    }
    this.change({});
  }

  private updated(n: SessionNotification): void {
    if (n.sessionId === this.session) {
      this.follow(n);
    }
    this.updates.fire(n);
  }

  /** Keeps of the current session what the status shows. */
  private follow({ update }: SessionNotification): void {
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
    this.sessions.fire({ session, reason });
    this.followTurns();
  }

  /** A session in which nothing was said is of no use to anybody. */
  private leave(next: string | undefined): void {
    const left = this.session;
    if (left === undefined || left === next || begun(this.current) || this.turns.has(left)) return;
    void this.request(Method.SessionClose, { sessionId: left }).catch(() => {}); // the server may have been started anew
  }

  private opened(o: LoadSessionResponse): void {
    this.change({ modes: o.modes, options: o.configOptions ?? [] });
  }

  private clientChanged(state: ClientState): void {
    this.bars.clear();
    if (state === ClientState.Running) {
      this.turns.clear();
      this.questions = 0;
      this.followTurns();
      this.change({ phase: "idle", problem: undefined });
      void this.reopen();
    } else if (state === ClientState.Stopped && this.died) {
      this.died = false;
      void Promise.resolve().then(() => this.revive()); // the client has to come to rest first
    }
  }

  /** After a restart the session goes on, if the store knows it. */
  private async reopen(): Promise<void> {
    const sessionId = this.session;
    if (sessionId === undefined) {
      return;
    }
    try {
      this.switchTo(sessionId, "restart", await this.request(Method.SessionResume, { sessionId, ...place() }));
    } catch (error) {
      this.log.info(`session ${sessionId} is not opened again: ${message(error)}`);
      if (isAnswer(error)) this.switchTo(undefined, "closed"); // else the next server is asked
    }
  }

  /** The connection is gone; whether the server is started again is decided when the client has noticed. */
  private serverClosed() {
    this.died = !this.stopping;
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  /** The server is gone although nobody asked it to go. */
  private async revive(): Promise<void> {
    if (this.crashes.another(Date.now())) {
      const problem = "The Hermes server stopped several times in a short while, and is not started again.";
      this.change({ phase: "stopped", problem });
      return this.offerRestart(problem);
    }
    try {
      await this.start();
    } catch (error) {
      return this.offerRestart(`The Hermes server stopped unexpectedly and cannot be started again: ${message(error)}`);
    }
    if (await show.warn("The Hermes server stopped unexpectedly and was started again. The session goes on.", "Show Log")) {
      this.log.show();
    }
  }

  private async offerRestart(problem: string): Promise<void> {
    const choice = await show.fail(problem, "Start Again", "Show Log");
    if (choice === "Start Again") {
      await this.restart();
    } else if (choice === "Show Log") {
      this.log.show();
    }
  }

  private change(news: Partial<State>): void {
    const next = { ...this.current, ...news };
    const phase = next.phase === "stopped" || next.phase === "starting" ? next.phase : this.doing();
    if (!same({ ...next, phase }, this.current)) {
      this.current = { ...next, phase };
      this.states.fire(this.current);
    }
  }

  private doing(): "idle" | "working" | "waiting" {
    return this.questions > 0 ? "waiting" : this.busy ? "working" : "idle";
  }
}

/** Where sessions work: the first folder, and the others. */
export function place(): { cwd: string; additionalDirectories?: string[] } {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file").map((f) => f.uri.fsPath);
  const [cwd = process.cwd(), ...others] = folders;
  return { cwd, ...(others.length > 0 && { additionalDirectories: others }) };
}

/** Whether the server has said no, and has not just gone away. */
function isAnswer(error: unknown): boolean {
  return error instanceof ResponseError && error.code !== ErrorCodes.PendingResponseRejected && error.code !== ErrorCodes.ConnectionInactive;
}

/** What an error says to people. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function add<T>(list: T[], item: T): vscode.Disposable {
  list.push(item);
  return { dispose: () => void list.splice(list.indexOf(item), 1) };
}

function same(a: State, b: State): boolean {
  return (Object.keys({ ...a, ...b }) as (keyof State)[]).every((k) => a[k] === b[k]);
}
