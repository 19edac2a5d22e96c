import { execFile } from "node:child_process";
import * as vscode from "vscode";

import { serverEnvironment, serverPath } from "../server/launch";
import { folders } from "../sessions";
import * as show from "../show";

/** The end of a run of the program. */
export interface Ran {
  readonly ok: boolean;
  readonly stdout: string;
  /** Why it failed; empty: it did not. */
  readonly error: string;
}

/** Runs hermes-ls with a progress notification, whose button cancels it. Nothing is asked: the program has no terminal. */
export async function program(context: vscode.ExtensionContext, title: string, args: readonly string[]): Promise<Ran> {
  const env = await serverEnvironment(context);
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return show.progress(options, (_, token) => run(serverPath(context), args, env, token));
}

function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv, token: vscode.CancellationToken): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(file, args, { env, cwd: folders().cwd, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      canceled.dispose();
      const why = stderr.trim().replace(/^hermes-ls: /gm, "");
      resolve({ ok: !error, stdout, error: error ? (token.isCancellationRequested ? "Canceled." : why || error.message) : "" });
    });
    child.stdin?.end();
    const canceled = token.onCancellationRequested(() => child.kill());
  });
}
