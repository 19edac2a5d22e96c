import * as vscode from "vscode";

import { position } from "./diagnostics";
import type { EditorFile, EditorPlace, EditorProblems, EditorState } from "./protocol";

/** How many files are told at most. */
const most = 100;

/** editorState is the part of the editor that the user sees. */
export function editorState(): EditorState {
  const editor = vscode.window.activeTextEditor;
  return {
    ...(editor?.document.uri.scheme === "file" && { active: place(editor) }),
    open: open().slice(0, most),
    problems: problems().slice(0, most),
  };
}

function place(editor: vscode.TextEditor): EditorPlace {
  const visible = editor.visibleRanges[0];
  return {
    uri: editor.document.uri.toString(),
    position: position(editor.selection.active),
    ...(!editor.selection.isEmpty && { selection: range(editor.selection) }),
    ...(visible && { visible: range(visible) }),
  };
}

const range = (r: vscode.Range) => ({ start: position(r.start), end: position(r.end) });

/** open lists the files of the tabs, those that are shown first. */
function open(): EditorFile[] {
  const tabs = vscode.window.tabGroups.all.flatMap((g) => g.tabs);
  const files = new Map<string, EditorFile>();
  for (const tab of [...tabs.filter((t) => t.isActive), ...tabs]) {
    if (tab.input instanceof vscode.TabInputText && tab.input.uri.scheme === "file") {
      const uri = tab.input.uri.toString();
      if (!files.has(uri)) files.set(uri, { uri, ...(tab.isDirty && { unsaved: true }) });
    }
  }
  return [...files.values()];
}

function problems(): EditorProblems[] {
  const all = vscode.languages.getDiagnostics().filter(([uri]) => uri.scheme === "file");
  const count = (list: readonly vscode.Diagnostic[], severity: vscode.DiagnosticSeverity) => list.filter((d) => d.severity === severity).length;
  return all
    .map(([uri, list]) => ({
      uri: uri.toString(),
      errors: count(list, vscode.DiagnosticSeverity.Error),
      warnings: count(list, vscode.DiagnosticSeverity.Warning),
    }))
    .filter((p) => p.errors + p.warnings > 0)
    .sort((a, b) => b.errors - a.errors);
}
