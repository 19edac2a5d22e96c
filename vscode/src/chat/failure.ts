import { Code } from "../protocol";
import type { Way } from "../shared/messages";
import { sentence } from "../words";

/** Failure is the text about a failed turn, with the commands that may help. */
export interface Failure {
  readonly error: string;
  readonly ways?: readonly Way[];
}

/** The server's details of a failure. */
interface Details {
  kind?: string;
  provider?: string;
  endpoint?: string;
  status?: number;
  reason?: string;
  key?: boolean;
}

const setKey: Way = { label: "Set API Key…", command: "hermes.key" };
const choose: Way = { label: "Choose Provider…", command: "hermes.provider" };
const model: Way = { label: "Choose Model…", command: "hermes.model" };
const settings: Way = { label: "Open Settings", command: "hermes.settings" };
export const retry: Way = { label: "Retry", command: "hermes.chat.retry" };

/** What helps with other kinds of failures than those of keys, before the prompt is sent again. */
const ways: Record<string, readonly Way[]> = {
  "out of credit": [choose],
  unreachable: [settings],
  "no such model": [model, settings],
  "no tools": [model],
  policy: [model],
};

/**
 * failure reads an error. The server's text about a key names commands of a shell and settings. Here
 * are buttons for them. If a prompt has failed, one of them sends it again.
 */
export function failure(error: unknown, prompt = false): Failure {
  const text = error instanceof Error ? error.message : String(error);
  const { code, data } = (error ?? {}) as { code?: unknown; data?: Details };
  const again = prompt ? [retry] : [];
  if (data?.kind === "key refused") {
    const why = [data.status, data.reason?.replace(/[.\s]+$/, "")].filter(Boolean).join(": ");
    return { error: `The key for ${nameOf(data)} was refused${why && ` (${why})`}.`, ways: [setKey, ...again] };
  }
  if (data?.kind === "no key" || code === Code.AuthRequired || /no key for [\w-]+ at |base_url is empty/.test(text)) {
    const provider = data?.provider ?? /no key for ([\w-]+) at /.exec(text)?.[1];
    if (data?.key === false || !provider) return { error: "The endpoint of the model has no address.", ways: [choose, settings, ...again] };
    return { error: `No API key for ${nameOf({ ...data, provider })}.`, ways: [setKey, choose, ...again] };
  }
  const all = [...(ways[data?.kind ?? ""] ?? []), ...again];
  return { error: sentence(text), ...(all.length > 0 && { ways: all }) };
}

/** The name of the provider, or the host of an endpoint that has none. */
function nameOf(d: Details): string {
  if (d.provider && d.provider !== "custom") {
    return d.provider;
  }
  const host = d.endpoint && URL.canParse(d.endpoint) ? new URL(d.endpoint).host : "";
  return host ? `your endpoint ${host}` : "your endpoint";
}
