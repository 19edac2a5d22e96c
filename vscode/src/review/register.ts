import * as vscode from "vscode";

import { command } from "../commands/guard";
import { ChatView } from "../chat/provider";
import { Hermes } from "../hermes";
import { placeOf, selectionHere } from "../places";
import { LineQuestion } from "./asking";
import { InlineEdits } from "./inline";
import { ReviewLenses } from "./lens";
import { beforeScheme, Review } from "./review";
import { ChangesView, MissedRow, Row } from "./view";
import * as show from "../show";

/** The list of changes, its diff editors, and their commands. */
export function registerReview(context: vscode.ExtensionContext, hermes: Hermes, chat: ChatView): vscode.Disposable[] {
  const review = new Review(hermes, context.storageUri?.fsPath);
  const inline = new InlineEdits(hermes, review);
  const question = new LineQuestion();
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
    inline,
    question,
    new ChangesView(review),
    vscode.workspace.registerTextDocumentContentProvider(beforeScheme, review),
    vscode.languages.registerCodeLensProvider({ scheme: "file" }, new ReviewLenses(review, inline)),
    vscode.languages.registerCodeLensProvider({ scheme: "file" }, inline),
    command("hermes.edit", () => edit(inline, question, chat)),
    command("hermes.edit.submit", (given?: vscode.Comment) => question.close(typeof given?.body === "string" ? given.body : given?.body.value)),
    command("hermes.edit.close", () => question.close(undefined)),
    command("hermes.edit.accept", (from?: number) => inline.accept(from)),
    command("hermes.edit.reject", (from?: number) => inline.reject(from)),
    on("open", (row) => row.change && review.show(row.turn, row.change)),
    on("openFile", (row) => row.change && vscode.window.showTextDocument(vscode.Uri.file(row.change.path))),
    command("hermes.changes.accept", (given?: Row | MissedRow | vscode.Uri) => {
      if (given && "missed" in given) return review.acceptMissed(given.missed);
      const row = rowOf(given);
      return row && review.accept(row.turn, row.change);
    }),
    on("revert", (row) => review.revert(row.turn, row.change)),
    command("hermes.changes.refresh", () => review.lookAgain()),
    command("hermes.changes.show", () => review.showAll()),
    command("hermes.changes.acceptAll", async () => {
      await each((row) => review.accept(row.turn));
      for (const missed of review.changes.missed) await review.acceptMissed(missed);
    }),
    command("hermes.changes.revertAll", () => each((row) => review.revert(row.turn))),
    vscode.window.tabGroups.onDidChangeTabs(noteReviewing),
    vscode.window.tabGroups.onDidChangeTabGroups(noteReviewing),
  ];
}

/** Asks for an instruction for the selected lines, or the line of the cursor. */
async function edit(inline: InlineEdits, question: LineQuestion, chat: ChatView): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") {
    void show.inform("Open a file, and select the lines to edit.");
    return;
  }
  const place = selectionHere() ?? placeOf(editor.document, editor.document.lineAt(editor.selection.active.line).range);
  const instruction = await question.ask({ ...place, range: place.range! });
  if (instruction?.trim()) {
    await inline.edit(place, instruction).catch((error) => {
      void chat.show();
      chat.failed(error);
    });
  }
}

/** Whether the active editor shows one of our comparisons, for the buttons of its title. */
function noteReviewing(): void {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const reviewing = input instanceof vscode.TabInputTextDiff && input.original.scheme === beforeScheme;
  void vscode.commands.executeCommand("setContext", "hermes.reviewing", reviewing);
}
