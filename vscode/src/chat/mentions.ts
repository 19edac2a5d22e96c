// Mentions in a prompt: which there are, and where.

import { mentionLink, quoted, unquoted } from "../shared/mention";

/** A piece of a prompt: its text, or a mention by its name. */
export type Piece = { text: string } | { mention: string; quoted?: true };

/** written returns a piece as it stands in the prompt. */
export function written(p: Piece): string {
  if ("text" in p) return p.text;
  return "@" + (p.quoted ? `"${p.mention}"` : p.mention);
}

/**
 * pieces splits a text at its mentions. Names that are known (they may have spaces)
 * are found first, the longest of them; else a mention is a word.
 */
export function pieces(text: string, known: readonly string[] = []): Piece[] {
  const found: Piece[] = [];
  const names = [...known].sort((a, b) => b.length - a.length);
  let from = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const piece = opens(text, at) ? mentionAt(text, at + 1, names) : undefined;
    if (!piece) continue;
    if (at > from) found.push({ text: text.slice(from, at) });
    found.push(piece);
    from = at + written(piece).length;
    at = from - 1;
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

/** opens tells a mention from an address of mail: it stands at the beginning of a word. */
function opens(text: string, at: number): boolean {
  return at === 0 || /[\s(]/.test(text[at - 1]!);
}

function mentionAt(text: string, at: number, names: readonly string[]): Piece | undefined {
  const rest = text.slice(at);
  const inQuotes = unquoted(rest);
  if (inQuotes) {
    // Lines after the name are for the server, and a name with a quotation mark is sent as it stands.
    const alone = !/^(:\d|#L\d)/.test(rest.slice(inQuotes.length)) && inQuotes.length === inQuotes.name.length + 2;
    return alone ? { mention: inQuotes.name, quoted: true } : undefined;
  }
  // A sign that ends a sentence is no part of a file's name.
  const name = names.find((n) => rest.startsWith(n) && !/^[\w/]/.test(rest.slice(n.length))) ?? /^[^\s@]+/.exec(rest)?.[0].replace(/[.,;:!?)]+$/, "");
  return name ? { mention: name } : undefined;
}

/** unlinked is a prompt as it was written: a mention, which the log has as a link, is a name again. */
export function unlinked(text: string): { text: string; mentions: string[] } {
  const mentions: string[] = [];
  const name = (_: string, mention: string) => {
    mentions.push(mention);
    return `@${quoted(mention)}`;
  };
  return { text: text.replace(mentionLink, name), mentions };
}
