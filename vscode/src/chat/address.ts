/** Target of a link in the chat. */
export type Target = { outside: string } | { path: string; line?: number };

/**
 * target reads a link: an address outside, or a file, absolute or of the workspace,
 * with a line as in a.go#L3, a.go:3 or a.go:3:7. For any other link, it returns undefined.
 */
export function target(href: string): Target | undefined {
  if (/^(https?|mailto):/i.test(href)) return { outside: href };
  const [, bare = "", , hash, colon] = /^(.*?)(#L?(\d+)\b.*|:(\d+)(?::\d+)?|#.*)?$/s.exec(href) ?? [];
  const local = /^file:\/\//i.test(bare) ? new URL(bare).pathname : bare;
  const path = decoded(local);
  if (!path || /^[a-z][\w+.-]+:/i.test(path)) return undefined;
  const line = Number(hash ?? colon);
  return { path, ...(line > 0 && { line }) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a per cent sign that is one
  }
}
