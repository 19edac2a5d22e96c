import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToPage } from "../../shared/messages";

/** stream returns a recorded session (record.mjs). The tests run from build/test. */
export function stream(name: string): ToPage[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../../src/webview/test/streams", `${name}.json`), "utf8")) as ToPage[];
}
