import * as vscode from "vscode";

import { keepKey, providers } from "../secrets";
import { command } from "./guard";
import * as show from "../show";

/** The first steps: who serves the model, and the key for it. */
export function registerSetup(context: vscode.ExtensionContext): vscode.Disposable[] {
  return [command("hermes.provider", () => chooseProvider(context)), command("hermes.key", () => askKey(context))];
}

const choices: { label: string; id: string; detail: string; model?: string }[] = [
  { label: "OpenAI", id: "openai", model: "gpt-5", detail: "Needs a key." },
  { label: "Anthropic", id: "anthropic", model: "claude-sonnet-4-6", detail: "Needs a key." },
  { label: "Google Gemini", id: "gemini", model: "gemini-3.1-pro-preview", detail: "Needs a key." },
  { label: "OpenRouter", id: "openrouter", model: "openai/gpt-5", detail: "Models of many makers. Needs a key." },
  { label: "DeepSeek", id: "deepseek", model: "deepseek-v4-pro", detail: "Needs a key." },
  { label: "xAI", id: "xai", model: "grok-4.20", detail: "Needs a key." },
  { label: "Groq", id: "groq", model: "moonshotai/kimi-k2-instruct-0905", detail: "Needs a key." },
  { label: "Z.ai", id: "zai", model: "glm-4.7", detail: "Needs a key." },
  { label: "Ollama", id: "ollama", detail: "On this machine, at port 11434." },
  { label: "LM Studio", id: "lmstudio", detail: "On this machine, at port 1234." },
  { label: "Another endpoint…", id: "custom", detail: "Anything that speaks OpenAI's protocol." },
  { label: "Embedded", id: "embedded", detail: "Plays scripts, for tests. It is not a real model." },
];

async function chooseProvider(context: vscode.ExtensionContext): Promise<void> {
  const picked = await show.pick(choices, { title: "Who serves the model?" });
  if (!picked) {
    return;
  }
  if (picked.id === "custom" && !(await askAddress())) {
    return;
  }
  if (picked.id !== "custom") {
    await set("model.base_url", undefined);
  }
  await set("model.provider", picked.id);
  if (picked.id !== "embedded" && !(await askModel(picked.model))) {
    return;
  }
  const provider = providers.find((p) => p.id === picked.id);
  if (provider) {
    await askKey(context, provider);
  }
}

async function askAddress(): Promise<boolean> {
  const address = await show.ask({
    title: "Address of the endpoint",
    placeHolder: "https://example.org/v1",
    ignoreFocusOut: true,
    validateInput: (text) => (/^https?:\/\/[^/\s]+/.test(text) ? undefined : "An address such as https://example.org/v1"),
  });
  if (address !== undefined) {
    await set("model.base_url", address);
  }
  return address !== undefined;
}

async function askModel(usual?: string): Promise<boolean> {
  const value = usual ?? vscode.workspace.getConfiguration("hermes").get<string>("model.default");
  const model = await show.ask({ title: "Which model?", prompt: "Its id at the provider.", value, ignoreFocusOut: true });
  if (model) {
    await set("model.default", model);
  }
  return model !== undefined;
}

async function askKey(context: vscode.ExtensionContext, given?: (typeof providers)[number]): Promise<void> {
  const items = providers.map((p) => ({ label: p.name, p }));
  const provider = given ?? (await show.pick(items, { title: "Key for which provider?" }))?.p;
  if (!provider) {
    return;
  }
  const key = await show.ask({
    title: `Key for ${provider.name}`,
    prompt: "Kept in the secret storage. Empty: forget the one that is there.",
    password: true,
    ignoreFocusOut: true,
  });
  if (key !== undefined) {
    await keepKey(context, provider, key.trim());
    void show.inform(key.trim() ? `The key for ${provider.name} is kept.` : `The key for ${provider.name} is forgotten.`);
  }
}

async function set(key: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration("hermes").update(key, value, vscode.ConfigurationTarget.Global);
}
