import { reduce } from "../shared/reducer";
import { initial, type State } from "../shared/state";
import type { Session, ToPage } from "../shared/messages";

/** How often the page hears news, in milliseconds: a frame or two. */
const every = 24;

/**
 * Conversation keeps the state of the view on this side, so that a page which is
 * opened late has all of it, and sends the page what changes it, a bundle at a time.
 * A session whose turn goes on while another one is shown is kept up to date aside.
 */
export class Conversation {
  private current: State = initial;
  private readonly aside = new Map<string, State>();
  private bundle: ToPage[] = [];
  private timer: NodeJS.Timeout | undefined;
  private page: ((messages: ToPage[]) => void) | undefined;

  get state(): State {
    return this.current;
  }

  /** tell changes the state, here and soon on the page; of another session that is kept aside, or nothing. */
  tell(m: ToPage, session = this.current.session?.id): void {
    if (session !== this.current.session?.id) {
      const state = this.aside.get(session!);
      if (state) this.aside.set(session!, reduce(state, m));
      return;
    }
    this.current = reduce(this.current, m);
    if (!this.page) return;
    this.bundle.push(m);
    this.timer ??= setTimeout(() => this.flush(), every);
  }

  /** show begins with another session, empty; the one before is kept while its turn goes on. */
  show(session: Session | undefined): void {
    const { session: left, turn } = this.current;
    if (left && turn.running) this.aside.set(left.id, this.current);
    if (session) this.aside.delete(session.id);
    this.tell({ type: "reset", session });
  }

  /** bringBack shows a session that was kept aside; false: there is none. */
  bringBack(session: string): boolean {
    const state = this.aside.get(session);
    if (!state) return false;
    this.show(state.session);
    const { server, whenBusy } = this.current;
    this.tell({ type: "restore", state: { ...state, server, whenBusy } });
    return true;
  }

  /** attach gives a page that is ready everything there is. */
  attach(send: (messages: ToPage[]) => void): void {
    this.detach();
    this.page = send;
    send([{ type: "restore", state: this.current }]);
  }

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
