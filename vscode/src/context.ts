import * as vscode from "vscode";

import { Hermes, State } from "./hermes";
import { begun } from "./sessions";

/** Keeps the when clauses of menus and keys up to date. */
export function setContexts(hermes: Hermes): vscode.Disposable {
  const known = new Map<string, unknown>();
  const set = (key: string, value: unknown) => {
    if (known.get(key) !== value) {
      known.set(key, value);
      void vscode.commands.executeCommand("setContext", `hermes.${key}`, value);
    }
  };
  const show = (s: State) => {
    set("running", s.phase !== "stopped" && s.phase !== "starting");
    set("busy", s.phase === "working" || s.phase === "waiting");
    set("session", begun(s));
    set("restricted", s.restricted);
  };
  show(hermes.state);
  return hermes.onState(show);
}
