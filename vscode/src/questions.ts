import { RequestPermissionRequest } from "./protocol";
import { broken, revealed } from "./shared/format";
import { scopeOf } from "./shared/state";
import * as show from "./show";

/** What is asked, without the session. */
export type Permission = Pick<RequestPermissionRequest, "toolCall" | "options">;

/**
 * Asks outside the chat whether something may run: the id of the chosen option,
 * "show" for the chat, or nothing. Nobody says yes to what was not shown: what a
 * notification would cut is read in a dialog.
 */
export async function askPermission(q: Permission): Promise<string | undefined> {
  return needsRoom(q) ? inDialog(q) : inNotification(q);
}

const open = { title: "Show", id: "show" };

/** Buttons of a notification have room for a word or two; what is remembered is in its text. */
const buttons: Record<string, string> = { once: "Allow Once", session: "This Session", always: "Always", no: "No" };

async function inNotification(q: Permission): Promise<string | undefined> {
  const items = q.options.map((o) => ({ title: buttons[o.optionId] ?? o.name, id: o.optionId }));
  const text = [`Hermes asks: ${what(q)}`, reason(q), remembered(q)].filter(Boolean).join(" — ");
  return (await show.warn(text, ...items, open))?.id;
}

/** A notification cuts long text and joins lines. */
const needsRoom = (q: Permission) => what(q).length > 160 || /[\n⏎]/.test(what(q));

/** What would be remembered is read in the chat where it is longer than this. */
const readable = 400;

async function inDialog(q: Permission): Promise<string | undefined> {
  const read = { title: "Read and Decide…", id: "read" };
  const no = { title: "No", id: "no" };
  const first = await show.warn(`Hermes asks: ${what(q).slice(0, 120)} …`, read, no, open);
  if (first !== read) {
    return first?.id;
  }
  const offered = scopeOf(q.options).length > readable ? q.options.filter((o) => o.kind !== "allow_always") : q.options;
  const items = offered.map((o) => ({ title: buttons[o.optionId] ?? o.name, id: o.optionId, isCloseAffordance: o.optionId === "no" }));
  const detail = [broken(what(q)), reason(q), offered === q.options && remembered(q)].filter(Boolean).join("\n\n");
  return (await show.warn("May Hermes do this?", { modal: true, detail }, ...items))?.id;
}

const what = (q: Permission) => revealed(q.toolCall.title ?? q.toolCall.name ?? "May this run?");

const reason = (q: Permission) => q.toolCall.content?.map((c) => c.content?.text ?? "").join(" ") ?? "";

/** What a yes for longer counts for, as the option's name says: "Allow for this session: rm -rf build". */
function remembered(q: Permission): string {
  const scope = scopeOf(q.options);
  return scope && scope !== what(q) ? `“This Session” and “Always” remember: ${scope}` : "";
}

