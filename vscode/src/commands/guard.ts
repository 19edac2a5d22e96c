import * as vscode from "vscode";

import { message } from "../server/process";
import * as show from "../show";

/** Registers a command whose errors are shown to the user. */
export function command<A extends unknown[]>(name: string, run: (...args: A) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(name, async (...args: A) => {
    try {
      return await run(...args);
    } catch (error) {
      void show.fail(`Hermes: ${message(error)}`);
      return undefined;
    }
  });
}
