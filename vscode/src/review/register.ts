import * as vscode from "vscode";

import { command } from "../commands/guard";
import { Hermes } from "../hermes";
import { ReviewLenses } from "./lens";
import { beforeScheme, Review } from "./review";
import { ChangesView, Row } from "./view";

/** The list of changes, its diff editors, and what is done with them. */
export function registerReview(hermes: Hermes): vscode.Disposable[] {
  const review = new Review(hermes);
  /** A row of the list or of a lens, or the file of a diff editor. */
  const rowOf = (given?: Row | vscode.Uri): Row | undefined => {
    const uri = given instanceof vscode.Uri ? given : given ? undefined : vscode.window.activeTextEditor?.document.uri;
    return uri ? review.changes.find(uri.fsPath) : (given as Row | undefined);
  };
  const on = (name: string, run: (row: Row) => unknown) =>
    command(`hermes.changes.${name}`, (given?: Row | vscode.Uri) => {
      const row = rowOf(given);
      return row && run(row);
    });
  const each = async (run: (row: Row) => unknown) => {
    for (const turn of [...review.changes.turns]) {
      await run({ turn });
    }
  };
  return [
    review,
    new ChangesView(review),
    vscode.workspace.registerTextDocumentContentProvider(beforeScheme, review),
    vscode.languages.registerCodeLensProvider({ scheme: "file" }, new ReviewLenses(review)),
    on("open", (row) => row.change && review.show(row.turn, row.change)),
    on("openFile", (row) => row.change && vscode.window.showTextDocument(vscode.Uri.file(row.change.path))),
    on("accept", (row) => review.accept(row.turn, row.change)),
    on("revert", (row) => review.revert(row.turn, row.change)),
    command("hermes.changes.refresh", () => review.lookAgain()),
    command("hermes.changes.show", () => review.showAll()),
    command("hermes.changes.acceptAll", () => each((row) => review.accept(row.turn))),
    command("hermes.changes.revertAll", () => each((row) => review.revert(row.turn))),
    vscode.window.tabGroups.onDidChangeTabs(noteReviewing),
    vscode.window.tabGroups.onDidChangeTabGroups(noteReviewing),
  ];
}

/** Whether the active editor shows one of our comparisons, for the buttons of its title. */
function noteReviewing(): void {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const reviewing = input instanceof vscode.TabInputTextDiff && input.original.scheme === beforeScheme;
  void vscode.commands.executeCommand("setContext", "hermes.reviewing", reviewing);
}
