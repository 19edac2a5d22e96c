import * as vscode from "vscode";

/** The providers that want a key, and the environment variable that belongs to each. */
export const providers = [
  { id: "openai", name: "OpenAI", variable: "OPENAI_API_KEY" },
  { id: "anthropic", name: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { id: "gemini", name: "Google Gemini", variable: "GEMINI_API_KEY" },
  { id: "openrouter", name: "OpenRouter", variable: "OPENROUTER_API_KEY" },
  { id: "deepseek", name: "DeepSeek", variable: "DEEPSEEK_API_KEY" },
  { id: "xai", name: "xAI", variable: "XAI_API_KEY" },
  { id: "groq", name: "Groq", variable: "GROQ_API_KEY" },
  { id: "zai", name: "Z.ai", variable: "ZAI_API_KEY" },
  { id: "custom", name: "Another OpenAI-compatible endpoint", variable: "HERMES_API_KEY" },
] as const;

export type Provider = (typeof providers)[number];

const secretName = (p: Provider) => `hermes.key.${p.id}`;

/** The keys in the secret storage, as variables for the server's environment. */
export async function keysForServer(context: vscode.ExtensionContext): Promise<Record<string, string>> {
  const keys: Record<string, string> = {};
  for (const p of providers) {
    const key = await context.secrets.get(secretName(p));
    if (key) {
      keys[p.variable] = key;
    }
  }
  return keys;
}

/** Keeps a key; an empty one is forgotten. */
export async function keepKey(context: vscode.ExtensionContext, p: Provider, key: string): Promise<void> {
  await (key === "" ? context.secrets.delete(secretName(p)) : context.secrets.store(secretName(p), key));
}

/** Whether a change of the secret storage is one of ours. */
export const isKey = (name: string) => providers.some((p) => secretName(p) === name);
