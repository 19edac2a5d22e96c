// Steps of the tests in VS Code, and scripts for the embedded model.
import { test } from "node:test";

/** Makes steps of a file of tests: when one fails, there is a picture. editor gives the one that is open then. */
export function stepsOf(file, editor) {
  return (name, run) =>
    test(name, { timeout: 300_000 }, async () => {
      try {
        await run();
      } catch (error) {
        await editor().shot(`failed-${file}-${name.replace(/\W+/g, "-")}`);
        throw error;
      }
    });
}

/** A prompt's replies, as the embedded model plays them. */
export const script = (...replies) => ["```hermes-script", ...replies.map((r) => JSON.stringify(r)), "```"].join("\n");

/** A call of a tool in a reply. */
export const call = (name, args) => ({ call: { name, args } });
