// The cases of acpx's conformance profile acp-core-v1, by their names, played by the
// official client. The suite itself is no part of the npm package. Each case has an
// agent of its own.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import assert from "node:assert/strict";
import { acp, call, connected, script, until, workspace } from "./client.mjs";

const { session } = acp.methods.agent;
const text = (t) => ({ type: "text", text: t });

// A player is a client that allows or denies everything, and keeps the messages that it gets.
function player(allow) {
  const updates = [];
  const deny = () => { throw new acp.RequestError(-32001, "Permission denied by the player"); };
  const client = acp.client({ name: "conformance" })
    .onNotification(acp.methods.client.session.update, ({ params }) => { updates.push(params); })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      const kind = allow ? "allow_once" : "reject_once";
      return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === kind).optionId } };
    })
    .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => allow ? { content: readFileSync(params.path, "utf8") } : deny())
    .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
      if (!allow) deny();
      mkdirSync(dirname(params.path), { recursive: true });
      writeFileSync(params.path, params.content);
      return {};
    });
  return { client, updates };
}

const code = async (promise) => {
  try { await promise; } catch (e) { return e.code; }
  throw new Error("an error was expected, and there was none");
};

const slow = script([call("terminal", { command: "sleep 64.5" })], [{ text: "never" }]);
const cases = {
  "initialize.handshake": async ({ info }) => {
    assert.equal(typeof info.protocolVersion, "number");
    assert.equal(Object.prototype.toString.call(info.agentCapabilities), "[object Object]");
  },
  "session.new.basic": async ({ open }) => assert.ok((await open()).trim().length > 0),
  "session.prompt.single_turn": async ({ open, ask, updates }) => {
    assert.equal(await ask(await open(), "echo hello"), "end_turn");
    assert.ok(updates.length > 0);
  },
  "session.update.termination": async ({ open, ask, updates }) => {
    const id = await open();
    assert.equal(await ask(id, script([{ text: "Over." }])), "end_turn");
    assert.ok(updates.some((u) => u.update.sessionUpdate === "agent_message_chunk"));
    assert.ok(updates.every((u) => u.sessionId === id));
  },
  "session.cancel.in_flight": async ({ open, ask, cancel, runs }) => {
    const id = await open();
    const turn = ask(id, slow);
    await runs();
    await cancel(id);
    assert.equal(await turn, "cancelled");
  },
  "session.cancel.idle": async ({ open, ask, cancel, frames }) => {
    const id = await open();
    await cancel(id);
    assert.equal(await ask(id, "echo still here"), "end_turn");
    const answers = frames.filter((f) => f.from === "agent" && !("method" in JSON.parse(f.line)));
    assert.equal(answers.length, 3); // initialize, session/new, session/prompt
  },
  "session.prompt.multi_turn": async ({ open, ask }) => {
    const id = await open();
    for (const t of ["echo first", "echo second"]) assert.equal(await ask(id, t), "end_turn");
  },
  "errors.invalid_params": async ({ open, agent }) => {
    assert.equal(await code(agent.request(session.prompt, { sessionId: await open(), prompt: "no list" })), -32602);
  },
  "errors.invalid_prompt_session_type": async ({ agent }) => {
    assert.equal(await code(agent.request(session.prompt, { sessionId: 42, prompt: [text("hi")] })), -32602);
  },
  "errors.permission_denied": async ({ open, ask, said }) => {
    assert.equal(await ask(await open(), script([call("read_file", { path: "README.md" })], [{ text: "Denied." }])), "end_turn");
    assert.match(said(), /permission denied/i);
    assert.doesNotMatch(said(), /the secret of the readme/);
  },
  "errors.permission_denied.write": async ({ open, ask, said }) => {
    assert.equal(await ask(await open(), script([call("write_file", { path: "denied.txt", content: "x" })], [{ text: "Denied." }])), "end_turn");
    assert.match(said(), /permission denied/i);
    assert.throws(() => readFileSync(`${workspace}/denied.txt`));
  },
  "errors.unknown_session": async ({ ask }) => {
    assert.equal(await code(ask("no-such-session", "hi")), -32002);
  },
  "session.prompt.echo_empty": async ({ open, ask }) => assert.equal(await ask(await open(), "echo"), "end_turn"),
  "session.prompt.unrecognized": async ({ open, ask, said }) => {
    assert.equal(await ask(await open(), "xyzzy plugh"), "end_turn");
    assert.ok(said().length > 0);
  },
  "errors.invalid_params.cwd_null": async ({ agent }) => {
    assert.equal(await code(agent.request(session.new, { cwd: null, mcpServers: [] })), -32602);
  },
  "session.prompt.structured_blocks": async ({ open, agent }) => {
    const prompt = [text("Look at"), { type: "resource_link", uri: `file://${workspace}/README.md`, name: "README.md" },
      { type: "resource", resource: { uri: "file:///notes.txt", text: "notes", mimeType: "text/plain" } }];
    assert.equal((await agent.request(session.prompt, { sessionId: await open(), prompt })).stopReason, "end_turn");
  },
  "permissions.read.approved": async ({ open, ask, said }) => {
    assert.equal(await ask(await open(), script([call("read_file", { path: "README.md" })], [{ text: "Read." }])), "end_turn");
    assert.match(said(), /the secret of the readme/);
  },
  "permissions.write.approved": async ({ open, ask }) => {
    assert.equal(await ask(await open(), script([call("write_file", { path: "made/new.txt", content: "hello" })], [{ text: "Wrote." }])), "end_turn");
    assert.equal(readFileSync(`${workspace}/made/new.txt`, "utf8"), "hello");
  },
  "session.prompt.background_completion": async ({ open, ask }) => {
    const turn = ask(await open(), script([call("terminal", { command: "sleep 0.1; echo late" })], [{ text: "Done." }]));
    assert.equal(await turn, "end_turn");
  },
  "session.cancel.followup_prompt": async ({ open, ask, cancel, runs }) => {
    const id = await open();
    const turn = ask(id, slow);
    await runs();
    await cancel(id);
    assert.equal(await turn, "cancelled");
    assert.equal(await ask(id, "echo after"), "end_turn");
  },
  "session.prompt.post_success_drain": async ({ open, ask, updates }) => {
    const id = await open();
    assert.equal(await ask(id, script([call("terminal", { command: "echo late" })], [{ text: "Done." }])), "end_turn");
    const kinds = () => updates.map((u) => u.update.sessionUpdate);
    await until("the updates", () => kinds().includes("tool_call") && kinds().includes("tool_call_update") && kinds().length >= 4);
    assert.ok(updates.every((u) => u.sessionId === id));
  },
};

const report = { cases: [] };
for (const [name, play] of Object.entries(cases)) {
  const frames = [];
  const { client, updates } = player(!name.includes("denied"));
  let error = "";
  await connected({ client, frames, capabilities: { fs: { readTextFile: true, writeTextFile: true } } }, async (agent, info) => {
    const tools = {
      agent, info, frames, updates,
      open: async () => (await agent.request(session.new, { cwd: workspace, mcpServers: [] })).sessionId,
      ask: async (sessionId, t) => (await agent.request(session.prompt, { sessionId, prompt: [text(t)] })).stopReason,
      cancel: (sessionId) => agent.notify(session.cancel, { sessionId }),
      runs: () => until("the command", () => updates.some((u) => /sleep 64.5/.test(u.update.title))),
      said: () => updates.map((u) => JSON.stringify(u.update)).join("\n"),
    };
    try { await play(tools); } catch (e) { error = String(e.stack ?? e); }
  });
  report.cases.push({ id: `acp.v1.${name}`, error, frames });
}
writeFileSync(process.env.HERMES_REPORT, JSON.stringify(report));
process.exit(0);
