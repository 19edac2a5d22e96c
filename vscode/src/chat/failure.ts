import { Code } from "../protocol";
import type { Way } from "../shared/messages";

/** Failure is the text about a failed turn, with the commands that may help. */
export interface Failure {
  readonly error: string;
  readonly ways?: readonly Way[];
}

const setUp: readonly Way[] = [
  { label: "Set API Key…", command: "hermes.key" },
  { label: "Choose Provider…", command: "hermes.provider" },
];

/** failure reads an error. The server's words about a missing key are for people with a shell; here are buttons. */
export function failure(error: unknown): Failure {
  const text = error instanceof Error ? error.message : String(error);
  if ((error as { code?: unknown } | undefined)?.code !== Code.AuthRequired && !/no key for [\w-]+ at |base_url is empty/.test(text)) {
    return { error: text.charAt(0).toUpperCase() + text.slice(1) };
  }
  const provider = /no key for ([\w-]+) at /.exec(text)?.[1];
  const why = provider ? `there is no key for ${provider}` : "its endpoint has no address";
  return { error: `No model can be asked yet: ${why}.`, ways: setUp };
}
