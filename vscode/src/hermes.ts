import * as vscode from "vscode";

import { Questions } from "./questionqueue";
import { Phase, ServerProcess } from "./server/process";
import { Sessions, SessionState } from "./sessions";

/** The state of the server and of the current session. */
export interface State extends SessionState {
  /** stopped: no server; waiting: for an answer of the user. */
  readonly phase: "stopped" | "starting" | "idle" | "working" | "waiting";
  /** Why the server is stopped, for the user. */
  readonly problem?: string;
  /** The workspace is not trusted: no file is written, and no command runs. */
  readonly restricted: boolean;
}

/** Hermes joins the server, its sessions and its questions, and derives the state that the editor shows. */
export class Hermes implements vscode.Disposable {
  readonly server: ServerProcess;
  readonly sessions: Sessions;
  readonly questions: Questions;

  private phase: Phase = { phase: "stopped" };
  private current: State;
  private readonly states = new vscode.EventEmitter<State>();

  readonly onState = this.states.event;

  constructor(
    context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
  ) {
    this.server = new ServerProcess(context, log);
    this.sessions = new Sessions(this.server, log);
    this.questions = new Questions(this.server);
    this.current = this.derive();
    this.server.onPhase((phase) => this.phaseChanged(phase));
    this.sessions.onState(() => this.update());
    this.questions.onCount(() => this.update());
  }

  get state(): State {
    return this.current;
  }

  dispose(): void {
    for (const part of [this.states, this.questions, this.sessions, this.server]) {
      part.dispose();
    }
  }

  private phaseChanged(phase: Phase): void {
    this.phase = phase;
    if (phase.phase === "running") {
      this.questions.clear();
      void this.sessions.serverStarted();
    }
    this.update();
  }

  private update(): void {
    const next = this.derive();
    if (!same(next, this.current)) {
      this.current = next;
      this.states.fire(next);
    }
  }

  private derive(): State {
    const { phase, problem } = this.phase;
    const restricted = !vscode.workspace.isTrusted;
    return { ...this.sessions.state, phase: phase === "running" ? this.activity() : phase, problem, restricted };
  }

  private activity(): "idle" | "working" | "waiting" {
    return this.questions.count > 0 ? "waiting" : this.sessions.busy ? "working" : "idle";
  }
}

function same(a: State, b: State): boolean {
  return (Object.keys({ ...a, ...b }) as (keyof State)[]).every((k) => a[k] === b[k]);
}
