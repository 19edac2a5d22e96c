import assert from "node:assert/strict";
import { test } from "node:test";

import { environment, put, restricted } from "../options";
import { ago, argumentsOf, counted, money, sentence, short } from "../words";

test("figures", () => {
  assert.deepEqual([0, 950, 1000, 12_345, 99_950, 999_960, 1_234_000].map(short), ["0", "950", "1k", "12.3k", "100k", "1M", "1.2M"]);
  assert.equal(money(0.0021, "USD"), "$0.0021");
  assert.equal(money(1.5, "USD"), "$1.50");
  assert.deepEqual(
    [1, 3].map((n) => counted(n, "file")),
    ["1 file", "3 files"],
  );
});

test("an error begins as a sentence does", () => {
  assert.deepEqual(["the key was refused.", "401", ""].map(sentence), ["The key was refused.", "401", ""]);
});

test("times", () => {
  const now = Date.parse("2026-01-10T12:00:00Z");
  const at = (seconds: number) => ago(new Date(now - seconds * 1000).toISOString(), now);
  assert.deepEqual([5, 300, 7200, 86_400, 15 * 86_400].map(at), ["just now", "5 minutes ago", "2 hours ago", "yesterday", "2 weeks ago"]);
  assert.equal(ago(undefined), "");
  assert.equal(ago("nonsense"), "");
});

test("settings become a tree", () => {
  const tree = {};
  put(tree, "model.default", "m");
  put(tree, "model.provider", "p");
  put(tree, "mcp_servers", {});
  assert.deepEqual(tree, { model: { default: "m", provider: "p" }, mcp_servers: {} });
});

test("Restricted Mode offers tools that read, whatever the user has set", () => {
  const options = { agent: { max_iterations: 5, tools: { enabled: ["coding"] } }, sandbox: { mode: "off", network: false }, model: { default: "m" } };
  assert.deepEqual(restricted(options), {
    agent: { max_iterations: 5, tools: { enabled: ["safe", "todo", "clarify"] } },
    sandbox: { mode: "read-only", network: false },
    skills: { trust_folders: false },
    model: { default: "m" },
  });
});

test("plain settings become variables", () => {
  assert.deepEqual(environment({ model: { base_url: "u", fallback: ["x"] }, sandbox: { network: false }, checkpoints: { max_mb: 5 } }), {
    HERMES_MODEL_BASE_URL: "u",
    HERMES_SANDBOX_NETWORK: "false",
    HERMES_CHECKPOINTS_MAX_MB: "5",
  });
});

test("a command line has its arguments, and quotation marks keep blanks", () => {
  assert.deepEqual(argumentsOf(`npx  -y @scope/server --path "My Files" 'a "b"' --x="1 2" C:\\bin\\x.exe ""`), [
    "npx",
    "-y",
    "@scope/server",
    "--path",
    "My Files",
    'a "b"',
    "--x=1 2",
    "C:\\bin\\x.exe",
    "",
  ]);
});
