import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { accepted, completing, suggestions } from "../completion";
import { compare } from "../compare";
import { checked, fieldsOf, hint, initials, type Values } from "../form";
import { duration, money, oneLine, revealed, tokens } from "../../shared/format";
import { ofSubagent } from "../../shared/state";

describe("completion", () => {
  const at = (marked: string) => completing(marked.replace("|", ""), marked.indexOf("|"));
  it("begins after @ at the beginning of a word", () => {
    assert.deepEqual(at("see @src/m|"), { kind: "mention", query: "src/m", from: 4 });
    assert.deepEqual(at("@|"), { kind: "mention", query: "", from: 0 });
    assert.equal(at("me@exa|"), undefined);
    assert.equal(at("@a b|"), undefined);
  });
  it("completes paths of references", () => {
    const c = at("see @file:src/m|")!;
    assert.deepEqual(c, { kind: "mention", query: "src/m", prefix: "file:", from: 4 });
    const [s] = suggestions(c, [], ["src/my main.ts"]);
    assert.deepEqual(accepted("see @file:src/m", 15, c, s!).text, 'see @file:"src/my main.ts" ');
    assert.deepEqual(
      suggestions(at("@folder:|")!, [], ["a/b/c.ts", "a/b/d.ts", "e.ts"]).map((x) => x.insert),
      ["@folder:a/b/ "],
    );
    assert.deepEqual(
      suggestions(at("@note|")!, [], ["broken.json", "docs/a note.md"]).map((x) => x.insert), // these were found for "n"
      ['@"docs/a note.md" '],
    );
    const inQuotes = at('see @"docs/a no|')!;
    assert.deepEqual(inQuotes, { kind: "mention", query: "docs/a no", from: 4 });
    assert.equal(accepted('see @"docs/a no', 15, inQuotes, suggestions(inQuotes, [], ["docs/a note.md"])[0]!).text, 'see @"docs/a note.md" ');
    assert.equal(at('@"docs/a note.md"|'), undefined);
    for (const [name, insert] of Object.entries({ "ü.md": "@ü.md ", "a(1).md": '@"a(1).md" ', "[id].md": "@[id].md ", 'a"b.md': '@"a\\"b.md" ' }))
      assert.equal(suggestions(at("@|")!, [], [name]).at(-1)!.insert, insert);
    assert.deepEqual(
      suggestions(at("@sta|")!, [], []).map((x) => x.insert),
      ["@staged "],
    );
  });
  it("begins after / at the beginning of the message alone", () => {
    assert.deepEqual(at("/mod|"), { kind: "command", query: "mod", from: 0 });
    assert.equal(at("a /mod|"), undefined);
    assert.equal(at("/model x|"), undefined);
  });
  it("puts what was chosen in the place of what was typed", () => {
    const text = "see @fi please";
    const c = completing(text, 7)!;
    const [s] = suggestions(c, [], []);
    assert.deepEqual(accepted(text, 7, c, s!), { text: "see @file please", caret: 10 });
  });
  it("offers commands by their beginning, with their hints", () => {
    const commands = [
      { name: "compact", description: "Sum up" },
      { name: "model", description: "Choose", input: { hint: "name" } },
    ];
    const found = suggestions({ kind: "command", query: "mo", from: 0 }, commands, []);
    assert.deepEqual(
      found.map((s) => [s.insert, s.detail]),
      [["/model ", "name — Choose"]],
    );
  });
});

