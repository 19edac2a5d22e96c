import assert from "node:assert/strict";
import { test } from "node:test";
import type * as vscode from "vscode";

import * as forms from "../lspforms";

const uri = (name: string) => ({ toString: () => `file:///w/${name}` });
const area = (...n: number[]) => ({ start: { line: n[0], character: n[1] }, end: { line: n[2], character: n[3] } });

/** The types of the editor are classes with more methods than the conversion uses. */
const as = <T>(value: unknown) => value as T;

test("a location and a link to one have the same form", () => {
  const want = { uri: "file:///w/a.ts", range: area(1, 2, 1, 5) };
  assert.deepEqual(forms.location(as({ uri: uri("a.ts"), range: area(1, 2, 1, 5) })), want);
  assert.deepEqual(forms.location(as({ targetUri: uri("a.ts"), targetRange: area(0, 0, 9, 0), targetSelectionRange: area(1, 2, 1, 5) })), want);
  assert.deepEqual(forms.location(as({ targetUri: uri("a.ts"), targetRange: area(1, 2, 1, 5) })), want);
});

test("hovers are joined", () => {
  const list = [{ contents: [{ value: "one" }, { language: "go", value: "func f()" }, ""] }, { contents: ["two"], range: area(1, 2, 1, 5) }];
  assert.deepEqual(forms.hover(as(list)), { contents: { kind: "markdown", value: "one\n\n```go\nfunc f()\n```\n\ntwo" }, range: area(1, 2, 1, 5) });
  assert.equal(forms.hover(as([{ contents: [{ value: "" }] }])), null);
  assert.equal(forms.hover([]), null);
});

test("kinds of symbols count from 1, and nested symbols stay nested", () => {
  const method = { name: "run", detail: "(): void", kind: 5, tags: [1], range: area(1, 0, 2, 1), selectionRange: area(1, 2, 1, 5), children: [] };
  const list = { name: "Shop", detail: "", kind: 4, range: area(0, 0, 3, 1), selectionRange: area(0, 6, 0, 10), children: [method] };
  assert.deepEqual(forms.symbol(as(list)), {
    name: "Shop",
    kind: 5,
    range: area(0, 0, 3, 1),
    selectionRange: area(0, 6, 0, 10),
    children: [{ ...method, kind: 6 }],
  });
});

test("a symbol of the workspace may have no range", () => {
  const symbol = (location: unknown) => forms.symbol(as({ name: "Shop", kind: 4, containerName: "shop", location }));
  assert.deepEqual(symbol({ uri: uri("a.ts"), range: area(1, 0, 2, 0) }), {
    name: "Shop",
    kind: 5,
    containerName: "shop",
    location: { uri: "file:///w/a.ts", range: area(1, 0, 2, 0) },
  });
  assert.deepEqual(symbol({ uri: uri("a.ts") }), { name: "Shop", kind: 5, containerName: "shop", location: { uri: "file:///w/a.ts" } });
});

/** An edit as VS Code keeps it. */
const edited = (...members: unknown[]) => as<vscode.WorkspaceEdit>({ _allEntries: () => members, entries: () => [] });
const text = (name: string, at: unknown, newText: string) => ({ _type: 2, uri: uri(name), edit: { range: at, newText } });

test("an edit has the texts of each document with its version, and changes of files in their order", () => {
  const got = forms.workspaceEdit(
    edited(
      text("a.ts", area(0, 0, 0, 1), "x"),
      text("b.ts", area(0, 0, 0, 1), "y"),
      text("a.ts", area(3, 0, 3, 1), "z"),
      { _type: 1, from: uri("a.ts"), to: uri("c.ts"), options: { overwrite: true } },
      text("c.ts", area(1, 0, 1, 0), "!"),
      { _type: 1, to: uri("d.ts"), options: { ignoreIfExists: true, contents: new TextEncoder().encode("né") } },
      { _type: 1, from: uri("e.ts"), options: { recursive: true } },
      { _type: 6, uri: uri("f.ts"), range: area(0, 0, 0, 0), edit: { value: "${1:x}" } },
    ),
    new Map([["file:///w/a.ts", 7]]),
  );
  assert.deepEqual(JSON.parse(JSON.stringify(got)), {
    documentChanges: [
      {
        textDocument: { uri: "file:///w/a.ts", version: 7 },
        edits: [
          { range: area(0, 0, 0, 1), newText: "x" },
          { range: area(3, 0, 3, 1), newText: "z" },
        ],
      },
      { textDocument: { uri: "file:///w/b.ts", version: null }, edits: [{ range: area(0, 0, 0, 1), newText: "y" }] },
      { kind: "rename", oldUri: "file:///w/a.ts", newUri: "file:///w/c.ts", options: { overwrite: true } },
      { textDocument: { uri: "file:///w/c.ts", version: null }, edits: [{ range: area(1, 0, 1, 0), newText: "!" }] },
      { kind: "create", uri: "file:///w/d.ts", options: { ignoreIfExists: true } },
      { textDocument: { uri: "file:///w/d.ts", version: null }, edits: [{ range: area(0, 0, 0, 0), newText: "né" }] },
      { kind: "delete", uri: "file:///w/e.ts", options: { recursive: true } },
      { textDocument: { uri: "file:///w/f.ts", version: null }, edits: [{ range: area(0, 0, 0, 0), snippet: { kind: "snippet", value: "${1:x}" } }] },
    ],
  });
});

test("an edit that cannot be told is an error", () => {
  const none = new Map<string, number>();
  assert.throws(() => forms.workspaceEdit(edited({ _type: 3, uri: uri("a.ipynb") }), none), /no change of a text or file/);
  assert.throws(() => forms.workspaceEdit(edited({ _type: 1, to: uri("a.ts"), options: { contents: { id: 1 } } }), none), /not known yet/);
});

test("an editor without its members shows the edits of texts", () => {
  const entries = () => [[uri("a.ts"), [{ range: area(0, 0, 0, 1), newText: "x" }]]];
  assert.deepEqual(forms.workspaceEdit(as({ entries }), new Map()), {
    documentChanges: [{ textDocument: { uri: "file:///w/a.ts", version: null }, edits: [{ range: area(0, 0, 0, 1), newText: "x" }] }],
  });
});

test("a code action has its edit, and of a command the name", () => {
  const none = new Map<string, number>();
  const edit = edited(text("a.ts", area(0, 0, 0, 1), "x"));
  const command = { title: "Apply", command: "ts.apply", arguments: [{ secret: true }] };
  assert.deepEqual(forms.codeAction(as({ title: "Fix", kind: { value: "quickfix" }, isPreferred: true, edit, command }), none), {
    title: "Fix",
    kind: "quickfix",
    isPreferred: true,
    edit: { documentChanges: [{ textDocument: { uri: "file:///w/a.ts", version: null }, edits: [{ range: area(0, 0, 0, 1), newText: "x" }] }] },
    command: { title: "Apply", command: "ts.apply" },
  });
  assert.deepEqual(forms.codeAction(command, none), { title: "Apply", command: "ts.apply" });
});
