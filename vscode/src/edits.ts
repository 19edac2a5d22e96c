import * as vscode from "vscode";
import { ApplyWorkspaceEditParams, ApplyWorkspaceEditRequest, ApplyWorkspaceEditResult } from "vscode-languageclient/node";

/**
 * Applies an edit of the server, which goes into the undo stack. Documents without
 * unsaved changes are saved, so that the next command sees the edit, unless the setting or the
 * server (`files.save`) says otherwise. Documents that the user has not saved stay unsaved. If saving
 * fails, the result says why, although the edit is applied.
 */
export async function savingEdits(
  params: ApplyWorkspaceEditParams & { save?: boolean },
  next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult> {
  const clean = touched(params).filter((uri) => documentAt(uri)?.isDirty === false);
  const result = (await next(params, new vscode.CancellationTokenSource().token)) as ApplyWorkspaceEditResult;
  if (!result.applied || params.save === false || !vscode.workspace.getConfiguration("hermes").get("saveEdits", true)) {
    return result;
  }
  const reasons = await Promise.all(clean.map((uri) => saved(uri)));
  const failureReason = reasons.find((reason) => reason !== undefined);
  return failureReason === undefined ? result : { ...result, failureReason };
}

/** Saving may format, and that may take its time: the server waits a little longer by itself. */
const saveTimeout = 1000;

/** Saves a document, and returns why it is not saved. */
async function saved(uri: string): Promise<string | undefined> {
  const document = documentAt(uri);
  if (!document?.isDirty) {
    return undefined;
  }
  const late = new Promise<string>((resolve) => setTimeout(() => resolve("VS Code is still saving it"), saveTimeout));
  const done = Promise.resolve(document.save()).then(
    (ok) => (ok ? undefined : "VS Code could not save it"),
    (error: unknown) => String(error),
  );
  return Promise.race([done, late]);
}

function touched({ edit }: ApplyWorkspaceEditParams): string[] {
  const changes = edit.documentChanges?.flatMap((c) => ("textDocument" in c ? [c.textDocument.uri] : [])) ?? [];
  return [...changes, ...Object.keys(edit.changes ?? {})].map((uri) => vscode.Uri.parse(uri).toString());
}

const documentAt = (uri: string) => vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri);
