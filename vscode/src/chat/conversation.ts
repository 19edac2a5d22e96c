import { reduce } from "../webview/reducer";
import { initial, type State } from "../webview/state";
import type { ToPage } from "../webview/messages";

/** How often the page hears news, in milliseconds: a frame or two. */
const every = 24;

/**
 * Conversation keeps the state of the view on this side, so that a page which is
 * opened late has all of it, and sends the page what changes it, a bundle at a time.
 */
export class Conversation {
  private current: State = initial;
  private bundle: ToPage[] = [];
  private timer: NodeJS.Timeout | undefined;
  private page: ((messages: ToPage[]) => void) | undefined;

  get state(): State {
    return this.current;
  }

  /** tell changes the state, here and soon on the page. */
  tell(m: ToPage): void {
    this.current = reduce(this.current, m);
    if (!this.page) return;
    this.bundle.push(m);
    this.timer ??= setTimeout(() => this.flush(), every);
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
