/** A file of the workspace: its path in it, with slashes, and its address. */
export interface File {
  readonly path: string;
  readonly uri: string;
}

/**
 * addresses finds the files that a text names: by the path in the workspace, by its end if only one file has it, or by
 * the path on the disk. Other names have an empty address.
 */
export function addresses(names: readonly string[], files: readonly File[]): Record<string, string> {
  const byName = new Map<string, File[]>();
  for (const f of files) {
    const name = lastPart(f.path);
    byName.set(name, [...(byName.get(name) ?? []), f]);
  }
  return Object.fromEntries(names.map((n) => [n, find(n.replace(/^(\.\/)+/, ""), byName) ?? ""]));
}

function find(name: string, byName: ReadonlyMap<string, readonly File[]>): string | undefined {
  const all = byName.get(lastPart(name)) ?? [];
  const exact = all.find((f) => f.path === name || decodeURIComponent(new URL(f.uri).pathname) === name);
  const ending = all.filter((f) => f.path.endsWith(`/${name}`));
  return (exact ?? (ending.length === 1 ? ending[0] : undefined))?.uri;
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
