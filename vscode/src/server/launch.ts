import { ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

import { keysForServer } from "../secrets";

/** The program: hermes.path, else the one that came with the extension. */
export function serverPath(context: vscode.ExtensionContext): string {
  const chosen = vscode.workspace.getConfiguration("hermes").get<string>("path", "").trim();
  if (chosen !== "") {
    return chosen.startsWith("~/") ? path.join(process.env.HOME ?? "", chosen.slice(2)) : chosen;
  }
  return context.asAbsolutePath(path.join("bin", process.platform === "win32" ? "hermes-ls.exe" : "hermes-ls"));
}

/** The server's environment: the editor's, and the keys that are kept for the user. */
export async function serverEnvironment(context: vscode.ExtensionContext): Promise<NodeJS.ProcessEnv> {
  return { ...process.env, ...(await keysForServer(context)) };
}

export async function startServer(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<ChildProcess> {
  const command = serverPath(context);
  makeExecutable(command, context);
  const cwd = vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath;
  const child = spawn(command, ["serve"], { cwd, env: await serverEnvironment(context), stdio: "pipe" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`${command} cannot be started: ${error.message}. Set hermes.path to a hermes-ls program.`)));
  });
  log.info(`started ${command} (process ${child.pid})`);
  child.once("exit", (code, signal) => log.info(`process ${child.pid} ended: ${signal ?? `exit code ${code}`}`));
  return child;
}

/** Unpacking an extension may lose the bit that makes its program one. */
function makeExecutable(command: string, context: vscode.ExtensionContext): void {
  if (process.platform === "win32" || !command.startsWith(context.extensionPath)) {
    return;
  }
  try {
    fs.accessSync(command, fs.constants.X_OK);
  } catch {
    try {
      fs.chmodSync(command, 0o755);
    } catch {
      // Starting it reports the problem.
    }
  }
}

/** Crashes counts how often the server died lately. */
export class Crashes {
  private times: number[] = [];

  /** Notes one, and tells whether that is too often to go on. */
  another(now: number): boolean {
    this.times = [...this.times.filter((t) => now - t < 3 * 60_000), now];
    return this.times.length > 4;
  }

  forget(): void {
    this.times = [];
  }
}
