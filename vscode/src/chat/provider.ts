import * as vscode from "vscode";

import { Hermes } from "../hermes";
import { ContentBlock } from "../protocol";

// Stands in until the chat is here.
export class ChatView implements vscode.WebviewViewProvider {
  static readonly viewType = "hermes.chat";
  visible = false;
  constructor(_context: vscode.ExtensionContext, private readonly hermes: Hermes) {}
  resolveWebviewView(view: vscode.WebviewView): void {
    view.webview.html = "<p>…</p>";
  }
  async show(): Promise<void> {
    await vscode.commands.executeCommand("hermes.chat.focus");
  }
  async ask(text: string, attachments: ContentBlock[] = []): Promise<void> {
    await this.show();
    await this.hermes.prompt([{ type: "text", text }, ...attachments]);
  }
  async mention(_place: { uri: vscode.Uri; range?: { start: { line: number; character: number }; end: { line: number; character: number } } }): Promise<void> {}
}
