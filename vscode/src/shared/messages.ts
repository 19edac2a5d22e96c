// The messages between the page and its host. The host is the extension
// (src/chat), or the harness page of the tests.

import type { ElicitRequest, PermissionOption, SessionConfigOption, SessionUpdate, ToolCall } from "../protocol";
import type { State } from "./state";

/** Times are milliseconds since 1970, as the host saw them. */
export type Time = number;

/** Messages of the host to the page. All but the last few change the state of the view. */
export type ToPage =
  | { type: "restore"; state: State } // all of it, for a page that has just been opened
  | { type: "reset"; session?: Session }
  | { type: "update"; update: SessionUpdate; at?: Time } // without a time it is of the past
  | { type: "user"; text: string; messageId?: string; images?: string[]; at: Time } // a prompt that was sent; images are data: URIs
  | { type: "turn"; running: true; at: Time }
  | { type: "turn"; running: false; at: Time; stopReason?: string; error?: string; ways?: readonly Way[] }
  | { type: "note"; text: string; severity?: "info" | "error" | "warning"; ways?: readonly Way[]; id?: string; buttons?: readonly string[] } // of the editor's own
  | { type: "pressed"; id: string; choice?: string } // a button of a note; without one they are void
  | { type: "ask"; ask: Ask }
  | { type: "answered"; askId: string; choice?: string; at?: Time } // choice is for people; without one the question is void
  | { type: "options"; mode?: string; options: SessionConfigOption[] }
  | { type: "queue"; queue: Queued[] }
  | { type: "server"; server: Server }
  | { type: "loading"; loading: boolean }
  | { type: "preferences"; whenBusy: WhenBusy }
  | { type: "look"; look: Look } // of the editor
  | { type: "last"; session: Session } // the one that this workspace was left with
  | { type: "attach"; attachments: Attachment[] }
  | { type: "draft"; text: string; mentions: string[] } // for an empty composer
  | { type: "sent"; text: string } // empties a composer that holds this text
  | { type: "focus" }
  | { type: "found"; query: string; files: string[] }
  | { type: "places"; addresses: Record<string, string> }; // of names of files; an empty one: there is no such file

/** A command that helps with a failure or a notice. */
export interface Way {
  label: string;
  command: string;
}

/** The parts of the editor's look that a page does not get by itself. */
export interface Look {
  /** Long lines of code are wrapped. */
  wrap: boolean;
  /** Less space between the parts of the chat. */
  compact: boolean;
}

export interface Session {
  id: string;
  title: string;
}

/** The effect of a message that is sent while a turn runs. */
export type WhenBusy = "interrupt" | "queue";

/** A message that waits for the turn before it to end, on the host's side. */
export interface Queued {
  id: string;
  text: string;
  /** It is sent as soon as the running turn has been canceled. */
  next?: boolean;
}

export interface Server {
  state: "starting" | "ready" | "stopped";
  message?: string;
  /** An untrusted workspace: nothing is written or run. */
  restricted?: boolean;
}

/** A question of the agent's: may this run, or please fill in this form. */
export type Ask =
  | { id: string; kind: "permission"; toolCall: ToolCall; options: PermissionOption[]; at: Time; elsewhere?: boolean }
  | { id: string; kind: "form"; request: ElicitRequest; at: Time; elsewhere?: boolean }; // of a session that is not shown

/**
 * Something that goes with a prompt. A mention stands in the text as @name; the
 * rest are chips beside it.
 */
export type Attachment =
  | { kind: "file"; name: string; uri: string }
  | { kind: "text"; name: string; uri: string; text: string }
  | { kind: "image"; name: string; uri?: string; mimeType: string; data: string }; // a pasted picture has no uri

/** Messages of the page to the host. */
export type ToHost =
  | { type: "ready" }
  | { type: "prompt"; text: string; mentions: string[]; attachments: Attachment[]; whenBusy: WhenBusy } // mentions are names that were chosen from the list
  | { type: "cancel" }
  | { type: "unqueue"; id: string }
  | { type: "sendNow"; id: string }
  | { type: "permit"; askId: string; optionId?: string; reason?: string } // without an option: dismissed
  | { type: "fill"; askId: string; action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }
  | { type: "stopSubagent"; subagentId: string }
  | { type: "setMode"; mode: string }
  | { type: "setOption"; id: string; value: string }
  | { type: "setWhenBusy"; whenBusy: WhenBusy }
  | { type: "session"; action: "new" | "resume" | "fork"; sessionId?: string; messageId?: string }
  | { type: "rewind"; prompt: string; files: boolean } // to before a prompt; files: restore them, else the user is asked
  | { type: "link"; href: string }
  | { type: "open"; path: string; line?: number }
  | { type: "diff"; path: string; oldText?: string; newText: string }
  | { type: "copy"; text: string }
  | { type: "insert"; text: string }
  | { type: "apply"; text: string; language: string }
  | { type: "find"; query: string }
  | { type: "places"; names: string[] } // that may be files
  | { type: "drop"; uris: string[] }
  | { type: "press"; id: string; button: number } // of a note
  | { type: "run"; command: string } // one of ours, or the editor's for trust
  | { type: "restart" };
