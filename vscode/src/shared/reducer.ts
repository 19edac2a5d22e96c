// The one place where the state of the view changes: a pure function of the state
// and a message of the host. Parts that have not changed keep their identity, so that
// finished items are never drawn again.

import type { ContentChunk, InfoUpdate, Rewound, SessionUpdate, ToolCall } from "../protocol";
import type { Ask, ToPage, Way } from "./messages";
import { blockImage, blockText, initial, type Call, type Inner, type Item, type Offer, type State, type Subagent } from "./state";

/** reduce returns the state after a message; messages for the composer leave it as it is. */
export function reduce(state: State, m: ToPage): State {
  switch (m.type) {
    case "restore":
      return m.state;
    case "reset":
      return { ...initial, server: state.server, whenBusy: state.whenBusy, look: state.look, last: state.last, session: m.session };
    case "update":
      return update(state, m.update, m.at);
    case "user":
      return push(state, { kind: "user", key: 0, text: m.text, messageId: m.messageId, images: m.images ?? [], open: false }, m.at);
    case "turn":
      return m.running ? { ...state, turn: { running: true, since: m.at } } : turnEnded(state, m);
    case "note":
      return push(state, { kind: "note", key: 0, severity: m.severity ?? "info", text: m.text, ways: m.ways, ...(m.id && { id: m.id, buttons: m.buttons }) });
    case "pressed":
      return { ...state, items: state.items.map((i) => (i.kind === "note" && i.id === m.id ? { ...i, buttons: undefined, choice: m.choice } : i)) };
    case "ask":
      return asked(state, m.ask);
    case "answered":
      return answered(state, m);
    case "options":
      return { ...state, mode: m.mode ?? state.mode, options: m.options };
    case "queue":
      return { ...state, queue: m.queue };
    case "server":
      return serverChanged(state, m);
    case "loading":
      return closed({ ...state, loading: m.loading });
    case "last":
      return { ...state, last: m.session };
    case "preferences":
      return { ...state, whenBusy: m.whenBusy };
    case "look":
      return { ...state, look: m.look };
  }
  return state;
}

function update(state: State, u: SessionUpdate, at?: number): State {
  switch (u.sessionUpdate) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return chunk(state, u, at);
    case "tool_call":
    case "tool_call_update":
      return toolCall(state, u, at);
    case "plan":
      return { ...state, plan: u.entries };
    case "available_commands_update":
      return { ...state, commands: u.availableCommands };
    case "current_mode_update":
      return { ...state, mode: u.currentModeId };
    case "config_option_update":
      return { ...state, options: u.configOptions };
    case "session_info_update":
      return infoChanged(state, u);
    case "usage_update":
      return { ...state, usage: { used: u.used, size: u.size, cost: u.cost, ...hermes(u._meta).usage, last: hermes(u._meta).lastRequest } };
    case "notice":
      return push(state, { kind: "note", key: 0, severity: severity(u.severity), text: u.title, more: u.description, offers: hermes(u._meta).offers });
  }
  return state; // a newer server's: nothing we could show
}

function infoChanged(state: State, u: InfoUpdate): State {
  const { rewound } = hermes(u._meta);
  const left = rewound ? { ...state, items: withCommand(leftOf(state.items, rewound), commandAsked(state)) } : state;
  return left.session && u.title ? { ...left, session: { ...left.session, title: u.title } } : left;
}

/** withCommand keeps the command that is being answered: /undo itself. */
function withCommand(items: readonly Item[], command: Item | undefined): readonly Item[] {
  return command && !items.includes(command) ? [...items, command] : items;
}

/** leftOf returns the state without the messages that a rewind removed. */
function leftOf(items: readonly Item[], { prompt, messageId }: Rewound): readonly Item[] {
  if (prompt) {
    const at = items.findIndex((i) => i.kind === "user" && i.messageId === prompt);
    return at < 0 ? items : items.slice(0, at);
  }
  let end = messageId ? items.findLastIndex((i) => "messageId" in i && i.messageId === messageId) + 1 : 0;
  while (end > 0 && items[end]?.kind === "call") end++; // the calls of that message
  return items.slice(0, end);
}

const kinds = { user_message_chunk: "user", agent_message_chunk: "answer", agent_thought_chunk: "thought" } as const;

