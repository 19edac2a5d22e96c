import { execFile } from "node:child_process";
import * as vscode from "vscode";

import { begun, Hermes, place } from "../hermes";
import { environment } from "../options";
import { serverEnvironment, serverPath } from "../server";
import { initializationOptions } from "../settings";
import { command } from "./guard";

/** What concerns the server itself, and the menu of the status bar. */
export function registerServerCommands(context: vscode.ExtensionContext, hermes: Hermes): vscode.Disposable[] {
  const doctor = new Doctor(context);
  return [
    command("hermes.restart", () => hermes.restart()),
    command("hermes.log", () => hermes.log.show()),
    command("hermes.settings", () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`)),
    command("hermes.doctor", () => doctor.run()),
    vscode.workspace.registerTextDocumentContentProvider(Doctor.scheme, doctor),
    command("hermes.menu", () => menu(hermes)),
  ];
}

/** Doctor shows what the program's own checks say, in a document that can be read and copied. */
class Doctor implements vscode.TextDocumentContentProvider {
  static readonly scheme = "hermes-doctor";
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly uri = vscode.Uri.from({ scheme: Doctor.scheme, path: "Hermes Doctor.log" });
  private report = "";

  readonly onDidChange = this.changed.event;

  constructor(private readonly context: vscode.ExtensionContext) {}

  provideTextDocumentContent(): string {
    return this.report;
  }

  async run(): Promise<void> {
    this.say("Checking…\n");
    await vscode.window.showTextDocument(this.uri, { preview: true });
    this.say(await this.checks());
  }

  private say(report: string): void {
    this.report = report;
    this.changed.fire(this.uri);
  }

  private async checks(): Promise<string> {
    const settings = environment(initializationOptions(this.context)); // the program knows no initialize here
    const options = { cwd: place().cwd, env: { ...(await serverEnvironment(this.context)), ...settings }, timeout: 60_000 };
    return new Promise((resolve) =>
      execFile(serverPath(this.context), ["doctor"], options, (error, stdout, stderr) => resolve(stdout + stderr || String(error))),
    );
  }
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
    { label: "$(discard) Roll back…", command: "hermes.rollback", when: running && !busy && begun(state) && !state.restricted },
    { label: "$(organization) Subagents…", command: "hermes.subagents", when: running && begun(state) },
    { label: "$(output) Show transcript", command: "hermes.transcript", when: running && begun(state) },
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
