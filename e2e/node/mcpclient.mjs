// The client that the official MCP conformance suite starts with a server's address:
// a session of `hermes-ls acp` that connects to the server, and whose scripted model
// calls every tool that it is offered, or those that the scenario names.
import { acp, call, connected, prompt, script, workspace } from "./client.mjs";

const url = process.argv.at(-1);
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const args = { add_numbers: { a: 5, b: 3 }, valid_tool: { region: "north" }, lookup_user: { id: "1" } };

const updates = [];
const client = acp.client({ name: "mcp-conformance" })
  .onNotification(acp.methods.client.session.update, ({ params }) => { updates.push(params.update); })
  .onRequest(acp.methods.client.session.requestPermission, () => ({ outcome: { outcome: "selected", optionId: "once" } }))
  .onRequest(acp.methods.client.elicitation.create, ({ params }) => ({ action: "accept", content: filledIn(params.requestedSchema) }));

// The user sends a form as it is shown: the fields have their defaults.
function filledIn(schema) {
  return Object.fromEntries(Object.entries(schema?.properties ?? {}).filter(([, f]) => f.default !== undefined).map(([name, f]) => [name, f.default]));
}

async function said(agent, sessionId, text) {
  const from = updates.length;
  await prompt(agent, sessionId, text);
  await agent.request(acp.methods.agent.session.list, { cwd: workspace }); // handlers of what came before have run
  return updates.slice(from).filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");
}

await connected({ client, capabilities: { elicitation: { form: {} } } }, async (agent) => {
  const mcpServers = [{ type: "http", name: "suite", url, headers: [] }];
  const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: workspace, mcpServers });
  let servers;
  do servers = await said(agent, sessionId, "/mcp"); while (/connecting/.test(servers)); // the suite ends a client that never connects
  const offered = [...(await said(agent, sessionId, "/tools")).matchAll(/mcp__suite__([\w.-]+)/g)].map((m) => m[1]);
  const calls = given.toolCalls ?? [...new Set(offered)].map((name) => ({ name, arguments: args[name] ?? {} }));
  console.log(process.env.MCP_CONFORMANCE_SCENARIO, servers, JSON.stringify(calls));
  if (calls.length > 0) {
    await prompt(agent, sessionId, script(...calls.map((c) => [call(`mcp__suite__${c.name}`, c.arguments)]), [{ text: "Called." }]));
  }
  console.log(updates.filter((u) => u.sessionUpdate === "tool_call_update" && u.rawOutput).map((u) => JSON.stringify(u.rawOutput)).join("\n"));
});
process.exit(0);
