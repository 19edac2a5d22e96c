/** rank finds the paths that a query may mean, the likeliest first. */
export function rank(paths: readonly string[], query: string, limit: number): string[] {
  const wanted = query.toLowerCase();
  return paths
    .map((path) => ({ path, score: score(path.toLowerCase(), wanted) }))
    .filter((p) => p.score > 0)
    .sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    .slice(0, limit)
    .map((p) => p.path);
}

function score(path: string, query: string): number {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (query === "") return 1;
  if (name.startsWith(query)) return 5;
  if (name.includes(query)) return 4;
  if (path.includes(query)) return 3;
  return inOrder(path, query) ? 2 : 0;
}

function inOrder(path: string, query: string): boolean {
  let at = 0;
  for (const c of query) {
    at = path.indexOf(c, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
