import assert from "node:assert/strict";
import { test } from "node:test";

import { callbackOf } from "../server/login";

test("the callback of a login is on loopback", () => {
  const page = (back: string) => `https://auth.example/authorize?client_id=a&redirect_uri=${encodeURIComponent(back)}&state=b`;
  assert.equal(callbackOf(page("http://127.0.0.1:41234/callback")), "http://127.0.0.1:41234");
  assert.equal(callbackOf(page("http://localhost:41234/callback")), "http://localhost:41234");
  for (const other of [page("https://example.org:443/callback"), page("http://127.0.0.1/callback"), page(""), "https://example.org/", "no address"]) {
    assert.equal(callbackOf(other), undefined);
  }
});
