import { randomUUID } from "node:crypto";

import type { Sessions } from "../sessions";
import type { ContentBlock } from "../protocol";
import { blockImage, blockText } from "../shared/state";
import type { ToPage, WhenBusy } from "../shared/messages";
import type { ChatState } from "./chatstate";
import { failure } from "./failure";

interface Waiting {
  id: string;
  prompt: ContentBlock[];
  next?: boolean; // the running turn is being canceled for it
}

/**
 * Prompts sends one message at a time. A message that comes while a turn runs waits
 * here, where the user can remove it, or it cancels the turn and is the next.
 */
export class Prompts {
  private waiting: Waiting[] = [];
  private running = false;
  private paused = false; // the user has canceled a turn: waiting messages do not begin by themselves
  private sending = false;
  private switches = 0; // between sessions: the waiting messages are for the one that is shown
  private ids = 1;
  private failed: { prompt: ContentBlock[]; session: string | undefined } | undefined; // the last one, if it failed

  constructor(
    private readonly sessions: Pick<Sessions, "onTurn" | "ensureSession" | "prompt" | "cancel">,
    private readonly chat: ChatState,
    private readonly askAgain: (text: string) => void = () => {},
    private readonly hasFailed: (session: string | undefined, error: unknown) => void = () => {},
  ) {
    sessions.onTurn((running) => this.turned(running));
  }

  /** send is for a message of the user's. */
  async send(prompt: ContentBlock[], whenBusy: WhenBusy): Promise<void> {
    const answers = this.chat.state.waiting.length > 0; // the server takes it as the answer to the open question
    if (this.busy && (answers || this.isCommand(prompt))) return this.turn(prompt);
    this.paused = false;
    const interrupts = this.busy && whenBusy === "interrupt";
    const w: Waiting = { id: `queued-${this.ids++}`, prompt, ...(interrupts && { next: true }) };
    this.waiting = interrupts ? [w, ...this.waiting] : [...this.waiting, w];
    if (interrupts) await this.sessions.cancel();
    await this.go();
  }

  /** retry sends the prompt again that has failed. It returns its text. */
  retry(): string | undefined {
    const { failed } = this;
    if (!failed || this.busy || failed.session !== this.chat.state.session?.id) return undefined;
    this.failed = undefined;
    void this.send(failed.prompt, "queue");
    return shown(failed.prompt);
  }

  async sendNow(id: string): Promise<void> {
    const w = this.waiting.find((x) => x.id === id);
    if (!w) return;
    this.paused = false;
    this.waiting = [{ ...w, next: true }, ...this.waiting.filter((x) => x !== w)];
    if (this.busy) await this.sessions.cancel();
    await this.go();
  }

  unqueue(id: string): void {
    this.waiting = this.waiting.filter((w) => w.id !== id);
    this.show();
  }

  /** cancel cancels the turn. Waiting messages stay until the user sends one. */
  async cancel(): Promise<void> {
    this.paused = true;
    await this.sessions.cancel();
  }

  /** forget drops the waiting messages, because another session is shown. */
  forget(): void {
    this.waiting = [];
    this.sending = this.paused = false;
    this.switches++;
    this.show();
  }

  private get busy(): boolean {
    return this.running || this.sending;
  }

  /** A slash command is answered beside the turn that runs, or waits in the server. */
  private isCommand(prompt: readonly ContentBlock[]): boolean {
    const name = /^\/(\S+)/.exec(prompt[0]?.text ?? "")?.[1];
    return this.chat.state.commands.some((c) => c.name === name);
  }

  /** go sends the first that waits, unless something runs. */
  private async go(): Promise<void> {
    this.show();
    if (this.busy || this.paused) return;
    const first = this.waiting.shift();
    if (!first) return;
    this.show();
    const { switches } = this;
    this.sending = true;
    await this.turn(first.prompt);
    if (switches !== this.switches) return;
    this.sending = false;
    await this.go();
  }

  private async turn(prompt: ContentBlock[]): Promise<void> {
    let session = this.chat.state.session?.id;
    const tell = (m: ToPage) => this.chat.apply(m, session);
    const messageId = randomUUID();
    this.failed = undefined;
    try {
      session = await this.sessions.ensureSession();
      tell({
        type: "user",
        text: shown(prompt),
        messageId,
        at: Date.now(),
        images: prompt.map(blockImage).filter((i) => i !== undefined),
      });
      tell({ type: "turn", running: true, at: Date.now() });
      // The turn before has ended or was canceled. A turn that began since then is not interrupted.
      const { stopReason } = await this.sessions.prompt(prompt, { hermes: { onNewPrompt: "queue", messageId } });
      tell({ type: "turn", running: false, at: Date.now(), stopReason });
    } catch (error) {
      tell({ type: "turn", running: false, at: Date.now(), ...failure(error, true) });
      this.failed = { prompt, session };
      this.hasFailed(session, error);
      if (session === this.chat.state.session?.id) this.askAgain(shown(prompt));
    }
    if (this.running && session === this.chat.state.session?.id) tell({ type: "turn", running: true, at: Date.now() }); // a command's turn
  }

  /** turned follows the turns that commands have started too. */
  private turned(running: boolean): void {
    this.running = running;
    if (running) {
      this.chat.apply({ type: "turn", running: true, at: Date.now() });
      return;
    }
    setImmediate(() => {
      // a prompt of ours says first how its turn has ended
      if (this.running) return;
      if (this.chat.state.turn.running) this.chat.apply({ type: "turn", running: false, at: Date.now() });
      void this.go();
    });
  }

  private show(): void {
    this.chat.apply({ type: "queue", queue: this.waiting.map((w) => ({ id: w.id, text: shown(w.prompt), next: w.next })) });
  }
}

/** shown returns the text of a prompt as the chat shows it. The server writes the same text into the history. */
function shown(prompt: readonly ContentBlock[]): string {
  return prompt
    .filter((b) => b.type !== "image")
    .map(blockText)
    .reduce((text, piece) => {
      const spaced =
        text === "" || piece === "" || /\s$/.test(text) || /^\s/.test(piece) || !(/\w$/.test(text) || /\)$/.test(text)) || /^[.,;:!?)]/.test(piece);
      return spaced ? text + piece : `${text} ${piece}`;
    }, "");
}