function chunk(state: State, u: ContentChunk & { sessionUpdate: keyof typeof kinds }, at?: number): State {
  const kind = kinds[u.sessionUpdate];
  const text = blockText(u.content);
  const image = blockImage(u.content);
  const last = state.items.at(-1);
  if (last?.kind === kind && last.open && last.messageId === u.messageId) {
    const more = { ...last, text: last.text + text };
    return replaceLast(state, image && more.kind === "user" ? { ...more, images: [...more.images, image] } : more);
  }
  if (kind !== "user" && text.trim() === "") return state;
  const fresh = { key: 0, text, messageId: u.messageId, open: true };
  switch (kind) {
    case "user":
      return push(state, { kind, ...fresh, images: image ? [image] : [] }, at);
    case "answer":
      return push(state, { kind, ...fresh, ...(commandAsked(state) && { unlogged: true }) }, at);
    case "thought":
      return push(state, { kind, ...fresh, started: at }, at);
  }
}

/** commandAsked returns the last prompt if it is a command of the server, which is not in the history. */
function commandAsked({ items, commands }: State): Item | undefined {
  const asked = items.findLast((i) => i.kind === "user");
  const name = asked?.kind === "user" ? /^\/(\S+)/.exec(asked.text)?.[1] : undefined;
  return commands.some((c) => c.name === name) ? asked : undefined;
}

/** push adds an item. The item before it is complete from then on. */
function push(state: State, item: Item, at?: number): State {
  const before = closed(state, at);
  return { ...before, items: [...before.items, { ...item, key: before.nextKey }], nextKey: before.nextKey + 1 };
}

function closed(state: State, at?: number): State {
  const last = state.items.at(-1);
  if (!last || !("open" in last) || !last.open) return state;
  return replaceLast(state, last.kind === "thought" ? { ...last, open: false, ended: at } : { ...last, open: false });
}

function replaceLast(state: State, item: Item): State {
  return { ...state, items: [...state.items.slice(0, -1), item] };
}

function toolCall(state: State, u: ToolCall, at?: number): State {
  const known = changeCall(
    state.items,
    (c) => c.id === u.toolCallId,
    (c) => merged(c, u, at),
  );
  if (known) return { ...state, items: known };
  if (u.sessionUpdate === "tool_call_update" && !u.title) return state; // of a call that was never shown
  const call = merged(newCall(u.toolCallId, at), u, at);
  return place(state, call, parentsOf(call.subagent), at);
}

function newCall(id: string, at?: number): Call {
  return { kind: "call", key: 0, id, title: id, tool: "other", status: "pending", content: [], locations: [], started: at, children: [] };
}

/** merged returns a call after an update, whose fields that are set have changed. */
function merged(c: Call, u: ToolCall, at?: number): Call {
  const ours = hermes(u._meta);
  const status = u.status ?? c.status;
  const over = status === "completed" || status === "failed";
  return {
    ...c,
    title: u.title || c.title,
    name: u.name ?? c.name,
    tool: u.kind ?? c.tool,
    status,
    content: u.content ?? c.content,
    locations: u.locations ?? c.locations,
    input: u.rawInput ?? c.input,
    output: u.rawOutput ?? c.output,
    message: over ? undefined : (ours.message ?? c.message),
    inner: ours.sandbox_tool_calls ?? c.inner,
    subagent: ours.subagent ? { ...c.subagent, ...ours.subagent } : c.subagent,
    ended: over ? (c.ended ?? at) : undefined,
  };
}

/** place puts a call below the first of its parents that there is, or at the end. */
function place(state: State, call: Call, parents: readonly ((c: Call) => boolean)[], at?: number): State {
  const keyed = { ...call, key: state.nextKey };
  for (const isParent of parents) {
    const items = changeCall(state.items, isParent, (c) => ({ ...c, children: [...c.children, keyed] }));
    if (items) return { ...state, items, nextKey: state.nextKey + 1 };
  }
  return push(state, call, at);
}

/** parentsOf a subagent are the one that it works for, and the call that has started it. */
function parentsOf(s: Subagent | undefined): ((c: Call) => boolean)[] {
  return s ? [(c) => c.subagent !== undefined && c.subagent.sessionId === s.parentSessionId, (c) => c.id === s.parentToolCallId && !c.subagent] : [];
}

/**
 * changeCall changes one call, wherever in the tree it stands; nothing if there is
 * none. News is of new calls nearly always, so the search begins at the end.
 */
