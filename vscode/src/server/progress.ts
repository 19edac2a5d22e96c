import * as vscode from "vscode";
import { WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport } from "vscode-languageclient/node";

import * as show from "../show";

type News = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

/**
 * ProgressBars shows the server's progress in the status bar. If the user wants notifications, it
 * shows them while the chat is hidden; their cancel button works.
 */
export class ProgressBars {
  private readonly bars = new Map<string | number, Bar>();
  private hidden = true; // the chat

  constructor(private readonly cancel: (token: string | number) => void) {}

  take(token: string | number, news: News): void {
    if (news.kind === "begin") {
      this.bars.get(token)?.end(); // begun twice
      this.bars.set(
        token,
        new Bar(
          news,
          () => this.place(),
          () => this.cancel(token),
        ),
      );
    } else if (news.kind === "report") {
      this.bars.get(token)?.report(news.message);
    } else {
      this.bars.get(token)?.end();
      this.bars.delete(token);
    }
  }

  /** Tells whether the chat is visible. */
  chatShown(visible: boolean): void {
    this.hidden = !visible;
    for (const bar of this.bars.values()) {
      bar.move();
    }
  }

  /** Ends all progress of a server that has ended. */
  clear(): void {
    for (const bar of this.bars.values()) {
      bar.end();
    }
    this.bars.clear();
  }

  private place(): vscode.ProgressLocation {
    const chosen = vscode.workspace.getConfiguration("hermes").get<string>("progress", "statusBar");
    return chosen === "notification" && this.hidden ? vscode.ProgressLocation.Notification : vscode.ProgressLocation.Window;
  }
}

/** Work that takes fewer milliseconds is not shown, because a notification stays for a moment after its end. */
const shownAfter = 500;

/** Bar is the progress of one piece of work. */
class Bar {
  private say: ((message: string) => void) | undefined;
  private last: string | undefined;
  private location: vscode.ProgressLocation | undefined; // undefined: not shown yet
  private readonly waiting: NodeJS.Timeout;
  private ended: () => void = () => {};

  constructor(
    private readonly begin: WorkDoneProgressBegin,
    private readonly place: () => vscode.ProgressLocation,
    private readonly cancel: () => void,
  ) {
    this.last = begin.message;
    this.waiting = setTimeout(() => this.show(), shownAfter);
  }

  end(): void {
    clearTimeout(this.waiting);
    this.ended();
  }

  /** Shows the work in its place, which may have changed. */
  move(): void {
    if (this.location !== undefined && this.location !== this.place()) {
      this.ended();
      this.show();
    }
  }

  report(message: string | undefined): void {
    this.last = message;
    if (message !== undefined) {
      this.say?.(message);
    }
  }

  private show(): void {
    const location = (this.location = this.place());
    const options = { location, title: this.begin.title.replace(/[\s.:]+$/, ""), cancellable: this.begin.cancellable ?? false };
    const ended = new Promise<void>((resolve) => (this.ended = resolve));
    void show.progress(options, (say, token) => {
      token.onCancellationRequested(this.cancel);
      this.say = say;
      this.report(this.last);
      return ended;
    });
  }
}
