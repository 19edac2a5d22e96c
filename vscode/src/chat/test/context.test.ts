import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { target } from "../address";
import { html } from "../html";
import { pieces, unlinked, written } from "../mentions";
import { linkTo } from "../../shared/mention";
import { rank } from "../../shared/rank";
import { region } from "../region";

describe("mentions", () => {
  const cases: [string, string[], unknown[]][] = [
    ["plain words", [], [{ text: "plain words" }]],
    ["", [], []],
    ["@file", [], [{ mention: "file" }]],
    ["see @src/a.go, and (@b.go).", [], [{ text: "see " }, { mention: "src/a.go" }, { text: ", and (" }, { mention: "b.go" }, { text: ")." }]],
    ["mail me@example.org", [], [{ text: "mail me@example.org" }]],
    ["a lone @ and @, too", [], [{ text: "a lone @ and @, too" }]],
    ["@my notes.md is it", ["my notes.md", "my"], [{ mention: "my notes.md" }, { text: " is it" }]],
    ["@a.go @a.go", ["a.go"], [{ mention: "a.go" }, { text: " " }, { mention: "a.go" }]],
    ["@a.gox", ["a.go"], [{ mention: "a.gox" }]],
    ['@"docs/a note.md", @"b c.md"', [], [{ mention: "docs/a note.md", quoted: true }, { text: ", " }, { mention: "b c.md", quoted: true }]],
    ['@"a note.md":3 @"b.md"#L1 @"c \\"d\\".md"', ["a note.md"], [{ text: '@"a note.md":3 @"b.md"#L1 @"c \\"d\\".md"' }]], // the server reads them
    ["@docs/ü.md @app/[id]/(a)/x.ts", [], [{ mention: "docs/ü.md" }, { text: " " }, { mention: "app/[id]/(a)/x.ts" }]],
    ["line\n@selection\nmore", [], [{ text: "line\n" }, { mention: "selection" }, { text: "\nmore" }]],
  ];
  for (const [text, known, want] of cases) {
    it(JSON.stringify(text), () => {
      assert.deepEqual(pieces(text, known), want);
      assert.equal(pieces(text, known).map(written).join(""), text, "nothing is lost");
    });
  }
});

describe("ranking", () => {
  const paths = ["src/main.go", "src/domain.go", "main_test.go", "docs/remains.md", "m/a/i/n.txt"];
  it("puts names that begin so first, then names, paths, and letters in order", () => {
    assert.deepEqual(rank(paths, "main", 10), ["src/main.go", "main_test.go", "src/domain.go", "docs/remains.md", "m/a/i/n.txt"]);
  });
  it("lists some for nothing", () => assert.equal(rank(paths, "", 2).length, 2));
  it("finds nothing for what is nowhere", () => assert.deepEqual(rank(paths, "zzz", 10), []));
  it("takes capitals as they come", () => assert.deepEqual(rank(["README.md"], "readme", 10), ["README.md"]));
});

describe("regions", () => {
  const file = ["package a", "", "func one() {", "\tx()", "}", "", "func two() {", "\ty()", "}"];
  it("are from the first line to the first that ends so", () => {
    assert.deepEqual(region(file, "func one() {\n\tz()\n\tzz()\n}\n"), { first: 2, last: 4 });
    assert.deepEqual(region(file, "func two() {\n\tz()\n}"), { first: 6, last: 8 });
  });
  it("are none where it is not plain", () => {
    assert.equal(region(file, "func three() {\n}"), undefined);
    assert.equal(region(file, "}\n}"), undefined);
    assert.equal(region(file, "package a"), undefined);
    assert.equal(region(file, ""), undefined);
  });
});

it("links lead outside, to files and their lines, or nowhere", () => {
  const cases: [string, unknown][] = [
    ["https://example.org/a#L3", { outside: "https://example.org/a#L3" }],
    ["mailto:a@example.org", { outside: "mailto:a@example.org" }],
    ["src/a.go", { path: "src/a.go" }],
    ["src/a.go#L12", { path: "src/a.go", line: 12 }],
    ["src/a.go#L12-L14", { path: "src/a.go", line: 12 }],
    ["src/a.go:12", { path: "src/a.go", line: 12 }],
    ["src/a.go:12:3", { path: "src/a.go", line: 12 }],
    ["a%20b.md", { path: "a b.md" }],
    ["100%.md", { path: "100%.md" }],
    ["file:///w/a%20b.go#L3", { path: "/w/a b.go", line: 3 }],
    ["#section", undefined],
    ["", undefined],
    ["command:workbench.action.quit", undefined],
    ["javascript:alert(1)", undefined],
    ["attachment:///a.txt", undefined],
    ["vscode://x/y", undefined],
  ];
  for (const [href, want] of cases) assert.deepEqual(target(href), want, href);
});

it("the page may do nothing but run our script", () => {
  const page = html({ script: "s.js", style: "s.css", source: "https://own.example", nonce: "abc" });
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)![1]!;
  assert.match(policy, /^default-src 'none'; /);
  assert.ok(!/unsafe|\*|https:(?!\/\/own)|http:|connect-src|frame-src/.test(policy), policy);
});

it("a prompt from the log is as it was written", () => {
  assert.deepEqual(unlinked("Compare [@docs/a note.md](file:///w/docs/a%20note.md) and [@b.go#L1-L2](file:///w/b.go#L1-L2), [see](x)"), {
    text: 'Compare @"docs/a note.md" and @b.go#L1-L2, [see](x)',
    mentions: ["docs/a note.md", "b.go#L1-L2"],
  });
  const link = linkTo("a [1](ü).md", "file:///w/a [1](ü).md");
  assert.equal(link, "[@a [1](ü).md](file:///w/a%20[1]%28ü%29.md)");
  assert.deepEqual(unlinked(`${link}${linkTo(undefined, "file:///w/a%20b.go#L1")}`), {
    text: '@"a [1](ü).md"@"a b.go#L1"',
    mentions: ["a [1](ü).md", "a b.go#L1"],
  });
});
