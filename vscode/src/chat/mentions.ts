// Mentions in a prompt: which there are, and where.

/** A piece of a prompt: its text, or a mention by its name. */
export type Piece = { text: string } | { mention: string };

/**
 * pieces splits a text at its mentions. Names that are known (they may have spaces)
 * are found first, the longest of them; else a mention is a word.
 */
export function pieces(text: string, known: readonly string[] = []): Piece[] {
  const found: Piece[] = [];
  const names = [...known].sort((a, b) => b.length - a.length);
  let from = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const name = opens(text, at) ? nameAt(text, at + 1, names) : undefined;
    if (!name) continue;
    if (at > from) found.push({ text: text.slice(from, at) });
    found.push({ mention: name });
    from = at + 1 + name.length;
    at = from - 1;
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

/** opens tells a mention from an address of mail: it stands at the beginning of a word. */
function opens(text: string, at: number): boolean {
  return at === 0 || /[\s(]/.test(text[at - 1]!);
}

function nameAt(text: string, at: number, names: readonly string[]): string | undefined {
  const name = names.find((n) => text.startsWith(n, at) && !/^[\w/]/.test(text.slice(at + n.length)));
  // A sign that ends a sentence is no part of a file's name.
  return name ?? /^[^\s@]+/.exec(text.slice(at))?.[0].replace(/[.,;:!?)]+$/, "");
}

/** unlinked is a prompt as it was written: a mention, which the log has as a link, is a name again. */
export function unlinked(text: string): { text: string; mentions: string[] } {
  const mentions: string[] = [];
  const name = (_: string, mention: string) => {
    mentions.push(mention);
    return `@${mention}`;
  };
  return { text: text.replace(/\[@([^\]\n]+)\]\([^)\s]+\)/g, name), mentions };
}
