import assert from "node:assert/strict";
import { test } from "node:test";

import { accepted, Edit, formatted, hunkAt, hunksOf, ownHunks, rejection, takenOut, withdrawn } from "../review/hunks";

const apply = (text: string, e: Edit) => {
  const lines = text.split("\n");
  const offset = ([line, character]: readonly [number, number]) => lines.slice(0, line).reduce((n, l) => n + l.length + 1, 0) + character;
  return text.slice(0, offset(e.start)) + e.text + text.slice(offset(e.end));
};

const pairs: [before: string, now: string][] = [
  ["a\nb\nc\n", "a\nB\nc\n"],
  ["a\nb\nc\n", "a\nc\n"],
  ["a\nc\n", "a\nb1\nb2\nc\n"],
  ["", "a\n"],
  ["a\n", ""],
  ["a", "a\nb"],
  ["a\nb", "a"],
  ["a\nb\nc\nd\ne\nf", "A\nb\nc\nX\nY\ne"],
  ["x\na\nb", "a\nb\n"],
];

test("rejecting every hunk gives the earlier text, accepting every hunk the present one", () => {
  for (const [before, now] of pairs) {
    for (const reverse of [false, true]) {
      let rejected = now;
      for (let h = hunksOf(before, rejected); h.length > 0; h = hunksOf(before, rejected)) {
        rejected = apply(rejected, rejection(rejected, h.at(reverse ? -1 : 0)!));
      }
      assert.equal(rejected, before, JSON.stringify([before, now]));
      let base = before;
      for (let h = hunksOf(base, now); h.length > 0; h = hunksOf(base, now)) {
        base = accepted(base, h.at(reverse ? -1 : 0)!);
      }
      assert.equal(base, now, JSON.stringify([before, now]));
    }
  }
});

test("a hunk is found by the lines that it shows", () => {
  const hunks = hunksOf("a\nb\nc\nd\ne\n", "a\nB\nB2\nc\ne\n"); // b became B and B2, and d is gone
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((line) => hunkAt(hunks, line)?.removed[0]),
    [undefined, "b", "b", "d", "d"],
  );
});

test("only the agent's lines are found in a text that the user has changed since", () => {
  const before = "a\nb\nc\nd\n";
  const after = "a\nB\nc\nd\nnew\n"; // the agent changed b and added a line
  const cases: [now: string, rejected: string][] = [
    [after, before],
    ["mine\na\nB\nc\nd\nnew\n", "mine\na\nb\nc\nd\n"],
    ["a\nmine\nB\nc\nmine too\nd\nnew\nlast\n", "a\nmine\nb\nc\nmine too\nd\nlast\n"],
    ["a\nB, edited\nc\nd\nnew\n", "a\nB, edited\nc\nd\n"],
    ["a\n  B\nc\nd\nnew\n", before], // formatted
  ];
  for (const [now, want] of cases) {
    let text = now;
    let left = formatted(after, text);
    for (let h = ownHunks(before, left, text); h.length > 0; h = ownHunks(before, left, text)) {
      text = apply(text, rejection(text, h[0]!));
      left = withdrawn(left, h[0]!);
    }
    assert.equal(text, want, JSON.stringify(now));
  }
});

test("taking out the agent's lines leaves those of the user, and those that were accepted", () => {
  const left = "a\nB\nc\nd\nE\n";
  for (const [before, now, want] of [
    ["a\nb\nc\nd\ne\n", left, "a\nb\nc\nd\ne\n"],
    ["a\nB\nc\nd\ne\n", left, "a\nB\nc\nd\ne\n"], // the first hunk was accepted
    ["a\nB\nc\nd\ne\n", "mine\na\nB\nc2\nd\nE\n", "mine\na\nB\nc2\nd\ne\n"],
    ["a\nB\nc\nd\ne\n", "a\nB\nc\nd\nE of mine\n", undefined],
    ["a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\n    E\n", "a\nB\nc\nd\ne\nf\n"], // formatted
  ] as const) {
    assert.equal(takenOut(before, left, now), want, JSON.stringify([before, now]));
  }
});
