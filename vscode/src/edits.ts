import * as vscode from "vscode";
import { ApplyWorkspaceEditParams, ApplyWorkspaceEditRequest } from "vscode-languageclient/node";

/**
 * Applies an edit of the server, which goes into the undo stack. Documents without
 * unsaved changes are saved, so that the next command sees the edit. Documents that the
 * user has not saved stay unsaved.
 */
export async function savingEdits(params: ApplyWorkspaceEditParams, next: ApplyWorkspaceEditRequest.HandlerSignature) {
  const clean = touched(params).filter((uri) => documentAt(uri)?.isDirty === false);
  const result = await next(params, new vscode.CancellationTokenSource().token);
  if (vscode.workspace.getConfiguration("hermes").get("saveEdits", true)) {
    const saved = Promise.all(clean.map((uri) => documentAt(uri)?.save()));
    await Promise.race([saved, new Promise((resolve) => setTimeout(resolve, saveTimeout))]);
  }
  return result;
}

/** Saving may format, and that may take its time: the server waits no longer than this. */
const saveTimeout = 1000;

function touched({ edit }: ApplyWorkspaceEditParams): string[] {
  const changes = edit.documentChanges?.flatMap((c) => ("textDocument" in c ? [c.textDocument.uri] : [])) ?? [];
  return [...changes, ...Object.keys(edit.changes ?? {})].map((uri) => vscode.Uri.parse(uri).toString());
}

const documentAt = (uri: string) => vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri);
