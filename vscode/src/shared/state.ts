// State of the chat view, as plain data.

import type {
  AvailableCommand,
  ContentBlock,
  Cost,
  PermissionOption,
  PlanEntry,
  SessionConfigOption,
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
} from "../protocol";
import { linkTo } from "./mention";
import type { Ask, Look, Queued, Server, Session, Time, Way, WhenBusy } from "./messages";

export interface State {
  readonly session?: Session;
  readonly items: readonly Item[];
  readonly nextKey: number;
  readonly plan: readonly PlanEntry[];
  readonly commands: readonly AvailableCommand[];
  readonly mode?: string;
  readonly options: readonly SessionConfigOption[];
  readonly usage?: Usage;
  readonly turn: Turn;
  /** The questions that wait for an answer; each stands in the call that it is about. */
  readonly waiting: readonly string[];
  readonly queue: readonly Queued[];
  readonly server: Server;
  readonly loading: boolean;
  readonly whenBusy: WhenBusy;
  readonly look: Look;
  /** A session of before, which can be gone on with. */
  readonly last?: Session;
}

export interface Turn {
  readonly running: boolean;
  readonly since?: Time;
}

export interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost?: Cost;
  readonly requests?: number;
  readonly input?: number;
  readonly output?: number;
  readonly last?: { readonly input: number; readonly cachedRead: number } | undefined;
}

/** One thing in the log. An item that is not open never changes its text again. */
export type Item = User | Answer | Thought | Call | Note;

interface Keyed {
  readonly key: number;
}

export interface User extends Keyed {
  readonly kind: "user";
  readonly text: string;
  readonly images: readonly string[];
  readonly messageId?: string;
  readonly open: boolean;
}

export interface Answer extends Keyed {
  readonly kind: "answer";
  readonly text: string;
  /** Output of a command. It is not in the session, so a fork cannot start here. */
  readonly unlogged?: boolean;
  readonly messageId?: string;
  readonly open: boolean;
}

export interface Thought extends Keyed {
  readonly kind: "thought";
  readonly text: string;
  readonly messageId?: string;
  readonly open: boolean;
  readonly started?: Time;
  readonly ended?: Time;
}

export interface Note extends Keyed {
  readonly kind: "note";
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly more?: string;
  readonly ways?: readonly Way[];
  /** Its buttons are pressed by its id. */
  readonly id?: string;
  readonly buttons?: readonly string[];
  readonly choice?: string;
  /** Choices in place of the text. */
  readonly offers?: readonly Offer[];
}

/** A choice below a notice. Who chooses it sends its prompt. */
export interface Offer {
  readonly label: string;
  readonly prompt: string;
}

/** A tool call, a subagent, or a question that belongs to neither. */
export interface Call extends Keyed {
  readonly kind: "call";
  readonly id: string;
  readonly title: string;
  readonly name?: string;
  readonly tool: string; // its kind: read, edit, execute, …
  readonly status: ToolCallStatus;
  readonly content: readonly ToolCallContent[];
  readonly locations: readonly ToolCallLocation[];
  readonly input?: unknown;
  readonly output?: unknown;
  readonly message?: string; // its progress
  readonly inner?: readonly Inner[];
  readonly subagent?: Subagent;
  readonly ask?: Ask;
  readonly answer?: string;
  readonly started?: Time;
  readonly ended?: Time;
  readonly children: readonly Call[];
}

/** A call that a script made. */
export interface Inner {
  readonly tool: string;
  readonly arguments?: unknown;
  readonly duration_seconds?: number;
  readonly status?: string;
}

export interface Subagent {
  readonly sessionId: string;
  readonly parentSessionId?: string;
  readonly parentToolCallId?: string;
  readonly goal: string;
  readonly status: string; // running, completed, failed, interrupted, timeout
  readonly model?: string;
  readonly calls?: number;
  readonly tokens?: number;
  readonly background?: boolean;
}

export const initial: State = {
  items: [],
  nextKey: 1,
  plan: [],
  commands: [],
  options: [],
  turn: { running: false },
  waiting: [],
  queue: [],
  server: { state: "starting" },
  loading: false,
  whenBusy: "interrupt",
  look: { wrap: false, compact: false },
};

/** blockText returns the text of a content block in a message. Attachments are mentions, as the server writes them. */
export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text ?? "";
    case "resource_link":
      return linkTo(block.name, block.uri ?? "");
    case "resource":
      return linkTo(undefined, block.resource?.uri ?? "");
  }
  return "";
}

/** blockImage is a content block's picture as a data: URI. */
export function blockImage(block: ContentBlock): string | undefined {
  return block.type === "image" && block.data && block.mimeType?.startsWith("image/") ? `data:${block.mimeType};base64,${block.data}` : undefined;
}

export function lastPart(path: string): string {
  return path.slice(path.replace(/\/+$/, "").lastIndexOf("/") + 1);
}

/** scopeOf returns the scope of the options, from the name of one: "Allow for this session: rm -rf build". */
export function scopeOf(options: readonly PermissionOption[]): string {
  return (
    options
      .find((o) => o.optionId === "session")
      ?.name.split(": ")
      .slice(1)
      .join(": ") ?? ""
  );
}

/**
 * ofSubagent splits the title of a subagent's approval request, which the server ends with
 * the subagent's goal. Only the last bracket can be the goal, so no part of the title is hidden.
 */
export function ofSubagent(callId: string, title: string): [what: string, goal?: string] {
  const at = callId.includes("/") && title.endsWith(")") ? title.lastIndexOf(" (subagent: ") : -1;
  return at < 0 ? [title] : [title.slice(0, at), title.slice(at + " (subagent: ".length, -1)];
}
