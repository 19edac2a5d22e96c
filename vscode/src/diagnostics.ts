import * as path from "node:path";
import * as vscode from "vscode";

import { Hermes } from "./hermes";
import { Diagnostic, DiagnosticsRequest, DiagnosticsResponse, FileDiagnostics, Method } from "./protocol";

/** Tools report diagnostics in several steps. After so many milliseconds without a report, they are done. */
const quiet = 150;

/** Answers the server's request for the diagnostics of a file. */
export function answerDiagnostics(hermes: Hermes): vscode.Disposable {
  const judged = new Judged();
  hermes.server.onRequest(Method.Diagnostics, async (q: DiagnosticsRequest): Promise<DiagnosticsResponse> => {
    if (!q.uri) return { diagnostics: [], files: everything() };
    const uri = vscode.Uri.parse(q.uri);
    if (judged.has(uri)) {
      await news(uri, q.wait);
    }
    return { diagnostics: vscode.languages.getDiagnostics(uri).map(told) };
  });
  return judged;
}

/** everything has the diagnostics of all files that have some. */
function everything(): FileDiagnostics[] {
  return vscode.languages
    .getDiagnostics()
    .filter(([, list]) => list.length > 0)
    .map(([uri, list]) => ({ uri: uri.toString(), diagnostics: list.map(told) }));
}

/** Judged knows the kinds of files that some tool has reported on: only of these is there news to wait for. */
class Judged implements vscode.Disposable {
  private readonly kinds = new Set(vscode.languages.getDiagnostics().map(([uri]) => kind(uri)));
  private readonly listening = vscode.languages.onDidChangeDiagnostics((e) => e.uris.forEach((uri) => this.kinds.add(kind(uri))));

  has(uri: vscode.Uri): boolean {
    return this.kinds.has(kind(uri));
  }

  dispose(): void {
    this.listening.dispose();
  }
}

const kind = (uri: vscode.Uri) => path.extname(uri.path);

/** Waits for news about a file, at most limit milliseconds. */
export function news(uri: vscode.Uri, limit: number): Promise<void> {
  return new Promise((resolve) => {
    let settled: NodeJS.Timeout | undefined;
    const done = () => {
      clearTimeout(settled);
      clearTimeout(end);
      listening.dispose();
      resolve();
    };
    const end = setTimeout(done, limit);
    const listening = vscode.languages.onDidChangeDiagnostics((e) => {
      if (e.uris.some((u) => u.toString() === uri.toString())) {
        clearTimeout(settled);
        settled = setTimeout(done, quiet);
      }
    });
  });
}

/** A diagnostic in the server's words. */
export function told(d: vscode.Diagnostic): Diagnostic {
  const code = typeof d.code === "object" ? d.code.value : d.code;
  return {
    range: { start: position(d.range.start), end: position(d.range.end) },
    severity: d.severity + 1,
    message: d.message,
    ...(d.source && { source: d.source }),
    ...(code !== undefined && { code }),
  };
}

export const position = (p: vscode.Position) => ({ line: p.line, character: p.character });
