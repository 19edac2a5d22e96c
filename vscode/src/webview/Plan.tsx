import { useState } from "preact/hooks";
import type { PlanEntry } from "../protocol";
import { Icon } from "./icons";
import { memo } from "./memo";

const marks: Record<string, string> = { pending: "circle-large-outline", in_progress: "record-small", completed: "pass-filled" };
const words: Record<string, string> = { pending: "to do", in_progress: "in progress", completed: "done" };

/** The plan as a checklist. If it is closed, it shows the item in progress. */
export const Plan = memo(({ entries }: { entries: readonly PlanEntry[] }) => {
  const [open, setOpen] = useState(false);
  if (entries.length === 0) return null;
  const done = entries.filter((e) => e.status === "completed").length;
  const now = entries.find((e) => e.status === "in_progress");
  return (
    <section class="plan" aria-label="Plan">
      <button type="button" class="row" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <span class="plan-name">Plan</span>
        <span class="row-title quiet">{open || !now ? "" : now.content}</span>
        <span class="row-facts">
          {done} of {entries.length}
          <span class="hidden"> done</span>
        </span>
      </button>
      {open && (
        <ul>
          {entries.map((e, i) => (
            <li key={i} class={e.status}>
              <Icon name={marks[e.status] ?? marks["pending"]!} />
              <span>
                {e.content}
                <span class="hidden">, {words[e.status] ?? e.status}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
});
