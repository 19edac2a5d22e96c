import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

import { Rests } from "../review/rests";

const rest = { session: "s", checkpoint: "k1", path: "/a", before: "ä\n", after: "b\n" };

test("the next window has what was kept last, and a damaged file is told and has nothing", async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rests-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const failures: unknown[] = [];
  const open = () => new Rests(path.join(folder, "not yet there"), (error) => failures.push(error));
  const first = open();
  assert.deepEqual(first.load(), []);
  void first.keep([]);
  void first.keep([rest, { ...rest, path: "/b" }]);
  await first.keep([rest]);
  assert.deepEqual(open().load(), [rest]);
  await first.keep([]);
  assert.deepEqual(open().load(), []);
  assert.equal(failures.length, 0);
  for (const damaged of ["[{", "[null, 3, {}]", "{}"]) {
    fs.writeFileSync(path.join(folder, "not yet there", "accepted.json"), damaged);
    assert.deepEqual(open().load(), [], damaged);
  }
  assert.equal(failures.length, 1);
  await new Rests(undefined, (error) => failures.push(error)).keep([rest]);
  fs.writeFileSync(path.join(folder, "file"), "");
  await new Rests(path.join(folder, "file"), (error) => failures.push(error)).keep([rest]);
  assert.equal(failures.length, 2);
});
