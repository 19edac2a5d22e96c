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

/** Restricted Mode: tools that read, and no others; nothing of the folder is used, even if hermes-ls trusts it. */
export function restricted(options: Record<string, unknown>): Record<string, unknown> {
  const agent = { ...(options.agent as object | undefined), tools: { enabled: ["safe", "todo", "clarify"] } };
  const sandbox = { ...(options.sandbox as object | undefined), mode: "read-only" };
  const skills = { ...(options.skills as object | undefined), trust_folders: false };
  return { ...options, agent, sandbox, skills };
}

/** Plain settings as environment variables: model.base_url is HERMES_MODEL_BASE_URL. */
export function environment(options: Record<string, unknown>, prefix = "HERMES"): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [key, value] of Object.entries(options)) {
    const name = `${prefix}_${key.toUpperCase()}`;
    if (["string", "number", "boolean"].includes(typeof value)) {
      variables[name] = String(value);
    } else if (value && typeof value === "object" && !Array.isArray(value)) {
      Object.assign(variables, environment(value as Record<string, unknown>, name));
    }
  }
  return variables;
}
