// A conversation with `hermes-ls acp` through the official client: prompt, streaming,
// a client-side file, a permission, cancel, kill -9, and the session loaded again.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const workspace = process.env.HERMES_WS;
const report = { updates: [], asked: [], wrote: {}, stops: [] };

// Text that the user has in the editor and not on the disk.
const buffers = { [`${workspace}/shop.py`]: "# typed, not saved\ndef total(a, b):\n    return a - b\n" };

const script = (...replies) => "```hermes-script\n" + replies.map((r) => JSON.stringify(r)).join("\n") + "\n```";
const call = (name, args) => ({ call: { name, args } });

function client(log) {
  return acp
    .client({ name: "e2e" })
    .onNotification(acp.methods.client.session.update, ({ params }) => { log.push(params.update); })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      report.asked.push(params);
      const once = params.options.find((o) => o.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: once.optionId } };
    })
    .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
      if (params.path in buffers) return { content: buffers[params.path] };
      return { content: readFileSync(params.path, "utf8") };
    })
    .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
      report.wrote[params.path] = buffers[params.path] = params.content;
      return {};
    });
}

async function connected(log, use) {
  const child = spawn(process.env.HERMES_BIN, ["acp"], { cwd: workspace, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const connection = client(log).connect(stream);
  const agent = connection.agent;
  const info = await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
    clientInfo: { name: "e2e", version: "1" },
  });
  const result = await use(agent, info, child);
  if (child.exitCode === null && !child.killed) child.stdin.end();
  await exited;
  return result;
}

const prompt = (agent, sessionId, text) =>
  agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });

// One process: a whole turn, then one that is cancelled, then kill -9 in the middle of a third.
const sessionId = await connected(report.updates, async (agent, info, child) => {
  report.info = info;
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: workspace, mcpServers: [] });
  const turn = await prompt(agent, sessionId, "Please mend total.\n" + script(
    [{ thought: "I should look first." }, { text: "Let me look. " }, call("read_file", { path: "shop.py" })],
    [call("patch", { path: "shop.py", old_string: "return a - b", new_string: "return a + b" })],
    [call("todo", { todos: [{ id: "1", content: "mend total", status: "completed" }] })],
    [call("execute_code", { code: 'from hermes_tools import read_file, search_files\nprint("sum:", "a + b" in read_file("shop.py")["content"], search_files("def ")["total_count"])' })],
    [call("terminal", { command: "rm -rf build" })],
    [{ text: "The sum " }, { text: "is right " }, { text: "now." }],
  ));
  report.stops.push(turn.stopReason);

  const running = prompt(agent, sessionId, script([call("terminal", { command: "sleep 61.5" })], [{ text: "never" }]));
  while (!report.updates.some((u) => u.sessionUpdate === "tool_call" && /sleep 61\.5/.test(u.title))) {
    await new Promise((r) => setTimeout(r, 20));
  }
  await agent.notify(acp.methods.agent.session.cancel, { sessionId });
  report.stops.push((await running).stopReason);

  prompt(agent, sessionId, script([call("terminal", { command: "sleep 62.5" })], [{ text: "never" }])).catch(() => {});
  while (!report.updates.some((u) => u.sessionUpdate === "tool_call" && /sleep 62\.5/.test(u.title))) {
    await new Promise((r) => setTimeout(r, 20));
  }
  child.kill("SIGKILL");
  return sessionId;
});

// Another process: the session is listed and loads with everything in it.
report.replay = [];
await connected(report.replay, async (agent) => {
  report.listed = (await agent.request(acp.methods.agent.session.list, { cwd: workspace })).sessions;
  await agent.request(acp.methods.agent.session.load, { sessionId, cwd: workspace, mcpServers: [] });
  report.replayed = report.replay.length;
  const turn = await prompt(agent, sessionId, script([{ text: "Still here." }]));
  report.stops.push(turn.stopReason);
});
report.sessionId = sessionId;
writeFileSync(process.env.HERMES_REPORT, JSON.stringify(report, null, 1));
process.exit(0);
