// Mentions as texts: @NAME, @"NAME" if the name's word would end before it, and [@NAME](URI) in the log.

/** Matches a name that needs no quotation marks. The server drops a sign at its end that can end a sentence. */
const plain = /^[^\s"@()]*[^\s"@().,;:!?\]}'`>*]$/;

/** quoted returns a name as a mention or a reference has it. */
export function quoted(name: string): string {
  return plain.test(name) ? name : `"${name.replaceAll('"', '\\"')}"`;
}

/** unquoted returns the name in quotes at the start of a text, and the length of both. */
export function unquoted(text: string): { name: string; length: number } | undefined {
  const m = /^"((?:\\"|[^"\n])+)"/.exec(text);
  return m ? { name: m[1]!.replaceAll('\\"', '"'), length: m[0].length } : undefined;
}

/** A mention in the log. Its name may have brackets, its address pairs of them. */
export const mentionLink = /\[@((?:[^[\n]|\[(?!@))+?)\]\(([A-Za-z][\w+.-]*:[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)/g;

/** linkTo returns a mention as the server writes it into the log. */
export function linkTo(name: string | undefined, uri: string): string {
  return `[@${name || nameIn(uri)}](${uri.replaceAll(" ", "%20").replaceAll("(", "%28").replaceAll(")", "%29")})`;
}

/** nameIn returns the last part of an address as a name. */
function nameIn(uri: string): string {
  const last = uri.slice(uri.replace(/\/+$/, "").lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
