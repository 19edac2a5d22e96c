// The chat view, host side: it passes messages of the server to the page, and actions of
// the user on the page to the server and the editor.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import { Hermes, type State } from "../hermes";
import { message } from "../server/process";
import { begun, type SessionChange } from "../sessions";
import { Command, Method, Update, type ContentBlock, type Rewound, type SessionNotification, type SubagentsReady } from "../protocol";
import type { Look, Session, ToHost, ToPage, Way, WhenBusy } from "../shared/messages";
import { blocks, mentioned } from "./context";
import { ChatState } from "./chatstate";
import * as editor from "./editor";
import { failure, retry } from "./failure";
import { addresses, type File } from "./files";
import { html } from "./html";
import { unlinked } from "./mentions";
import { Messages } from "./messages";
import { Prompts } from "./prompts";
import { Questions } from "./questions";
import { rewind } from "./rewind";
import { rank } from "../shared/rank";
import { Texts } from "./texts";
import { Toasts } from "./toasts";
import * as show from "../show";

const whenBusyKey = "hermes.chat.whenBusy";
const lastKey = "hermes.chat.last";
/** How long a list of the workspace's files is good for completion, in milliseconds. */
const filesKept = 10_000;
/** The same for the files that an answer names: the turn may have made them. */
const filesFresh = 1_000;
const maxFiles = 20_000;

/** The settings of the editor that the chat follows. Fonts and colours reach the page by themselves. */
const lookSettings = ["editor.wordWrap", "window.density.editorTabHeight"];

function look(): Look {
  const settings = vscode.workspace.getConfiguration();
  return {
    wrap: settings.get<string>("editor.wordWrap", "off") !== "off",
    compact: settings.get<string>("window.density.editorTabHeight") === "compact",
  };
}

/** ChatView is the view hermes.chat. */
export class ChatView implements vscode.WebviewViewProvider {
  static readonly viewType = "hermes.chat";

