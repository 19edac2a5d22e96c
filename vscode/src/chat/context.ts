import * as vscode from "vscode";

import type { ContentBlock } from "../protocol";
import type { Attachment } from "../shared/messages";
import { quoted as inQuotes } from "../shared/mention";
import { pieces, written } from "./mentions";

/** How much of a selection or of a list of problems goes with a prompt, in characters. */
const maxText = 200_000;

/** blocks returns a prompt as the protocol has it: text and mentions in their order, then the attachments. */
export async function blocks(text: string, mentions: readonly string[], attachments: readonly Attachment[]): Promise<ContentBlock[]> {
  const mentioned = attachments.filter((a) => text.includes(`@${a.name}`) || text.includes(`@${inQuotes(a.name)}`));
  const found: ContentBlock[] = [];
  for (const p of pieces(text, [...mentions, ...mentioned.map((a) => a.name)])) {
    const block = "mention" in p ? await mention(p.mention, mentioned) : undefined;
    found.push(block ?? { type: "text", text: written(p) });
  }
  return [...joined(found), ...attachments.filter((a) => !mentioned.includes(a)).map(attached)];
}

/** joined makes one text of texts that follow each other. */
function joined(all: ContentBlock[]): ContentBlock[] {
  return all.reduce<ContentBlock[]>((before, b) => {
    const last = before.at(-1);
    if (last?.type === "text" && b.type === "text") last.text += b.text ?? "";
    else before.push({ ...b });
    return before;
  }, []);
}

function attached(a: Attachment): ContentBlock {
  switch (a.kind) {
    case "file":
      return { type: "resource_link", name: a.name, uri: a.uri };
    case "text":
      return { type: "resource", resource: { uri: a.uri, text: a.text } };
    case "image":
      return { type: "image", mimeType: a.mimeType, data: a.data, ...(a.uri ? { uri: a.uri } : {}) };
  }
}

/** References that stay text: the server expands them. */
const expandedByServer = /^(diff|staged|problems|(file|folder|git|url|symbol):.*)$/;

async function mention(name: string, known: readonly Attachment[]): Promise<ContentBlock | undefined> {
  if (expandedByServer.test(name)) return undefined;
  switch (name) {
    case "file":
      return file(vscode.window.activeTextEditor?.document.uri);
    case "selection":
      return selection();
    case "diagnostics":
      return diagnostics();
  }
  const a = known.find((k) => k.name === name);
  return a ? attached(a) : file(await find(name));
}

function file(uri: vscode.Uri | undefined): ContentBlock | undefined {
  return uri && { type: "resource_link", name: vscode.workspace.asRelativePath(uri), uri: uri.toString() };
}

/** find is the file of the workspace that a path names. */
async function find(path: string): Promise<vscode.Uri | undefined> {
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    for (const relative of [path, path.startsWith(`${folder.name}/`) ? path.slice(folder.name.length + 1) : ""]) {
      const uri = relative ? vscode.Uri.joinPath(folder.uri, relative) : undefined;
      if (uri && (await exists(uri))) return uri;
    }
  }
  return undefined;
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false; // then it is just a word
  }
}

function selection(): ContentBlock | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && quoted(editor.document, editor.selection.isEmpty ? undefined : editor.selection);
}

/** quoted is a part of a document, or the whole of it, with its text as it is in the editor. */
function quoted(document: vscode.TextDocument, range?: vscode.Range): ContentBlock {
  const whole = range ?? new vscode.Range(0, 0, document.lineCount, 0);
  return { type: "resource", resource: { uri: address(document.uri, range), text: document.getText(whole).slice(0, maxText) } };
}

/** address is a document's, with the lines: #L3-L7. */
export function address(uri: vscode.Uri, range?: vscode.Range): string {
  if (!range) return uri.toString();
  const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line : range.end.line + 1;
  const lines = last > range.start.line + 1 ? `L${range.start.line + 1}-L${last}` : `L${range.start.line + 1}`;
  return `${uri.toString()}#${lines}`;
}

const severities = ["error", "warning", "information", "hint"];

/** diagnostics are the problems of the file in the editor; where there is none, of the workspace. */
function diagnostics(): ContentBlock {
  const here = vscode.window.activeTextEditor?.document.uri;
  const own = here ? vscode.languages.getDiagnostics(here) : [];
  const all: [vscode.Uri, vscode.Diagnostic[]][] = own.length > 0 ? [[here!, own]] : vscode.languages.getDiagnostics();
  const lines = all.flatMap(([uri, list]) => list.map((d) => line(uri, d)));
  const uri = own.length > 0 ? `${here!.toString()}#diagnostics` : `${vscode.workspace.workspaceFolders?.[0]?.uri.toString() ?? "file:///"}#diagnostics`;
  return { type: "resource", resource: { uri, text: (lines.join("\n") || "The editor shows no problems.").slice(0, maxText) } };
}

function line(uri: vscode.Uri, d: vscode.Diagnostic): string {
  const code = typeof d.code === "object" ? d.code.value : d.code;
  const origin = [d.source, code].filter((x) => x !== undefined && x !== "").join(" ");
  return `${vscode.workspace.asRelativePath(uri)}:${d.range.start.line + 1}:${d.range.start.character + 1}: ${severities[d.severity]}: ${d.message}${origin ? ` (${origin})` : ""}`;
}

/** mentioned returns the text in the composer that stands for a file, or a part of it. */
export async function mentioned(uri: vscode.Uri, range?: vscode.Range): Promise<Attachment> {
  if (!range || range.isEmpty) return { kind: "file", name: vscode.workspace.asRelativePath(uri), uri: uri.toString() };
  const document = await vscode.workspace.openTextDocument(uri);
  const at = address(uri, range);
  return {
    kind: "text",
    name: `${vscode.workspace.asRelativePath(uri)}${at.slice(at.lastIndexOf("#"))}`,
    uri: at,
    text: document.getText(range).slice(0, maxText),
  };
}
