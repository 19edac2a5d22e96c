// The official client with the parts that the conversations share: a connection to
// `hermes-ls acp` whose every frame is kept, and scripts for the embedded model.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

export { acp };

export const workspace = process.env.HERMES_WS;
export const script = (...replies) => "```hermes-script\n" + replies.map((r) => JSON.stringify(r)).join("\n") + "\n```";
export const call = (name, args) => ({ call: { name, args } });
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

export async function until(what, is, limit = 60000) {
  for (const end = Date.now() + limit; Date.now() < end; await sleep(10)) {
    if (is()) return;
  }
  throw new Error(`${what} did not come`);
}

// tap keeps the lines that pass, for the test to hold against the schema.
function tap(frames, from) {
  let rest = "";
  return new TransformStream({
    transform(chunk, out) {
      const lines = (rest + new TextDecoder().decode(chunk)).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) frames.push({ from, line });
      out.enqueue(chunk);
    },
  });
}

// connected runs `use` with an agent; log takes its updates, frames all lines.
export async function connected({ client, capabilities = {}, frames = [], env = {} }, use) {
  const child = spawn(process.env.HERMES_BIN, ["acp"], {
    cwd: workspace, stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env },
  });
  const exited = once(child, "exit");
  const out = new TransformStream();
  out.readable.pipeThrough(tap(frames, "client")).pipeTo(Writable.toWeb(child.stdin)).catch(() => {});
  const connection = client.connect(acp.ndJsonStream(out.writable, Readable.toWeb(child.stdout).pipeThrough(tap(frames, "agent"))));
  const agent = connection.agent;
  const info = await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: capabilities, clientInfo: { name: "e2e", version: "1" },
  });
  const result = await use(agent, info, child);
  const ending = Date.now();
  if (child.exitCode === null && !child.killed) child.stdin.end();
  await exited;
  return { result, exitMs: Date.now() - ending };
}

export const prompt = (agent, sessionId, text) =>
  agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
