import { execFile } from "node:child_process";
import * as vscode from "vscode";

import { Hermes } from "../hermes";
import { begun, folders } from "../sessions";
import { environment } from "../options";
import { serverEnvironment, serverPath } from "../server/launch";
import { initializationOptions } from "../settings";
import { command } from "./guard";
import * as show from "../show";

/** Commands for the server itself, and the menu of the status bar. */
export function registerServerCommands(context: vscode.ExtensionContext, hermes: Hermes): vscode.Disposable[] {
  const doctor = new Doctor(context);
  return [
    command("hermes.restart", () => hermes.server.restart()),
    command("hermes.log", () => hermes.log.show()),
    command("hermes.settings", () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`)),
    command("hermes.doctor", () => doctor.run()),
    vscode.workspace.registerTextDocumentContentProvider(Doctor.scheme, doctor),
    command("hermes.menu", () => menu(hermes)),
  ];
}

/** Doctor shows the results of the program's own checks in a document that can be read and copied. */
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
    const options = { cwd: folders().cwd, env: { ...(await serverEnvironment(this.context)), ...settings }, timeout: 60_000 };
    return new Promise((resolve) =>
      execFile(serverPath(this.context), ["doctor"], options, (error, stdout, stderr) => resolve(stdout + stderr || String(error))),
    );
  }
}

interface Entry extends show.Item {
  readonly command?: string;
}

async function menu(hermes: Hermes): Promise<void> {
  const picked = await show.pick(entries(hermes), { title: "Hermes" });
  if (picked?.command) {
    await vscode.commands.executeCommand(picked.command);
  }
}

function entries({ state }: Hermes): Entry[] {
  const running = state.phase !== "stopped" && state.phase !== "starting";
  const busy = state.phase === "working" || state.phase === "waiting";
  const all: (Entry & { when?: boolean })[] = [
    { icon: "debug-restart", label: "Start the server", command: "hermes.restart", description: state.problem, when: !running },
    { icon: "debug-stop", label: "Cancel", command: "hermes.cancel", when: busy },
    { icon: "comment-discussion", label: "Open chat", command: "hermes.chat.open", when: running },
    { icon: "diff-multiple", label: "Changes of this turn", command: "hermes.changes.focus", when: running },
    { label: "Session", kind: vscode.QuickPickItemKind.Separator, when: running },
    { icon: "add", label: "New session", command: "hermes.session.new", when: running },
    { icon: "history", label: "Resume session…", command: "hermes.session.load", when: running },
    { icon: "discard", label: "Roll back…", command: "hermes.rollback", when: running && !busy && begun(state) && !state.restricted },
    { icon: "organization", label: "Subagents…", command: "hermes.subagents", when: running && begun(state) },
    { icon: "output", label: "Show transcript", command: "hermes.transcript", when: running && begun(state) },
    { label: "Settings", kind: vscode.QuickPickItemKind.Separator },
    {
      icon: "shield",
      label: "Manage workspace trust",
      description: "Restricted Mode: Hermes only reads",
      command: "workbench.trust.manage",
      when: state.restricted,
    },
    { icon: "server", label: "Choose model…", command: "hermes.model", when: running },
    { icon: "law", label: "Choose approval mode…", command: "hermes.mode", when: running },
    { icon: "gear", label: "Open settings", command: "hermes.settings" },
    { icon: "pulse", label: "Doctor", command: "hermes.doctor" },
    { icon: "list-flat", label: "Show log", command: "hermes.log" },
    { icon: "debug-restart", label: "Restart server", command: "hermes.restart", when: running },
  ];
  return all.filter((e) => e.when !== false);
}
