import assert from "node:assert/strict";
import { test } from "node:test";

import { grouped, isRow, nest, SessionRow } from "../sessionrows";

const session = (sessionId: string, parentId?: string) => ({ sessionId, cwd: "/", ...(parentId && { _meta: { hermes: { parentId } } }) });
const shown = (rows: readonly SessionRow[]): string =>
  rows.map((r) => r.session.sessionId + (r.children.length > 0 ? `(${shown(r.children.filter(isRow))})` : "")).join(" ");

test("forks are below their origin, at any depth; without it they are at the top", () => {
  assert.equal(shown(nest([session("c", "b"), session("b", "a"), session("x", "gone"), session("a"), session("d", "a")])), "x a(b(c) d)");
  assert.deepEqual(nest([]), []);
});

test("hits are grouped by session, the best first", () => {
  const hit = (sessionId: string, snippet: string) => ({ sessionId, cwd: "/", snippet });
  const rows = grouped([hit("b", "1"), hit("a", "2"), hit("b", "3")]);
  assert.deepEqual(
    rows.map((r) => [r.session.sessionId, r.children.map((c) => ("hit" in c ? c.hit.snippet : ""))]),
    [
      ["b", ["1", "3"]],
      ["a", ["2"]],
    ],
  );
});
