// The connection to the host, and the state that the host keeps while the page is closed.

import type { ToHost, ToPage } from "../shared/messages";

interface VsCodeApi {
  postMessage(message: ToHost): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): VsCodeApi;

const api = acquireVsCodeApi();

export function post(message: ToHost): void {
  api.postMessage(message);
}

/** listen hears the host's messages; several may come in one. */
export function listen(hear: (messages: readonly ToPage[]) => void): void {
  window.addEventListener("message", (e: MessageEvent<ToPage | readonly ToPage[]>) => {
    hear(Array.isArray(e.data) ? e.data : [e.data as ToPage]);
  });
}

/** The state that is kept while the page is closed: the draft, and earlier prompts. */
export interface Kept {
  draft: string;
  history: readonly string[];
}

export function kept(): Kept {
  const k = (api.getState() ?? {}) as Partial<Kept>;
  return { draft: k.draft ?? "", history: k.history ?? [] };
}

export function keep(news: Partial<Kept>): void {
  api.setState({ ...kept(), ...news });
}
