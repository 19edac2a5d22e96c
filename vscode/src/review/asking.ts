import * as vscode from "vscode";

import { Place, rangeOf } from "../places";
import * as show from "../show";

const placeHolder = "Describe the change";

/** LineQuestion asks for an instruction in a field below the lines that it is about. Only one is open. */
export class LineQuestion implements vscode.Disposable {
  private controller: vscode.CommentController | undefined; // made when it is needed: it has a view in VS Code
  private open: { thread: vscode.CommentThread; answer(text: string | undefined): void } | undefined;

  /** Returns what the user writes; undefined: the field was closed. */
  async ask(place: Place & Required<Pick<Place, "range">>): Promise<string | undefined> {
    this.close(undefined);
    const title = `Edit ${rangeOf(place)}`;
    if (!vscode.workspace.getConfiguration("comments").get("visible", true)) return show.ask({ title, placeHolder, ignoreFocusOut: true });
    this.controller ??= vscode.comments.createCommentController("hermes.edit", "Hermes");
    const { start, end } = place.range;
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
    // VS Code gives the focus to a comment that is being written when its thread is opened. It gives none to the field of a thread without comments.
    const field: vscode.Comment = { author: { name: `${placeHolder} (Enter edits, Escape closes)` }, body: "", mode: vscode.CommentMode.Editing };
    const thread = this.controller.createCommentThread(vscode.Uri.parse(place.textDocument.uri), new vscode.Range(start.line, 0, last, 0), [field]);
    thread.label = title;
    thread.canReply = false;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    return new Promise((answer) => (this.open = { thread, answer }));
  }

  /** Closes the field that is open. */
  close(text: string | undefined): void {
    const { open } = this;
    this.open = undefined;
    open?.thread.dispose();
    open?.answer(text);
  }

  dispose(): void {
    this.close(undefined);
    this.controller?.dispose();
  }
}
