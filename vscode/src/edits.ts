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
  const clean = touched(params).filter((uri) => documentAt(uri)?.isDirty === false);
  const result = (await next(params, new vscode.CancellationTokenSource().token)) as ApplyWorkspaceEditResult;
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

/** A read-only document takes an edit, counts as saved, and is not. */
const readOnly = "it may be read-only in VS Code";

/** Saves a document, and returns why it is not saved. */
async function saved(uri: string): Promise<string | undefined> {
  const document = documentAt(uri);
  if (!document?.isDirty) {
    return document && readOnly; // if it is saved, as by auto save, the server does not tell
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
