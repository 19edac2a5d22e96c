import * as vscode from "vscode";

import { keepKey, Provider, providers } from "../secrets";
import { command } from "./guard";
import * as show from "../show";
import { Candidate, listModels, testModel } from "./tryout";
import { sentence } from "../words";

/** The first steps: who serves the model, and the key for it. */
export function registerSetup(context: vscode.ExtensionContext): vscode.Disposable[] {
  return [command("hermes.provider", () => chooseProvider(context)), command("hermes.key", () => changeKey(context))];
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

/** Asks for all, tests the model, and only then changes settings: the same steps as "hermes-ls setup". */
async function chooseProvider(context: vscode.ExtensionContext): Promise<void> {
  const picked = await show.pick(choices, { title: "Who serves the model?" });
  if (!picked) {
    return;
  }
  if (picked.id === "embedded") {
    await set("model.base_url", undefined);
    return set("model.provider", picked.id);
  }
  const address = picked.id === "custom" ? await askAddress() : "";
  const provider = providers.find((p) => p.id === picked.id);
  const key = address !== undefined && provider ? await askKey(provider, "Leave it empty to use the key that is there.") : "";
  if (address === undefined || key === undefined) {
    return;
  }
  const at: Candidate = { provider: picked.id, address, key: provider && key !== "" ? { variable: provider.variable, value: key } : undefined };
  const model = await chooseModel(context, at, picked.model);
  if (!model) {
    return;
  }
  const failed = await testModel(context, at, model);
  if (failed) {
    void show.fail(`${sentence(failed)} Nothing was changed.`);
    return;
  }
  if (provider && key !== "") {
    await keepKey(context, provider, key);
  }
  await set("model.base_url", address || undefined);
  await set("model.default", model);
  await set("model.provider", picked.id);
  void show.inform(`It works. New sessions use ${picked.id}/${model}.`);
}

function askAddress(): Promise<string | undefined> {
  return Promise.resolve(
    show.ask({
      title: "Address of the endpoint",
      placeHolder: "https://example.org/v1",
      ignoreFocusOut: true,
      validateInput: (text) => (/^https?:\/\/[^/\s]+/.test(text) ? undefined : "An address such as https://example.org/v1"),
    }),
  );
}

/** Lists the models and asks for one. If the address has no list, it asks for an id. */
async function chooseModel(context: vscode.ExtensionContext, at: Candidate, usual?: string): Promise<string | undefined> {
  const listed = await listModels(context, at);
  if (listed.error && !listed.unlisted) {
    void show.fail(`${sentence(listed.error)} Nothing was changed.`);
    return undefined;
  }
  const title = "Which model?";
  if (listed.ids.length === 0) {
    const prompt = "This address has no list of models. Enter the id of one.";
    return (await show.ask({ title, prompt, value: usual, ignoreFocusOut: true }))?.trim();
  }
  const first = listed.ids.filter((id) => id === usual);
  const ids = [...first, ...listed.ids.filter((id) => id !== usual)];
  const items = ids.map((id) => ({ label: id, description: id === usual ? "recommended" : undefined }));
  return (await show.pick(items, { title, ignoreFocusOut: true }))?.label;
}

/** Asks for a key, which is not shown. */
async function askKey(provider: Provider, empty: string): Promise<string | undefined> {
  const prompt = `The editor keeps it in its secret storage. ${empty}`;
  return (await show.ask({ title: `Key for ${provider.name}`, prompt, password: true, ignoreFocusOut: true }))?.trim();
}

/** Asks for a key, tests it, and keeps it. */
async function changeKey(context: vscode.ExtensionContext): Promise<void> {
  const items = providers.map((p) => ({ label: p.name, p }));
  const provider = (await show.pick(items, { title: "Key for which provider?" }))?.p;
  const key = provider && (await askKey(provider, "Leave it empty to forget the key that is there."));
  if (!provider || key === undefined) {
    return;
  }
  if (key !== "") {
    const failed = await keyFails(context, provider, key);
    const keepAnyway = "Keep Key Anyway";
    if (failed && (await show.warn(sentence(failed), keepAnyway)) !== keepAnyway) {
      return;
    }
  }
  await keepKey(context, provider, key);
  void show.inform(key !== "" ? `The key for ${provider.name} is kept.` : `The key for ${provider.name} is forgotten.`);
}

/** Asks the provider for its models with a key. It returns why that failed, or undefined. */
async function keyFails(context: vscode.ExtensionContext, provider: Provider, value: string): Promise<string | undefined> {
  const address = vscode.workspace.getConfiguration("hermes").get<string>("model.base_url", "");
  const at = { provider: provider.id, address: provider.id === "custom" ? address : "", key: { variable: provider.variable, value } };
  if (provider.id === "custom" && address === "") {
    return undefined; // there is no address to ask yet
  }
  const listed = await listModels(context, at);
  return listed.unlisted ? undefined : listed.error;
}

async function set(key: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration("hermes").update(key, value, vscode.ConfigurationTarget.Global);
}
