import * as vscode from "vscode";
import { CloseAction, ErrorAction, ErrorCodes, GenericRequestHandler, ResponseError, State as ClientState } from "vscode-languageclient/node";

import { CommandTypes, MethodTypes } from "../protocol";
import { initializationOptions } from "../settings";
import * as show from "../show";
import { Client, clientOptions } from "./client";
import { Crashes, serverPath, startServer } from "./launch";
import { ProgressBars } from "./progress";

/** State of the server. */
export interface Phase {
  readonly phase: "stopped" | "starting" | "running";
  /** Why the server is stopped, for the user. */
  readonly problem?: string;
}

export type CommandArgs<C extends keyof CommandTypes> = CommandTypes[C]["takes"];
export type CommandResult<C extends keyof CommandTypes> = CommandTypes[C]["gives"];

/**
 * ServerProcess starts and stops the server and sends it requests. If the server ends
 * unexpectedly, it starts it again, unless that happens too often.
 */
export class ServerProcess implements vscode.Disposable {
  private client: Client;
  private readonly handlers: ((client: Client) => vscode.Disposable)[] = [];
  private readonly crashes = new Crashes();
  readonly bars = new ProgressBars((token) => void this.notify("window/workDoneProgress/cancel", { token }));
  private readonly phases = new vscode.EventEmitter<Phase>();
  private starting?: Promise<void>;
  private restarting?: Promise<void>;
  private stopping = false;
  private died = false;

  readonly onPhase = this.phases.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.client = this.newClient();
  }

  /** A client whose start failed cannot be started again, so each start after a failure has a new one. */
  private newClient(): Client {
    const client = new Client("hermes", "Hermes", () => startServer(this.context, this.log), {
      ...clientOptions(this.context, this.log, this.bars),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.connectionClosed(),
      },
    });
    client.onDidChangeState((e) => client === this.client && this.clientChanged(e.newState));
    this.handlers.forEach((register) => register(client));
    return client;
  }

  async start(): Promise<void> {
    this.stopping = this.died = false;
    this.phases.fire({ phase: "starting" });
    const starting = this.client.start();
    this.starting = starting;
    try {
      await starting;
    } catch (error) {
      this.client = this.newClient();
      this.phases.fire({ phase: "stopped", problem: message(error) });
      throw error;
    } finally {
      if (this.starting === starting) this.starting = undefined;
    }
    if (this.client.state === ClientState.Running) this.phases.fire({ phase: "running" });
  }

  /**
   * Stops the server. It waits for a start: a client that is stopped between its state
   * "running" and the end of its start registers its code actions for good.
   */
  async stop(): Promise<void> {
    await this.starting?.catch(() => undefined);
    this.stopping = true;
    this.died = false;
    if (this.client.state !== ClientState.StartFailed) {
      await this.client.stop(); // if another stop has begun, it waits for that
    }
    this.phases.fire({ phase: "stopped" });
  }

  /** Stops and starts the server. Prompts wait until it runs again. */
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

  /** Waits until a restart has ended. The caller of restart reports a failure. */
  async restarted(): Promise<void> {
    await this.restarting?.catch(() => undefined);
  }

  dispose(): void {
    this.phases.dispose();
  }

  /** The data that the server gets at its start. If it changes, the server must be restarted. */
  startedWith(): string {
    return JSON.stringify([initializationOptions(this.context), serverPath(this.context)]);
  }

  /** Calls a method of the Agent Client Protocol, or one of hermes-ls. */
  request<M extends keyof MethodTypes>(method: M, params: MethodTypes[M]["takes"]): Promise<MethodTypes[M]["gives"]>;
  request<R>(method: string, params: unknown): Promise<R>;
  request(method: string, params: unknown): Promise<unknown> {
    return this.client.sendRequest(method, params);
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.client.sendNotification(method, params);
  }

  /** Runs a command of the server. */
  command<C extends keyof CommandTypes>(command: C, args: CommandArgs<C>): Promise<CommandResult<C>> {
    return this.client.sendRequest<CommandResult<C>>("workspace/executeCommand", { command, arguments: [args] });
  }

  onNotification<P>(method: string, handler: (params: P) => void): void {
    this.register((client) => client.onNotification(method, handler));
  }

  onRequest<P>(method: string, handler: (params: P, token: vscode.CancellationToken) => Promise<unknown>): void {
    this.register((client) => client.onRequest(method, handler as GenericRequestHandler<unknown, void>));
  }

  private register(handler: (client: Client) => vscode.Disposable): void {
    this.handlers.push(handler);
    handler(this.client);
  }

  private clientChanged(state: ClientState): void {
    this.bars.clear();
    if (state === ClientState.Stopped && this.died) {
      this.died = false;
      void Promise.resolve().then(() => this.startAgain()); // the client must have stopped first
    }
  }

  /** The connection is closed. clientChanged decides whether the server is started again. */
  private connectionClosed() {
    this.died = !this.stopping;
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  /** Starts the server again after it ended unexpectedly. */
  private async startAgain(): Promise<void> {
    if (this.crashes.another(Date.now())) {
      const problem = "The Hermes server stopped several times within minutes. It is not started again.";
      this.phases.fire({ phase: "stopped", problem });
      return this.offerRestart(problem);
    }
    try {
      await this.start();
    } catch (error) {
      return this.offerRestart(`The Hermes server stopped unexpectedly and cannot be started again: ${message(error)}`);
    }
    if (await show.warn("The Hermes server stopped unexpectedly and was started again. The session continues.", "Show Log")) {
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
}

/** Reports whether the server answered with an error. If the connection ended, it returns false. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ResponseError && error.code !== ErrorCodes.PendingResponseRejected && error.code !== ErrorCodes.ConnectionInactive;
}

/** Returns the text of an error. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
