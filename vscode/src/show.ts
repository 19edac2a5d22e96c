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

/** Shows messages in place of notifications while it is visible. */
export interface Chat {
  readonly visible: boolean;
  /** Returns the index of the button that the user presses; undefined: none. toast shows the same message as a notification. */
  show(m: ChatMessage, toast: () => Promise<number | undefined>): Promise<number | undefined>;
}

export interface ChatMessage {
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly buttons: readonly string[];
  /** The sender waits for an answer, until the token is canceled. */
  readonly question?: vscode.CancellationToken | undefined;
}

let chat: Chat | undefined;

/** From now on messages are shown in the chat while that is visible. Dialogs stay dialogs. */
export const inChat = (place: Chat) => void (chat = place);

/** Whether the user sees the chat. */
export const chatVisible = () => chat?.visible ?? false;

export const inform = message("info");
export const warn = message("warning");
export const fail = message("error");

/** question returns the function that shows a message whose sender waits for an answer. */
export const question = (severity: ChatMessage["severity"], token: vscode.CancellationToken): Message => message(severity, token);

const calls = { info: vscode.window.showInformationMessage, warning: vscode.window.showWarningMessage, error: vscode.window.showErrorMessage };

function message(severity: ChatMessage["severity"], question?: vscode.CancellationToken): Message {
  const shown = async (text: string, ...rest: (Button | vscode.MessageOptions)[]) => {
    const items = rest.filter((r): r is Button => typeof r === "string" || "title" in r);
    const toast = () => notification(severity, text, rest);
    const modal = rest.some((r) => typeof r !== "string" && "modal" in r && r.modal);
    if (!chat?.visible || modal) return toast();
    const at = async () => {
      const item = await toast();
      return item === undefined ? undefined : items.indexOf(item);
    };
    const pressed = await chat.show({ severity, text, buttons: items.map(titleOf), question }, at);
    return pressed === undefined ? undefined : items[pressed];
  };
  return shown as Message;
}

const titleOf = (b: Button) => (typeof b === "string" ? b : b.title);

/** Buttons' titles are texts, too: the chosen item is the one that was given. */
async function notification(severity: ChatMessage["severity"], text: string, rest: (Button | vscode.MessageOptions)[]): Promise<Button | undefined> {
  const button = (r: Button | vscode.MessageOptions): object =>
    typeof r === "string" ? { title: literal(r), item: r } : "title" in r ? { ...r, title: literal(r.title), item: r } : r;
  return (await (calls[severity] as unknown as Call)(literal(text), ...rest.map(button)))?.item;
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

/** progress shows a notification, or a text in the status bar, until run is done. While the chat is visible, it is always the status bar. */
export function progress<R>(
  options: vscode.ProgressOptions,
  run: (report: (message: string) => void, token: vscode.CancellationToken) => Thenable<R>,
): Thenable<R> {
  const location = chat?.visible ? vscode.ProgressLocation.Window : options.location;
  const titled = { ...options, location, title: options.title && literal(options.title) };
  return vscode.window.withProgress(titled, (bar, token) => run((message) => bar.report({ message: literal(message) }), token));
}
