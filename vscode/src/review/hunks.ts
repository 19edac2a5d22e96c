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

/** A hunk of the agent's in a text that has changed since. */
export interface OwnHunk extends Hunk {
  /** Its first line in the text as the agent left it. */
  readonly was: number;
}

/**
 * Returns the agent's hunks, where they are in the present text. after is the text as the agent left
 * it. Lines that have changed since are the user's and are left out, unless only spaces differ, as
 * after the document was formatted.
 */
export function ownHunks(before: string, after: string, now: string): OwnHunk[] {
  const left = formatted(after, now);
  const since = hunksOf(left, now);
  return hunksOf(before, left).flatMap((h) => {
    const end = h.at + h.added.length;
    const above = since.filter((s) => s.from + s.removed.length <= h.at);
    if (since.some((s) => !above.includes(s) && s.from < end)) {
      return [];
    }
    return [{ ...h, was: h.at, at: h.at + above.reduce((n, s) => n + s.added.length - s.removed.length, 0) }];
  });
}

/** Returns the text as the agent left it, with the spaces of the present text. */
export function formatted(after: string, now: string): string {
  const words = (lines: readonly string[]) => lines.join("").replace(/\s+/g, "");
  return hunksOf(after, now)
    .filter((h) => h.removed.length > 0 && words(h.removed) === words(h.added))
    .reverse()
    .reduce(accepted, after);
}

/** Returns the text as the agent left it, with the earlier lines of a hunk. */
export function withdrawn(left: string, hunk: OwnHunk): string {
  const lines = left.split("\n");
  lines.splice(hunk.was, hunk.added.length, ...hunk.removed);
  return lines.join("\n");
}

/** Returns the hunk at a line of the present text. A hunk without lines there belongs to the line above it. */
export const hunkAt = <H extends Hunk>(hunks: readonly H[], line: number): H | undefined =>
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

/**
 * Returns the present text without the agent's hunks. after is the text as the agent left it. If the user has edited one of
 * the hunks since, it returns undefined.
 */
export function takenOut(before: string, after: string, now: string): string | undefined {
  const left = formatted(after, now);
  const own = ownHunks(before, left, now);
  if (own.length < hunksOf(before, left).length) {
    return undefined;
  }
  const lines = now.split("\n");
  own.reverse().forEach((h) => lines.splice(h.at, h.added.length, ...h.removed));
  return lines.join("\n");
}
