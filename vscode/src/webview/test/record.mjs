// Records messages of the real server for the tests of the reducer:
//   node record.mjs PATH/TO/hermes-ls
// Runs each session of sessions.json in its own workspace, with the scripted model, and
// writes streams/NAME.json: the messages that a page would get. Ids, times and directories
// are replaced by fixed ones.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const here = import.meta.dirname;
const binary = process.argv[2];
if (!binary) throw new Error("say which binary: node record.mjs bin/hermes-ls");

for (const [name, c] of Object.entries(JSON.parse(readFileSync(join(here, "sessions.json"), "utf8")))) {
  writeFileSync(join(here, "streams", `${name}.json`), await record(c));
  console.log(`recorded ${name}`);
}

async function record(c) {
  const root = mkdtempSync(join(tmpdir(), "hermes-record-"));
  const workspace = join(root, "workspace");
  for (const [path, text] of Object.entries(c.files ?? {})) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  }
  mkdirSync(workspace, { recursive: true });
  mkdirSync(join(root, "home"));
  writeFileSync(join(root, "home", "config.yaml"), "model: {provider: embedded}\n");
  const messages = [];
  try {
    await converse(c, workspace, join(root, "home"), messages);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return normal(JSON.stringify(messages, undefined, 1), workspace);
}

async function converse(c, workspace, home, messages) {
  const server = spawn(binary, ["acp"], { env: { ...process.env, HERMES_HOME: home, HOME: home }, stdio: ["pipe", "pipe", "ignore"] });
  const pending = new Map();
  let next = 1,
    asks = 1,
    clock = 0;
  const send = (m) => server.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
  const call = (method, params) =>
    new Promise((resolve, reject) => {
      pending.set(next, { resolve, reject });
      send({ id: next++, method, params });
    });
  const now = () => (clock += 100);
  createInterface({ input: server.stdout }).on("line", (line) => {
    const m = JSON.parse(line);
    if (m.method === "session/update") messages.push({ type: "update", update: m.params.update, at: now() });
    else if (m.method === "session/request_permission") ask(m, { kind: "permission", toolCall: m.params.toolCall, options: m.params.options });
    else if (m.method === "elicitation/create") ask(m, { kind: "form", request: m.params });
    else if (m.id !== undefined) {
      const p = pending.get(m.id);
      if (m.error) p.reject(new Error(m.error.message));
      else p.resolve(m.result);
    }
  });
  const ask = (m, what) => {
    const id = `ask-${asks++}`;
    messages.push({ type: "ask", ask: { id, ...what, at: now() } });
    const choice = c.answers?.[asks - 2] ?? "no";
    messages.push({ type: "answered", askId: id, choice });
    send({
      id: m.id,
      result: what.kind === "permission" ? { outcome: { outcome: "selected", optionId: choice } } : { action: "accept", content: { answer: choice } },
    });
  };

  await call("initialize", {
    protocolVersion: 1,
    clientCapabilities: { session: { notices: {} }, elicitation: { form: {} } },
    clientInfo: { name: "recorder", version: "1" },
  });
  const { sessionId, modes, configOptions } = await call("session/new", { cwd: workspace, mcpServers: [] });
  messages.push({ type: "reset", session: { id: sessionId, title: "" } });
  messages.push({ type: "options", mode: modes.currentModeId, options: configOptions });
  for (const prompt of c.prompts) {
    const lines = prompt.script.map((reply) => JSON.stringify(reply));
    const text = `${prompt.text}\n\`\`\`hermes-script\n${lines.join("\n")}\n\`\`\``;
    messages.push({ type: "user", text: prompt.text, at: now() }, { type: "turn", running: true, at: now() });
    const turn = call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    if (prompt.cancelAfter) setTimeout(() => send({ method: "session/cancel", params: { sessionId } }), prompt.cancelAfter);
    try {
      const { stopReason } = await turn;
      messages.push({ type: "turn", running: false, at: now(), stopReason });
    } catch (error) {
      messages.push({ type: "turn", running: false, at: now(), error: error.message });
    }
  }
  server.stdin.end();
  await new Promise((resolve) => server.on("close", resolve));
}

/** normal replaces values that differ from run to run by fixed names. */
function normal(text, workspace) {
  const names = new Map();
  return (
    text
      .replaceAll(workspace, "/workspace")
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{32}\b/g, (id) => {
        if (!names.has(id)) names.set(id, `id${names.size + 1}`);
        return names.get(id);
      })
      .replace(/("updatedAt": ")[^"]+/g, "$12026-01-01T00:00:00Z") + "\n"
  );
}
