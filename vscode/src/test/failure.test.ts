import assert from "node:assert/strict";
import { it } from "node:test";
import { failure } from "../chat/failure";

it("a model that is not set up has ways out", () => {
  const noKey = failure(
    Object.assign(
      new Error(
        "no key for openai at api.openai.com: set providers.openai.api_key or key_env (OPENAI_API_KEY is not set), or run `hermes-ls setup` or `hermes-ls login`",
      ),
      { code: -32000 },
    ),
  );
  assert.equal(noKey.error, "No API key for openai.");
  assert.deepEqual(
    noKey.ways?.map((w) => w.command),
    ["hermes.key", "hermes.provider"],
  );
  const address = failure(new Error("model.base_url is empty"));
  assert.equal(address.error, "The endpoint of the model has no address.");
  assert.deepEqual(
    address.ways?.map((w) => w.label),
    ["Choose Provider…", "Open Settings"],
  );
});

it("a failure about a key names the provider and has buttons, and begins with no address", () => {
  const refused = (data: object) =>
    failure(
      Object.assign(new Error("the endpoint http://127.0.0.1:1/v1 refused the key (401). Check HERMES_API_KEY."), {
        code: -32603,
        data: { kind: "key refused", ...data },
      }),
      true,
    );
  const openai = refused({ provider: "openai", endpoint: "https://api.openai.com/v1", status: 401, reason: "Incorrect API key provided." });
  assert.equal(openai.error, "The key for openai was refused (401: Incorrect API key provided).");
  assert.deepEqual(
    openai.ways?.map((w) => w.label),
    ["Set API Key…", "Retry"],
  );
  assert.equal(
    refused({ provider: "custom", endpoint: "http://127.0.0.1:1/v1", status: 401 }).error,
    "The key for your endpoint 127.0.0.1:1 was refused (401).",
  );
  assert.equal(failure(Object.assign(new Error("x"), { data: { kind: "no key", provider: "groq", key: true } })).error, "No API key for groq.");
});

it("a failure of another kind has the button that may solve it, before Retry", () => {
  const labels = (kind: string) => failure(Object.assign(new Error("x"), { data: { kind } }), true).ways?.map((w) => w.label);
  assert.deepEqual(labels("unreachable"), ["Open Settings", "Retry"]);
  assert.deepEqual(labels("no such model"), ["Choose Model…", "Open Settings", "Retry"]);
  assert.deepEqual(labels("out of credit"), ["Choose Provider…", "Retry"]);
  assert.deepEqual(labels("busy"), ["Retry"]);
});

it("any other failure is said as it is", () => {
  assert.deepEqual(failure(new Error("the endpoint refused the key")), { error: "The endpoint refused the key" });
  assert.deepEqual(failure("odd"), { error: "Odd" });
  assert.deepEqual(failure("odd", true).ways, [{ label: "Retry", command: "hermes.chat.retry" }]);
});