export function changeCall<T extends Item>(items: readonly T[], is: (c: Call) => boolean, change: (c: Call) => Call): T[] | undefined {
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i]!;
    if (item.kind !== "call") continue;
    const changed = is(item) ? change(item) : changeBelow(item, is, change);
    if (changed) return items.map((other, at) => (at === i ? (changed as unknown as T) : other));
  }
  return undefined;
}

function changeBelow(c: Call, is: (c: Call) => boolean, change: (c: Call) => Call): Call | undefined {
  const children = c.children.length > 0 ? changeCall(c.children, is, change) : undefined;
  return children && { ...c, children };
}

/** asked puts a question where it belongs: to its call, or to a place of its own. */
function asked(state: State, ask: Ask): State {
  const waiting = [...state.waiting.filter((id) => id !== ask.id), ask.id];
  const id = ask.kind === "permission" ? ask.toolCall.toolCallId : (ask.request.toolCallId ?? ask.id);
  const known = changeCall(
    state.items,
    (c) => c.id === id,
    (c) => ({ ...c, ask, answer: undefined }),
  );
  if (known) return { ...state, items: known, waiting };
  const shown = ask.kind === "permission" ? ask.toolCall : { toolCallId: id, title: "Question", kind: "other" };
  const call = { ...merged(newCall(id, ask.at), shown, ask.at), ask };
  const [subagent] = id.split("/"); // a subagent's calls are named after it
  return { ...place(state, call, [(c) => c.subagent?.sessionId === subagent], ask.at), waiting };
}

function answered(state: State, { askId, choice, at }: Extract<ToPage, { type: "answered" }>): State {
  if (!state.waiting.includes(askId)) return state;
  const waiting = state.waiting.filter((id) => id !== askId);
  const isElsewhere = (i: Item) => i.kind === "call" && i.ask?.id === askId && i.ask.elsewhere === true;
  if (state.items.some(isElsewhere)) return { ...state, items: state.items.filter((i) => !isElsewhere(i)), waiting }; // the result is shown there
  const items = changeCall(
    state.items,
    (c) => c.ask?.id === askId,
    (c) => ({ ...c, ask: undefined, answer: choice, ...(c.id === askId && { status: "completed", ended: at }) }), // a form has no call of the model
  );
  return { ...state, items: items ?? state.items, waiting };
}

// The others are answers, or said by the server in a notice.
const endings: Record<string, string> = { refusal: "The model refused to go on.", cancelled: "Cancelled." };

function turnEnded(state: State, m: { at: number; stopReason?: string; error?: string; ways?: readonly Way[] }): State {
  const after = closed({ ...state, turn: { running: false } }, m.at);
  if (m.error) return push(after, { kind: "note", key: 0, severity: "error", text: m.error, ways: m.ways });
  const ending = m.stopReason ? endings[m.stopReason] : undefined;
  return ending ? push(after, { kind: "note", key: 0, severity: m.stopReason === "cancelled" ? "info" : "warning", text: ending }) : after;
}

/** serverChanged ends everything that ran in a server that is gone. */
function serverChanged(state: State, m: Extract<ToPage, { type: "server" }>): State {
  if (m.server.state === "ready" || state.server.state !== "ready") return { ...state, server: m.server };
  const items = state.items.map((i) => (i.kind === "call" ? lost(i) : i));
  return closed({ ...state, items, waiting: [], turn: { running: false }, server: m.server });
}

function lost(c: Call): Call {
  const runs = c.status === "pending" || c.status === "in_progress";
  const below = c.children.map(lost);
  if (!runs && below.every((b, i) => b === c.children[i])) return c;
  return {
    ...c,
    children: below,
    ask: undefined,
    message: undefined,
    status: runs ? "failed" : c.status,
    subagent: c.subagent && runs ? { ...c.subagent, status: "interrupted" } : c.subagent,
  };
}

interface Ours {
  message?: string;
  sandbox_tool_calls?: Inner[];
  subagent?: Subagent;
  rewound?: Rewound;
  usage?: { requests?: number; input?: number; output?: number };
  lastRequest?: { input: number; cachedRead: number };
  offers?: readonly Offer[];
}

function hermes(meta: Record<string, unknown> | undefined): Ours {
  return (meta?.["hermes"] as Ours | undefined) ?? {};
}

function severity(s: string): "info" | "warning" | "error" {
  return s === "warning" || s === "error" ? s : "info";
}
