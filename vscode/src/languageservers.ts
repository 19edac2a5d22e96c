import * as vscode from "vscode";
import { ErrorCodes, LSPErrorCodes, ResponseError } from "vscode-languageclient/node";
import type * as lsp from "vscode-languageclient/node";

import { news, told } from "./diagnostics";
import { Hermes } from "./hermes";
import * as forms from "./lspforms";
import { LSPRequest, LSPResponse, Method } from "./protocol";

/** Passes requests of the server on to the language extensions of the editor. */
export function answerLanguageServers(hermes: Hermes, self: string): vscode.Disposable {
  const extensions = new LanguageExtensions(self);
  hermes.server.onRequest(Method.LSP, async (q: LSPRequest): Promise<LSPResponse> => {
    const answer = methods[q.method];
    if (!answer || !vscode.workspace.isTrusted) {
      throw new ResponseError(ErrorCodes.MethodNotFound, `${q.method} is not passed on to language servers`);
    }
    const params = q.params as unknown as Params;
    const document = params.textDocument && (await open(vscode.Uri.parse(params.textDocument.uri), extensions));
    const result = await answer(params, document?.uri ?? nothing, versionsOfDocuments()).catch((err: unknown) => {
      throw new ResponseError(LSPErrorCodes.RequestFailed, err instanceof Error ? err.message : String(err));
    });
    if (result === undefined || (isEmpty(result) && !(document && (await isKnown(document.uri))))) {
      return { results: [] };
    }
    return { results: [{ server: document ? extensions.nameOf(document.languageId) : editor, result }] };
  });
  return vscode.Disposable.from(extensions, ...watchDocuments());
}

const editor = "vscode";

interface Params {
  readonly textDocument?: { readonly uri: string };
  readonly position: lsp.Position;
  readonly range: lsp.Range;
  readonly newName: string;
  readonly query: string;
  readonly context?: { readonly includeDeclaration?: boolean; readonly only?: string[] };
}

type Versions = ReadonlyMap<string, number>;
type Locations = (vscode.Location | vscode.LocationLink)[];

/** A result in the form of the protocol. If no extension answers, it is undefined. */
type Answer = (p: Params, uri: vscode.Uri, versions: Versions) => Promise<unknown>;

const run = async <T>(command: string, ...args: unknown[]): Promise<T | undefined> => vscode.commands.executeCommand<T | undefined>(command, ...args);

const at = (p: Params) => new vscode.Position(p.position.line, p.position.character);

const nothing = vscode.Uri.parse("untitled:");

/** The limit of code actions whose edit is computed: only actions with an edit are of use. */
const mostActions = 100;

