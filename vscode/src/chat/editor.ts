import * as path from "node:path";
import * as vscode from "vscode";

import { editing, readOnlyHere } from "../edits";
import { target } from "./address";
import { region } from "./region";
import * as show from "../show";

/** link opens the target of a link: an address in the browser, a file in the editor. */
export async function link(href: string): Promise<void> {
  const to = target(href);
  if (to && "outside" in to) await vscode.env.openExternal(vscode.Uri.parse(to.outside, true));
  else if (to) await open(to.path, to.line);
}

/** open shows a file, absolute or of the workspace, at a line that counts from 1. */
export async function open(name: string, line?: number): Promise<void> {
  const uri = absolute(name);
  const at = line ? new vscode.Position(line - 1, 0) : undefined;
  await vscode.window.showTextDocument(uri, { preview: true, ...(at && { selection: new vscode.Range(at, at) }) });
}

function absolute(name: string): vscode.Uri {
  const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return vscode.Uri.file(path.isAbsolute(name) ? name : path.join(root, name));
}

/** insert puts a text where the cursor is. */
export async function insert(text: string): Promise<void> {
  const editor = editorInSight();
  if (!editor) {
    void show.inform("Open the file first that the code is for.");
    return;
  }
  await editor.edit((edit) => editor.selections.forEach((s) => edit.replace(s, text)));
}

function editorInSight(): vscode.TextEditor | undefined {
  return vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
}

/** Shows two texts of a file beside each other. */
export type Compare = (file: string, before: string, after: string) => Promise<void>;

/**
 * apply replaces a text by code: the selection, else the lines that begin and end as the
 * code does. If there are none or several, it asks the user. The file is not saved: the
 * change can be undone, and compared with the text before.
 */
export async function apply(text: string, language: string, compare: Compare): Promise<void> {
  const editor = editorInSight();
  if (!editor) return asNewFile(text, language);
  const { document, selection } = editor;
  const plain = selection.isEmpty ? rangeOf(document, text) : new vscode.Range(selection.start, selection.end);
  const where = plain ?? (await askWhere(document, selection.active));
  if (where === "new") return asNewFile(text, language);
  if (where) await replace(document, where, text, compare);
}

function rangeOf(document: vscode.TextDocument, text: string): vscode.Range | undefined {
  const lines = document.getText().split(/\r?\n/);
  const found = region(lines, text);
  return found && new vscode.Range(found.first, 0, found.last, lines[found.last]!.length);
}

async function askWhere(document: vscode.TextDocument, cursor: vscode.Position): Promise<vscode.Range | "new" | undefined> {
  const name = path.basename(document.uri.fsPath);
  const choices = [
    { icon: "insert", label: "At the cursor", where: new vscode.Range(cursor, cursor) },
    { icon: "replace-all", label: `In place of all of ${name}`, where: new vscode.Range(0, 0, document.lineCount, 0) },
    { icon: "new-file", label: "In a new file", where: "new" as const },
  ];
  return (await show.pick(choices, { title: "Where does this code go?" }))?.where;
}

async function replace(document: vscode.TextDocument, range: vscode.Range, text: string, compare: Compare): Promise<void> {
  const before = document.getText();
  const edit = new vscode.WorkspaceEdit();
  const body = range.isEmpty || range.end.character === 0 ? text : text.replace(/\n$/, "");
  edit.replace(document.uri, range, body);
  const name = path.basename(document.uri.fsPath);
  const { result, readOnly } = await editing([document.uri.toString()], () => vscode.workspace.applyEdit(edit));
  if (!result || readOnly.length > 0) throw new Error(`${name} cannot be changed${readOnly.length > 0 ? `: it is ${readOnlyHere}` : ""}`);
  const changed = await vscode.window.showTextDocument(document);
  changed.revealRange(new vscode.Range(range.start, range.start.translate(body.split("\n").length)), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  void offerComparison(document, before, compare);
}

async function offerComparison(document: vscode.TextDocument, before: string, compare: Compare): Promise<void> {
  const choice = await show.inform(`The code is in ${path.basename(document.uri.fsPath)}, which is not saved yet.`, "Compare");
  if (choice) await compare(document.uri.fsPath, before, document.getText());
}

async function asNewFile(text: string, language: string): Promise<void> {
  const known = await vscode.languages.getLanguages();
  const document = await vscode.workspace.openTextDocument({ content: text, ...(known.includes(language) && { language }) });
  await vscode.window.showTextDocument(document);
}
