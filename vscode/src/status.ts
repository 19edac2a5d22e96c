import * as vscode from "vscode";

import { Hermes, State } from "./hermes";
import { literal } from "./literal";
import { Category } from "./protocol";
import { money, short } from "./words";

/** Status is the item in the status bar: state, model, tokens and cost. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("hermes.status", vscode.StatusBarAlignment.Right, 100);
  private readonly listening: vscode.Disposable;

  constructor(hermes: Hermes) {
    this.item.name = "Hermes";
    this.item.command = "hermes.menu";
    this.show(hermes.state);
    this.listening = hermes.onState((s) => this.show(s));
    this.item.show();
  }

  dispose(): void {
    this.listening.dispose();
    this.item.dispose();
  }

  private show(s: State): void {
    this.item.text = [`${icons[s.phase]} Hermes`, ...figures(s).map(literal)].join(" · ");
    this.item.tooltip = tooltip(s);
    this.item.accessibilityInformation = { label: `Hermes, ${describe(s)}, ${figures(s).join(", ")}`, role: "button" };
    this.item.backgroundColor = background(s);
  }
}

const icons: Record<State["phase"], string> = {
  stopped: "$(circle-slash)",
  starting: "$(loading~spin)",
  idle: "$(sparkle)",
  working: "$(loading~spin)",
  waiting: "$(bell-dot)",
};

const words: Record<State["phase"], string> = {
  stopped: "stopped",
  starting: "starting",
  idle: "idle",
  working: "working",
  waiting: "waiting for you",
};

const describe = (s: State) => words[s.phase] + (s.restricted ? ", Restricted Mode" : "");

/** The item's text beside the state: the model, tokens, cost. */
export function figures(s: State): string[] {
  const list: string[] = [];
  if (s.phase === "waiting" || s.phase === "stopped") {
    list.push(words[s.phase]);
  }
  if (s.restricted) {
    list.push("read-only");
  }
  const model = modelName(s);
  if (model !== undefined) {
    list.push(model);
  }
  const mode = unusualMode(s);
  if (mode !== undefined) {
    list.push(mode);
  }
  if (s.usage && s.usage.used > 0) {
    list.push(`${short(s.usage.used)} tokens`);
  }
  const cached = cachedShare(s.usage?._meta);
  if (cached) {
    list.push(cached);
  }
  if (s.usage?.cost) {
    list.push(money(s.usage.cost.amount, s.usage.cost.currency));
  }
  return list;
}

/** The mode, unless it is the first one: that is usual. */
function unusualMode(s: State): string | undefined {
  const { modes } = s;
  const at = modes?.availableModes.findIndex((m) => m.id === modes.currentModeId) ?? -1;
  return at > 0 ? modes!.availableModes[at]!.name : undefined;
}

/** The share of the last request that came from the prompt cache. */
export function cachedShare(meta: Record<string, unknown> | undefined): string | undefined {
  const ours = meta?.["hermes"] as { lastRequest?: { input?: number; cachedRead?: number } } | undefined;
  const { input = 0, cachedRead = 0 } = ours?.lastRequest ?? {};
  return input > 0 && cachedRead > 0 ? `${Math.round((cachedRead / input) * 100)} % cached` : undefined;
}

export function modelName(s: Pick<State, "options">): string | undefined {
  const option = s.options.find((o) => o.category === Category.Model);
  return option?.options?.find((o) => o.value === option.currentValue)?.name ?? (option?.currentValue as string | undefined);
}

function background(s: State): vscode.ThemeColor | undefined {
  switch (s.phase) {
    case "stopped":
      return new vscode.ThemeColor("statusBarItem.errorBackground");
    case "waiting":
      return new vscode.ThemeColor("statusBarItem.warningBackground");
  }
  return undefined;
}

function tooltip(s: State): vscode.MarkdownString {
  const text = new vscode.MarkdownString("", true);
  text.isTrusted = text.supportHtml = false;
  text.appendMarkdown("**Hermes** — ").appendText(describe(s)).appendMarkdown("\n\n");
  const line = (name: string, value: string | undefined) => value && text.appendMarkdown(`${name}: `).appendText(value).appendMarkdown("  \n");
  line("Problem", s.problem);
  line("Session", s.title);
  line("Model", modelName(s));
  line("Mode", s.modes?.availableModes.find((m) => m.id === s.modes?.currentModeId)?.name);
  if (s.usage) {
    line("Context", s.usage.size > 0 ? `${short(s.usage.used)} of ${short(s.usage.size)} tokens` : `${short(s.usage.used)} tokens`);
    line("Last request", cachedShare(s.usage._meta));
    line("Cost", s.usage.cost && money(s.usage.cost.amount, s.usage.cost.currency));
  }
  text.appendMarkdown("\nClick for the menu.");
  return text;
}
