import * as vscode from "vscode";

import { ChatView } from "./chat/provider";
import { registerAsk } from "./commands/ask";
import { registerExtend } from "./commands/extend";
import { registerServerCommands } from "./commands/server";
import { registerSessions } from "./commands/sessions";
import { registerSetup } from "./commands/setup";
import { setContexts } from "./context";
import { answerDiagnostics } from "./diagnostics";
import { ExtensionTree } from "./extensiontree";
import { Hermes } from "./hermes";
import { answerLanguageServers } from "./languageservers";
import { registerReview } from "./review/register";
import { isKey } from "./secrets";
import { message } from "./server/process";
import { SessionTree } from "./sessiontree";
import { Status } from "./status";
import * as show from "./show";

let hermes: Hermes | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Hermes", { log: true });
  hermes = new Hermes(context, log);
  const chat = new ChatView(context, hermes);
  context.subscriptions.push(
    log,
    hermes,
    new Status(hermes),
    new SessionTree(hermes),
    new ExtensionTree(hermes, (text) => chat.ask(text)),
    setContexts(context, hermes),
    answerDiagnostics(hermes),
    answerLanguageServers(hermes, context.extension.id),
    vscode.window.registerWebviewViewProvider(ChatView.viewType, chat, { webviewOptions: { retainContextWhenHidden: true } }),
    ...registerAsk(hermes, chat),
    ...registerExtend(context, hermes, chat),
    ...registerSessions(hermes, chat),
    ...registerSetup(context),
    ...registerServerCommands(context, hermes),
    ...registerReview(context, hermes, chat),
    ...restartWhenNeeded(context, hermes),
  );
  void hermes.server.start().catch((error) => startFailed(hermes!, error)); // views open before the server has started
}

/** The server ends with the window. */
export function deactivate(): Promise<void> | undefined {
  return hermes?.server.stop();
}

async function startFailed(h: Hermes, error: unknown): Promise<void> {
  h.log.error(message(error));
  const choice = await show.fail(`Hermes cannot start: ${message(error)}`, "Open Settings", "Show Log");
  if (choice === "Open Settings") {
    await vscode.commands.executeCommand("hermes.settings");
  } else if (choice === "Show Log") {
    h.log.show();
  }
}

/**
 * Values that the server gets at its start take effect after a restart: settings of the
 * user, keys, trust. The restart waits for running turns.
 */
function restartWhenNeeded(context: vscode.ExtensionContext, h: Hermes): vscode.Disposable[] {
  let wanted = false;
  const restart = () => {
    wanted = true;
    if (!h.sessions.working && h.state.phase !== "starting") {
      wanted = false;
      void h.server.restart().catch((error) => startFailed(h, error));
    }
  };
  let before = h.server.startedWith();
  return [
    vscode.workspace.onDidChangeConfiguration((e) => {
      if (e.affectsConfiguration("hermes") && h.server.startedWith() !== before) {
        before = h.server.startedWith();
        restart();
      }
    }),
    context.secrets.onDidChange((e) => isKey(e.key) && restart()),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    h.onState(() => wanted && restart()),
    h.sessions.onWork(() => wanted && restart()),
  ];
}
