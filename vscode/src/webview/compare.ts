// The lines that a change has added and removed.

import { structuredPatch } from "diff";
import type { ToolCallContent } from "../protocol";

/** Texts that differ in more lines are shown as replaced. */
const maxEdits = 2000;
const maxTime = 150; // milliseconds

export interface Line {
  sign: " " | "+" | "-";
  text: string;
  before?: number;
  after?: number;
}

export interface Change {
  hunks: Line[][];
  added: number;
  removed: number;
}

const known = new WeakMap<ToolCallContent, Change>();

/** counts sums up the diffs of a call; nothing if there are none. */
export function counts(content: readonly ToolCallContent[]): { added: number; removed: number } | undefined {
  const diffs = content.filter((c) => c.type === "diff");
  if (diffs.length === 0) return undefined;
  return diffs.map(changeOf).reduce((a, b) => ({ added: a.added + b.added, removed: a.removed + b.removed }), { added: 0, removed: 0 });
}

function changeOf(c: ToolCallContent): Change {
  let change = known.get(c);
  if (!change) {
    change = compare(c.oldText ?? "", c.newText ?? "");
    known.set(c, change);
  }
  return change;
}

/** compare finds the changed lines, with three lines around them. */
export function compare(before: string, after: string): Change {
  const patch = structuredPatch("", "", before, after, undefined, undefined, { context: 3, maxEditLength: maxEdits, timeout: maxTime });
  const change: Change = { hunks: [], added: 0, removed: 0 };
  if (!patch) {
    const [old, fresh] = [lines(before), lines(after)];
    change.hunks.push([
      ...old.map((text, i): Line => ({ sign: "-", text, before: i + 1 })),
      ...fresh.map((text, i): Line => ({ sign: "+", text, after: i + 1 })),
    ]);
    return { ...change, added: fresh.length, removed: old.length };
  }
  for (const hunk of patch.hunks) {
    let [old, fresh] = [hunk.oldStart, hunk.newStart];
    const found: Line[] = [];
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line[0] === "+") found.push({ sign: "+", text, after: fresh++ });
      else if (line[0] === "-") found.push({ sign: "-", text, before: old++ });
      else if (line[0] === " ") found.push({ sign: " ", text, before: old++, after: fresh++ });
    }
    change.added += found.filter((l) => l.sign === "+").length;
    change.removed += found.filter((l) => l.sign === "-").length;
    change.hunks.push(found);
  }
  return change;
}

function lines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
