import * as vscode from "vscode";

import { ElicitRequest, ElicitResponse, Method, RequestPermissionRequest, RequestPermissionResponse } from "./protocol";
import { ServerProcess } from "./server/process";

/** Asks the user a question. If this handler cannot, it returns undefined, and the next one is asked. */
export type Ask<Q, A> = (question: Q, token: vscode.CancellationToken) => Promise<A | undefined>;

/** Questions passes approval requests and questions of the server to the parts of the extension that can show them. */
export class Questions implements vscode.Disposable {
  private readonly permissions: Ask<RequestPermissionRequest, RequestPermissionResponse>[] = [];
  private readonly elicitations: Ask<ElicitRequest, ElicitResponse>[] = [];
  private readonly counts = new vscode.EventEmitter<number>();
  private open = 0;

  /** The number of open questions changed. */
  readonly onCount = this.counts.event;

  constructor(server: ServerProcess) {
    server.onRequest(Method.RequestPermission, (q: RequestPermissionRequest, token) =>
      this.ask(this.permissions, q, token, { outcome: { outcome: "cancelled" } }),
    );
    server.onRequest(Method.Elicit, (q: ElicitRequest, token) => this.ask(this.elicitations, q, token, { action: "cancel" }));
  }

  /** The number of open questions. */
  get count(): number {
    return this.open;
  }

  /** Adds a handler for approval requests. The handler that was added last is asked first. */
  onPermission(handler: Ask<RequestPermissionRequest, RequestPermissionResponse>): vscode.Disposable {
    return add(this.permissions, handler);
  }

  /** Adds a handler for other questions. The handler that was added last is asked first. */
  onElicit(handler: Ask<ElicitRequest, ElicitResponse>): vscode.Disposable {
    return add(this.elicitations, handler);
  }

  /** Forgets the questions of a server that has ended. */
  clear(): void {
    this.add(-this.open);
  }

  dispose(): void {
    this.counts.dispose();
  }

  private async ask<Q, A>(handlers: Ask<Q, A>[], q: Q, token: vscode.CancellationToken, none: A): Promise<A> {
    this.add(1);
    try {
      for (const handler of [...handlers].reverse()) {
        const answer = await handler(q, token);
        if (answer !== undefined) {
          return answer;
        }
      }
      return none;
    } finally {
      this.add(-1);
    }
  }

  private add(by: number): void {
    this.open = Math.max(0, this.open + by); // clear may have come first
    this.counts.fire(this.open);
  }
}

function add<T>(list: T[], item: T): vscode.Disposable {
  list.push(item);
  return { dispose: () => void list.splice(list.indexOf(item), 1) };
}
