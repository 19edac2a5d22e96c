import * as vscode from "vscode";
import { ApplyWorkspaceEditParams, ApplyWorkspaceEditRequest, ApplyWorkspaceEditResult } from "vscode-languageclient/node";

/**
 * Applies an edit of the server, which goes into the undo stack. Documents without
 * unsaved changes are saved, so that the next command sees the edit, unless the setting or the
 * server (`files.save`) says otherwise. Documents that the user has not saved stay unsaved. If they are not
 * saved, the result says why, although the edit is applied, and notSaved if nothing more is tried.
 */
export async function savingEdits(
  params: ApplyWorkspaceEditParams & { save?: boolean },
  next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult & { notSaved?: boolean }> {
  const uris = touched(params);
  const clean = uris.filter((uri) => documentAt(uri)?.isDirty === false);
  const edit = async () => (await next(params, new vscode.CancellationTokenSource().token)) as ApplyWorkspaceEditResult;
  const { result, readOnly } = await editing(uris, edit);
  if (readOnly.length > 0) {
    return { applied: false, failureReason: `it is ${readOnlyHere}` };
  }
  if (!result.applied || params.save === false) {
    return result;
  }
  if (!vscode.workspace.getConfiguration("hermes").get("saveEdits", true)) {
    return { ...result, failureReason: "hermes.saveEdits is off", notSaved: true };
  }
  const reasons = await Promise.all(clean.map((uri) => saved(uri)));
  const failureReason = reasons.find((reason) => reason !== undefined);
  return failureReason === undefined ? result : { ...result, failureReason, notSaved: failureReason === refused };
}

/** Saving may format, and that may take its time: the server waits a little longer by itself. */
const saveTimeout = 1000;
const saving = "VS Code is still saving it";
const refused = "VS Code could not save it";

export const readOnlyHere = "read-only in VS Code";

/**
 * Makes an edit of documents that may be read-only in VS Code. Such a document takes the edit and does not count as unsaved:
 * the new text would be lost without a question when the tab closes. They get their text back, and are returned.
 */
export async function editing<T>(uris: string[], edit: () => PromiseLike<T>): Promise<{ result: T; readOnly: string[] }> {
  const saved = new Set<vscode.TextDocument>(); // meanwhile, by auto save
  const listener = vscode.workspace.onDidSaveTextDocument((document) => saved.add(document));
  const clean = uris.flatMap((uri) => documentAt(uri) ?? []).filter((document) => !document.isDirty);
  const texts = clean.map((document) => document.getText());
  try {
    const result = await edit();
    const changed = clean.map((document, i) => ({ document, text: texts[i]! })).filter(({ document, text }) => document.getText() !== text);
    const readOnly = changed.filter(({ document }) => !document.isDirty && !document.isClosed && !saved.has(document));
    for (const { document, text } of readOnly) {
      await vscode.workspace.applyEdit(replacing(document, text));
    }
    return { result, readOnly: readOnly.map(({ document }) => document.uri.toString()) };
  } finally {
    listener.dispose();
  }
}

/** The edit that gives a document another text. It leaves what the two have in common. */
function replacing(document: vscode.TextDocument, text: string): vscode.WorkspaceEdit {
  const now = document.getText();
  const shorter = Math.min(now.length, text.length);
  let start = 0;
  while (start < shorter && now[start] === text[start]) start++;
  let end = 0;
  while (end < shorter - start && now[now.length - 1 - end] === text[text.length - 1 - end]) end++;
  const edit = new vscode.WorkspaceEdit();
  const range = new vscode.Range(document.positionAt(start), document.positionAt(now.length - end));
  edit.replace(document.uri, range, text.slice(start, text.length - end));
  return edit;
}

/** Saves a document, and returns why it is not saved. */
async function saved(uri: string): Promise<string | undefined> {
  const document = documentAt(uri);
  if (!document?.isDirty) {
    return undefined; // auto save has saved it
  }
  const late = new Promise<string>((resolve) => setTimeout(() => resolve(saving), saveTimeout));
  const done = Promise.resolve(document.save()).then(
    (ok) => (ok ? undefined : refused),
    (error: unknown) => String(error),
  );
  return Promise.race([done, late]);
}

function touched({ edit }: ApplyWorkspaceEditParams): string[] {
  const changes = edit.documentChanges?.flatMap((c) => ("textDocument" in c ? [c.textDocument.uri] : [])) ?? [];
  return [...changes, ...Object.keys(edit.changes ?? {})].map((uri) => vscode.Uri.parse(uri).toString());
}

const documentAt = (uri: string) => vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri);
