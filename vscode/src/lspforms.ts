// Converts VS Code's types to those of the Language Server Protocol. Nothing here calls the editor,
// so that tests can run without it.
import type * as vscode from "vscode";
import type * as lsp from "vscode-languageclient/node";

const position = (p: vscode.Position): lsp.Position => ({ line: p.line, character: p.character });

export const range = (r: vscode.Range): lsp.Range => ({ start: position(r.start), end: position(r.end) });

/** Converts a location, or a link to one. */
export function location(l: vscode.Location | vscode.LocationLink): lsp.Location {
  return "targetUri" in l
    ? { uri: l.targetUri.toString(), range: range(l.targetSelectionRange ?? l.targetRange) }
    : { uri: l.uri.toString(), range: range(l.range) };
}

/** Joins hovers to one. If there is none, it returns null. */
export function hover(list: vscode.Hover[]): lsp.Hover | null {
  const parts = list.flatMap((h) => h.contents.map(markdown)).filter((text) => text !== "");
  const area = list.find((h) => h.range)?.range;
  return parts.length === 0 ? null : { contents: { kind: "markdown", value: parts.join("\n\n") }, ...(area && { range: range(area) }) };
}

function markdown(m: vscode.MarkdownString | vscode.MarkedString): string {
  if (typeof m === "string") return m;
  return "language" in m ? `\`\`\`${m.language}\n${m.value}\n\`\`\`` : m.value;
}

/** Converts a symbol of a document with those in it, or a symbol of the workspace. VS Code counts kinds from 0. */
export function symbol(s: vscode.DocumentSymbol | vscode.SymbolInformation): lsp.DocumentSymbol | lsp.WorkspaceSymbol {
  const common = { name: s.name, kind: (s.kind + 1) as lsp.SymbolKind, ...(s.tags?.length && { tags: s.tags as number[] as lsp.SymbolTag[] }) };
  if ("selectionRange" in s) {
    const children = s.children.map((child) => symbol(child) as lsp.DocumentSymbol);
    return { ...common, ...(s.detail && { detail: s.detail }), range: range(s.range), selectionRange: range(s.selectionRange), children };
  }
  const { uri, range: area } = s.location as { uri: vscode.Uri; range?: vscode.Range }; // some providers tell only the file
  return { ...common, ...(s.containerName && { containerName: s.containerName }), location: { uri: uri.toString(), ...(area && { range: range(area) }) } };
}

/** The members of a WorkspaceEdit as VS Code keeps them: its interface shows only the edits of texts. */
type Member =
  | { _type: 1; from?: vscode.Uri; to?: vscode.Uri; options?: FileOptions }
  | { _type: 2; uri: vscode.Uri; edit: vscode.TextEdit }
  | { _type: 6; uri: vscode.Uri; range: vscode.Range; edit: vscode.SnippetString };

interface FileOptions {
  readonly overwrite?: boolean;
  readonly ignoreIfExists?: boolean;
  readonly ignoreIfNotExists?: boolean;
  readonly recursive?: boolean;
  readonly contents?: unknown;
}

function membersOf(edit: vscode.WorkspaceEdit): readonly Member[] {
  const all = (edit as unknown as { _allEntries?(): readonly Member[] })._allEntries?.();
  return all ?? edit.entries().flatMap(([uri, edits]) => edits.map((e): Member => ({ _type: 2, uri, edit: e })));
}

type Change = NonNullable<lsp.WorkspaceEdit["documentChanges"]>[number];

/**
 * Converts an edit. Versions has the versions of open documents at the time of the request. If an
 * edit has a member that the protocol does not know, it throws.
 */
export function workspaceEdit(edit: vscode.WorkspaceEdit, versions: ReadonlyMap<string, number>): lsp.WorkspaceEdit {
  const changes: Change[] = [];
  let texts = new Map<string, lsp.TextDocumentEdit>(); // since the last change of a file
  const textEdits = (uri: string): lsp.TextDocumentEdit["edits"] => {
    let found = texts.get(uri);
    if (!found) {
      found = { textDocument: { uri, version: versions.get(uri) ?? null }, edits: [] };
      texts.set(uri, found);
      changes.push(found);
    }
    return found.edits;
  };
  for (const m of membersOf(edit)) {
    switch (m._type) {
      case 1:
        texts = new Map();
        changes.push(fileChange(m.from?.toString(), m.to?.toString(), m.options ?? {}));
        if (m.to && m.options?.contents) {
          textEdits(m.to.toString()).push({ range: nowhere, newText: textOf(m.options.contents) });
        }
        break;
      case 2:
        textEdits(m.uri.toString()).push({ range: range(m.edit.range), newText: m.edit.newText });
        break;
      case 6:
        textEdits(m.uri.toString()).push({ range: range(m.range), snippet: { kind: "snippet", value: m.edit.value } });
        break;
      default:
        throw new Error("the edit has a change that is no change of a text or file");
    }
  }
  return { documentChanges: changes };
}

const nowhere: lsp.Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

function fileChange(from: string | undefined, to: string | undefined, o: FileOptions): Change {
  const { overwrite, ignoreIfExists, ignoreIfNotExists, recursive } = o;
  if (from && to) return { kind: "rename", oldUri: from, newUri: to, options: { overwrite, ignoreIfExists } };
  if (to) return { kind: "create", uri: to, options: { overwrite, ignoreIfExists } };
  return { kind: "delete", uri: from ?? "", options: { recursive, ignoreIfNotExists } };
}

function textOf(contents: unknown): string {
  if (!(contents instanceof Uint8Array)) throw new Error("the edit creates a file whose contents are not known yet");
  return new TextDecoder("utf-8", { fatal: true }).decode(contents);
}

/** Converts a code action. A command is only named: the agent runs none. */
export function codeAction(a: vscode.CodeAction | vscode.Command, versions: ReadonlyMap<string, number>): lsp.CodeAction | lsp.Command {
  if (typeof a.command === "string") {
    return { title: a.title, command: a.command };
  }
  const { title, kind, edit, command, isPreferred, disabled } = a as vscode.CodeAction;
  return {
    title,
    ...(kind && { kind: kind.value }),
    ...(isPreferred && { isPreferred }),
    ...(disabled && { disabled }),
    ...(edit && { edit: workspaceEdit(edit, versions) }),
    ...(command && { command: { title: command.title, command: command.command } }),
  };
}
