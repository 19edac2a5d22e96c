// Changed lines of a document, and the results of accepting or rejecting some of them. Texts
// have "\n" as line ends.
import { diffArrays } from "diff";

/** Adjacent changed lines. */
export interface Hunk {
  /** Its first line in the earlier text, and the lines there. */
  readonly from: number;
  readonly removed: readonly string[];
  /** Its first line in the present text, and the lines there. */
  readonly at: number;
  readonly added: readonly string[];
}

/** An edit of the present text; positions are [line, character]. */
export interface Edit {
  readonly start: readonly [number, number];
  readonly end: readonly [number, number];
  readonly text: string;
}

/** Returns the changed lines, first to last. */
export function hunksOf(before: string, now: string): Hunk[] {
  const hunks: Hunk[] = [];
  let from = 0;
  let at = 0;
  let removed: string[] = [];
  let added: string[] = [];
  const finish = () => {
    if (removed.length + added.length > 0) {
      hunks.push({ from, removed, at, added });
      from += removed.length;
      at += added.length;
      removed = [];
      added = [];
    }
  };
  for (const part of diffArrays(before.split("\n"), now.split("\n"))) {
    if (part.removed) {
      removed.push(...part.value);
    } else if (part.added) {
      added.push(...part.value);
    } else {
      finish();
      from += part.value.length;
      at += part.value.length;
    }
  }
  finish();
  return hunks;
}

/** Returns the hunk at a line of the present text. A hunk without lines there belongs to the line above it. */
export const hunkAt = (hunks: readonly Hunk[], line: number): Hunk | undefined =>
  hunks.find((h) => line >= h.at - (h.added.length === 0 ? 1 : 0) && line < h.at + Math.max(h.added.length, 1));

/** Returns the earlier text with the hunk's new lines. */
export function accepted(before: string, hunk: Hunk): string {
  const lines = before.split("\n");
  lines.splice(hunk.from, hunk.removed.length, ...hunk.added);
  return lines.join("\n");
}

/** Returns the edit of the present text that restores the hunk's earlier lines. */
export function rejection(now: string, hunk: Hunk): Edit {
  const lines = now.split("\n");
  const end = hunk.at + hunk.added.length;
  if (end < lines.length) {
    return { start: [hunk.at, 0], end: [end, 0], text: hunk.removed.map((l) => `${l}\n`).join("") };
  }
  const last: [number, number] = [lines.length - 1, lines.at(-1)!.length];
  if (hunk.at === 0) {
    return { start: [0, 0], end: last, text: hunk.removed.join("\n") };
  }
  return { start: [hunk.at - 1, lines[hunk.at - 1].length], end: last, text: hunk.removed.map((l) => `\n${l}`).join("") };
}
