// A host of the Model Context Protocol on the official SDK that starts `hermes-ls mcp serve`. The
// argument is what its user answers: allow, deny, or none (it has no elicitation). stdout has the
// results as JSON.
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const user = process.argv[2];
const workspace = process.env.HERMES_WS;
const script = (...steps) => "Do it.\n```hermes-script\n" + steps.map((s) => JSON.stringify(s)).join("\n") + "\n```";
const report = { asked: [], progress: [] };
const capabilities = { roots: {} };
if (user !== "none") capabilities.elicitation = {};
const client = new Client({ name: "e2e-host", version: "1" }, { capabilities });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: pathToFileURL(workspace).href }] }));
if (user !== "none") {
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    report.asked.push(params);
    if (user === "deny") return { action: "decline" };
    return { action: "accept", content: { answer: params.requestedSchema.properties.answer.enum?.[0] ?? "blue" } };
  });
}
await client.connect(new StdioClientTransport({ command: process.env.HERMES_BIN, args: ["mcp", "serve"], cwd: "/", env: process.env, stderr: "inherit" }));
const call = async (name, args) => {
  const r = await client.callTool({ name, arguments: args }, undefined, { timeout: 60_000, onprogress: (p) => report.progress.push(p.message) });
  return { isError: r.isError ?? false, text: r.content.map((c) => c.text).join(""), ...r.structuredContent };
};
report.server = client.getServerVersion();
report.tools = (await client.listTools()).tools.map((t) => t.name);
report.write = await call("prompt", { prompt: script(
  [{ call: { name: "write_file", args: { path: "made.txt", content: "made\n" } } }],
  [{ call: { name: "terminal", args: { command: "mkdir -p build && rm -rf build && echo swept" } } }],
  [{ text: "Wrote it." }]) });
report.question = await call("prompt", { prompt: script([{ call: { name: "clarify", args: { question: "Which color?" } } }], [{ text: "Asked." }]) });
report.again = await call("prompt", { session: report.write.session, prompt: script([{ text: "Again." }]) });
report.list = await call("sessions", {});
report.found = await call("sessions", { query: "Again" });
report.command = await call("prompt", { prompt: `/mode auto\n${script([{ text: "Sent as text." }])}` });
report.delegated = await call("delegate", { tasks: [{ goal: script([{ text: "First." }]) }, { goal: script([{ text: "Second." }]) }] });
report.outside = await call("prompt", { prompt: "Hello", cwd: "/" });
mkdirSync(`${workspace}/below`, { recursive: true });
report.below = await call("prompt", { prompt: script([{ text: "Below." }]), cwd: `${workspace}/below` });
const abort = new AbortController();
const slow = client.callTool({ name: "prompt", arguments: { prompt: script([{ call: { name: "terminal", args: { command: "touch started; sleep 100" } } }], [{ text: "Late." }]) } }, undefined,
  { signal: abort.signal, onprogress: () => abort.abort() });
report.cancelled = await slow.then((r) => JSON.stringify(r), (err) => String(err));
await client.close();
console.log(JSON.stringify(report));
