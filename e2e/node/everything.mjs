// MCP servers of all three kinds, slash commands, branches and settings, through the
// official client and the official test server.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { acp, call, connected, prompt, script, sleep, until, workspace } from "./client.mjs";

const server = new URL("./node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url).pathname;
const mark = `mark-${process.pid}-${Date.now()}`;
const report = { updates: [], frames: [], asked: [], answers: {} };

const freePort = () => new Promise((done) => {
  const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => done(port)); });
});

const answers = (port) => new Promise((done) => {
  const s = connect(port, "127.0.0.1", () => { s.destroy(); done(true); }).on("error", () => done(false));
});

async function listening(kind) {
  const port = await freePort();
  const child = spawn(process.execPath, [server, kind], { env: { ...process.env, PORT: String(port) }, stdio: "ignore" });
  for (let i = 0; !(await answers(port)); i++) {
    if (i > 600) throw new Error(`the ${kind} server does not listen`);
    await sleep(50);
  }
  return { port, stop: () => child.kill() };
}

// marked counts the processes of the server that runs over stdio.
function marked() {
  return readdirSync("/proc").filter((pid) => {
    try { return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(mark); } catch { return false; }
  }).length;
}

const http = await listening("streamableHttp");
const sse = await listening("sse");
const mcpServers = [
  { name: "piped", command: process.execPath, args: [server, "stdio", mark], env: [{ name: "GIVEN", value: "yes" }] },
  { type: "http", name: "web", url: `http://127.0.0.1:${http.port}/mcp`, headers: [{ name: "X-Key", value: "none" }] },
  { type: "sse", name: "events", url: `http://127.0.0.1:${sse.port}/sse`, headers: [] },
  { name: "missing", command: "/no/such/server", args: [], env: [] },
];

const client = acp.client({ name: "e2e" })
  .onNotification(acp.methods.client.session.update, ({ params }) => { report.updates.push(params.update); })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    report.asked.push(params);
    return { outcome: { outcome: "selected", optionId: "session" } };
  });

const said = (from) => report.updates.slice(from).filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");

async function ask(agent, sessionId, text) {
  const from = report.updates.length;
  const { stopReason } = await prompt(agent, sessionId, text);
  await agent.request(acp.methods.agent.session.list, { cwd: workspace }); // handlers of what came before have run
  return `${stopReason}: ${said(from)}`;
}

const { exitMs } = await connected({
  client, frames: report.frames, env: { PRIVATE_MARK: "1" },
  capabilities: { auth: { terminal: true }, session: { notices: {} } },
}, async (agent, info) => {
  report.info = info;
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: workspace, mcpServers });
  report.sessionId = sessionId;
  report.stop = (await prompt(agent, sessionId, "Use them all.\n" + script(
    [call("mcp__piped__echo", { message: "over a pipe" }), call("mcp__web__echo", { message: "over the web" }), call("mcp__events__echo", { message: "over events" })],
    [call("mcp__piped__get-env", {})],
    [call("mcp__piped__get-sum", { a: "20", b: 22 })],
    [call("mcp__piped__get-structured-content", { location: "New York" })],
    [call("mcp__web__trigger-long-running-operation", { duration: 1, steps: 4 })],
    [call("mcp__piped__no-such-tool", {})],
    [{ text: "All used." }],
  ))).stopReason;

  for (const text of ["/mcp", "/status", "/tools", "/title Everything", "/nope", "/usr/bin/env is a path\n" + script([{ text: "A prompt." }])]) {
    report.answers[text.split("\n")[0]] = await ask(agent, sessionId, text);
  }

  // A call of a server is cancelled like any other.
  const running = prompt(agent, sessionId, script([call("mcp__piped__trigger-long-running-operation", { duration: 60, steps: 60 })], [{ text: "never" }]));
  const begun = report.updates.length;
  await until("the long call", () => report.updates.slice(begun - 3).some((u) => u.sessionUpdate === "tool_call_update" && u.status === "in_progress" && u._meta?.hermes?.message));
  const cancelled = Date.now();
  await agent.notify(acp.methods.agent.session.cancel, { sessionId });
  report.cancelled = (await running).stopReason;
  report.cancelMs = Date.now() - cancelled;

  await agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "auto" });
  await agent.request(acp.methods.agent.session.setConfigOption, { sessionId, configId: "thought_level", value: "high" });
  const fork = await agent.request("_hermes/session/fork", { sessionId, mcpServers: [] });
  report.tree = (await agent.request("_hermes/session/tree", { sessionId })).sessions;
  report.fork = fork.sessionId;
  report.forked = await ask(agent, fork.sessionId, "In the fork.\n" + script([{ text: "Forked." }]));
  report.rewound = await agent.request("_hermes/session/rewind", { sessionId: fork.sessionId });
  report.undone = await ask(agent, sessionId, "/undo");

  report.before = marked();
  await agent.request(acp.methods.agent.session.close, { sessionId });
  report.after = marked();
  await agent.request(acp.methods.agent.session.load, { sessionId, cwd: workspace, mcpServers: mcpServers.slice(0, 1) });
  report.again = await ask(agent, sessionId, script([call("mcp__piped__echo", { message: "again" })], [{ text: "Back." }]));
  await agent.request(acp.methods.agent.authenticate, { methodId: "key" });
});
report.exitMs = exitMs;
report.left = marked();
http.stop();
sse.stop();
writeFileSync(process.env.HERMES_REPORT, JSON.stringify(report, null, 1));
process.exit(0);
