import { execFile } from "node:child_process";
import * as vscode from "vscode";

import { Hermes, place } from "../hermes";
import { serverEnvironment, serverPath } from "../server";
import { command } from "./guard";

/** What concerns the server itself, and the menu of the status bar. */
export function registerServerCommands(context: vscode.ExtensionContext, hermes: Hermes): vscode.Disposable[] {
  const report = vscode.window.createOutputChannel("Hermes Doctor");
  return [
    command("hermes.restart", () => hermes.restart()),
    command("hermes.log", () => hermes.log.show()),
    command("hermes.settings", () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`)),
    command("hermes.doctor", () => doctor(context, report)),
    report,
    command("hermes.menu", () => menu(hermes)),
  ];
}

/** Runs the program's own checks and shows what they say. */
async function doctor(context: vscode.ExtensionContext, report: vscode.OutputChannel): Promise<void> {
  const cwd = place().cwd;
  const env = await serverEnvironment(context);
  report.replace("Checking…\n");
  report.show(true);
  await new Promise<void>((resolve) => {
    execFile(serverPath(context), ["doctor"], { cwd, env, timeout: 60_000 }, (error, stdout, stderr) => {
      report.replace(stdout + stderr || (error?.message ?? ""));
      resolve();
    });
  });
}

interface Entry extends vscode.QuickPickItem {
  readonly command?: string;
}

async function menu(hermes: Hermes): Promise<void> {
  const picked = await vscode.window.showQuickPick(entries(hermes), { title: "Hermes" });
  if (picked?.command) {
    await vscode.commands.executeCommand(picked.command);
  }
}

function entries({ state }: Hermes): Entry[] {
  const running = state.phase !== "stopped" && state.phase !== "starting";
  const busy = state.phase === "working" || state.phase === "waiting";
  const all: (Entry & { when?: boolean })[] = [
    { label: "$(debug-restart) Start the server", command: "hermes.restart", description: state.problem, when: !running },
    { label: "$(debug-stop) Cancel", command: "hermes.cancel", when: busy },
    { label: "$(comment-discussion) Open chat", command: "hermes.chat.open", when: running },
    { label: "$(diff-multiple) Changes of this turn", command: "hermes.changes.focus", when: running },
    { label: "Session", kind: vscode.QuickPickItemKind.Separator, when: running },
    { label: "$(add) New session", command: "hermes.session.new", when: running },
    { label: "$(history) Resume session…", command: "hermes.session.load", when: running },
    { label: "$(discard) Roll back…", command: "hermes.rollback", when: running && !busy && state.session !== undefined && !state.restricted },
    { label: "$(organization) Subagents…", command: "hermes.subagents", when: running && state.session !== undefined },
    { label: "$(output) Show transcript", command: "hermes.transcript", when: running && state.session !== undefined },
    { label: "Settings", kind: vscode.QuickPickItemKind.Separator },
    { label: "$(shield) Manage workspace trust", description: "Restricted Mode: Hermes only reads", command: "workbench.trust.manage", when: state.restricted },
    { label: "$(server) Choose model…", command: "hermes.model", when: running },
    { label: "$(law) Choose approval mode…", command: "hermes.mode", when: running },
    { label: "$(gear) Open settings", command: "hermes.settings" },
    { label: "$(pulse) Doctor", command: "hermes.doctor" },
    { label: "$(list-flat) Show log", command: "hermes.log" },
    { label: "$(debug-restart) Restart server", command: "hermes.restart", when: running },
  ];
  return all.filter((e) => e.when !== false);
}
