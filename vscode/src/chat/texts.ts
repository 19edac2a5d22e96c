import * as path from "node:path";
import * as vscode from "vscode";

const scheme = "hermes-text";
/** Texts of diffs that were opened are kept up to this many. */
const kept = 40;

/** Texts shows two texts in the editor's own diff, which needs an address for each. */
export class Texts implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private next = 1;

  static register(): { texts: Texts; registration: vscode.Disposable } {
    const texts = new Texts();
    return { texts, registration: vscode.workspace.registerTextDocumentContentProvider(scheme, texts) };
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  async diff(file: string, before: string, after: string): Promise<void> {
    const number = this.next++;
    const left = this.add(file, before, `${number}-before`);
    const right = this.add(file, after, `${number}-after`);
    await vscode.commands.executeCommand("vscode.diff", left, right, `${path.basename(file)} (this call)`, { preview: true });
  }

  private add(file: string, text: string, id: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme, path: file.startsWith("/") ? file : `/${file}`, query: id });
    this.texts.set(uri.toString(), text);
    for (const old of this.texts.keys()) {
      if (this.texts.size <= kept) break;
      this.texts.delete(old);
    }
    return uri;
  }
}
