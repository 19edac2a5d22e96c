// The client that the official MCP conformance suite starts with a server's address, as a user
// with a shell: `hermes-ls mcp test`, and `hermes-ls mcp login` whenever that needs a login.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || "{}");
const args = { add_numbers: { a: 5, b: 3 }, valid_tool: { region: "north" }, lookup_user: { id: "1" } };
const needsLogin = 3;

const home = mkdtempSync(join(tmpdir(), "hermes-mcp-"));
const oauth = { client_metadata_url: "https://conformance-test.local/client-metadata.json" };
if (given.client_id) Object.assign(oauth, { client_id: given.client_id, client_secret: given.client_secret });
writeFileSync(join(home, "config.yaml"), JSON.stringify({ mcp_servers: { suite: { url, oauth } } }));

function hermes(...words) {
  const browser = `${process.execPath} ${join(import.meta.dirname, "browser.mjs")}`;
  const r = spawnSync(process.env.HERMES_BIN, ["mcp", ...words], {
    cwd: home, encoding: "utf8", input: "", timeout: 60_000, env: { ...process.env, HERMES_HOME: home, HOME: home, BROWSER: browser },
  });
  console.log(`mcp ${words.join(" ")}: exit ${r.status}\n${r.stdout}${r.stderr}`);
  return r;
}

// The suite rejects more than three logins of one client.
let logins = 0;
function run(...words) {
  for (;;) {
    const r = hermes(...words);
    if (r.status !== needsLogin || logins === 3) return r;
    logins++;
    const login = hermes("login", "suite");
    if (login.status !== 0) return login;
  }
}

let r = run("test", "suite", "--json");
if (r.status === 0) {
  const tools = JSON.parse(r.stdout).tools;
  const calls = given.toolCalls ?? tools.map((name) => ({ name, arguments: args[name] ?? {} }));
  for (const c of calls) {
    r = run("test", "suite", "--call", c.name, "--args", JSON.stringify(c.arguments), "--answer", "accept", "--json");
  }
}
rmSync(home, { recursive: true });
process.exit(scenario.startsWith("auth/") ? r.status : 0);
