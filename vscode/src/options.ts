// The tree of settings that the server takes, which has the shape of config.yaml.

/** Puts a value under a dotted key. */
export function put(tree: Record<string, unknown>, key: string, value: unknown): void {
  const [first, ...rest] = key.split(".");
  if (rest.length === 0) {
    tree[first] = value;
    return;
  }
  const branch = (tree[first] ??= {}) as Record<string, unknown>;
  put(branch, rest.join("."), value);
}

/** Restricted Mode: tools that read, and no others. */
export function restricted(options: Record<string, unknown>): Record<string, unknown> {
  const agent = { ...(options.agent as object | undefined), tools: { enabled: ["safe", "todo", "clarify"] } };
  const sandbox = { ...(options.sandbox as object | undefined), mode: "read-only" };
  return { ...options, agent, sandbox };
}