const methods: Readonly<Record<string, Answer | undefined>> = {
  "textDocument/definition": locations("vscode.executeDefinitionProvider"),
  "textDocument/implementation": locations("vscode.executeImplementationProvider"),
  "textDocument/typeDefinition": locations("vscode.executeTypeDefinitionProvider"),
  "textDocument/references": async (p, uri) => {
    const all = await locations("vscode.executeReferenceProvider")(p, uri);
    if (p.context?.includeDeclaration !== false) return all;
    const declared = new Set((await locations("vscode.executeDefinitionProvider")(p, uri)).map((l) => JSON.stringify(l)));
    return all.filter((l) => !declared.has(JSON.stringify(l)));
  },
  "textDocument/hover": async (p, uri) => forms.hover((await run<vscode.Hover[]>("vscode.executeHoverProvider", uri, at(p))) ?? []),
  "textDocument/documentSymbol": async (_, uri) => (await symbolsOf(uri)).map(forms.symbol),
  "workspace/symbol": async (p) => ((await run<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", p.query)) ?? []).map(forms.symbol),
  "textDocument/diagnostic": async (_, uri) => {
    await report(uri, (await isReportedOn(uri)) ? reportLate : fixesLate);
    const items = vscode.languages.getDiagnostics(uri).map(told);
    return isReported(uri) ? { kind: "full", items } : undefined;
  },
  "textDocument/prepareRename": async (p, uri) => {
    const found = await run<{ range: vscode.Range; placeholder: string }>("vscode.prepareRename", uri, at(p));
    return found ? { range: forms.range(found.range), placeholder: found.placeholder } : null;
  },
  "textDocument/rename": async (p, uri, versions) => {
    const edit = await run<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri, at(p), p.newName);
    return edit && forms.workspaceEdit(edit, versions);
  },
  "textDocument/codeAction": actions,
  // The editor has resolved them when it listed them.
  "codeAction/resolve": async (p) => p,
};

/** Lists code actions. If there are problems without a fix and the text is new, it asks again. */
async function actions(p: Params, uri: vscode.Uri, versions: Versions): Promise<unknown> {
  await report(uri, fixesLate);
  const { start, end } = p.range;
  const area = new vscode.Range(start.line, start.character, end.line, end.character);
  const only = p.context?.only ?? [];
  const all = await run<Action[]>("vscode.executeCodeActionProvider", uri, area, only.length === 1 ? only[0] : undefined, mostActions);
  const wanted = (all ?? []).filter((a) => !isOurs(a) && isWanted(a, only));
  const isNew = Date.now() - (changed.get(uri.toString()) ?? 0) < fixesLate;
  if (isNew && !wanted.some(isFix) && vscode.languages.getDiagnostics(uri).some((d) => d.range.intersection(area))) {
    await new Promise((resolve) => setTimeout(resolve, fixesAgain));
    return actions(p, uri, versions);
  }
  return wanted.map((a) => forms.codeAction(a, versions));
}

type Action = vscode.CodeAction | vscode.Command;

const isFix = (a: Action) => (a as vscode.CodeAction).kind?.value.startsWith(vscode.CodeActionKind.QuickFix.value) === true;

/** How long after a text was opened or shown its extension may take to report on it, in milliseconds. */
const reportLate = 30_000;

/**
 * How long after a change of a text a server may still look for fixes, and how often it is asked in
 * this time, in milliseconds. gopls does not tell when it has found them.
 */
const fixesLate = 3000;
const fixesAgain = 250;

/** When the open documents were opened, shown, changed, or first reported on. */
const changed = new Map<string, number>();

/** Documents that an extension has reported on. Some extensions report only on those that are shown. */
const reported = new Set<string>();

/**
 * Waits for the first report on a document that was opened or shown a moment ago. If the agent does not want
 * to wait so long, it cancels the request, and its answer is not complete.
 */
async function report(uri: vscode.Uri, late: number): Promise<void> {
  const limit = (changed.get(uri.toString()) ?? 0) + late - Date.now();
  if (limit > 0 && !isReported(uri)) {
    await news(uri, limit);
  }
}

const isReported = (uri: vscode.Uri) => reported.has(uri.toString()) || vscode.languages.getDiagnostics(uri).length > 0;

/**
 * Whether an extension reads this document, and will report on it. The TypeScript extension reports only on
 * documents that are shown.
 */
async function isReportedOn(uri: vscode.Uri): Promise<boolean> {
  if (isReported(uri)) return true;
  const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  const shown = vscode.window.visibleTextEditors.some((e) => e.document === document);
  return document !== undefined && (shown || !loadsInParts.has(document.languageId)) && isKnown(uri);
}

function watchDocuments(): vscode.Disposable[] {
  const note = (uri: vscode.Uri) => void changed.set(uri.toString(), Date.now());
  let shown = new Set(vscode.window.visibleTextEditors.map((e) => e.document.uri.toString()));
  return [
    vscode.workspace.onDidOpenTextDocument((document) => note(document.uri)),
    vscode.workspace.onDidChangeTextDocument((e) => note(e.document.uri)),
    vscode.window.onDidChangeVisibleTextEditors((editors) => {
      editors
        .map((e) => e.document.uri)
        .filter((uri) => !shown.has(uri.toString()))
        .forEach(note);
      shown = new Set(editors.map((e) => e.document.uri.toString()));
    }),
    vscode.languages.onDidChangeDiagnostics((e) => {
      for (const uri of e.uris.filter((u) => changed.has(u.toString()) && !reported.has(u.toString()))) {
        reported.add(uri.toString());
        note(uri);
      }
    }),
    vscode.workspace.onDidCloseTextDocument((document) => {
      for (const known of [changed, loaded, reported]) {
        known.delete(document.uri.toString());
      }
    }),
  ];
}

function locations(command: string): (p: Params, uri: vscode.Uri) => Promise<lsp.Location[]> {
  return async (p, uri) => ((await run<Locations>(command, uri, at(p))) ?? []).map(forms.location);
}

const symbolsOf = async (uri: vscode.Uri) =>
  (await run<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>("vscode.executeDocumentSymbolProvider", uri)) ?? [];

function isOurs(a: Action): boolean {
  const command = typeof a.command === "string" ? a.command : a.command?.command;
  return command?.startsWith("hermes.") === true;
}

function isWanted(a: Action, only: string[]): boolean {
  const kind = (a as vscode.CodeAction).kind?.value ?? "";
  return only.length < 2 || only.some((o) => kind === o || kind.startsWith(`${o}.`));
}

const isEmpty = (result: unknown) => result === null || (Array.isArray(result) && result.length === 0);

/**
 * The editor gives an empty list both if an extension found nothing and if there is none. It returns
 * whether an extension reads this document: then it knows its symbols or has reported on it.
 */
async function isKnown(uri: vscode.Uri): Promise<boolean> {
  return vscode.languages.getDiagnostics(uri).length > 0 || (await symbolsOf(uri)).length > 0;
}

/** The versions of the open documents, which the extensions have at this time. */
function versionsOfDocuments(): Versions {
  return new Map(vscode.workspace.textDocuments.map((d) => [d.uri.toString(), d.version]));
}

/** Opens a document without showing it, and waits for the extensions of its language. */
async function open(uri: vscode.Uri, extensions: LanguageExtensions): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(uri);
  await extensions.start(document, loadsInParts.has(document.languageId));
  if (loadsInParts.has(document.languageId)) {
    let known = loaded.get(uri.toString());
    if (!known) {
      known = run("vscode.executeTypeDefinitionProvider", uri, new vscode.Position(0, 0));
      loaded.set(uri.toString(), known);
    }
    await known;
  }
  return document;
}