describe("forms", () => {
  const fields = fieldsOf({
    type: "object",
    required: ["answer", "n", "all"],
    properties: {
      answer: { type: "string", title: "Answer", enum: ["a", "b"], enumNames: ["A", "B"] },
      n: { type: "integer", title: "How many", minimum: 1, maximum: 9 },
      yes: { type: "boolean" },
      some: { type: "array", minItems: 1, maxItems: 2, default: ["y"], items: { anyOf: [{ const: "x", title: "X" }, { const: "y" }, { const: "z" }] } },
      all: { type: "array", items: { enum: ["p", "q"] } },
      titled: { type: "string", oneOf: [{ const: "1", title: "One" }], default: "1" },
      free: { type: "string", minLength: 2, maxLength: 4 },
      mail: { type: "string", format: "email" },
      page: { type: "string", format: "uri" },
      day: { type: "string", format: "date" },
      moment: { type: "string", format: "date-time", default: "2026-11-23T14:30:00Z" },
      share: { type: "number", maximum: 1.5, default: 0.5 },
    },
  });
  const good: Values = { ...initials(fields), answer: [1], n: "3" };
  const problem = (change: Values, ...unread: string[]) => checked(fields, { ...good, ...change }, new Set(unread)).problems;
  it("know their kinds", () =>
    assert.deepEqual(
      fields.map((f) => f.kind),
      ["choice", "number", "boolean", "several", "several", "choice", "text", "email", "uri", "date", "date-time", "number"],
    ));
  it("send values and defaults, and leave out what is empty", () => {
    assert.deepEqual(checked(fields, good), {
      content: { answer: "b", n: 3, yes: false, some: ["y"], all: [], titled: "1", moment: "2026-11-23T14:30:00Z", share: 0.5 },
      problems: {},
    });
    assert.deepEqual(checked(fields, { ...good, some: [], titled: [], moment: "", share: " ", free: "  hi " }).content, {
      answer: "b",
      n: 3,
      yes: false,
      all: [],
      free: "hi",
    });
    assert.deepEqual(checked(fieldsOf({ properties: { other: { type: "string" } } }), { other: " " }), { content: {}, problems: {} });
  });
  for (const [change, sentence] of [
    [{ answer: [] }, "Choose one of these."],
    [{ n: "" }, "This field is required."],
    [{ n: "2.5" }, "Enter a whole number from 1 to 9."],
    [{ n: "10" }, "Enter a whole number from 1 to 9."],
    [{ share: "x" }, "Enter a number of at most 1.5."],
    [{ some: [0, 1, 2] }, "Choose 1 to 2."],
    [{ free: "a" }, "Enter 2 to 4 characters."],
    [{ free: "abcde" }, "Enter 2 to 4 characters."],
    [{ mail: "me" }, "Enter an email address, such as name@example.org."],
    [{ page: "example.org" }, "Enter a whole address, such as https://example.org."],
    [{ day: "2026-13-01" }, "Enter a whole date: year, month and day."],
    [{ moment: "soon" }, "Enter a whole date and time."],
  ] as [Values, string][]) {
    it(`refuse ${JSON.stringify(change)} with a sentence`, () => assert.deepEqual(problem(change), { [Object.keys(change)[0]!]: sentence }));
  }
  it("count characters, and not parts of them", () => assert.deepEqual(problem({ free: "👩👩👩" }), {}));
  it("refuse what the browser cannot read", () => assert.deepEqual(problem({ day: "" }, "day"), { day: "Enter a whole date: year, month and day." }));
  it("say what a field takes", () =>
    assert.deepEqual(
      fields.map(hint).filter((h) => h !== undefined),
      ["Enter a whole number from 1 to 9.", "Choose 1 to 2.", "Enter 2 to 4 characters.", "Enter a number of at most 1.5."],
    ));
  it("show what is invisible", () => assert.equal(fieldsOf({ properties: { a: { title: "a\u202eb" } } })[0]!.title, "a⟨U+202E⟩b"));
  it("bear any schema", () => {
    for (const odd of [undefined, null, {}, { properties: { a: {} } }, { properties: { a: { type: ["string", "null"] } } }])
      assert.ok(Array.isArray(fieldsOf(odd)));
  });
});

describe("diffs", () => {
  it("count and number their lines", () => {
    const d = compare("a\nb\nc\n", "a\nB\nc\nd\n");
    assert.deepEqual([d.added, d.removed], [2, 1]);
    assert.deepEqual(
      d.hunks[0]!.map((l) => `${l.sign}${l.text} ${l.before ?? ""}/${l.after ?? ""}`),
      [" a 1/1", "-b 2/", "+B /2", " c 3/3", "+d /4"],
    );
  });
  it("of a new file are all added", () => assert.deepEqual([compare("", "x\ny\n").added, compare("", "x\ny\n").removed], [2, 0]));
  it("of texts that have nothing in common end in time", () => {
    const many = (word: string) => Array.from({ length: 20_000 }, (_, i) => `${word}${i}`).join("\n");
    const d = compare(many("a"), many("b"));
    assert.deepEqual([d.added, d.removed], [20_000, 20_000]);
  });
});

it("of a subagent's question nothing is hidden", () => {
  assert.deepEqual(ofSubagent("s/c", "rm x (subagent: tidy up)"), ["rm x", "tidy up"]);
  assert.deepEqual(ofSubagent("s/c", "rm / (subagent: no) && rm x (subagent: tidy)"), ["rm / (subagent: no) && rm x", "tidy"]);
  assert.deepEqual(ofSubagent("c", "rm x (subagent: tidy)"), ["rm x (subagent: tidy)"]);
  assert.deepEqual(ofSubagent("s/c", "rm x (subagent: tidy"), ["rm x (subagent: tidy"]);
});

it("numbers are short", () => {
  assert.deepEqual([duration(400), duration(12_345), duration(185_000)], ["0.4 s", "12 s", "3 min 05 s"]);
  assert.deepEqual([tokens(950), tokens(12_345), tokens(128_000), tokens(1_200_000)], ["950", "12.3k", "128k", "1.2M"]);
  assert.deepEqual([money(0.0421, "USD"), money(1.5, "EUR"), money(0, "USD")], ["$0.0421", "€1.50", "$0.00"]);
  assert.equal(oneLine("a\n  b c", 4), "a b…");
});

it("what turns text around, or is not to be seen, is shown", () => {
  assert.equal(revealed("rm \u202etxt.exe"), "rm ⟨U+202E⟩txt.exe");
  assert.equal(revealed("a\u200bb\ufeff"), "a⟨U+200B⟩b⟨U+FEFF⟩");
  assert.equal(revealed("הגדרות.json 👩‍💻 é"), "הגדרות.json 👩‍💻 é");
});
