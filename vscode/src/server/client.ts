import * as vscode from "vscode";
import {
  ClientCapabilities,
  DynamicFeature,
  ExecuteCommandRequest,
  FeatureState,
  LanguageClient,
  LanguageClientOptions,
  MessageType,
  RevealOutputChannelOn,
  ServerOptions,
  ShowMessageNotification,
  ShowMessageParams,
  ShowMessageRequest,
  ShowMessageRequestParams,
  StaticFeature,
} from "vscode-languageclient/node";

import { savingEdits } from "../edits";
import { callbackOf } from "./login";
import { ProgressBars } from "./progress";
import { Section, Version } from "../protocol";
import { initializationOptions, sectionOf } from "../settings";
import * as show from "../show";

/**
 * Client is the library's, with four differences: the server's commands are not
 * registered as the editor's, since ours have their names and more to say; the
 * server learns that it speaks to a plugin; errors are no notifications; and messages
 * of the server are shown as they are, without links, and in the chat while that is visible.
 */
export class Client extends LanguageClient {
  constructor(id: string, name: string, start: ServerOptions, options: LanguageClientOptions) {
    super(id, name, start, options);
    this.onNotification(ShowMessageNotification.method, (p: ShowMessageParams) => void shown[severityOf(p.type)](p.message));
    this.onRequest(ShowMessageRequest.method, async (p: ShowMessageRequestParams, token) => {
      return (await show.question(severityOf(p.type), token)(p.message, ...(p.actions ?? []))) ?? null;
    });
  }

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    if (DynamicFeature.is(feature) && feature.registrationType.method === ExecuteCommandRequest.method) {
      return;
    }
    super.registerFeature(feature);
  }

  /** The error is in the log. The caller that has started the client shows it to the user. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  protected override registerBuiltinFeatures(): void {
    super.registerBuiltinFeatures();
    this.registerFeature(new Announcement());
  }
}

const shown = { info: show.inform, warning: show.warn, error: show.fail };

function severityOf(type: MessageType): keyof typeof shown {
  switch (type) {
    case MessageType.Error:
      return "error";
    case MessageType.Warning:
      return "warning";
  }
  return "info";
}

/** Announcement tells the server the capabilities of this plugin. */
class Announcement implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.experimental = {
      ...(capabilities.experimental as object | undefined),
      agentClientProtocol: {
        protocolVersion: Version,
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false }, // documents are LSP's business
          terminal: false,
          session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
          elicitation: { form: {} },
          // In Restricted Mode, the language extensions of the editor are not asked.
          _meta: { hermes: { diagnostics: true, ...(vscode.workspace.isTrusted && { lsp: true }) } },
        },
      },
    };
  }
  getState(): FeatureState {
    return { kind: "static" };
  }
  initialize(): void {}
  clear(): void {}
}

/** Forwards the port of a login's callback, if the server runs on another machine than the browser. */
async function forwardCallback(page: string): Promise<void> {
  const callback = callbackOf(page);
  if (callback !== undefined && vscode.env.remoteName !== undefined) {
    try {
      await vscode.env.asExternalUri(vscode.Uri.parse(callback));
    } catch {
      // The page opens without it. The user can paste the address at which the browser ended.
    }
  }
}

export function clientOptions(context: vscode.ExtensionContext, log: vscode.LogOutputChannel, bars: ProgressBars): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: () => initializationOptions(context),
    initializationFailedHandler: () => false, // who has started it says so
    stdioOptions: {
      stdout: () => {},
      stderr: (input) => input.on("data", (text: Buffer) => log.info(text.toString().trimEnd())),
    },
    middleware: {
      provideCodeActions: async (document, range, context, token, next) => {
        const actions = (await next(document, range, context, token)) ?? [];
        actions.forEach((a) => (a.title = /Hermes/.test(a.title) ? a.title : `${a.title} with Hermes`)); // others fix and explain, too
        return actions;
      },
      handleWorkDoneProgress: (token, news) => bars.take(token, news),
      window: {
        showDocument: async (params, token, next) => {
          if (params.external) await forwardCallback(params.uri);
          return next(params, token);
        },
      },
      workspace: {
        handleApplyEdit: savingEdits,
        configuration: (params, token, next) => {
          const settings = next(params, token);
          return Array.isArray(settings) ? settings.map((value, i) => (params.items[i].section === Section ? sectionOf(context) : value)) : settings;
        },
      },
    },
  };
}