/** How long an extension that has just started may take to report on its first document, in milliseconds. */
const firstNews = 3000;

/**
 * While the built-in TypeScript extension loads a project, it answers most requests from single
 * files. It does not do so for types: their answer comes after the project is loaded.
 */
const loadsInParts = new Set(["typescript", "typescriptreact", "javascript", "javascriptreact"]);

/** Documents whose project is loaded, or being loaded. */
const loaded = new Map<string, Promise<unknown>>();

/** LanguageExtensions finds the extensions for a language. */
class LanguageExtensions implements vscode.Disposable {
  private readonly started = new Map<string, Promise<void>>();
  private readonly changes = vscode.extensions.onDidChange(() => this.started.clear());

  /** @param self the id of this extension, which is never asked */
  constructor(private readonly self: string) {}

  /**
   * Waits until those run that start with a document of the language. If one did not run before, it waits for its
   * first report, too, unless there is a better sign that it is ready.
   */
  start(document: vscode.TextDocument, tells: boolean): Promise<void> {
    const { languageId, uri } = document;
    let started = this.started.get(languageId);
    if (!started) {
      started = this.activate(languageId, tells ? undefined : uri);
      this.started.set(languageId, started);
    }
    return started;
  }

  private async activate(language: string, uri: vscode.Uri | undefined): Promise<void> {
    const idle = this.of(language).filter((e) => !e.isActive);
    if (idle.length > 0) {
      const first = uri && news(uri, firstNews); // while they start
      await Promise.allSettled(idle.map((e) => e.activate()));
      await first;
    }
  }

  /** The id of the only extension that starts with the language. If there is not exactly one, it returns the editor's name. */
  nameOf(language: string): string {
    const all = this.of(language);
    return all.length === 1 ? all[0].id : editor;
  }

  private of(language: string): vscode.Extension<unknown>[] {
    return vscode.extensions.all.filter((e) => {
      const { activationEvents = [], main, browser } = e.packageJSON as { activationEvents?: string[]; main?: string; browser?: string };
      return e.id !== this.self && (main ?? browser) !== undefined && activationEvents.includes(`onLanguage:${language}`);
    });
  }

  dispose(): void {
    this.changes.dispose();
  }
}
