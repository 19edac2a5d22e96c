import * as vscode from "vscode";

import { Hermes } from "./hermes";
import { ElicitRequest, ElicitResponse, RequestPermissionRequest, RequestPermissionResponse } from "./protocol";

/**
 * Answers the server's questions in notifications and input boxes, for when the
 * chat does not show them.
 */
export function askInNotifications(hermes: Hermes): void {
  hermes.onPermission(permission);
  hermes.onElicit(elicit);
}

async function permission(q: RequestPermissionRequest, token: vscode.CancellationToken): Promise<RequestPermissionResponse> {
  const reason = q.toolCall.content?.map((c) => c.content?.text ?? "").join(" ");
  const text = `Hermes asks: ${q.toolCall.title ?? q.toolCall.name ?? "May this run?"}${reason ? ` — ${reason}` : ""}`;
  const items = q.options.map((o) => ({ title: o.name, id: o.optionId }));
  const answer = await withdrawable(vscode.window.showWarningMessage(text, ...items), token);
  return { outcome: answer ? { outcome: "selected", optionId: answer.id } : { outcome: "cancelled" } };
}

/** A form of the kind that the server sends: a choice, words of one's own, or both. */
interface Form {
  properties?: Record<string, { title?: string; enum?: string[] }>;
}

async function elicit(q: ElicitRequest, token: vscode.CancellationToken): Promise<ElicitResponse> {
  const { answer, other } = (q.requestedSchema as Form | undefined)?.properties ?? {};
  if (!answer?.enum) {
    return reply("answer", await vscode.window.showInputBox({ title: "Hermes asks", prompt: q.message, ignoreFocusOut: true }, token));
  }
  const own: vscode.QuickPickItem = { label: "$(edit) Something else…", alwaysShow: true };
  const items: vscode.QuickPickItem[] = [...answer.enum.map((label) => ({ label })), ...(other ? [own] : [])];
  const picked = await vscode.window.showQuickPick(items, { title: "Hermes asks", placeHolder: q.message, ignoreFocusOut: true }, token);
  if (picked !== own) {
    return reply("answer", picked?.label);
  }
  return reply("other", await vscode.window.showInputBox({ title: "Hermes asks", prompt: q.message, ignoreFocusOut: true }, token));
}

function reply(field: string, value: string | undefined): ElicitResponse {
  return value === undefined ? { action: "decline" } : { action: "accept", content: { [field]: value } };
}

/** The answer, or none when the question is withdrawn. */
function withdrawable<T>(answer: Thenable<T | undefined>, token: vscode.CancellationToken): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    token.onCancellationRequested(() => resolve(undefined));
    answer.then(resolve, reject);
  });
}
