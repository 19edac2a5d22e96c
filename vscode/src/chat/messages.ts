import type { ToPage } from "../shared/messages";
import type { Chat, ChatMessage } from "../show";

/** A message that was shown less than this time ago, in milliseconds, is shown in the next session, too: the user may not have read it. */
const fresh = 10_000;

interface Open {
  readonly message: ChatMessage;
  readonly at: number;
  readonly toast: () => Promise<number | undefined>;
  told: boolean; // by a notification
  answer(button: number | undefined): void;
}

/** Messages shows messages of the server and of the extension as lines of the chat. */
export class Messages implements Chat {
  private readonly open = new Map<string, Open>();
  private next = 1;

  constructor(
    private readonly chat: { apply(m: ToPage): void },
    private readonly view: { readonly visible: boolean },
    private readonly now: () => number = Date.now,
  ) {}

  get visible(): boolean {
    return this.view.visible;
  }

  async show(message: ChatMessage, toast: () => Promise<number | undefined>): Promise<number | undefined> {
    const id = `message-${this.next++}`;
    this.put(id, message);
    if (message.buttons.length === 0) return undefined;
    const button = await new Promise<number | undefined>((answer) => {
      this.open.set(id, { message, at: this.now(), toast, told: false, answer });
      message.question?.onCancellationRequested(() => answer(undefined));
    });
    this.open.delete(id);
    this.chat.apply({ type: "pressed", id, choice: button === undefined ? undefined : message.buttons[button] });
    return button;
  }

  /** The user has pressed a button. */
  press(id: string, button: number): void {
    this.open.get(id)?.answer(button);
  }

  /** The chat was hidden: questions that wait become notifications. */
  hidden(): void {
    for (const o of this.open.values()) {
      if (!o.message.question || o.told) continue;
      o.told = true;
      void o.toast().then((button) => button !== undefined && o.answer(button));
    }
  }

  /** Another session is shown: messages that are old have no answer anymore. */
  again(): void {
    for (const [id, o] of this.open) {
      if (o.message.question || this.now() - o.at < fresh) this.put(id, o.message);
      else o.answer(undefined);
    }
  }

  private put(id: string, { severity, text, buttons }: ChatMessage): void {
    this.chat.apply({ type: "note", severity, text, id, buttons });
  }
}
