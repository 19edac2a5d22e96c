import * as vscode from "vscode";

import { keepKey, providers } from "../secrets";
import { command } from "./guard";
import * as show from "../show";

/** The first steps: who serves the model, and the key for it. */
export function registerSetup(context: vscode.ExtensionContext): vscode.Disposable[] {
  return [
    command("hermes.provider", () => chooseProvider(context)),
    command("hermes.key", () => askKey(context)),
  ];
}

const choices = [
  { label: "OpenAI", id: "openai", detail: "Needs a key." },
  { label: "OpenRouter", id: "openrouter", detail: "Models of many makers. Needs a key." },
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
  if (picked.id !== "embedded" && !(await askModel())) {
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

async function askModel(): Promise<boolean> {
  const value = vscode.workspace.getConfiguration("hermes").get<string>("model.default");
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
