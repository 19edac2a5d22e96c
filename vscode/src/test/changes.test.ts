import assert from "node:assert/strict";
import { test } from "node:test";

import { Changes, firstDifference } from "../review/changes";

/** The changes that wait: turns, newest first, with their files. */
const waiting = (c: Changes) => c.turns.map((t) => `${t.title}: ${[...t.changes.keys()].join(" ")}`);

/** A turn that changes files by edits. */
function turn(c: Changes, title: string, ...edits: [path: string, before: string | null, after: string][]) {
  c.begin("s", title);
  edits.forEach(([path, before, after]) => c.note("s", path, before, after));
  return c.end("s")!;
}

test("the text before a turn is the one before its first edit", () => {
  const c = new Changes();
  turn(c, "one", ["a", "1", "2"], ["a", "2", "3"]);
  assert.deepEqual(c.find("a")!.change, { path: "a", before: "1", after: "3" });
});

test("a file that is as it was again is no change", () => {
  const c = new Changes();
  turn(c, "one", ["a", "1", "2"], ["b", null, "x"], ["a", "2", "1"]);
  assert.deepEqual(waiting(c), ["one: b"]);
});

test("turns are listed newest first, and one without changes is not", () => {
  const c = new Changes();
  turn(c, "one", ["a", "1", "2"]);
  turn(c, "idle");
  turn(c, "two", ["a", "2", "3"], ["b", null, "x"]);
  assert.deepEqual(waiting(c), ["two: a b", "one: a"]);
  assert.equal(c.find("a")!.turn.title, "two");
});

/** An entry of the server's list. */
const listed = (checkpoint: string, title: string, ...files: string[]) => ({ session: "s", checkpoint, title, created: Date.now(), files });

test("the server's list adds what no edit has told, and the title", () => {
  const c = new Changes();
  const one = turn(c, "one", ["a", "1", "2"]);
  c.load([listed("k1", "First", "a", "made by a command")]);
  c.complete(one);
  assert.deepEqual(waiting(c), ["First: a made by a command"]);
  assert.equal(c.find("made by a command")!.change.before, undefined);
  assert.equal(c.find("a")!.change.before, "1");
  assert.equal(c.find("a")!.turn.id, one.id);
});

test("the server's list has turns of other sessions and windows, newest first, and removes what was judged elsewhere", () => {
  const c = new Changes();
  assert.deepEqual(c.load([listed("k2", "two", "b"), listed("k1", "one", "a")]), []);
  c.begin("s", "three");
  c.note("s", "c", "1", "2");
  assert.deepEqual(waiting(c), ["three: c", "two: b", "one: a"]);
  const { id } = c.find("b")!.turn;
  assert.deepEqual(c.load([listed("k2", "two", "b")]), ["a"]);
  assert.deepEqual(waiting(c), ["three: c", "two: b"]);
  c.load([listed("k3", "three", "c"), listed("k2", "two", "b")]);
  assert.equal(c.find("c")!.change.before, "1");
  assert.equal(c.find("b")!.turn.id, id);
  c.complete(c.end("s"));
  assert.deepEqual(c.load([]), ["c", "b"]);
  assert.deepEqual(waiting(c), []);
});

test("what is accepted waits no longer, alone or with its turn", () => {
  const c = new Changes();
  const one = turn(c, "one", ["a", "1", "2"], ["b", "1", "2"]);
  c.settle(one.id, ["a"]);
  assert.deepEqual(waiting(c), ["one: b"]);
  c.settle(one.id);
  assert.deepEqual(waiting(c), []);
});

test("to revert an older turn's file takes the newer changes of it along", () => {
  const c = new Changes();
  const one = turn(c, "one", ["a", "1", "2"], ["b", "1", "2"]);
  turn(c, "two", ["a", "2", "3"], ["c", "1", "2"]);
  c.reverted(one.id, ["a"]);
  assert.deepEqual(waiting(c), ["two: c", "one: b"]);
});

test("sessions that work at the same time do not mix", () => {
  const c = new Changes();
  c.begin("s", "one");
  c.begin("t", "two");
  c.note("s", "a", "1", "2");
  c.note("t", "b", "1", "2");
  c.end("s");
  c.note("s", "c", "1", "2");
  assert.deepEqual(waiting(c), ["two: b", "one: a"]);
});

test("edits outside a turn are nobody's", () => {
  const c = new Changes();
  c.note("s", "a", "1", "2");
  assert.deepEqual(waiting(c), []);
});

test("the first difference is a line", () => {
  for (const [a, b, line] of [
    ["", "x", 0],
    ["1\n2\n3", "1\n2\n4", 2],
    ["1\n2", "1\n2\n3", 1],
    ["x", "x", 0],
  ] as const) {
    assert.equal(firstDifference(a, b), line, JSON.stringify([a, b]));
  }
});

test("what was accepted of a change is known in the next window, for the same checkpoint only", () => {
  const c = new Changes();
  turn(c, "one", ["a", "1\n2\n", "x\ny\n"], ["b", "1", "2"]);
  const { change } = c.find("a")!;
  Object.assign(change, { before: "x\n2\n", partly: true });
  assert.deepEqual(c.kept(), []); // the turn is not recorded yet
  c.load([listed("k1", "one", "a", "b")]);
  const rest = { session: "s", checkpoint: "k1", path: "a", before: "x\n2\n", after: "x\ny\n" };
  assert.deepEqual(c.kept(), [rest]);
  const next = new Changes(c.kept());
  next.load([listed("k2", "two", "a"), listed("k1", "one", "a", "b")]);
  assert.deepEqual(next.kept(), [rest]);
  assert.equal(next.find("a")!.change.before, undefined); // of the later turn
  next.load([listed("k2", "two", "a"), listed("k1", "one", "b")]);
  assert.deepEqual(next.kept(), []);
});

test("the next window knows which changes an inline edit has made, and their text then", () => {
  const c = new Changes();
  turn(c, "one", ["a", "1\n", "x\n"], ["b", "1", "2"]);
  c.find("a")!.change.inline = true;
  c.load([listed("k1", "one", "a", "b")]);
  const rest = { session: "s", checkpoint: "k1", path: "a", after: "x\n", inline: true };
  assert.deepEqual(c.kept(), [rest]);
  const next = new Changes(c.kept());
  next.load([listed("k1", "one", "a", "b")]);
  assert.deepEqual(next.find("a")!.change, { path: "a", before: undefined, after: "x\n", inline: true });
  assert.equal(next.find("b")!.change.inline, undefined);
  assert.deepEqual(next.kept(), [rest]);
});
