import assert from "node:assert/strict";
import { it } from "node:test";

import { places } from "../../shared/names";
import { addresses } from "../files";

const files = ["src/a.go", "src/b/util.go", "lib/util.go", "docs/a note.md", "Makefile"].map((path) => ({ path, uri: `file:///w/${encodeURI(path)}` }));

it("a name is a path in the workspace, its only end, or the path on the disk", () => {
  const names = ["src/a.go", "./src/a.go", "a.go", "b/util.go", "util.go", "/w/lib/util.go", "/etc/passwd", "gone.go", "../w/src/a.go"];
  assert.deepEqual(Object.values(addresses(names, files)), [
    "file:///w/src/a.go",
    "file:///w/src/a.go",
    "file:///w/src/a.go",
    "file:///w/src/b/util.go",
    "", // two files
    "file:///w/lib/util.go",
    "",
    "",
    "",
  ]);
});

const named = (text: string) =>
  places(text)
    .filter((p) => p.name)
    .map((p) => (p.line ? `${p.name}:${p.line}` : p.name));

it("what may be a file in a text", () => {
  for (const [text, ...want] of [
    ["See src/a.go:12, and (b.go#L3-L5); c.ts(4,2): error", "src/a.go:12", "b.go:3", "c.ts:4"],
    ["a.go:12:7: undefined", "a.go:12"],
    ["./x/Makefile and ../up/y.rs.", "./x/Makefile", "../up/y.rs"],
    [".github/workflows/ci.yml, .env.local", ".github/workflows/ci.yml", ".env.local"],
    ["lines 10-12 of main.py:10-12", "main.py:10"],
    ["and/or e.g. 1.5 v1.2.3 3/4 50% …", "and/or", "e.g", "3/4"],
    ["https://example.org/a.go x=a.go", ...[]],
    ["no file", ...[]],
  ] as string[][]) {
    assert.deepEqual(named(text!), want, text);
    assert.equal(
      places(text!)
        .map((p) => p.text)
        .join(""),
      text,
    );
  }
});

it("a long text takes no long time", () => {
  const before = performance.now();
  for (const piece of ["a", "a/", "a.", "a.b/", "~-", "(1", "a.go:1:"]) places(piece.repeat(100_000 / piece.length) + "\\");
  assert.ok(performance.now() - before < 5_000);
});
