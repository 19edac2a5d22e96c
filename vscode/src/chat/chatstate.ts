import { reduce } from "../shared/reducer";
import { initial, type State } from "../shared/state";
import type { Session, ToPage } from "../shared/messages";

/** Milliseconds between two bundles of messages to the page: one or two frames. */
const flushDelay = 24;

/**
 * ChatState has the state of the chat view in the extension host. A page that opens
 * later gets all of it. Changes are sent to the page in bundles. If a session is hidden
 * while its turn runs, ChatState keeps its state up to date in the background.
 */
export class ChatState {
  private current: State = initial;
  private readonly aside = new Map<string, State>();
  private bundle: ToPage[] = [];
  private timer: NodeJS.Timeout | undefined;
  private page: ((messages: ToPage[]) => void) | undefined;

  get state(): State {
    return this.current;
  }

  /** apply changes the state of a session and, if that session is shown, sends the change to the page. If the session is unknown, it does nothing. */
  apply(m: ToPage, session = this.current.session?.id): void {
    if (session !== this.current.session?.id) {
      const state = this.aside.get(session!);
      if (state) this.aside.set(session!, reduce(state, m));
      return;
    }
    this.current = reduce(this.current, m);
    if (!this.page) return;
    this.bundle.push(m);
    this.timer ??= setTimeout(() => this.flush(), flushDelay);
  }

  /** show replaces the shown session by an empty one. If the turn of the previous session runs, its state moves to the background. */
  show(session: Session | undefined): void {
    const { session: left, turn } = this.current;
    if (left && turn.running) this.aside.set(left.id, this.current);
    if (session) this.aside.delete(session.id);
    this.apply({ type: "reset", session });
  }

  /** showBackground shows a session from the background. If it is not there, it returns false. */
  showBackground(session: string): boolean {
    const state = this.aside.get(session);
    if (!state) return false;
    this.show(state.session);
    const { server, whenBusy } = this.current;
    this.apply({ type: "restore", state: { ...state, server, whenBusy } });
    return true;
  }

  /** attach sends the whole state to a page and then each change. */
  attach(send: (messages: ToPage[]) => void): void {
    this.detach();
    this.page = send;
    send([{ type: "restore", state: this.current }]);
  }

  /** detach stops sending changes to the page. */
  detach(): void {
    this.page = undefined;
    this.bundle = [];
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private flush(): void {
    const messages = this.bundle;
    this.bundle = [];
    this.timer = undefined;
    this.page?.(messages);
  }
}
