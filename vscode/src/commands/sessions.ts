import * as vscode from "vscode";

import { ChatView } from "../chat/provider";
import { Hermes } from "../hermes";
import { sessionsHere } from "../sessiontree";
import { Category, CheckpointInfo, Command, Method, RestoreResult, SessionConfigOption, Subagent } from "../protocol";
import { ago, counted } from "../words";
import { command } from "./guard";
import * as show from "../show";

/** Commands for the current session, and those that choose another one. */
export function registerSessions(hermes: Hermes, chat: ChatView): vscode.Disposable[] {
  return [
    command(Command.SessionNew, async () => {
      await hermes.sessions.newSession();
      await chat.show();
    }),
    command(Command.SessionLoad, async (given?: { sessionId?: string }) => {
      const id = given?.sessionId ?? (await pickSession(hermes));
      if (id !== undefined) {
        await chat.show();
        await hermes.sessions.loadSession(id);
      }
    }),
    command(Command.SessionFork, async (given?: { messageId?: string }) => {
      await hermes.sessions.forkSession(await hermes.sessions.ensureSession(), given?.messageId);
      await chat.show();
      chat.note("From here on this is a copy. The session it was made of is as it was.", [{ label: "Resume a Session…", command: Command.SessionLoad }]);
    }),
    command("hermes.rollback", () => rollback(hermes)),
    command(Command.Transcript, async () => hermes.server.command(Command.Transcript, { sessionId: await hermes.sessions.ensureSession() })),
    command("hermes.model", () => chooseModel(hermes)),
    command("hermes.mode", () => choose(hermes, Category.Mode, "Choose which actions require approval")),
    command("hermes.subagents", () => subagents(hermes)),
  ];
}

async function pickSession(hermes: Hermes): Promise<string | undefined> {
  const found = await sessionsHere(hermes);
  if (found.length === 0) {
    void show.inform("There are no sessions of this workspace yet.");
    return undefined;
  }
  const items = found.map((s) => ({
    label: s.title || "Untitled",
    description: s.sessionId === hermes.sessions.session ? `${ago(s.updatedAt)} · current` : ago(s.updatedAt),
    id: s.sessionId,
  }));
  return (await show.pick(items, { title: "Resume a session", matchOnDescription: true }))?.id;
}

async function rollback(hermes: Hermes): Promise<void> {
  const sessionId = await hermes.sessions.ensureSession();
  const { checkpoints } = await hermes.server.request(Method.CheckpointList, { sessionId });
  if (checkpoints.length === 0) {
    void show.inform("This session has changed no files yet.");
    return;
  }
  const picked = await show.pick(checkpoints.map(checkpointItem), { title: "Roll the files back to the state before…", matchOnDescription: true });
  if (!picked) {
    return;
  }
  const later = checkpoints.slice(0, checkpoints.findIndex((c) => c.id === picked.id) + 1);
  const files = [...new Set(later.flatMap((c) => c.files))];
  const yes = await show.warn(
    `Roll back ${counted(files.length, "file")} to the state before “${picked.label}”?`,
    { modal: true, detail: files.slice(0, 20).join("\n") + (files.length > 20 ? `\n… and ${files.length - 20} more` : "") },
    "Roll Back",
  );
  if (yes) {
    const result = await hermes.server.request(Method.CheckpointRestore, { sessionId, checkpointId: picked.id });
    await vscode.commands.executeCommand("hermes.changes.refresh");
    tellRestored(result);
  }
}

const checkpointItem = (c: CheckpointInfo) => ({
  label: c.title || "Untitled",
  description: `${ago(c.createdAt)} · ${counted(c.files.length, "file")}`,
  detail: c.files.slice(0, 4).join(", ") + (c.files.length > 4 ? ", …" : ""),
  id: c.id,
});

