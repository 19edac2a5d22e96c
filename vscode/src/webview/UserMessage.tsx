import { useState } from "preact/hooks";
import { mentionLink } from "../shared/mention";
import { revealed } from "../shared/format";
import { post } from "./host";
import { Icon, IconButton } from "./icons";
import { Pictures } from "./Pictures";
import type { User } from "../shared/state";

/** How many lines of a message are shown before it is opened. */
const shortLines = 12;

export function UserMessage({ item }: { item: User }) {
  const long = item.text.split("\n").length > shortLines || item.text.length > 1500;
  const [open, setOpen] = useState(false);
  const prompt = item.text.startsWith("/") ? undefined : item.messageId; // the history does not have commands
  return (
    <article class="entry user" aria-label="You">
      <div class={`bubble${long && !open ? " cut" : ""}`}>
        {item.text && <div class="user-text">{withMentions(item.text)}</div>}
        <Pictures sources={item.images} label="Attached picture" />
      </div>
      {long && (
        <button type="button" class="text" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : "Show all"}
        </button>
      )}
      {prompt !== undefined && (
        <div class="entry-actions">
          <IconButton icon="edit" label="Edit and resend" onClick={() => post({ type: "rewind", prompt, files: false })} />
          <IconButton icon="discard" label="Restore files to here" onClick={() => post({ type: "rewind", prompt, files: true })} />
        </div>
      )}
    </article>
  );
}

/** withMentions shows [@name](uri) as a link to the file. */
function withMentions(text: string) {
  const parts = [];
  let from = 0;
  for (const m of text.matchAll(mentionLink)) {
    parts.push(text.slice(from, m.index));
    parts.push(
      <button type="button" class="mention" title={m[2]} onClick={() => post({ type: "link", href: m[2]! })}>
        <Icon name="file" />
        {revealed(m[1]!)}
      </button>,
    );
    from = m.index + m[0].length;
  }
  return [...parts, text.slice(from)];
}
