import * as vscode from "vscode";

import type { Hermes } from "../hermes";
import { Method } from "../protocol";
import * as show from "../show";

/** Moves the session back to before a prompt, which the server then gives back for the composer. */
export async function rewind(hermes: Hermes, chat: { note(text: string): void }, to: { prompt: string; files: boolean }): Promise<void> {
  const sessionId = hermes.sessions.session;
  if (sessionId === undefined) return;
  const files = to.files || (await wantsFiles(hermes, sessionId));
  if (files === undefined) return;
  const done = await hermes.server.request(Method.SessionRewind, { sessionId, prompt: to.prompt, files });
  await vscode.commands.executeCommand("hermes.changes.refresh");
  if (files && done.files) chat.note(done.files.replaceAll("`", ""));
}

/** Asks whether the files are restored, too. It returns undefined if the user wants neither. */
async function wantsFiles(hermes: Hermes, sessionId: string): Promise<boolean | undefined> {
  const { checkpoints } = await hermes.server.request(Method.CheckpointList, { sessionId });
  if (checkpoints.every((c) => c.files.length === 0)) return false;
  const items = [
    { label: "Keep the files as they are", restore: false },
    { label: "Restore the files to before this prompt", restore: true },
  ];
  return (await show.pick(items, { title: "Edit and resend" }))?.restore;
}
