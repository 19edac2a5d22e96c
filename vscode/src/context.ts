import * as vscode from "vscode";

import { Hermes, State } from "./hermes";
import { isKey, keysForServer } from "./secrets";
import { begun } from "./sessions";

/** Keeps the when clauses of menus and keys up to date, and the steps of the walkthrough that are done. */
export function setContexts(context: vscode.ExtensionContext, hermes: Hermes): vscode.Disposable {
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
    if (begun(s)) set("asked", true);
  };
  const chosen = () => set("modelChosen", modelChosen());
  const keys = async () => set("keySet", Object.keys(await keysForServer(context)).length > 0);
  show(hermes.state);
  chosen();
  void keys();
  return vscode.Disposable.from(
    hermes.onState(show),
    vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("hermes.model") && chosen()),
    context.secrets.onDidChange((e) => isKey(e.key) && void keys()),
  );
}

/** Whether the user has chosen a provider or a model in the editor. */
function modelChosen(): boolean {
  const settings = vscode.workspace.getConfiguration("hermes.model");
  return ["provider", "default"].some((key) => {
    const value = settings.inspect(key);
    return (value?.globalValue ?? value?.workspaceValue ?? value?.workspaceFolderValue) !== undefined;
  });
}
