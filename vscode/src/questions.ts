import { RequestPermissionRequest } from "./protocol";
import { broken, revealed } from "./shared/format";
import { scopeOf } from "./shared/state";
import * as show from "./show";

/** An approval request, without the session. */
export type Permission = Pick<RequestPermissionRequest, "toolCall" | "options">;

/**
 * Shows an approval request outside the chat. It returns the id of the chosen option,
 * "show" for the chat, or undefined. Text that a notification would cut is shown in a dialog,
 * so that the user sees all that the approval allows.
 */
export async function askPermission(q: Permission): Promise<string | undefined> {
  if (q.toolCall.kind === "switch_mode") {
    const items = q.options.map((o) => ({ title: o.name, id: o.optionId }));
    return (await show.warn("Hermes has a plan. Read it in the chat.", open, ...items))?.id;
  }
  return needsRoom(q) ? inDialog(q) : inNotification(q);
}

const open = { title: "Show", id: "show" };

/** Buttons of a notification hold a few words. The text of the notification has the scope of the options. */
const buttons: Record<string, string> = { once: "Allow Once", session: "Allow for This Session", always: "Always Allow", no: "Deny" };

async function inNotification(q: Permission): Promise<string | undefined> {
  // The chat shows the diff: without it, an edit is not allowed for longer than once.
  const offered = q.toolCall.content?.some((c) => c.type === "diff") ? q.options.filter((o) => o.kind !== "allow_always") : q.options;
  const items = offered.map((o) => ({ title: buttons[o.optionId] ?? o.name, id: o.optionId }));
  const text = [`Hermes asks: ${what(q)}`, reason(q), remembered(q)].filter(Boolean).join(" — ");
  return (await show.warn(text, ...items, open))?.id;
}

/** A notification cuts long text and joins lines. */
const needsRoom = (q: Permission) => what(q).length > 160 || /[\n⏎]/.test(what(q));

/** If the scope of an option is longer than this, in characters, only the chat shows it. */
const readable = 400;

async function inDialog(q: Permission): Promise<string | undefined> {
  const read = { title: "Read and Decide…", id: "read" };
  const no = { title: "Deny", id: "no" };
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

/** remembered returns the scope of the options, as their names have it: "Allow for this session: rm -rf build". */
function remembered(q: Permission): string {
  const scope = scopeOf(q.options);
  return scope && scope !== what(q) ? `“Allow for This Session” and “Always Allow” remember: ${scope}` : "";
}
