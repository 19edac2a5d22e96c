// Messages, lists and progress, with texts that VS Code shows as they are. It would draw
// [text](command:…) in a message as a link that runs the command, and $(name) in a list
// as an icon. Texts come from models, repositories and servers, so nothing else in this
// extension calls these functions of vscode.window (test/show.test.ts).
import * as vscode from "vscode";

import { literal } from "./literal";

type Button = string | vscode.MessageItem;
type Shown<T> = Promise<T | undefined>;
type Message = {
  <T extends Button>(text: string, ...items: T[]): Shown<T>;
  <T extends Button>(text: string, options: vscode.MessageOptions, ...items: T[]): Shown<T>;
};
type Call = (text: string, ...rest: object[]) => Thenable<{ item: Button } | undefined>;

export const inform = message(vscode.window.showInformationMessage);
export const warn = message(vscode.window.showWarningMessage);
export const fail = message(vscode.window.showErrorMessage);

/** Buttons' titles are texts, too: the chosen item is the one that was given. */
function message(call: unknown): Message {
  const button = (r: Button | vscode.MessageOptions): object =>
    typeof r === "string" ? { title: literal(r), item: r } : "title" in r ? { ...r, title: literal(r.title), item: r } : r;
  const shown = async (text: string, ...rest: (Button | vscode.MessageOptions)[]) => (await (call as Call)(literal(text), ...rest.map(button)))?.item;
  return shown as Message;
}

/** An entry of a list; icon is the name of a product icon. */
export interface Item extends vscode.QuickPickItem {
  readonly icon?: string;
}

/** pick lets the user choose one of the items. */
export async function pick<T extends Item>(items: readonly T[], options: vscode.QuickPickOptions): Shown<T> {
  const rows = items.map((item) => ({
    ...item,
    label: (item.icon ? `$(${item.icon}) ` : "") + literal(item.label),
    description: item.description && literal(item.description),
    detail: item.detail && literal(item.detail),
    item,
  }));
  return (await vscode.window.showQuickPick(rows, plain(options)))?.item;
}

/** ask lets the user write a line. */
export const ask = (options: vscode.InputBoxOptions) => vscode.window.showInputBox(plain(options));

function plain<O extends { title?: string; prompt?: string; placeHolder?: string }>(options: O): O {
  const { title, prompt, placeHolder } = options;
  return { ...options, title: title && literal(title), prompt: prompt && literal(prompt), placeHolder: placeHolder && literal(placeHolder) };
}

/** progress shows a notification, or a text in the status bar, until run is done. */
export function progress<R>(
  options: vscode.ProgressOptions,
  run: (report: (message: string) => void, token: vscode.CancellationToken) => Thenable<R>,
): Thenable<R> {
  const titled = { ...options, title: options.title && literal(options.title) };
  return vscode.window.withProgress(titled, (bar, token) => run((message) => bar.report({ message: literal(message) }), token));
}