/** Tells what a restore has done: in the editor, and on the disk where it differs. */
export function tellRestored({ restored, kept, why, unsaved }: RestoreResult): void {
  const named = (name: string, reason?: string) => (reason ? `${name} (${reason})` : name);
  let text = `Restored ${counted(restored.length, "file")}.`;
  if (kept.length > 0) {
    text += ` Not restored: ${kept.map((name, i) => named(name, why?.[i])).join(", ")}.`;
  }
  if (unsaved?.length) {
    text += ` Not saved: ${unsaved.map((f) => named(f.path, f.why)).join(", ")}. The disk has another text until you save.`;
  }
  void (kept.length > 0 || unsaved?.length ? show.warn(text) : show.inform(text));
}

/** Lists the models of all configured providers, which are asked for them, and lets the user choose one. */
async function chooseModel(hermes: Hermes): Promise<void> {
  const sessionId = await hermes.sessions.ensureSession();
  const option = hermes.state.options.find((o: SessionConfigOption) => o.category === Category.Model);
  if (!option) {
    return;
  }
  const waiting = { location: vscode.ProgressLocation.Window, title: "Hermes: listing the models" };
  const { models, errors } = await show.progress(waiting, () => hermes.server.request(Method.ModelList, { sessionId }));
  const items = models.map((m) => ({ icon: m.current ? "check" : "blank", label: m.id, detail: m.description, value: m.id }));
  const missing = errors.length > 0 ? ` (no list from ${errors.map((e) => e.provider).join(", ")})` : "";
  const picked = await show.pick(items, { title: "Choose a model" + missing, matchOnDetail: true });
  if (picked) {
    await hermes.server.request(Method.SessionSetValue, { sessionId, configId: option.id, value: picked.value });
  }
}

async function choose(hermes: Hermes, category: string, title: string): Promise<void> {
  const sessionId = await hermes.sessions.ensureSession();
  const option = hermes.state.options.find((o: SessionConfigOption) => o.category === category);
  if (!option?.options) {
    return;
  }
  const items = option.options.map((o) => ({
    icon: o.value === option.currentValue ? "check" : "blank",
    label: o.name,
    detail: o.description,
    value: o.value,
  }));
  const picked = await show.pick(items, { title });
  if (picked) {
    await hermes.server.request(Method.SessionSetValue, { sessionId, configId: option.id, value: picked.value });
  }
}

async function subagents(hermes: Hermes): Promise<void> {
  const sessionId = await hermes.sessions.ensureSession();
  const list = (await hermes.server.request(Method.SubagentList, { sessionId })).subagents;
  if (list.length === 0) {
    void show.inform("This session has had no subagents yet.");
    return;
  }
  const picked = await show.pick(list.map(subagentItem), { title: "Subagents", placeHolder: "Choose one to stop it or to send it a message" });
  if (picked?.agent.status === "running") {
    await steer(hermes, sessionId, picked.agent);
  }
}

/** The name of a subagent: the first line of its goal. */
const headline = (agent: Subagent) => agent.goal.trim().split("\n", 1)[0]!;

const subagentItem = (agent: Subagent) => ({
  icon: agent.status === "running" ? "loading~spin" : agent.status === "completed" ? "check" : "error",
  label: headline(agent),
  description: [agent.status, agent.doing, counted(agent.calls, "call")].filter(Boolean).join(" · "),
  agent,
});

async function steer(hermes: Hermes, sessionId: string, agent: Subagent): Promise<void> {
  const act = await show.pick([{ label: "Stop" }, { label: "Send a Message…" }], { title: headline(agent) });
  if (act?.label === "Stop") {
    await hermes.server.request(Method.SubagentStop, { sessionId, subagentId: agent.subagentId });
  } else if (act) {
    const text = await show.ask({ title: headline(agent), placeHolder: "What is it to know?", ignoreFocusOut: true });
    if (text?.trim()) {
      await hermes.server.request(Method.SubagentMessage, { sessionId, subagentId: agent.subagentId, message: text });
    }
  }
}
