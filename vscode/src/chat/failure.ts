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

/** failure reads an error. The server's text about a missing key names commands of a shell. Here are buttons for them. */
export function failure(error: unknown): Failure {
  const text = error instanceof Error ? error.message : String(error);
  if ((error as { code?: unknown } | undefined)?.code !== Code.AuthRequired && !/no key for [\w-]+ at |base_url is empty/.test(text)) {
    return { error: text.charAt(0).toUpperCase() + text.slice(1) };
  }
  const provider = /no key for ([\w-]+) at /.exec(text)?.[1];
  return { error: provider ? `No API key for ${provider}.` : "The endpoint of the model has no address.", ways: setUp };
}
