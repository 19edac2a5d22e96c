// Steps of the tests in VS Code, and scripts for the embedded model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";

/**
 * Makes steps of a file of tests: when one fails, there is a picture, and the later ones, which go on in the same
 * window, are skipped. editor gives the one that is open then.
 */
export function stepsOf(file, editor) {
  let failed;
  return (name, run) =>
    test(name, { timeout: 300_000 }, async (t) => {
      if (failed) return t.skip(`"${failed}" failed`);
      try {
        await run();
      } catch (error) {
        failed = name;
        await editor().shot(`failed-${file}-${name.replace(/\W+/g, "-")}`);
        throw error;
      }
    });
}

/** A prompt's replies, as the embedded model plays them. */
export const script = (...replies) => ["```hermes-script", ...replies.map((r) => JSON.stringify(r)), "```"].join("\n");

/** A call of a tool in a reply. */
export const call = (name, args) => ({ call: { name, args } });

/** Waits until a function returns true. */
export async function until(what, holds) {
  for (const end = Date.now() + 120_000; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 50))) {
    assert.ok(Date.now() < end, `waited in vain: ${what}`);
  }
}

/** Waits until a function returns a value that is equal to another one. */
export async function becomes(want, read) {
  for (const end = Date.now() + 120_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const got = await read();
    if (isDeepStrictEqual(got, want)) return;
    if (Date.now() > end) assert.deepEqual(got, want);
  }
}
