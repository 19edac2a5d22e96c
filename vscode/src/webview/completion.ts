// What can be completed where the caret stands: a mention after @, a command after /.

import type { AvailableCommand } from "../protocol";

export interface Completing {
  kind: "mention" | "command";
  query: string;
  from: number; // where the @ or the / stands
}

export interface Suggestion {
  insert: string; // in place of what was typed
  label: string;
  detail?: string;
  icon: string;
  file?: string; // a path of the workspace
}

/** completing looks at the text before the caret. */
export function completing(text: string, caret: number): Completing | undefined {
  const before = text.slice(0, caret);
  const command = /^\/(\S*)$/.exec(before);
  if (command) return { kind: "command", query: command[1]!, from: 0 };
  const mention = /(?:^|[\s(])@([^\s@]*)$/.exec(before);
  return mention ? { kind: "mention", query: mention[1]!, from: caret - mention[1]!.length - 1 } : undefined;
}

const places: Suggestion[] = [
  { insert: "@file ", label: "file", detail: "the file in the editor", icon: "file" },
  { insert: "@selection ", label: "selection", detail: "what is selected in the editor", icon: "list-selection" },
  { insert: "@diagnostics ", label: "diagnostics", detail: "the problems that the editor shows", icon: "warning" },
];

export function suggestions(c: Completing, commands: readonly AvailableCommand[], files: readonly string[]): Suggestion[] {
  const query = c.query.toLowerCase();
  if (c.kind === "command") {
    return commands
      .filter((k) => k.name.toLowerCase().startsWith(query))
      .map((k) => ({ insert: `/${k.name} `, label: `/${k.name}`, detail: [k.input?.hint, k.description].filter(Boolean).join(" — "), icon: "symbol-event" }));
  }
  return [
    ...places.filter((p) => p.label.startsWith(query)),
    ...files.map((f) => ({ insert: `@${f} `, label: f.slice(f.lastIndexOf("/") + 1), detail: f.slice(0, Math.max(0, f.lastIndexOf("/"))), icon: "file", file: f })),
  ];
}

/** isWhole tells whether a suggestion stands there already. */
export function isWhole(c: Completing, s: Suggestion): boolean {
  return s.insert.trim().slice(1) === c.query;
}

/** accepted is the text with a suggestion in it, and where the caret goes. */
export function accepted(text: string, caret: number, c: Completing, s: Suggestion): { text: string; caret: number } {
  const after = text.slice(caret).replace(/^ /, "");
  return { text: text.slice(0, c.from) + s.insert + after, caret: c.from + s.insert.length };
}
