import * as vscode from "vscode";

import { ActionArgs } from "./protocol";

/** A document, and a range of it; none is the whole. */
export type Place = Pick<ActionArgs, "textDocument" | "range">;

/** The selection of the active editor; undefined: nothing is selected. */
export function selectionHere(): Place | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && !editor.selection.isEmpty ? placeOf(editor.document, editor.selection) : undefined;
}

/** The selection, else the function or class that the cursor is in, else the file. */
export async function placeHere(): Promise<Place | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return undefined;
  }
  return selectionHere() ?? placeOf(editor.document, await symbolAt(editor.document, editor.selection.active));
}

/** A range of a document; none is the whole. */
export function placeOf(document: vscode.TextDocument, range?: vscode.Range): Place {
  return {
    textDocument: { uri: document.uri.toString() },
    ...(range && {
      range: {
        start: { line: range.start.line, character: range.start.character },
        end: { line: range.end.line, character: range.end.character },
      },
    }),
  };
}

const worthNaming = new Set([
  vscode.SymbolKind.Function,
  vscode.SymbolKind.Method,
  vscode.SymbolKind.Constructor,
  vscode.SymbolKind.Class,
  vscode.SymbolKind.Struct,
  vscode.SymbolKind.Interface,
  vscode.SymbolKind.Enum,
]);

/** The innermost function or type around a position, if a language server knows. */
async function symbolAt(document: vscode.TextDocument, at: vscode.Position): Promise<vscode.Range | undefined> {
  const found = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>(
    "vscode.executeDocumentSymbolProvider",
    document.uri,
  );
  let best: vscode.Range | undefined;
  const look = (list: readonly (vscode.DocumentSymbol | vscode.SymbolInformation)[]) => {
    for (const s of list) {
      const range = "location" in s ? s.location.range : s.range;
      if (range.contains(at) && worthNaming.has(s.kind)) {
        best = range;
      }
      look("children" in s ? s.children : []);
    }
  };
  look(found ?? []);
  return best;
}

/** The name of a place for users: "pricing.py, lines 3–9". */
export function rangeOf(place: Place): string {
  const name = vscode.workspace.asRelativePath(vscode.Uri.parse(place.textDocument.uri));
  if (!place.range) {
    return name;
  }
  const first = place.range.start.line + 1;
  const { end } = place.range;
  const last = end.character === 0 && end.line + 1 > first ? end.line : end.line + 1; // whole lines end at the start of the next
  return first === last ? `${name}, line ${first}` : `${name}, lines ${first}–${last}`;
}
