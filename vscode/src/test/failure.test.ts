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
  assert.equal(failure(new Error("model.base_url is empty")).error, "The endpoint of the model has no address.");
});

it("any other failure is said as it is", () => {
  assert.deepEqual(failure(new Error("the endpoint refused the key")), { error: "The endpoint refused the key" });
  assert.deepEqual(failure("odd"), { error: "Odd" });
});
