/** Where in a document a piece of code belongs: lines, the last one included. */
export interface Region {
  first: number;
  last: number;
}

/**
 * region finds the lines that a changed piece of code stands for: those from where its
 * first line is to where its last one is. Nothing if these are not plain to see.
 */
export function region(document: readonly string[], code: string): Region | undefined {
  const lines = code.split("\n").filter((l) => l.trim() !== "");
  const [first, last] = [lines[0], lines.at(-1)];
  if (lines.length < 2 || first === undefined || last === undefined) return undefined;
  const begins = places(document, first);
  if (begins.length !== 1) return undefined;
  const ends = places(document, last).filter((at) => at > begins[0]!);
  // A closing bracket stands often: the first at the same depth is the one.
  return ends.length > 0 ? { first: begins[0]!, last: ends[0]! } : undefined;
}

function places(document: readonly string[], line: string): number[] {
  const found: number[] = [];
  document.forEach((l, i) => {
    if (l.trimEnd() === line.trimEnd()) found.push(i);
  });
  return found;
}
