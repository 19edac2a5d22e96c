import assert from "node:assert/strict";
import { test } from "node:test";

import { Row, rowsOf, troubled } from "../extensionrows";
import { ExtensionsResult } from "../protocol";

const none: ExtensionsResult = {
  mcp: [],
  skills: [],
  plugins: [],
  hooks: [],
  commands: [],
  agents: [],
  memory: [],
  learnings: [],
  offered: [],
  trusted: false,
};
const shown = (rows: readonly Row[]): string[] =>
  rows.flatMap((r) => [`${r.label} [${r.kind}] ${r.detail ?? ""}`.trim(), ...shown(r.children ?? []).map((c) => `  ${c}`)]);

test("groups without entries are not shown", () => assert.deepEqual(rowsOf(none), []));

test("each entry has the kind that decides its actions", () => {
  const server = (name: string, state: string, tools = 0) => ({ name, state, tools, from: "npx x" });
  const all: ExtensionsResult = {
    ...none,
    mcp: [server("a", "connected", 1), server("b", "needs login"), server("c", "not approved")],
    skills: [
      { name: "debug", description: "Find bugs", place: "bundled", path: "" },
      { name: "bad", description: "", place: "user", path: "", error: "it has no description" },
    ],
    memory: [{ target: "user", heading: "About you", usage: "1 %", path: "", entries: ["x"] }],
    learnings: [{ id: 3, program: "go", error: "e", failed: "go tets", worked: "go test", seen: 1, confidence: 1 }],
    offered: [
      { folder: "/w", trusted: false, skills: [{ name: "deploy" }], commands: [], agents: [], servers: [{ name: "db" }] },
      { folder: "/v", trusted: true, skills: [{ name: "other" }], commands: [], agents: [], servers: [] },
    ],
  };
  assert.deepEqual(shown(rowsOf(all)), [
    "Not used until you trust the folder [untrusted]",
    "  deploy [offered] skill",
    "  db [offered] MCP server",
    "MCP servers [group] 3",
    "  a [server.connected] 1 tool",
    "  b [server.needs-login] needs login",
    "  c [server.not-approved] not approved",
    "Skills [group] 2",
    "  debug [skill] bundled",
    "  bad [skill.broken] user",
    "Memory [memories] 1",
    "  About you [memory] 1 %",
    "Learnings [learnings] 1",
    "  go test [learning] go",
  ]);
});

test("an entry keeps its id when others change, and no two rows have the same", () => {
  const hook = { event: "pre_tool_call", matcher: "", command: "check" };
  const listing = (state: string): ExtensionsResult => ({
    ...none,
    mcp: [...(state === "failed" ? [] : [{ name: "a", state, tools: 0, from: "x" }]), { name: "b", state, tools: 0, from: "x" }],
    hooks: [hook, hook],
    commands: [{ name: "b", description: "", path: "/b.md" }],
    offered: ["/v", "/w"].map((folder) => ({ folder, trusted: false, skills: [{ name: "b" }], commands: [{ name: "b" }], agents: [], servers: [] })),
  });
  const ids = (rows: readonly Row[]): string[] => rows.flatMap((r) => [r.id, ...ids(r.children ?? [])]);
  const before = ids(rowsOf(listing("connecting")));
  assert.equal(new Set(before).size, before.length, before.join("\n"));
  assert.deepEqual(
    ids(rowsOf(listing("failed"))),
    before.filter((id) => id !== "MCP servers/a"),
  );
});

test("in Restricted Mode the row of the folder has no action", () => {
  const folder = { folder: "/w", trusted: false, skills: [{ name: "deploy" }], commands: [], agents: [], servers: [] };
  assert.deepEqual(shown(rowsOf({ ...none, offered: [folder] }, true)), ["Not used in Restricted Mode [restricted]", "  deploy [offered] skill"]);
});

test("servers that need a login stand before those that failed", () => {
  const server = (name: string, state: string) => ({ name, state, tools: 0, from: "" });
  assert.deepEqual(
    troubled([server("a", "failed"), server("b", "connected"), server("c", "needs login")]).map((s) => s.name),
    ["c", "a"],
  );
});