  private view: vscode.WebviewView | undefined;
  private readonly chat = new ChatState();
  private readonly questions: Questions;
  private readonly messages: Messages;
  private readonly prompts: Prompts;
  private readonly toasts: Toasts;
  private readonly texts: Texts;
  private late: ToPage[] = []; // for a page that is not ready yet
  private ready = false;
  private coming = false; // the view is being opened: on a slow machine it is visible only later
  private known: State | undefined;
  private listed: { at: number; files: Promise<File[]> } | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly hermes: Hermes,
  ) {
    this.questions = new Questions(hermes, this.chat, this);
    this.messages = new Messages(this.chat, this);
    show.inChat(this.messages);
    this.toasts = new Toasts(hermes.sessions, {
      seen: (id) => (this.visible || this.coming) && id === hermes.sessions.session,
      tell: (...t) => void this.toast(...t),
    });
    this.prompts = new Prompts(
      hermes.sessions,
      this.chat,
      (text) => this.askAgain(text),
      (session, error) => this.toasts.failed(session, failure(error, true)),
    );
    const { texts, registration } = Texts.register();
    this.texts = texts;
    this.tell({ type: "preferences", whenBusy: context.globalState.get<WhenBusy>(whenBusyKey) ?? "interrupt" });
    this.tell({ type: "look", look: look() });
    const last = context.workspaceState.get<Session>(lastKey);
    if (last) this.tell({ type: "last", session: last });
    this.follow(hermes.state);
    context.subscriptions.push(
      registration,
      hermes.sessions.onUpdate((n) => this.updated(n)),
      hermes.sessions.onSubagentsReady((r) => this.subagentsReady(r)),
      hermes.onState((s) => this.follow(s)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.trusted()),
      vscode.workspace.onDidChangeConfiguration((e) => lookSettings.some((name) => e.affectsConfiguration(name)) && this.tell({ type: "look", look: look() })),
      hermes.sessions.onSession((c) => this.switched(c)),
    );
  }

  // ---- for the rest of the extension ----

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  /** Brings the view up and puts the cursor into the composer. */
  async show(): Promise<void> {
    this.coming = !this.visible;
    await vscode.commands.executeCommand(`${ChatView.viewType}.focus`);
    this.compose({ type: "focus" });
  }

  /** Sends a prompt as if it had been written in the view. */
  async ask(text: string, more: readonly ContentBlock[] = []): Promise<void> {
    await this.show();
    await this.prompts.send([...(text ? [{ type: "text", text }] : []), ...more], this.chat.state.whenBusy);
  }

  /** Shows a note in the chat. It is not stored in the session. */
  note(text: string, ways?: readonly Way[]): void {
    this.tell({ type: "note", text, ways });
  }

  /** Says in the chat why a turn that a command has started did not go on. */
  failed(error: unknown): void {
    this.tell({ type: "turn", running: false, at: Date.now(), ...failure(error) });
    this.toasts.failed(this.hermes.sessions.session, failure(error));
  }

  /** Sends the prompt again that has failed. */
  retry(): void {
    const text = this.prompts.retry();
    if (text !== undefined) this.compose({ type: "sent", ...unlinked(text) });
  }

  /** Attaches a file, or a part of it, to the message that is being written. */
  async mention(place: { uri: vscode.Uri; range?: { start: { line: number; character: number }; end: { line: number; character: number } } }): Promise<void> {
    const r = place.range;
    const range = r && new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
    this.compose({ type: "attach", attachments: [await mentioned(place.uri, range)] });
  }

  /** Background subagents have ended while no turn runs. */
  private subagentsReady(r: SubagentsReady): void {
    if (r.sessionId === this.hermes.sessions.session) {
      const ended = r.subagents.length === 1 ? "A subagent has ended." : `${r.subagents.length} subagents have ended.`;
      const then = r.start ? "Hermes continues with the results." : "Your next message has the results.";
      this.tell({ type: "update", at: Date.now(), update: { sessionUpdate: "notice", severity: "info", title: `${ended} ${then}` } });
    }
    if (r.start) this.hermes.sessions.continue(r.sessionId).catch((error) => r.sessionId === this.hermes.sessions.session && this.failed(error));
  }

  // ---- the view ----

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = { enableScripts: true, enableForms: true, localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, "dist")] };
    view.webview.onDidReceiveMessage((m: ToHost) => this.heard(m).catch((error) => this.notDone(error)));
    view.onDidChangeVisibility(() => this.shown());
    if (view.visible) this.shown();
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
      this.chat.detach();
      this.shown();
    });
    const file = (name: string) => view.webview.asWebviewUri(vscode.Uri.joinPath(this.context.extensionUri, "dist", name)).toString();
    view.webview.html = html({
      script: file("webview.js"),
      style: file("webview.css"),
      source: view.webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
    });
  }

  /** The view was shown or hidden. */
  private shown(): void {
    this.coming = false;
    this.hermes.server.bars.chatShown(this.visible);
    if (this.visible) return;
    this.questions.hidden();
    this.messages.hidden();
  }

  private async toast(kind: "failure" | "end", text: string, session: string | undefined, ways: readonly Way[] = []): Promise<void> {
    const buttons = [...ways.map((w) => w.label), "Show"];
    const chosen = await (kind === "failure" ? show.fail(`Hermes: ${text}`, ...buttons) : show.inform(text, ...buttons));
    if (chosen === undefined) return;
    const way = ways.find((w) => w.label === chosen);
    if (!way || way.command === retry.command) {
      await this.show();
      if (session !== undefined && session !== this.hermes.sessions.session) await this.hermes.sessions.loadSession(session);
    }
    if (way) await vscode.commands.executeCommand(way.command);
  }

  /** isPast reports whether updates of a session are its history: those that come while it is loaded. */
  private isPast(session: string): boolean {
    return this.chat.state.loading && session === this.hermes.sessions.session;
  }

  private tell(m: ToPage): void {
    this.chat.apply(m);
  }

  /** compose is for the composer alone, which keeps no state here. */
  private compose(m: ToPage): void {
    if (this.ready) void this.view?.webview.postMessage([m]);
    else this.late.push(m);
  }

  private pageReady(): void {
    const { webview } = this.view!;
    this.ready = true;
    this.chat.attach((messages) => void webview.postMessage(messages));
    if (this.late.length > 0) void webview.postMessage(this.late);
    this.late = [];
    this.begin();
  }

  // ---- from the server ----

  private updated({ sessionId, update }: SessionNotification): void {
    this.chat.apply({ type: "update", update, ...(!this.isPast(sessionId) && { at: Date.now() }) }, sessionId);
    if (sessionId !== this.hermes.sessions.session || update.sessionUpdate !== Update.Info) return;
    const { rewound } = (update._meta?.hermes ?? {}) as { rewound?: Rewound };
    if (rewound?.text) this.askAgain(rewound.text);
  }

  /** Puts a prompt that was removed or not sent back into the input. */
  private askAgain(text: string): void {
    this.compose({ type: "draft", ...unlinked(text) });
  }

  private follow(s: State): void {
    const before = this.known;
    this.known = s;
    if (s.options !== before?.options || s.modes !== before?.modes) {
      this.tell({ type: "options", mode: s.modes?.currentModeId, options: [...s.options] });
    }
    if (s.session && s.title && (s.session !== before?.session || s.title !== before.title)) {
      const last: Session = { id: s.session, title: s.title };
      void this.context.workspaceState.update(lastKey, last);
      this.tell({ type: "last", session: last });
    }
    if (s.phase !== before?.phase || s.problem !== before?.problem || s.restricted !== before?.restricted) {
      const state = s.phase === "stopped" || s.phase === "starting" ? s.phase : "ready";
      if (state !== "ready") this.questions.gone();
      this.tell({ type: "server", server: { state, message: s.problem, restricted: s.restricted } });
    }
    this.begin();
  }

  /** A session keeps the tools that it began with. */
  private trusted(): void {
    if (!begun(this.hermes.state)) return;
    this.note("This workspace is trusted now. This session began in Restricted Mode and goes on with tools that read; a new one has all of them.", [
      { label: "New Session", command: Command.SessionNew },
    ]);
  }

  /** A chat that is seen has a session, and with it the model's name, the settings and the commands. */
  private begin(): void {
    if (!this.ready || this.hermes.sessions.session !== undefined || this.hermes.state.phase !== "idle") return;
    void this.hermes.sessions.ensureSession().catch((error) => this.hermes.log.warn(`no session: ${message(error)}`));
  }

  private switched({ session, reason }: SessionChange): void {
    switch (reason) {
      case "restart":
        return;
      case "resume":
        this.prompts.forget();
        if (session === undefined || !this.chat.showBackground(session)) break;
        this.messages.again();
        return this.questions.again();
      case "loaded":
        this.tell({ type: "loading", loading: false });
        this.messages.again();
        return this.questions.again();
    }
    if (this.chat.state.session) this.prompts.forget(); // else they wait for this one
    this.chat.show(session === undefined ? undefined : { id: session, title: "" });
    this.tell({ type: "options", mode: this.hermes.state.modes?.currentModeId, options: [...this.hermes.state.options] });
    if (reason === "load") return this.tell({ type: "loading", loading: true });
    this.questions.again();
    this.messages.again();
  }

  // ---- from the page ----

  private async heard(m: ToHost): Promise<void> {
    switch (m.type) {
      case "ready":
        return this.pageReady();
      case "prompt":
        return this.prompts.send(await blocks(m.text, m.mentions, m.attachments), m.whenBusy);
      case "sendNow":
        return this.prompts.sendNow(m.id);
      case "unqueue":
        return this.prompts.unqueue(m.id);
      case "cancel":
        return this.prompts.cancel();
      case "permit":
        return this.questions.permit(m.askId, m.optionId, m.reason);
      case "fill":
        return this.questions.fill(m.askId, { action: m.action, content: m.content });
      case "press":
        return this.messages.press(m.id, m.button);
      case "stopSubagent":
        await this.hermes.server.request(Method.SubagentStop, { sessionId: this.hermes.sessions.session!, subagentId: m.subagentId });
        return;
      case "setOption":
        return this.setOption(m.id, m.value);
      case "setWhenBusy":
        this.tell({ type: "preferences", whenBusy: m.whenBusy });
        return this.context.globalState.update(whenBusyKey, m.whenBusy);
      case "session":
        return this.session(m);
      case "rewind":
        return rewind(this.hermes, this, m);
      case "restart":
        return this.hermes.server.restart();
      case "run":
        if (/^hermes\.|^workbench\.trust\.manage$/.test(m.command)) await vscode.commands.executeCommand(m.command);
        return;
      default:
        return this.inEditor(m);
    }
  }

  private async inEditor(m: ToHost): Promise<void> {
    switch (m.type) {
      case "link":
        return editor.link(m.href);
      case "open":
        return editor.open(m.path, m.line);
      case "diff":
        return this.texts.diff(m.path, m.oldText ?? "", m.newText);
      case "copy":
        return vscode.env.clipboard.writeText(m.text);
      case "insert":
        return editor.insert(m.text);
      case "apply":
        return editor.apply(m.text, m.language, (file, before, after) => this.texts.diff(file, before, after));
      case "find":
        return this.compose({
          type: "found",
          query: m.query,
          files: rank(
            (await this.files()).map((f) => f.path),
            m.query,
            30,
          ),
        });
      case "places":
        return this.compose({ type: "places", addresses: addresses(m.names, await this.files(filesFresh)) });
      case "drop":
        return this.compose({ type: "attach", attachments: await Promise.all(m.uris.map((u) => mentioned(vscode.Uri.parse(u)))) });
    }
  }

  private async setOption(configId: string, value: string): Promise<void> {
    const sessionId = await this.hermes.sessions.ensureSession();
    await this.hermes.server.request(Method.SessionSetValue, { sessionId, configId, value });
  }

  private async session({ action, sessionId, messageId }: Extract<ToHost, { type: "session" }>): Promise<void> {
    const commands = { new: Command.SessionNew, resume: Command.SessionLoad, fork: Command.SessionFork };
    await vscode.commands.executeCommand(commands[action], sessionId || messageId ? { sessionId, messageId } : undefined);
  }

  /** The files of the workspace, those that are not excluded. */
  private files(kept = filesKept): Promise<File[]> {
    const now = Date.now();
    if (!this.listed || now - this.listed.at > kept) {
      const found = vscode.workspace.findFiles("**/*", undefined, maxFiles);
      const files = Promise.resolve(found).then((uris) => uris.map((u) => ({ path: vscode.workspace.asRelativePath(u), uri: u.toString() })));
      this.listed = { at: now, files: files.then((all) => all.sort((a, b) => (a.path < b.path ? -1 : 1))) };
    }
    return this.listed.files;
  }

  private notDone(error: unknown): void {
    this.hermes.log.error(message(error));
    void show.fail(this.visible ? message(error) : `Hermes: ${message(error)}`);
  }
}
