import * as vscode from "vscode";

import type { Hermes } from "../hermes";
import type { ElicitRequest, ElicitResponse, RequestPermissionRequest, RequestPermissionResponse } from "../protocol";
import { askPermission } from "../questions";
import type { Ask } from "../shared/messages";
import type { ChatState } from "./chatstate";
import * as show from "../show";

interface Open {
  ask: Ask;
  session: string;
  told: boolean; // by a notification
  answer(a: Answer | undefined): void;
}

type Answer = { permission: RequestPermissionResponse; choice?: string } | { form: ElicitResponse; choice?: string };

/** Where the view is, and how to bring it up. */
interface View {
  readonly visible: boolean;
  show(): Promise<void>;
}

/**
 * Questions shows questions of the agent as cards in the chat. While the view is hidden,
 * it also shows a notification. The user can answer in either; the first answer applies.
 */
export class Questions {
  private readonly open = new Map<string, Open>();
  private next = 1;

  constructor(
    private readonly hermes: Hermes,
    private readonly chat: ChatState,
    private readonly view: View,
  ) {
    hermes.questions.onPermission((q, token) => this.permission(q, token));
    hermes.questions.onElicit((q, token) => this.elicit(q, token));
  }

  /** The page's answer to a question of whether something may run. */
  permit(askId: string, optionId?: string, reason?: string): void {
    const ask = this.open.get(askId)?.ask;
    if (ask?.kind !== "permission") return;
    const option = ask.options.find((o) => o.optionId === optionId);
    const why = reason?.trim() ? { _meta: { hermes: { reason: reason.trim() } } } : {};
    this.open.get(askId)!.answer({
      permission: { outcome: option ? { outcome: "selected", optionId: option.optionId, ...why } : { outcome: "cancelled" } },
      choice: option ? [option.name, reason?.trim()].filter(Boolean).join(": ") : "no",
    });
  }

  /** The page's answer to a form. */
  fill(askId: string, form: ElicitResponse): void {
    const choices: Record<string, string> = { accept: Object.values(form.content ?? {}).join(", "), decline: "declined" };
    const choice = choices[form.action] || "nothing";
    this.open.get(askId)?.answer({ form, choice });
  }

  /** hidden shows waiting questions as notifications, because the view is not visible. */
  hidden(): void {
    for (const o of this.open.values()) this.notify(o);
  }

  /** again asks the waiting questions in the session that is shown now. */
  again(): void {
    for (const o of this.open.values()) this.ask(o);
  }

  /** gone ends all questions, because the server has ended. */
  gone(): void {
    for (const o of this.open.values()) o.answer(undefined);
  }

  /** ask puts a question into its session, and, if that is not shown, into the one that is. */
  private ask({ ask, session }: Pick<Open, "ask" | "session">): void {
    this.chat.apply({ type: "ask", ask }, session);
    if (session !== this.hermes.sessions.session) this.chat.apply({ type: "ask", ask: { ...ask, elsewhere: true } });
  }

  private async permission(q: RequestPermissionRequest, token: vscode.CancellationToken): Promise<RequestPermissionResponse> {
    const id = this.id();
    const answer = await this.asking({ id, kind: "permission", toolCall: q.toolCall, options: q.options, at: Date.now() }, q.sessionId, token);
    return answer && "permission" in answer ? answer.permission : { outcome: { outcome: "cancelled" } };
  }

  private async elicit(q: ElicitRequest, token: vscode.CancellationToken): Promise<ElicitResponse> {
    const answer = await this.asking({ id: this.id(), kind: "form", request: q, at: Date.now() }, q.sessionId, token);
    return answer && "form" in answer ? answer.form : { action: "cancel" };
  }

  private id(): string {
    return `ask-${this.next++}`;
  }

  /** asking waits for an answer, or for the end of the question: then there is none. */
  private async asking(ask: Ask, session: string, token: vscode.CancellationToken): Promise<Answer | undefined> {
    this.ask({ ask, session });
    const answer = await new Promise<Answer | undefined>((resolve) => {
      const o: Open = { ask, session, told: false, answer: resolve };
      this.open.set(ask.id, o);
      token.onCancellationRequested(() => resolve(undefined));
      if (!this.view.visible) this.notify(o);
    });
    this.open.delete(ask.id);
    const answered = { type: "answered", askId: ask.id, choice: answer?.choice, at: Date.now() } as const;
    this.chat.apply(answered);
    this.chat.apply(answered, session);
    return answer;
  }

  private notify(o: Open): void {
    if (o.told) return;
    o.told = true;
    void (o.ask.kind === "permission" ? this.notifyPermission(o.ask) : this.notifyForm(o.ask));
  }

  private async notifyPermission(ask: Extract<Ask, { kind: "permission" }>): Promise<void> {
    const chosen = await askPermission(ask);
    if (chosen === "show") await this.view.show();
    else if (chosen !== undefined) this.permit(ask.id, chosen);
    // Put away without an answer: the card still waits for one.
  }

  private async notifyForm(ask: Extract<Ask, { kind: "form" }>): Promise<void> {
    const chosen = await show.inform(`Hermes asks: ${ask.request.message}`, "Answer");
    if (chosen) await this.view.show();
  }
}
