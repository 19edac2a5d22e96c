// Names of files in texts.

/** A part of a text. If it may name a file, it has the name, and maybe a line. */
export interface Part {
  readonly text: string;
  readonly name?: string;
  readonly line?: number;
}

/** A name with an extension or a slash, and maybe a line: "a.go", "./b/Makefile", "src/a.go:12:3", "a.go#L12", "a.go(12,3)". */
const name =
  /(?<![\w@#$%&*+\-/\\.~:=?])((?:~?\.{0,2}\/)?(?:[\w@.+~-]+\/)*[\w@.+~-]*[\w@+~-])(?::(\d+)(?:[:-]\d+)*|#L(\d+)(?:-L?\d+)?|\((\d+)(?:,\s?\d+)?\))?(?![\w/\\])/g;

/** places returns the parts of a text, in their order: those that may name a file have its name and maybe a line. */
export function places(text: string): Part[] {
  const found: Part[] = [];
  let end = 0;
  for (const m of text.matchAll(name)) {
    const [whole, path = "", ...lines] = m;
    if (!/[^.]\.\w*[A-Za-z]\w*$/.test(path) && !/\w\/[\w.]/.test(path)) continue;
    if (m.index > end) found.push({ text: text.slice(end, m.index) });
    const line = Number(lines.find((l) => l !== undefined));
    found.push({ text: whole, name: path, ...(line > 0 && { line }) });
    end = m.index + whole.length;
  }
  return end < text.length ? [...found, { text: text.slice(end) }] : found;
}
