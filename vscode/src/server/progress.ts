import * as vscode from "vscode";
import { WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport } from "vscode-languageclient/node";

import * as show from "../show";

type News = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

/**
 * ProgressBars shows the server's progress as notifications whose cancel button
 * works. The library's own are in the status bar and cannot be cancelled.
 */
export class ProgressBars {
  private readonly bars = new Map<string | number, Bar>();

  constructor(private readonly cancel: (token: string | number) => void) {}

  take(token: string | number, news: News): void {
    if (news.kind === "begin") {
      this.bars.get(token)?.end(); // begun twice
      this.bars.set(token, new Bar(news, () => this.cancel(token)));
    } else if (news.kind === "report") {
      this.bars.get(token)?.report(news.message);
    } else {
      this.bars.get(token)?.end();
      this.bars.delete(token);
    }
  }

  /** Ends all progress of a server that has ended. */
  clear(): void {
    for (const bar of this.bars.values()) {
      bar.end();
    }
    this.bars.clear();
  }
}

/** Work that takes fewer milliseconds is not shown, because a notification stays for a moment after its end. */
const shownAfter = 500;

/** Bar is one notification. */
class Bar {
  private say: ((message: string) => void) | undefined;
  private last: string | undefined;
  private readonly waiting: NodeJS.Timeout;
  private ended: () => void = () => {};

  constructor(begin: WorkDoneProgressBegin, cancel: () => void) {
    this.last = begin.message;
    this.waiting = setTimeout(() => this.show(begin, cancel), shownAfter);
  }

  end(): void {
    clearTimeout(this.waiting);
    this.ended();
  }

  private show(begin: WorkDoneProgressBegin, cancel: () => void): void {
    const options = { location: place(), title: begin.title.replace(/[\s.:]+$/, ""), cancellable: begin.cancellable ?? false };
    const ended = new Promise<void>((resolve) => (this.ended = resolve));
    void show.progress(options, (say, token) => {
      token.onCancellationRequested(cancel);
      this.say = say;
      this.report(this.last);
      return ended;
    });
  }

  report(message: string | undefined): void {
    this.last = message;
    if (message !== undefined) {
      this.say?.(message);
    }
  }
}

function place(): vscode.ProgressLocation {
  const chosen = vscode.workspace.getConfiguration("hermes").get<string>("progress", "notification");
  return chosen === "statusBar" ? vscode.ProgressLocation.Window : vscode.ProgressLocation.Notification;
}
