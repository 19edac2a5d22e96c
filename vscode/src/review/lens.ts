import * as vscode from "vscode";

import { firstDifference } from "./changes";
import { InlineEdits } from "./inline";
import { Review } from "./review";

/** Puts accept, revert and compare above the first change of a file that waits. */
export class ReviewLenses implements vscode.CodeLensProvider {
  constructor(
    private readonly review: Review,
    private readonly inline: InlineEdits,
  ) {}

  get onDidChangeCodeLenses(): vscode.Event<void> {
    return this.review.onChange;
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const found = this.review.changes.find(document.uri.fsPath);
    if (!found || this.inline.has(document) || !vscode.workspace.getConfiguration("hermes").get("codeLens", true)) {
      return [];
    }
    const before = (await this.review.textBefore(found.turn, found.change)) ?? "";
    const line = Math.min(firstDifference(before.replace(/\r\n/g, "\n"), document.getText().replace(/\r\n/g, "\n")), document.lineCount - 1);
    const range = new vscode.Range(line, 0, line, 0);
    const lens = (title: string, name: string) => new vscode.CodeLens(range, { title, command: `hermes.changes.${name}`, arguments: [found] });
    return [lens("Accept", "accept"), lens("Revert", "revert"), lens("Open Changes by Hermes", "open")];
  }
}
