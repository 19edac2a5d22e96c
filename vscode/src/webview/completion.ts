// Completion at the caret: a mention after @, a command after /.

import type { AvailableCommand } from "../protocol";
import { quoted } from "../shared/mention";
import { rank } from "../shared/rank";

export interface Completing {
  kind: "mention" | "command";
  query: string;
  prefix?: "file:" | "folder:"; // stands before the query
  from: number; // where the @ or the / stands
}

export interface Suggestion {
  insert: string; // replaces the typed text
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
  const mention = /(?:^|[\s(])@((file:|folder:)?(?:"([^"\n]*)|([^\s@"]*)))$/.exec(before);
  const prefix = mention?.[2] as Completing["prefix"];
  return mention ? { kind: "mention", query: mention[3] ?? mention[4]!, ...(prefix && { prefix }), from: caret - mention[1]!.length - 1 } : undefined;
}

const places: Suggestion[] = [
  { insert: "@file ", label: "file", detail: "the file in the editor", icon: "file" },
  { insert: "@selection ", label: "selection", detail: "what is selected in the editor", icon: "list-selection" },
  { insert: "@diagnostics ", label: "diagnostics", detail: "the problems that the editor shows", icon: "warning" },
  { insert: "@file:", label: "file:", detail: "a file, or lines of it: @file:PATH:A-B", icon: "file" },
  { insert: "@folder:", label: "folder:", detail: "the names of the files in a folder", icon: "folder" },
  { insert: "@diff ", label: "diff", detail: "the changes that are not staged", icon: "diff" },
  { insert: "@staged ", label: "staged", detail: "the staged changes", icon: "diff-added" },
  { insert: "@git:", label: "git:", detail: "the last commits: @git:N", icon: "git-commit" },
  { insert: "@problems ", label: "problems", detail: "all problems of the workspace", icon: "warning" },
  { insert: "@symbol:", label: "symbol:", detail: "the definitions of a name", icon: "symbol-method" },
  { insert: "@url:", label: "url:", detail: "the text of a web page", icon: "globe" },
];

/** suggestions lists what may be meant. The files may be those for a shorter query: the host answers later than the user types. */
export function suggestions(c: Completing, commands: readonly AvailableCommand[], found: readonly string[]): Suggestion[] {
  const query = c.query.toLowerCase();
  const files = rank(found, query, found.length);
  if (c.kind === "command") {
    return commands
      .filter((k) => k.name.toLowerCase().startsWith(query))
      .map((k) => ({ insert: `/${k.name} `, label: `/${k.name}`, detail: [k.input?.hint, k.description].filter(Boolean).join(" — "), icon: "symbol-event" }));
  }
  if (c.prefix) {
    const names = c.prefix === "file:" ? files : [...new Set(files.map(folderOf))].filter((f) => f !== "");
    return names.map((f) => ({ insert: `@${c.prefix}${quoted(f)} `, label: f, icon: c.prefix === "file:" ? "file" : "folder" }));
  }
  return [
    ...places.filter((p) => p.label.startsWith(query)),
    ...files.map((f) => ({
      insert: `@${quoted(f)} `,
      label: f.slice(f.lastIndexOf("/") + 1),
      detail: f.slice(0, Math.max(0, f.lastIndexOf("/"))),
      icon: "file",
      file: f,
    })),
  ];
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);

/** isWhole tells whether a suggestion stands there already. */
export function isWhole(c: Completing, s: Suggestion): boolean {
  return s.insert.trim().slice(1) === (c.prefix ?? "") + quoted(c.query);
}

/** accepted is the text with a suggestion in it, and where the caret goes. */
export function accepted(text: string, caret: number, c: Completing, s: Suggestion): { text: string; caret: number } {
  const after = s.insert.endsWith(" ") ? text.slice(caret).replace(/^ /, "") : text.slice(caret);
  return { text: text.slice(0, c.from) + s.insert + after, caret: c.from + s.insert.length };
}
