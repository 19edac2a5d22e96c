import * as vscode from "vscode";

import { ChatView } from "../chat/provider";
import { position, told } from "../diagnostics";
import { Hermes } from "../hermes";
import { ActionArgs, Command, ContentBlock, DelegateArgs } from "../protocol";
import { Place, placeHere, rangeOf, selectionHere } from "../places";
import { command } from "./guard";
import * as show from "../show";

/** Prompts, and actions on a place in a document. */
export function registerAsk(hermes: Hermes, chat: ChatView): vscode.Disposable[] {
  const act = (name: ActionCommand, place: () => Promise<ActionArgs | undefined>) =>
    command(name, async (given?: ActionArgs) => action(hermes, chat, name, given?.textDocument ? given : await place()));

  return [
    command("hermes.ask", () => ask(chat)),
    command("hermes.askSelection", () => ask(chat, selectionHere())),
    act(Command.Explain, placeHere),
    act(Command.Review, async () => selectionHere() ?? fileHere()),
    act(Command.Test, placeHere),
    act(Command.Document, placeHere),
    act(Command.Fix, problemsHere),
    command("hermes.reviewChanges", () => chat.ask(reviewChanges)),
    command(Command.Delegate, (given?: DelegateArgs) => delegate(hermes, chat, given)),
    command("hermes.goal", () => setGoal(chat)),
    command(Command.Cancel, () => hermes.sessions.cancel()),
    command(Command.ChatOpen, (place?: Partial<Place>) => openChat(chat, place)),
    command("hermes.chat.retry", () => chat.retry()),
    command("hermes.mention", (uri?: vscode.Uri) => mention(chat, uri)),
    command(Command.ChatSend, (args: { textDocument: { uri: string } }) => hermes.server.command(Command.ChatSend, args)),
  ];
}

type ActionCommand = typeof Command.Explain | typeof Command.Fix | typeof Command.Review | typeof Command.Test | typeof Command.Document;

const reviewChanges =
  "Review the changes of this workspace that are not committed yet.\n\n" +
  "Look at the diff and at what is around it. Name bugs, missed cases, and unclear code, the worst first, each with its file and line and what to do about it. Change nothing.";

async function ask(chat: ChatView, place?: Place): Promise<void> {
  const text = await show.ask({
    title: place ? `Ask Hermes about ${rangeOf(place)}` : "Ask Hermes",
    placeHolder: "What do you want to know, or done?",
    ignoreFocusOut: true,
  });
  if (text?.trim()) {
    await chat.ask(text, place && [quoted(place)]);
  }
}

/** A place as a prompt carries it: its text, under its address. */
function quoted(place: Place): ContentBlock {
  const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === place.textDocument.uri);
  const { start, end } = place.range!;
  const text = document?.getText(new vscode.Range(start.line, start.character, end.line, end.character)) ?? "";
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { type: "resource", resource: { uri: `${place.textDocument.uri}#L${start.line + 1}-L${last}`, text } };
}

async function action(hermes: Hermes, chat: ChatView, name: ActionCommand, place: Place | undefined): Promise<void> {
  if (!place) {
    return;
  }
  await turn(chat, () => hermes.sessions.commandTurn(name, place));
}

/** Runs a turn in sight: how it ends is seen in the chat. */
async function turn(chat: ChatView, run: () => Promise<unknown>): Promise<void> {
  void chat.show();
  await run().catch((error) => chat.failed(error));
}

function fileHere(): Place | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && { textDocument: { uri: editor.document.uri.toString() } };
}

/** The problems under the cursor, else all of the file. */
async function problemsHere(): Promise<ActionArgs | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return undefined;
  }
  const all = vscode.languages.getDiagnostics(editor.document.uri);
  const here = all.filter((d) => d.range.intersection(editor.selection));
  const chosen = here.length > 0 ? here : all;
  if (chosen.length === 0) {
    void show.inform("There are no problems in this file.");
    return undefined;
  }
  const range = chosen.map((d) => d.range).reduce((a, b) => a.union(b));
  return {
    textDocument: { uri: editor.document.uri.toString() },
    ...(here.length > 0 && { range: { start: position(range.start), end: position(range.end) } }),
    diagnostics: chosen.map(told),
  };
}

async function delegate(hermes: Hermes, chat: ChatView, given?: DelegateArgs): Promise<void> {
  const goal = given
    ? undefined
    : await show.ask({
        title: "Delegate to a subagent",
        placeHolder: "What is it to achieve?",
        ignoreFocusOut: true,
      });
  const args = given ?? (goal?.trim() ? { goal } : undefined);
  if (args) {
    await turn(chat, () => hermes.sessions.commandTurn(Command.Delegate, args));
  }
}

/** Sets a goal: turns continue until it is reached. */
async function setGoal(chat: ChatView): Promise<void> {
  const goal = await show.ask({
    title: "Set a goal",
    placeHolder: "What is to be reached? “clear” removes the goal.",
    ignoreFocusOut: true,
  });
  if (goal?.trim()) {
    await chat.ask(`/goal ${goal.trim()}`);
  }
}

async function openChat(chat: ChatView, place?: Partial<Place>): Promise<void> {
  await chat.show();
  if (place?.textDocument) {
    await chat.mention({ uri: vscode.Uri.parse(place.textDocument.uri), range: place.range });
  }
}

/** Mentions a file of the explorer, or the editor's selection. */
async function mention(chat: ChatView, uri?: vscode.Uri): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const target = uri ?? editor?.document.uri;
  if (target) {
    const selected = editor?.document.uri.toString() === target.toString() ? selectionHere()?.range : undefined;
    await chat.show();
    await chat.mention({ uri: target, range: selected });
  }
}
