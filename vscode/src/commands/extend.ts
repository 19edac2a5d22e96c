import * as vscode from "vscode";

import type { ChatView } from "../chat/provider";
import type { Hermes } from "../hermes";
import { Command } from "../protocol";
import { folders } from "../sessions";
import { command } from "./guard";
import { program } from "./program";
import { slashCommands } from "../shared/slashcommands";
import * as show from "../show";
import { argumentsOf } from "../words";

/** Commands that add something to Hermes, or take something out of it. */
export function registerExtend(context: vscode.ExtensionContext, hermes: Hermes, chat: ChatView): vscode.Disposable[] {
  return [
    command("hermes.mcp.add", () => addServer(context)),
    command("hermes.skill.install", () => installSkill(context)),
    ...Object.entries(slashCommands).map(([name, text]) => command(name, () => chat.ask(text))),
    command("hermes.session.export", () => exportSession(context, hermes)),
  ];
}

/** Adds an MCP server to config.yaml, and connects it once. */
async function addServer(context: vscode.ExtensionContext): Promise<void> {
  const title = "Add an MCP server";
  const validateInput = (text: string) => (/^[\w-]+$/.test(text.trim()) ? undefined : "Letters, digits, - and _");
  const name = (await show.ask({ title, prompt: "Its name", placeHolder: "docs", ignoreFocusOut: true, validateInput }))?.trim();
  if (!name) return;
  const prompt = "Its address, or the command that starts it";
  const what = (await show.ask({ title, prompt, placeHolder: "https://mcp.example.com/mcp, or npx -y @example/server", ignoreFocusOut: true }))?.trim();
  if (!what) return;
  const how = /^https?:\/\//i.test(what) ? [name, what] : [name, "--", ...argumentsOf(what)];
  const { ok, stdout, error } = await program(context, `Adding ${name}…`, ["mcp", "add", ...how]);
  const added = stdout.includes(`${name}: added`);
  if (ok) return offerSession(`${name} is added. New sessions use it.`);
  if (!added) return void show.fail(`${error} Nothing was changed.`);
  const remove = "Remove Server";
  if (await show.warn(`${name} is added, but it cannot be connected: ${error.replace(`${name}: `, "")}`, remove)) {
    const removed = await program(context, `Removing ${name}…`, ["mcp", "remove", name]);
    void (removed.ok ? show.inform(`${name} is removed.`) : show.fail(removed.error));
  }
}

async function offerSession(text: string): Promise<void> {
  const start = "New Session";
  if (await show.inform(text, start)) await vscode.commands.executeCommand(Command.SessionNew);
}

/** Shows what a skill consists of, and installs it if the user agrees. The program installs none with findings. */
async function installSkill(context: vscode.ExtensionContext): Promise<void> {
  const prompt = "OWNER/REPO[/PATH][@REF] of GitHub, a git URL, the address of a SKILL.md, or a folder";
  const source = (await show.ask({ title: "Install a skill", prompt, placeHolder: "anthropics/skills/skills/pdf", ignoreFocusOut: true }))?.trim();
  if (!source) return;
  const seen = await program(context, `Reading ${source}…`, ["skills", "install", "--", source]);
  if (seen.stdout.trim() === "") return void show.fail(seen.error);
  const yes = await show.warn("Install this skill?", { modal: true, detail: seen.stdout.trim() }, "Install");
  if (!yes) return;
  const done = await program(context, `Installing ${source}…`, ["skills", "install", "--yes", "--", source]);
  if (done.ok) await offerSession("The skill is installed. New sessions have it.");
  else void show.fail(done.error);
}

/** Writes the session to a file that the user chooses. */
async function exportSession(context: vscode.ExtensionContext, hermes: Hermes): Promise<void> {
  const id = await hermes.sessions.ensureSession();
  const name = (hermes.state.title ?? "session").replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60);
  const defaultUri = vscode.Uri.joinPath(vscode.Uri.file(folders().cwd), `${name}.jsonl`);
  const to = await vscode.window.showSaveDialog({ defaultUri, filters: { "Session of Hermes": ["jsonl"] }, title: "Export the session" });
  if (!to) return;
  const { ok, stdout, error } = await program(context, "Exporting the session…", ["sessions", "export", id]);
  if (!ok) return void show.fail(error);
  await vscode.workspace.fs.writeFile(to, Buffer.from(stdout));
  const open = "Open";
  if (await show.inform("The session is exported. Keys and tokens are withheld.", open)) await vscode.window.showTextDocument(to);
}
